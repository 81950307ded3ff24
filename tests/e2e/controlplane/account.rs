//! Whom Berth and kube-scheduler are to the API server: users with the rights that are shipped, and no others.

use anyhow::{Context, Result};
use k8s_openapi::api::rbac::v1::{ClusterRole, ClusterRoleBinding};
use kube::Client;
use kube::api::{Api, ObjectMeta, PostParams};
use serde_json::{Value, json};

/// The user that Berth is; its token is its name.
pub const BERTH: &str = "berth-under-test";
/// The user that kube-scheduler is.
pub const SCHEDULER: &str = "scheduler-under-test";

/// All that Berth does at the API server, as it is shipped.
const ROLE: &str = include_str!("../../../deploy/kustomize/base/cluster-role.yaml");
/// What the shipped manifests bind for kube-scheduler in all namespaces.
const SCHEDULER_BINDINGS: &str =
    include_str!("../../../deploy/kustomize/components/remote/kube-scheduler-rbac.yaml");

/// Gives both users their rights.
pub async fn give_rights(client: &Client) -> Result<()> {
    let role: Value = serde_saphyr::from_str(ROLE).context("the shipped role")?;
    let mut role: ClusterRole = serde_json::from_value(role)?;
    role.metadata = ObjectMeta { name: Some(BERTH.to_owned()), ..ObjectMeta::default() };
    Api::all(client.clone()).create(&PostParams::default(), &role).await?;
    bind(client, BERTH, BERTH).await?;

    let objects: Vec<Value> = serde_saphyr::from_multiple(SCHEDULER_BINDINGS).context("shipped bindings")?;
    for object in objects.iter().filter(|object| object["kind"] == "ClusterRoleBinding") {
        let role = object["roleRef"]["name"].as_str().context("a binding of no role")?;
        bind(client, role, SCHEDULER).await?;
    }
    Ok(())
}

async fn bind(client: &Client, role: &str, user: &str) -> Result<()> {
    let binding: ClusterRoleBinding = serde_json::from_value(json!({
        "metadata": {"name": format!("{user}-{}", role.replace(':', "-"))},
        "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": role},
        "subjects": [{"apiGroup": "rbac.authorization.k8s.io", "kind": "User", "name": user}]}))?;
    Api::all(client.clone()).create(&PostParams::default(), &binding).await?;
    Ok(())
}
