//! Pods that a disruption budget protects are the last to go; the last, not never.

use anyhow::Result;

use super::play::play;
use super::scenario::{Cluster, Fate, Scenario, URGENT, ranked};
use super::setup::Setup;
use super::stage::Stage;
use crate::fixtures::{disruption_budget, node};

/// Four nodes, each filled by one pod. Two are protected, and have the lowest priorities: but for the budget they
/// would go first.
pub struct GuardedPods;

/// In the order of arrival: both loose pods, and then the lower-priority one of the guarded ones.
pub const FATE: Fate = Fate {
    evicted: &["loose-2", "loose-3", "guarded-0"],
    landed: &[
        ("urgent-0", "node-2"),
        ("urgent-1", "node-3"),
        ("urgent-2", "node-0"),
        ("guarded-1", "node-1"),
    ],
};

impl Scenario for GuardedPods {
    fn cluster(&self) -> Cluster {
        let resident = |name: &str, at: i32| {
            let pod = ranked(&format!("{name}-{at}"), 10 * (at + 1));
            pod.label("app", name).cpu("3").on(&format!("node-{at}")).build()
        };
        Cluster {
            nodes: (0..4).map(|at| node(&format!("node-{at}")).cpu("4").build()).collect(),
            budgets: vec![disruption_budget("guarded", 2)],
            residents: vec![
                resident("guarded", 0),
                resident("guarded", 1),
                resident("loose", 2),
                resident("loose", 3),
            ],
            ..Cluster::default()
        }
    }

    async fn unfold(&self, stage: &Stage) -> Result<()> {
        for name in ["urgent-0", "urgent-1", "urgent-2"] {
            stage.arrive(&[ranked(name, URGENT).cpu("3").build()]).await?;
            stage.landed(name).await?;
        }
        Ok(())
    }
}

#[tokio::test]
async fn pods_with_a_budget_go_last() -> Result<()> {
    let played = play(&Setup::shipped(""), &GuardedPods).await?;
    played.ending.ensure(&FATE)?;
    // Of four nodes, of three, and of two, one each was left to kube-scheduler.
    played.ensure_candidates("enforce", &[("kept", 3.0), ("outranked", 6.0), ("refused", 0.0)])
}
