//! Whether somebody may give rights away who lacks the verbs `bind` and `escalate`: with all of those rights of his own he may. The API
//! server alone knows, so it is asked to make the role or the binding without keeping it (a dry run on its side).

use k8s_openapi::api::rbac::v1::{ClusterRole, ClusterRoleBinding, RoleBinding};
use kube::Client;
use kube::api::{Api, PostParams};
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};

use crate::config::Config;
use crate::doctor::Options;
use crate::doctor::permissions::{Permission, Purpose, Reviewed, needed_to_run};

const GROUP: &str = "rbac.authorization.k8s.io";
/// Nothing of that name comes to be.
const NAME: &str = "berth-doctor-dry-run";

/// Allows what a dry run shows to be possible.
pub(super) async fn second_opinion(
    client: &Client,
    reviewed: Vec<Reviewed>,
    options: &Options,
    config: &Config,
) -> Vec<Reviewed> {
    let mut seconded = Vec::with_capacity(reviewed.len());
    for Reviewed { permission, mut allowed } in reviewed {
        if !allowed && permission.purpose == Purpose::GiveAway {
            allowed = may_give_away(client, &permission, &options.namespace, config).await;
        }
        seconded.push(Reviewed { permission, allowed });
    }
    seconded
}

async fn may_give_away(client: &Client, permission: &Permission, namespace: &str, config: &Config) -> bool {
    match (permission.verb, permission.namespace.as_deref()) {
        ("escalate", _) => {
            let role = json!({"metadata": {"name": NAME}, "rules": rules(config)});
            would_be_made(Api::<ClusterRole>::all(client.clone()), role).await
        }
        (_, Some(place)) => {
            let binding = binding("Role", permission.object, namespace);
            would_be_made(Api::<RoleBinding>::namespaced(client.clone(), place), binding).await
        }
        (_, None) => {
            let binding = binding("ClusterRole", permission.object, namespace);
            would_be_made(Api::<ClusterRoleBinding>::all(client.clone()), binding).await
        }
    }
}

/// What Berth's role allows at least.
fn rules(config: &Config) -> Vec<Value> {
    let rule = |permission: Permission| {
        let Permission { group, resource, subresource, verb, .. } = permission;
        let slash = if subresource.is_empty() { "" } else { "/" };
        json!({"apiGroups": [group], "resources": [format!("{resource}{slash}{subresource}")], "verbs": [verb]})
    };
    needed_to_run(config, |_| true, false).into_iter().map(rule).collect()
}

fn binding(kind: &str, role: &str, namespace: &str) -> Value {
    json!({
        "metadata": {"name": NAME},
        "roleRef": {"apiGroup": GROUP, "kind": kind, "name": role},
        "subjects": [{"kind": "ServiceAccount", "name": "berth", "namespace": namespace}],
    })
}

/// Whoever gets no answer to this has the one to the question before.
async fn would_be_made<K>(api: Api<K>, object: Value) -> bool
where
    K: Clone + DeserializeOwned + Serialize + std::fmt::Debug,
{
    let dry_run = PostParams { dry_run: true, ..PostParams::default() };
    match serde_json::from_value(object) {
        Ok(object) => api.create(&dry_run, &object).await.is_ok(),
        Err(_) => false,
    }
}
