//! Carries out a bind call.

use std::sync::Arc;
use std::time::Duration;

use k8s_openapi::api::core::v1::{Binding, ObjectReference, Pod as ApiPod};
use kube::Client;
use kube::api::{Api, ObjectMeta, PostParams};

use super::Store;
use crate::model::{Name, Object, ObjectKey, Pod, Uid};
use crate::view::change::Change;

/// What to bind where.
#[derive(Clone, Debug)]
pub struct BindOrder {
    /// The pod's UID; guards against a pod recreated under the same name.
    pub uid: Uid,
    /// Its namespace and name.
    pub key: ObjectKey,
    /// The node.
    pub node: Name,
}

/// Why a binding did not come about.
#[derive(Debug, thiserror::Error)]
pub enum BindError {
    /// It was refused: the pod is certainly not on the node because of this call.
    #[error("binding refused: {0}")]
    Refused(String),
    /// No answer: the pod may or may not be on the node.
    #[error("binding outcome unknown: {0}")]
    Unknown(String),
}

/// Who carries out bindings.
pub enum Binder {
    /// The API server.
    Api(Client, Duration),
    /// The cache itself, when it was read from a file.
    InMemory(Arc<Store>),
}

impl Binder {
    /// Binds a pod to a node.
    pub async fn bind(&self, order: &BindOrder) -> Result<(), BindError> {
        match self {
            Binder::Api(client, patience) => {
                match tokio::time::timeout(*patience, bind_at_api(client, order)).await {
                    Ok(result) => result,
                    Err(_) => Err(BindError::Unknown("the API server did not answer in time".to_owned())),
                }
            }
            Binder::InMemory(store) => bind_in_memory(store, order),
        }
    }
}

async fn bind_at_api(client: &Client, order: &BindOrder) -> Result<(), BindError> {
    let binding = Binding {
        metadata: ObjectMeta {
            namespace: Some(order.key.namespace.to_string()),
            name: Some(order.key.name.to_string()),
            uid: Some(order.uid.to_string()).filter(|uid| !uid.is_empty()),
            ..ObjectMeta::default()
        },
        target: ObjectReference {
            kind: Some("Node".to_owned()),
            name: Some(order.node.to_string()),
            ..ObjectReference::default()
        },
    };
    let pods: Api<ApiPod> = Api::namespaced(client.clone(), &order.key.namespace);
    let answer: Result<serde_json::Value, kube::Error> =
        pods.create_subresource("binding", &order.key.name, &PostParams::default(), &binding).await;
    match answer {
        Ok(_) => Ok(()),
        // 5xx may come from a proxy or a server that stored the binding and then failed.
        Err(kube::Error::Api(status)) if status.code < 500 => Err(BindError::Refused(status.message.clone())),
        Err(error) => Err(BindError::Unknown(error.to_string())),
    }
}

fn bind_in_memory(store: &Store, order: &BindOrder) -> Result<(), BindError> {
    let mut refusal = None;
    store.write(|view| {
        // A call without a UID means whoever bears the name.
        let named = || view.pod_named(&order.key).filter(|_| order.uid.is_empty());
        let known = view.pod(&order.uid).or_else(named);
        let known = known.or_else(|| Some(&view.ledger().get(&order.uid)?.pod));
        if let Some(node) = known.and_then(|pod| pod.node.as_ref()) {
            refusal = Some(format!("pod {} is already assigned to node {node}", order.key));
            return Vec::new();
        }
        let stranger = || {
            let stand_in = || Pod::stand_in_uid(&order.key);
            let uid = Some(order.uid.clone()).filter(|uid| !uid.is_empty()).unwrap_or_else(stand_in);
            Pod::identity_only(uid, order.key.clone())
        };
        let mut pod = known.map_or_else(stranger, |pod| Pod::clone(pod));
        pod.node = Some(order.node.clone());
        view.apply(Change::Upsert(Object::Pod(Arc::new(pod))))
    });
    refusal.map_or(Ok(()), |reason| Err(BindError::Refused(reason)))
}
