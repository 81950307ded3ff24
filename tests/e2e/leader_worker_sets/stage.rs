//! A scenario under way: the controllers and kube-scheduler at work, perhaps Berth beside them, and a record of what
//! they do.

use std::time::Duration;

use anyhow::{Context, Result, ensure};
use k8s_openapi::api::core::v1::{Node, Pod};
use kube::api::{DeleteParams, Patch, PatchParams};
use kube::{Api, Client};
use serde_json::json;
use tokio::time::{Instant, sleep};

use super::groups::{Groups, Racks};
use super::history;
use crate::berth_process::BerthProcess;
use crate::controlplane::{ControlPlane, Options, Scheduler};
use crate::fixtures::{BindingsWatch, LeaderWorkerSet, create, create_all};
use crate::preemption::setup::Setup;
use crate::progress::report;

const MINUTE: Duration = Duration::from_mins(1);
const POLL: Duration = Duration::from_millis(100);

/// The processes end with it.
pub struct Stage {
    pub client: Client,
    pub watch: BindingsWatch,
    pub racks: Racks,
    scheduler: Scheduler,
    berth: Option<BerthProcess>,
}

impl Stage {
    /// Plays a scenario on a cluster of these nodes. All there is to know about a pod is on record from the start.
    pub async fn play(
        setup: &Setup,
        nodes: Vec<Node>,
        scenario: impl AsyncFnOnce(&Stage) -> Result<()>,
    ) -> Result<()> {
        let options = Options { leader_worker_sets: true, ..Options::default() };
        ControlPlane::run(options, async |plane| {
            let started = Instant::now();
            let stage = Self::open(plane, setup, &nodes).await?;
            Box::pin(scenario(&stage)).await?;
            stage.watch.ensure_bound_once()?;
            report(&format!("played in {:.1?}", started.elapsed()));
            Ok(())
        })
        .await
    }

    async fn open(plane: &ControlPlane, setup: &Setup, nodes: &[Node]) -> Result<Self> {
        let client = plane.client();
        create_all(&client, nodes).await?;
        let watch = BindingsWatch::start(&client).await?;
        let (berth, scheduler) = setup.start(plane).await?;
        Ok(Self { client, watch, racks: Racks::of(nodes), scheduler, berth })
    }

    pub async fn arrive(&self, set: LeaderWorkerSet) -> Result<()> {
        create(&self.client, &set).await.map(drop)
    }

    pub fn sets(&self) -> Api<LeaderWorkerSet> {
        Api::default_namespaced(self.client.clone())
    }

    pub fn pods(&self) -> Api<Pod> {
        Api::default_namespaced(self.client.clone())
    }

    /// What there is of every group now.
    pub fn groups(&self) -> Groups {
        Groups::of(self.watch.pods(), &self.racks)
    }

    /// Waits until the groups fulfil a condition, and returns them as they were then. Fails at once when a group is
    /// torn apart: nothing puts it together again.
    pub async fn until(&self, goal: &str, reached: impl Fn(&Groups) -> bool) -> Result<Groups> {
        let over = |_: &BindingsWatch| self.ensure_never_apart().is_err() || reached(&self.groups());
        let wait = self.watch.wait_for(goal, MINUTE, over).await;
        let groups = self.groups();
        for (name, group) in &groups.0 {
            let racks = group.racks();
            report(&format!(
                "group {name}: {} bound in {racks:?}, {} pending",
                group.bound.len(),
                group.pending.len()
            ));
        }
        self.ensure_never_apart()?;
        wait.map(|()| groups)
    }

    /// Waits until nothing was bound or left for so long, and the condition holds, or the limit is over. Says since
    /// when nothing happened.
    pub async fn settle(&self, quiet: Duration, limit: Duration, done: impl Fn(&Groups) -> bool) -> Duration {
        let started = Instant::now();
        let mut changed = (started, self.watch.transitions().len());
        loop {
            sleep(POLL).await;
            let count = self.watch.transitions().len();
            if count != changed.1 {
                changed = (Instant::now(), count);
            }
            let silent = changed.0.elapsed();
            if silent >= quiet && done(&self.groups()) || started.elapsed() >= limit {
                return silent;
            }
        }
    }

    /// The longest time that any group was in part placed.
    pub fn longest_partial(&self, size: usize) -> (Duration, String) {
        history::longest_partial(&self.watch.transitions(), size, Instant::now())
    }

    /// At no time were members of one group in two racks.
    fn ensure_never_apart(&self) -> Result<()> {
        history::ensure_never_apart(&self.watch.transitions(), &self.racks)
    }

    /// As if a container had ended and were started again. Only of a pod that runs: when kwok lets it run, it writes anew
    /// how its containers are.
    pub async fn restart_container(&self, pod: &str) -> Result<()> {
        let started = Instant::now();
        loop {
            let status = self.pods().get(pod).await?.status.unwrap_or_default();
            if status.phase.as_deref() == Some("Running") {
                break;
            }
            ensure!(started.elapsed() < MINUTE, "{pod} does not run");
            sleep(POLL).await;
        }
        let status = json!({"name": "app", "image": "none", "imageID": "", "ready": true, "restartCount": 1,
            "state": {"running": {}}});
        let patch = Patch::Merge(json!({"status": {"containerStatuses": [status]}}));
        self.pods().patch_status(pod, &PatchParams::default(), &patch).await?;
        Ok(())
    }

    /// What Berth measured.
    pub async fn berth_metric(&self, name: &str, labels: &[(&str, &str)]) -> Result<f64> {
        self.berth.as_ref().context("Berth takes no part")?.metric_sum(name, labels).await
    }

    /// As if its kubelet were gone.
    pub async fn destroy_pod(&self, name: &str) -> Result<()> {
        self.pods().delete(name, &DeleteParams::default().grace_period(0)).await?;
        Ok(())
    }
}
