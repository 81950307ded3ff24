//! A member that is lost comes back to its group.

use anyhow::{Context, Result, ensure};
use k8s_openapi::api::core::v1::Node;
use kube::Api;
use kube::api::DeleteParams;

use super::groups::Groups;
use super::racks::{member, rack};
use super::stage::Stage;
use crate::fixtures::{LeaderWorkerSetBuilder, create_all, leader_worker_set, pods};
use crate::preemption::setup::Setup;
use crate::progress::report;

const SIZE: usize = 4;
const VICTIM: &str = "llm-0-2";

fn set() -> LeaderWorkerSetBuilder {
    leader_worker_set("llm").size(4).pods(member)
}

/// The other rack is as large and stands empty, which kube-scheduler likes.
fn racks() -> Vec<Node> {
    [rack("a", 5), rack("b", 5)].concat()
}

fn rack_of_group(groups: &Groups) -> Result<String> {
    let racks = groups.get("llm/0")?.racks();
    racks.first().map(|rack| (*rack).to_owned()).context("the group is nowhere")
}

/// Takes away a worker together with its node.
async fn lose_a_node(stage: &Stage) -> Result<()> {
    let node = stage.watch.node_of(&format!("default/{VICTIM}")).context("no node")?;
    report(&format!("{node} is lost, and {VICTIM} with it"));
    Api::<Node>::all(stage.client.clone()).delete(&node, &DeleteParams::default()).await?;
    stage.destroy_pod(VICTIM).await
}

/// How often a pod of a group was placed.
fn placements(stage: &Stage) -> usize {
    stage.watch.transitions().iter().filter(|transition| transition.to.is_some()).count()
}

#[tokio::test]
async fn a_lost_worker_comes_back_into_the_rack_of_its_group() -> Result<()> {
    Stage::play(&Setup::shipped(""), racks(), async |stage| {
        stage.arrive(set().members_restart_alone().build()).await?;
        let before = stage.until("a whole group", |groups| groups.are_whole(1, SIZE)).await?;
        lose_a_node(stage).await?;
        let again = |groups: &Groups| groups.are_whole(1, SIZE) && placements(stage) == SIZE + 1;
        let after = stage.until("the worker to come back", again).await?;
        let racks = [rack_of_group(&before)?, rack_of_group(&after)?];
        ensure!(racks[0] == racks[1], "the group moved: {racks:?}");
        Ok(())
    })
    .await
}

/// Pods that wait for just such a node get it only if the group does not come for it.
#[tokio::test]
async fn the_room_of_a_lost_worker_is_not_taken_before_its_successor_exists() -> Result<()> {
    let racks = [rack("a", 4), rack("b", 1)].concat();
    Stage::play(&Setup::shipped(""), racks, async |stage| {
        stage.arrive(set().members_restart_alone().build()).await?;
        stage.until("a whole group", |groups| groups.are_whole(1, SIZE)).await?;
        create_all(&stage.client, &pods("single", 5, |pod| pod.cpu("4"))).await?;
        stage.until("a single pod to run", |_| placements(stage) == SIZE + 1).await?;
        stage.destroy_pod(VICTIM).await?;
        let again = |groups: &Groups| groups.are_whole(1, SIZE) && placements(stage) == SIZE + 2;
        stage.until("the worker to come back", again).await?;
        Ok(())
    })
    .await
}

/// By default a container that restarts makes the controller begin the whole group anew, under the same name.
#[tokio::test]
async fn a_group_that_starts_anew_is_whole_again() -> Result<()> {
    Stage::play(&Setup::shipped(""), racks(), async |stage| {
        stage.arrive(set().build()).await?;
        stage.until("a whole group", |groups| groups.are_whole(1, SIZE)).await?;
        stage.restart_container(VICTIM).await?;
        let again = |groups: &Groups| groups.are_whole(1, SIZE) && placements(stage) >= 2 * SIZE;
        stage.until("the group to start anew", again).await?;
        Ok(())
    })
    .await
}
