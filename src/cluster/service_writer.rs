//! Creates, repairs and deletes the Services of replica groups.
//!
//! A change is meant for the very version that was looked at, so that what somebody else has done meanwhile is never undone
//! unseen, and two that write at the same time do no harm.

use std::time::Duration;

use k8s_openapi::api::core::v1::{Service as ApiService, ServiceSpec};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::OwnerReference;
use kube::Client;
use kube::api::{Api, DeleteParams, ObjectMeta, Patch, PatchParams, PostParams, Preconditions};
use serde_json::{Map, Value, json};

use crate::model::managed_service::{MADE_AS, MADE_FOR, MANAGED_BY};
use crate::model::{GroupService, Labels, ManagedService, Name, ObjectKey, Owner, Service};

/// How long the API server may take for one.
pub(crate) const PATIENCE: Duration = Duration::from_secs(4);

/// What became of a change.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Written {
    /// It is made.
    Done,
    /// The cluster is not what it was when the change was decided on.
    Superseded,
    /// It was refused: by permissions, a quota, a policy. It takes somebody to change that.
    Refused(String),
    /// It failed, and may succeed another time.
    Failed(String),
}

/// Who writes Services.
#[derive(Clone)]
pub(crate) struct ServiceWriter(Client);

impl ServiceWriter {
    /// The API server is asked to.
    pub(crate) fn new(client: Client) -> Self {
        Self(client)
    }

    /// Creates a Service. One that is there already stays as it is, whosever it is.
    pub(crate) async fn create(&self, service: &GroupService) -> Written {
        let services = self.services(&service.key.namespace);
        answered(services.create(&PostParams::default(), &as_created(service))).await
    }

    /// Makes a Service what it was made as.
    pub(crate) async fn repair(&self, service: &GroupService, seen: &Service) -> Written {
        let Some(managed) = &seen.managed else { return Written::Superseded };
        let services = self.services(&service.key.namespace);
        let patch = Patch::Merge(repair(service, &seen.selector, managed));
        answered(services.patch(&service.key.name, &PatchParams::default(), &patch)).await
    }

    /// Deletes a Service.
    pub(crate) async fn delete(&self, key: &ObjectKey, seen: &ManagedService) -> Written {
        let services = self.services(&key.namespace);
        let preconditions = Preconditions {
            uid: Some(seen.uid.to_string()),
            resource_version: Some(seen.version.to_string()),
        };
        let params = DeleteParams { preconditions: Some(preconditions), ..DeleteParams::default() };
        answered(services.delete(&key.name, &params)).await
    }

    fn services(&self, namespace: &Name) -> Api<ApiService> {
        Api::namespaced(self.0.clone(), namespace)
    }
}

async fn answered<T>(answer: impl Future<Output = kube::Result<T>>) -> Written {
    match tokio::time::timeout(PATIENCE, answer).await {
        Ok(Ok(_)) => Written::Done,
        Ok(Err(kube::Error::Api(status))) => match status.code {
            404 | 409 => Written::Superseded,
            400 | 403 | 422 => Written::Refused(status.message.clone()),
            _ => Written::Failed(status.message.clone()),
        },
        Ok(Err(error)) => Written::Failed(error.to_string()),
        Err(_) => Written::Failed("the API server did not answer in time".to_owned()),
    }
}

fn as_created(service: &GroupService) -> ApiService {
    let pair = |key: &str, value: &str| (key.to_owned(), value.to_owned());
    let made_as = service.key.to_string();
    let selector = service.selector.iter().map(|(key, value)| pair(key, value)).collect();
    ApiService {
        metadata: ObjectMeta {
            name: Some(service.key.name.to_string()),
            namespace: Some(service.key.namespace.to_string()),
            labels: Some([pair(MANAGED_BY.0, MANAGED_BY.1)].into()),
            annotations: Some([pair(MADE_FOR, &service.made_for), pair(MADE_AS, &made_as)].into()),
            owner_references: Some(service.owners.iter().map(reference).collect()),
            ..ObjectMeta::default()
        },
        spec: Some(ServiceSpec {
            cluster_ip: Some("None".to_owned()),
            publish_not_ready_addresses: Some(true),
            selector: Some(selector),
            ..ServiceSpec::default()
        }),
        status: None,
    }
}

/// A merge patch: labels that the selector has too many are taken out by name.
fn repair(service: &GroupService, selector: &Labels, seen: &ManagedService) -> Value {
    let superfluous = selector.iter().filter(|(key, _)| service.selector.get(key).is_none());
    let superfluous = superfluous.map(|(key, _)| (key.to_string(), Value::Null));
    let wanted = service.selector.iter().map(|(key, value)| (key.to_string(), json!(&**value)));
    let selector: Map<String, Value> = superfluous.chain(wanted).collect();
    let owners: Vec<_> = service.owners.iter().map(reference).collect();
    json!({
        "metadata": {"uid": &*seen.uid, "resourceVersion": &*seen.version, "ownerReferences": owners},
        "spec": {"publishNotReadyAddresses": true, "selector": selector},
    })
}

/// It blocks the deletion of nobody, so that it takes no right on its owner to write it.
fn reference(owner: &Owner) -> OwnerReference {
    OwnerReference {
        api_version: owner.api_version.to_string(),
        kind: owner.kind.to_string(),
        name: owner.name.to_string(),
        uid: owner.uid.to_string(),
        ..OwnerReference::default()
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::{as_created, repair};
    use crate::json::{Interner, Slimmed, slim};
    use crate::model::{GroupService, Kind, Labels, Object, ObjectKey, Owner};

    fn labels(pairs: &[(&str, &str)]) -> Labels {
        pairs.iter().map(|(key, value)| ((*key).into(), (*value).into())).collect()
    }

    fn service() -> GroupService {
        let owner = |uid: &str| Owner {
            api_version: "v1".into(),
            kind: "Pod".into(),
            name: "llm-0".into(),
            uid: uid.into(),
        };
        GroupService {
            key: ObjectKey::new("ns", "llm-0"),
            made_for: "LeaderWorkerSet/llm/0".into(),
            selector: labels(&[("name", "llm"), ("index", "0")]),
            owners: Box::new([owner("a"), owner("b")]),
        }
    }

    fn read(text: &Value) -> std::sync::Arc<crate::model::Service> {
        match slim(Kind::Service, &text.to_string(), &Interner::default()) {
            Ok(Slimmed::Kept(Object::Service(service))) => service,
            other => panic!("expected a Service, got {other:?}"),
        }
    }

    #[test]
    fn what_is_created_is_recognised_as_it_was_meant() {
        let mut created = serde_json::to_value(as_created(&service())).expect("JSON");
        created["metadata"]["uid"] = json!("u");
        created["metadata"]["resourceVersion"] = json!("1");
        let read = read(&created);
        let managed = read.managed.as_ref().expect("ours");
        assert_eq!((&read.key, &read.selector), (&service().key, &service().selector));
        assert_eq!((&managed.owners, &managed.made_for), (&service().owners, &service().made_for));
        assert!(managed.is_headless && managed.publishes_not_ready);
        assert_eq!(created["metadata"]["ownerReferences"][0].get("blockOwnerDeletion"), None);
    }

    #[test]
    fn a_repair_takes_out_what_is_too_much_and_is_meant_for_one_version() {
        let mut created = serde_json::to_value(as_created(&service())).expect("JSON");
        created["metadata"]["uid"] = json!("u");
        created["metadata"]["resourceVersion"] = json!("1");
        created["spec"]["selector"] = json!({"index": "1", "app": "x"});
        let seen = read(&created);
        let patch = repair(&service(), &seen.selector, seen.managed.as_ref().expect("ours"));
        assert_eq!(patch["spec"]["selector"], json!({"app": null, "index": "0", "name": "llm"}));
        assert_eq!(patch["metadata"]["resourceVersion"], "1");
        assert_eq!(patch["metadata"]["ownerReferences"][1]["uid"], "b");
    }
}
