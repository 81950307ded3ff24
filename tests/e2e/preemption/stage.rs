//! A scenario under way: kube-scheduler at work, perhaps Berth beside it, and a record of what they do.

use std::time::Duration;

use anyhow::{Context, Result};
use k8s_openapi::api::core::v1::Pod;
use kube::api::{Patch, PatchParams};
use kube::{Api, Client};
use serde_json::json;

use super::play::{Played, until};
use super::scenario::Ending;
use super::setup::Setup;
use crate::berth_process::BerthProcess;
use crate::controlplane::{ControlPlane, Scheduler};
use crate::fixtures::{BindingsWatch, create_all};
use crate::metrics_text::Metrics;
use crate::progress::report;

const MINUTE: Duration = Duration::from_mins(1);

/// The processes end with it.
pub struct Stage {
    client: Client,
    pub scheduler: Scheduler,
    pub berth: Option<BerthProcess>,
    pub watch: BindingsWatch,
}

impl Stage {
    pub async fn open(plane: &ControlPlane, setup: &Setup) -> Result<Self> {
        let client = plane.client();
        let watch = BindingsWatch::start(&client).await?;
        let (berth, scheduler) = setup.start(plane).await?;
        Ok(Self { client, scheduler, berth, watch })
    }

    pub async fn close(self) -> Result<Played> {
        let short = |name: String| name.trim_start_matches("default/").to_owned();
        let places = self.watch.placements().into_iter().map(|(pod, node)| (short(pod), node)).collect();
        let evicted = self.watch.evicted().into_iter().map(short).collect();
        let metrics = match &self.berth {
            Some(berth) => Some(berth.metrics().await?),
            None => None,
        };
        self.watch.ensure_bound_once()?;
        Ok(Played { ending: Ending { evicted, places }, metrics })
    }

    pub async fn arrive(&self, pods: &[Pod]) -> Result<()> {
        create_all(&self.client, pods).await
    }

    /// The node that kube-scheduler keeps for a pod until the victims there are gone.
    pub async fn nominated(&self, pod: &str) -> Result<String> {
        let mut node = None;
        until(&format!("a nominated node of {pod}"), async || {
            let pod = self.pods().get(pod).await?;
            node = pod.status.and_then(|status| status.nominated_node_name);
            Ok(node.is_some())
        })
        .await?;
        node.context("no nominated node")
    }

    /// The node that a pod is bound to.
    pub async fn landed(&self, pod: &str) -> Result<String> {
        let name = format!("default/{pod}");
        self.watch.wait_for(pod, MINUTE, |watch| watch.node_of(&name).is_some()).await?;
        let node = self.watch.node_of(&name).context("it is gone again")?;
        report(&format!("{pod} landed on {node}"));
        Ok(node)
    }

    /// Everybody who was ever bound to a node since the scenario began, the residents included.
    pub fn guests(&self, node: &str) -> Vec<String> {
        let arrivals = self.watch.transitions().into_iter();
        let here = arrivals.filter(|transition| transition.to.as_deref() == Some(node));
        here.map(|transition| transition.pod.trim_start_matches("default/").to_owned()).collect()
    }

    /// Lets a pod go that a finalizer holds back.
    pub async fn release(&self, pod: &str) -> Result<()> {
        let free = Patch::Merge(json!({"metadata": {"finalizers": null}}));
        self.pods().patch(pod, &PatchParams::default(), &free).await?;
        until(&format!("the end of {pod}"), async || Ok(self.pods().get_opt(pod).await?.is_none())).await
    }

    /// How often kube-scheduler found no place for a pod.
    pub async fn rejections(&self) -> Result<f64> {
        let metrics = Metrics::parse(&self.scheduler.metrics().await?)?;
        Ok(metrics.sum("scheduler_schedule_attempts_total", &[("result", "unschedulable")]))
    }

    pub async fn until_rejections(&self, count: f64) -> Result<()> {
        until(&format!("{count} rejections"), async || Ok(self.rejections().await? >= count)).await
    }

    fn pods(&self) -> Api<Pod> {
        Api::default_namespaced(self.client.clone())
    }
}
