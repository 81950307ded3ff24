//! Where a group has to go in any case, it is the one that costs the fewest pods.

use anyhow::Result;

use super::groups::member;
use super::play::play;
use super::scenario::{Cluster, Fate, Scenario, URGENT, ranked};
use super::setup::Setup;
use super::stage::Stage;
use crate::fixtures::node;

/// A group of two shares one node; of a group of four, one member is in reach, and the others on nodes that are
/// closed to newcomers. One victim looks cheaper than two.
struct SmallAndLarge;

impl Scenario for SmallAndLarge {
    fn cluster(&self) -> Cluster {
        let own = |at: i32| format!("own-{at}");
        let mut nodes = vec![node("shared").cpu("4").build(), node(&own(0)).cpu("4").build()];
        nodes.extend(
            (1..4).map(|at| node(&own(at)).cpu("4").taint("example.com/closed", "", "NoSchedule").build()),
        );
        let small = (0..2).map(|at| member("small", at, 20).cpu("2").on("shared").build());
        let large = (0..4).map(|at| member("large", at, 20).cpu("4").on(&own(at)).build());
        Cluster { nodes, residents: small.chain(large).collect(), ..Cluster::default() }
    }

    async fn unfold(&self, stage: &Stage) -> Result<()> {
        stage.arrive(&[ranked("urgent", URGENT).cpu("4").build()]).await?;
        stage.landed("urgent").await.map(drop)
    }
}

#[tokio::test]
async fn two_pods_are_lost_rather_than_four() -> Result<()> {
    let played = play(&Setup::shipped(""), &SmallAndLarge).await?;
    played.ending.ensure(&Fate { evicted: &["small-0", "small-1"], landed: &[("urgent", "shared")] })?;
    played.ensure_candidates("enforce", &[("kept", 1.0), ("outranked", 1.0)])
}

#[tokio::test]
async fn berth_decides_only_as_far_as_it_is_told() -> Result<()> {
    let played = play(&Setup::shipped("preemption: {decideUpTo: HighestPriority}\n"), &SmallAndLarge).await?;
    played.ending.ensure(&Fate { evicted: &["large-0"], landed: &[("urgent", "own-0")] })?;
    played.ensure_candidates("enforce", &[("kept", 2.0), ("outranked", 0.0)])
}
