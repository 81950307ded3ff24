//! Switched off, Berth changes nothing: the same evictions and the same places as by kube-scheduler alone.

use anyhow::{Result, ensure};

use super::budgets::{self, GuardedPods};
use super::groups::{self, MembersAndSingles};
use super::play::play;
use super::room_kept::{self, SlowVictims};
use super::scenario::{Fate, Scenario};
use super::setup::Setup;

async fn ensure_same_ending(scenario: &impl Scenario, fate: &Fate) -> Result<()> {
    let alone = play(&Setup::alone()?, scenario).await?.ending;
    let with_berth = play(&Setup::silent(), scenario).await?;
    alone.ensure(fate)?;
    ensure!(with_berth.ending == alone, "with Berth {:?}, alone {alone:?}", with_berth.ending);
    let metrics = with_berth.metrics()?;
    let decided = metrics.sum("berth_preemption_candidates_total", &[("mode", "enforce")])
        + metrics.sum("berth_nominated_node_total", &[]);
    ensure!(decided == 0.0, "Berth decided {decided} times");
    Ok(())
}

#[tokio::test]
async fn switched_off_berth_leaves_slow_victims_alone() -> Result<()> {
    ensure_same_ending(&SlowVictims, &room_kept::FATE).await
}

#[tokio::test]
async fn switched_off_berth_leaves_budgets_alone() -> Result<()> {
    ensure_same_ending(&GuardedPods, &budgets::FATE).await
}

#[tokio::test]
async fn switched_off_berth_leaves_groups_alone() -> Result<()> {
    ensure_same_ending(&MembersAndSingles, &groups::HIT).await
}
