//! Carries out a bind call.

use std::sync::Arc;
use std::time::Duration;

use k8s_openapi::api::core::v1::{Binding, ObjectReference, Pod as ApiPod};
use kube::Client;
use kube::api::{Api, ObjectMeta, PostParams};
use tokio::sync::Semaphore;

use crate::model::{Name, Object, ObjectKey, Pod, Uid};
use crate::store::Store;
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
    /// It was not even tried: it would have broken what replica groups are promised.
    #[error("binding declined: {0}")]
    Declined(&'static str),
    /// No answer: the pod may or may not be on the node.
    #[error("binding outcome unknown: {0}")]
    Unknown(String),
}

/// Who carries out bindings.
pub enum Binder {
    /// The API server.
    Api(ApiBinder),
    /// The cache itself, when it was read from a file.
    InMemory(Arc<Store>),
}

impl Binder {
    /// Binds a pod to a node.
    pub async fn bind(&self, order: &BindOrder) -> Result<(), BindError> {
        match self {
            Binder::Api(binder) => binder.bind(order).await,
            Binder::InMemory(store) => bind_in_memory(store, order),
        }
    }
}

/// Binds at the API server.
pub struct ApiBinder {
    client: Client,
    patience: Duration,
    /// The client speaks HTTP/1.1, so every call under way is a connection. In a burst the API server is
    /// the bottleneck: more calls at once would not be answered sooner, only cost handshakes.
    places: Semaphore,
}

impl ApiBinder {
    const AT_ONCE: usize = 32;

    /// Gives each call, with its wait for a place, so much time.
    pub fn new(client: Client, patience: Duration) -> Self {
        Self { client, patience, places: Semaphore::new(Self::AT_ONCE) }
    }

    async fn bind(&self, order: &BindOrder) -> Result<(), BindError> {
        let deadline = tokio::time::Instant::now() + self.patience;
        let Ok(Ok(_place)) = tokio::time::timeout_at(deadline, self.places.acquire()).await else {
            return Err(BindError::Refused("too many bindings wait for the API server".to_owned()));
        };
        match tokio::time::timeout_at(deadline, bind_at_api(&self.client, order)).await {
            Ok(result) => result,
            Err(_) => Err(BindError::Unknown("the API server did not answer in time".to_owned())),
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

/// As the API server would: by name, with the UID as a guard if one is given.
fn bind_in_memory(store: &Store, order: &BindOrder) -> Result<(), BindError> {
    let mut refusal = None;
    store.write(|view| {
        let shown = view.pod_named(&order.key);
        let known = shown.or_else(|| Some(&view.ledger().get(&order.uid)?.pod));
        refusal = known.and_then(|pod| {
            let same = order.uid.is_empty() || pod.uid == order.uid || pod.has_stand_in_uid();
            if !same {
                return Some(format!("pod {} has another UID now", order.key));
            }
            let node = pod.node.as_ref()?;
            Some(format!("pod {} is already assigned to node {node}", order.key))
        });
        if refusal.is_some() {
            return Vec::new();
        }
        let mut pod = match known {
            Some(pod) => Pod::clone(pod),
            // Whoever gives no UID gets one, for pods are told apart by it.
            None if order.uid.is_empty() => {
                Pod::identity_only(Pod::stand_in_uid(&order.key), order.key.clone())
            }
            None => Pod::identity_only(order.uid.clone(), order.key.clone()),
        };
        pod.node = Some(order.node.clone());
        let stands_in = pod.uid != order.uid;
        let mut dropped = view.apply(Change::Upsert(Object::Pod(Arc::new(pod))));
        if stands_in {
            // Known under another UID than the call's: what was assumed under that one is this pod.
            dropped.extend(view.withdraw(&order.uid));
        }
        dropped
    });
    refusal.map_or(Ok(()), |reason| Err(BindError::Refused(reason)))
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::{BindOrder, Change, Object, ObjectKey, Store, bind_in_memory};
    use crate::config::Config;
    use crate::fixtures::pod;
    use crate::metrics::Registry;

    #[test]
    fn binding_in_memory_refuses_what_the_api_server_would() {
        let registry = Registry::new().expect("a registry");
        let store = Store::new(Config::default(), &registry).expect("metrics");
        store.apply([Change::Upsert(Object::Pod(Arc::new(pod("known").uid("1").build())))]);
        let bind = |name: &str, uid: &str, node: &str| {
            let key = ObjectKey::new("default", name);
            bind_in_memory(&store, &BindOrder { uid: uid.into(), key, node: node.into() }).is_ok()
        };
        assert!(!bind("known", "2", "a"), "recreated under the same name");
        assert!(bind("known", "1", "a"));
        assert!(!bind("known", "1", "b"), "already bound");
        assert!(bind("stranger", "3", "a"), "whether or not the file knew it");
        assert!(bind("nameless", "", "a") && bind("other", "", "b"), "UIDs are not required");
        assert!(!bind("other", "", "a"), "but names count then");
        let unnumbered = pod("file").uid("default/file").build();
        store.apply([Change::Upsert(Object::Pod(Arc::new(unnumbered)))]);
        let ttl = std::time::Duration::from_mins(1);
        store.write(|view| {
            view.assume(&"9".into(), &ObjectKey::new("default", "file"), "b".into(), ttl);
            Vec::new()
        });
        assert!(bind("file", "9", "b"), "a file need not name UIDs");
        assert!(store.view().ledger().is_empty() && store.view().host("b").map(|h| h.pods.len()) == Some(2));
        let view = store.view();
        assert_eq!(view.host("a").map(|host| host.pods.len()), Some(3));
    }
}
