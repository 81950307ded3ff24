//! Plays a scenario on a cluster of its own.

use std::time::{Duration, Instant};

use anyhow::{Context, Result, ensure};
use k8s_openapi::api::core::v1::Pod;
use k8s_openapi::api::policy::v1::PodDisruptionBudget;
use kube::api::ListParams;
use kube::{Api, Client};

use super::scenario::{Cluster, Ending, PRIORITIES, Scenario, class_of};
use super::setup::Setup;
use super::stage::Stage;
use crate::controlplane::{ControlPlane, Options};
use crate::fixtures::{create_all, priority_class};
use crate::metrics_text::Metrics;
use crate::progress::report;

const MINUTE: Duration = Duration::from_mins(1);
const POLL: Duration = Duration::from_millis(50);

/// One scenario, played to the end.
pub struct Played {
    pub ending: Ending,
    /// Berth's, if it took part.
    pub(super) metrics: Option<Metrics>,
}

impl Played {
    /// How often Berth was asked for a pod's nominated node, and it was `kept` or `refused`.
    pub fn nominated(&self, result: &str) -> Result<f64> {
        Ok(self.metrics()?.sum("berth_nominated_node_total", &[("result", result)]))
    }

    /// What Berth counted of the nodes that kube-scheduler proposed to evict on.
    pub fn ensure_candidates(&self, mode: &str, expected: &[(&str, f64)]) -> Result<()> {
        let metrics = self.metrics()?;
        // Added to zero, for the sum of nothing is -0.0.
        let counted = |outcome| {
            0.0 + metrics.sum("berth_preemption_candidates_total", &[("mode", mode), ("outcome", outcome)])
        };
        let found: Vec<_> = expected.iter().map(|(outcome, _)| (*outcome, counted(outcome))).collect();
        report(&format!("candidates, {mode}: {found:?}"));
        ensure!(found == expected, "candidates are {found:?}, not {expected:?}");
        Ok(())
    }

    pub fn metrics(&self) -> Result<&Metrics> {
        self.metrics.as_ref().context("Berth took no part")
    }
}

/// Scheduler and Berth are started when the cluster stands, so both know all of it.
pub async fn play(setup: &Setup, scenario: &impl Scenario) -> Result<Played> {
    let mut played = None;
    ControlPlane::run(Options::default(), async |plane| {
        build(&plane.client(), &scenario.cluster()).await?;
        let started = Instant::now();
        let stage = Stage::open(plane, setup).await?;
        scenario.unfold(&stage).await?;
        let end = stage.close().await?;
        report(&format!("evicted {:?} in {:.1?}", end.ending.evicted, started.elapsed()));
        played = Some(end);
        Ok(())
    })
    .await?;
    played.context("nothing was played")
}

/// Everybody runs, and budgets are counted, when it returns.
pub async fn build(client: &Client, cluster: &Cluster) -> Result<()> {
    let classes = PRIORITIES.map(|priority| priority_class(&class_of(priority), priority));
    create_all(client, &classes).await?;
    create_all(client, &cluster.nodes).await?;
    create_all(client, &cluster.services).await?;
    create_all(client, &cluster.residents).await?;
    create_all(client, &cluster.budgets).await?;
    until("the residents to run", async || {
        let pods: Api<Pod> = Api::default_namespaced(client.clone());
        let pods = pods.list(&ListParams::default()).await?;
        let phase = |pod: &Pod| pod.status.as_ref()?.phase.clone();
        Ok(pods.iter().all(|pod| phase(pod).as_deref() == Some("Running")))
    })
    .await?;
    // What a budget allows is computed by a controller, and kube-scheduler takes its word.
    until("the budgets to be counted", async || {
        let budgets: Api<PodDisruptionBudget> = Api::default_namespaced(client.clone());
        let budgets = budgets.list(&ListParams::default()).await?;
        let counted = |budget: &PodDisruptionBudget| {
            let status = budget.status.as_ref()?;
            status.observed_generation?;
            Some(status.current_healthy >= status.desired_healthy)
        };
        Ok(budgets.iter().all(|budget| counted(budget) == Some(true)))
    })
    .await
}

/// Asks until the answer is yes.
pub async fn until(goal: &str, mut reached: impl AsyncFnMut() -> Result<bool>) -> Result<()> {
    let started = Instant::now();
    while !reached().await? {
        ensure!(started.elapsed() < MINUTE, "waited {MINUTE:?} for {goal}");
        tokio::time::sleep(POLL).await;
    }
    Ok(())
}
