//! Writes nominations: the node that a pod is to go to, into its status.

use std::time::Duration;

use k8s_openapi::api::core::v1::Pod as ApiPod;
use kube::Client;
use kube::api::{Api, Patch, PatchParams};
use serde_json::json;

use crate::model::{Name, ObjectKey, Uid};

/// How long the API server may take for one.
const PATIENCE: Duration = Duration::from_secs(5);

/// A nomination to write, or to take back.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Nomination {
    /// The pod.
    pub pod: ObjectKey,
    /// Its UID: a namesake must not get it.
    pub uid: Uid,
    /// The node; `None` takes the nomination back.
    pub node: Option<Name>,
}

/// What became of a nomination.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Written {
    /// It is written.
    Done,
    /// The pod does not need it any more.
    Superseded,
}

/// Who writes nominations.
#[derive(Clone)]
pub enum Nominator {
    /// The API server is asked to.
    Api(Client),
    /// Nobody, where there is no API server.
    None,
}

impl Nominator {
    /// Whether anything is ever written.
    pub fn is_there(&self) -> bool {
        matches!(self, Nominator::Api(_))
    }

    /// Writes one.
    pub async fn write(&self, nomination: &Nomination) -> Result<Written, String> {
        let Nominator::Api(client) = self else { return Ok(Written::Superseded) };
        let Nomination { pod, uid, node } = nomination;
        let pods: Api<ApiPod> = Api::namespaced(client.clone(), &pod.namespace);
        let patch = json!({"metadata": {"uid": &**uid}, "status": {"nominatedNodeName": node.as_deref()}});
        let (params, patch) = (PatchParams::default(), Patch::Merge(patch));
        let written = pods.patch_status(&pod.name, &params, &patch);
        match tokio::time::timeout(PATIENCE, written).await {
            Ok(Ok(_)) => Ok(Written::Done),
            // Gone, another pod of that name, or on a node by now.
            Ok(Err(kube::Error::Api(status))) if matches!(status.code, 404 | 409 | 422) => {
                Ok(Written::Superseded)
            }
            Ok(Err(error)) => Err(error.to_string()),
            Err(_) => Err("the API server did not answer in time".to_owned()),
        }
    }
}
