//! Groups for which there is just room, and a burst of single pods that would take some of it.

use std::time::Duration;

use anyhow::{Result, ensure};
use k8s_openapi::api::core::v1::Node;

use super::racks::{REQUIRED, rack_of};
use super::stage::Stage;
use crate::fixtures::{PodBuilder, RACK, create_all, leader_worker_set, pods};
use crate::preemption::setup::Setup;
use crate::progress::report;

const RACKS: usize = 6;
const GROUPS: usize = 12;
const SIZE: usize = 4;
const SINGLES: usize = 300;
/// Longer than kube-scheduler ever waits before it tries a pod again after something has changed.
const QUIET: Duration = Duration::from_secs(20);
/// How long Berth keeps room for a group, by default.
const EXPIRY: Duration = Duration::from_mins(1);

/// How it ended, and how it was on the way.
#[derive(Debug)]
struct Outcome {
    whole: usize,
    partial: usize,
    /// Groups of which nothing runs.
    waiting: usize,
    members: usize,
    singles: usize,
    longest_partial: Duration,
    quiet: Duration,
}

/// Two members and five single pods fill a node; so all groups fit, two to a rack, if only 120 of the single pods are there
/// first, and with all 300 of them spread evenly there is still room for one group in each rack.
fn cluster() -> Vec<Node> {
    let racks = (0..RACKS).map(|at| rack_of(&format!("rack-{at}"), 4, |node| node.cpu("8500m")));
    racks.flatten().collect()
}

/// Everybody at once. Watched until nothing happens any more, and for as long as `expected` does not hold.
async fn race(
    setup: &Setup,
    shape: impl FnOnce(PodBuilder) -> PodBuilder,
    expected: impl Fn(usize) -> bool,
) -> Result<Outcome> {
    let mut outcome = None;
    Stage::play(setup, cluster(), async |stage| {
        let set = leader_worker_set("llm").replicas(12).size(4).pods(|pod| shape(pod.cpu("4")));
        let singles = pods("single", SINGLES, |pod| pod.cpu("100m"));
        // The controller takes a moment to begin, and the single pods none.
        stage.arrive(set.build()).await?;
        stage.until("the first member", |groups| !groups.0.is_empty()).await?;
        create_all(&stage.client, &singles).await?;
        stage.until("all groups to exist", |groups| groups.0.len() == GROUPS).await?;
        let limit = 2 * EXPIRY;
        let quiet = stage.settle(QUIET, limit, |groups| expected(groups.partial(SIZE))).await;

        let groups = stage.groups();
        groups.per_rack()?;
        let members = groups.0.values().map(|group| group.bound.len()).sum();
        let (whole, partial) = (groups.whole(SIZE), groups.partial(SIZE));
        let (longest_partial, which) = stage.longest_partial(SIZE);
        report(&format!("group {which} was partial for {longest_partial:.1?}"));
        outcome = Some(Outcome {
            whole,
            partial,
            waiting: GROUPS - whole - partial,
            members,
            singles: stage.watch.bound() - members,
            longest_partial,
            quiet,
        });
        report(&format!("{outcome:?}"));
        Ok(())
    })
    .await?;
    outcome.ok_or_else(|| anyhow::anyhow!("no outcome"))
}

#[tokio::test]
async fn groups_that_race_with_single_pods_are_placed_whole() -> Result<()> {
    let shape = |pod: PodBuilder| pod.annotation(REQUIRED, RACK);
    let outcome = race(&Setup::shipped(""), shape, |partial| partial == 0).await?;
    ensure!(outcome.partial == 0, "groups are stuck in part: {outcome:?}");
    ensure!(outcome.longest_partial <= EXPIRY, "a group was partial for too long: {outcome:?}");
    ensure!(outcome.whole >= RACKS, "there was room for one group in each rack at least: {outcome:?}");
    Ok(())
}

/// What the test above prevents: as people do it without Berth, with an affinity to the pods of the same group.
#[tokio::test]
async fn without_berth_groups_wedge_each_other() -> Result<()> {
    let shape = |pod: PodBuilder| pod.beside_equals("leaderworkerset.sigs.k8s.io/group-key", RACK);
    let outcome = race(&Setup::alone()?, shape, |_| true).await?;
    ensure!(outcome.partial >= 1, "no group is stuck: {outcome:?}");
    ensure!(outcome.quiet >= QUIET, "something still happens: {outcome:?}");
    Ok(())
}
