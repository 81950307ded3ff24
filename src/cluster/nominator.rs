//! Writes nominations: the node that a pod is to go to, into its status.

#[cfg(test)]
use std::sync::{Arc, Mutex};
use std::time::Duration;

use hyper::http;
use k8s_openapi::api::core::v1::Pod as ApiPod;
use kube::Client;
use kube::api::{Api, PartialObjectMeta, Patch, PatchParams, Request};
use kube::core::Resource;
use serde_json::{Value, json};

use crate::model::{Name, ObjectKey, Uid};

/// How long the API server may take for one.
const PATIENCE: Duration = Duration::from_secs(5);
/// How often a pod that changes meanwhile is looked at again.
const ATTEMPTS: usize = 5;

/// Nobody reads the pod that comes back, so it need not be written out.
const METADATA_ONLY: &str = "application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1,application/json";

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
    /// They are kept for a test to look at.
    #[cfg(test)]
    Kept(Arc<Mutex<Vec<Nomination>>>),
}

impl Nominator {
    /// Whether anything is ever written.
    pub fn is_there(&self) -> bool {
        !matches!(self, Nominator::None)
    }

    /// Writes one.
    pub async fn write(&self, nomination: &Nomination) -> Result<Written, String> {
        let client = match self {
            Nominator::Api(client) => client,
            Nominator::None => return Ok(Written::Superseded),
            #[cfg(test)]
            Nominator::Kept(kept) => {
                kept.lock().map_err(|error| error.to_string())?.push(nomination.clone());
                return Ok(Written::Done);
            }
        };
        let request = request(nomination).map_err(|error| error.to_string())?;
        let written = answered(client.request::<PartialObjectMeta<ApiPod>>(request)).await?;
        Ok(written.map_or(Written::Superseded, |_| Written::Done))
    }

    /// Writes one and takes it back, unless somebody else has done so by then.
    pub async fn flash(&self, nomination: &Nomination) -> Result<Written, String> {
        let written = self.patch(nomination, json!({"status": nomination.status()})).await?;
        let Some(mut shown) = written else { return Ok(Written::Superseded) };
        let back = Nomination { node: None, ..nomination.clone() };
        for _ in 0..ATTEMPTS {
            // Whoever has nominated the pod meanwhile means it: only the version that was looked at is changed.
            let version = json!({"resourceVersion": shown.metadata.resource_version});
            if self.patch(&back, json!({"metadata": version, "status": back.status()})).await?.is_some() {
                return Ok(Written::Done);
            }
            // A patch that changes nothing tells how the pod is now, and needs no other permission.
            match self.patch(nomination, json!({})).await? {
                Some(pod) if nominated_node(&pod) == nomination.node.as_deref() => shown = pod,
                _ => return Ok(Written::Done),
            }
        }
        Err("the pod changes all the time".to_owned())
    }

    /// Changes the pod and tells how it is then; `None` if it is gone, or not what it was.
    async fn patch(&self, nomination: &Nomination, mut patch: Value) -> Result<Option<ApiPod>, String> {
        let Nominator::Api(client) = self else { return Ok(None) };
        let Nomination { pod, uid, .. } = nomination;
        let pods: Api<ApiPod> = Api::namespaced(client.clone(), &pod.namespace);
        patch["metadata"]["uid"] = (**uid).into();
        let (params, patch) = (PatchParams::default(), Patch::Merge(patch));
        answered(pods.patch_status(&pod.name, &params, &patch)).await
    }
}

/// What the API server answers; `None` if the pod is gone, another one of that name, another version of it, or on a node by
/// now.
async fn answered<T>(answer: impl Future<Output = kube::Result<T>>) -> Result<Option<T>, String> {
    match tokio::time::timeout(PATIENCE, answer).await {
        Ok(Ok(pod)) => Ok(Some(pod)),
        Ok(Err(kube::Error::Api(status))) if matches!(status.code, 404 | 409 | 422) => Ok(None),
        Ok(Err(error)) => Err(error.to_string()),
        Err(_) => Err("the API server did not answer in time".to_owned()),
    }
}

impl Nomination {
    fn status(&self) -> Value {
        json!({"nominatedNodeName": self.node.as_deref()})
    }
}

fn nominated_node(pod: &ApiPod) -> Option<&str> {
    pod.status.as_ref()?.nominated_node_name.as_deref()
}

fn request(nomination: &Nomination) -> Result<http::Request<Vec<u8>>, kube::core::request::Error> {
    let Nomination { pod, uid, .. } = nomination;
    let patch = json!({"metadata": {"uid": &**uid}, "status": nomination.status()});
    let pods = Request::new(ApiPod::url_path(&(), Some(&pod.namespace)));
    let mut request =
        pods.patch_subresource("status", &pod.name, &PatchParams::default(), &Patch::Merge(patch))?;
    request.headers_mut().insert(http::header::ACCEPT, http::HeaderValue::from_static(METADATA_ONLY));
    Ok(request)
}
