//! Writes nominations: the node that a pod is to go to, into its status.

#[cfg(test)]
use std::sync::{Arc, Mutex};
use std::time::Duration;

use hyper::http;
use k8s_openapi::api::core::v1::Pod as ApiPod;
use kube::Client;
use kube::api::{PartialObjectMeta, Patch, PatchParams, Request};
use kube::core::Resource;
use serde_json::json;

use crate::model::{Name, ObjectKey, Uid};

/// How long the API server may take for one.
const PATIENCE: Duration = Duration::from_secs(5);

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
        let written = client.request::<PartialObjectMeta<ApiPod>>(request);
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

fn request(nomination: &Nomination) -> Result<http::Request<Vec<u8>>, kube::core::request::Error> {
    let Nomination { pod, uid, node } = nomination;
    let patch = json!({"metadata": {"uid": &**uid}, "status": {"nominatedNodeName": node.as_deref()}});
    let pods = Request::new(ApiPod::url_path(&(), Some(&pod.namespace)));
    let mut request =
        pods.patch_subresource("status", &pod.name, &PatchParams::default(), &Patch::Merge(patch))?;
    request.headers_mut().insert(http::header::ACCEPT, http::HeaderValue::from_static(METADATA_ONLY));
    Ok(request)
}
