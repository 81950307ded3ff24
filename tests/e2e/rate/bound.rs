//! Counts pods that get a node. It costs the machine as little as can be, for it runs while others are measured.

use std::time::Duration;

use anyhow::{Context, Result};
use futures::TryStreamExt;
use k8s_openapi::api::core::v1::Pod;
use kube::api::{ListParams, WatchParams};
use kube::core::WatchEvent;
use kube::{Api, Client, ResourceExt};
use tokio::time::{Instant, timeout_at};

/// Pods with a node.
const BOUND: &str = "spec.nodeName!=";

/// Waits until so many more pods have a node than when it was made.
pub struct BoundPods {
    pods: Api<Pod>,
    since: String,
}

impl BoundPods {
    pub async fn from_now(client: &Client) -> Result<Self> {
        let pods: Api<Pod> = Api::default_namespaced(client.clone());
        let none = ListParams::default().labels("none=none");
        let since = pods.list_metadata(&none).await?.metadata.resource_version;
        Ok(Self { pods, since: since.context("a list without a version")? })
    }

    pub async fn wait_for(&self, count: usize, limit: Duration) -> Result<()> {
        let deadline = Instant::now() + limit;
        let bound = WatchParams::default().fields(BOUND);
        let (mut seen, mut version) = (0, self.since.clone());
        while seen < count {
            // The API server may end it any time.
            let mut events = std::pin::pin!(self.pods.watch_metadata(&bound, &version).await?);
            while seen < count {
                let event = timeout_at(deadline, events.try_next()).await;
                match event.with_context(|| format!("after {limit:?} {seen} of {count} pods are bound"))?? {
                    Some(WatchEvent::Added(pod)) => {
                        seen += 1;
                        version = pod.resource_version().context("a pod without a version")?;
                    }
                    Some(WatchEvent::Error(status)) => return Err(kube::Error::Api(status).into()),
                    Some(_) => {}
                    None => break,
                }
            }
        }
        Ok(())
    }
}
