//! Groups that want a rack each, in `LeaderWorkerSet`'s own words: the controller makes the workers only when the
//! leader has a node, and ties them to its rack.

use std::collections::BTreeMap;

use anyhow::{Result, ensure};

use super::racks::{rack, rack_of};
use super::stage::Stage;
use crate::fixtures::{RACK, leader_worker_set};
use crate::preemption::setup::Setup;

#[tokio::test]
async fn each_group_is_whole_and_alone_in_its_rack() -> Result<()> {
    // Three leaders would like it better in the small rack, whose nodes have something to spare, and two groups would
    // fit into the others.
    let small = rack_of("small", 3, |node| node.cpu("7"));
    let racks = [small, rack("a", 8), rack("b", 8), rack("c", 8)].concat();
    Stage::play(&Setup::shipped(""), racks, async |stage| {
        let set = leader_worker_set("llm")
            .annotation("leaderworkerset.sigs.k8s.io/exclusive-topology", RACK)
            .replicas(3)
            .size(4)
            .pods(|pod| pod.cpu("4"));
        stage.arrive(set.build()).await?;
        let groups = stage.until("three whole groups", |groups| groups.are_whole(3, 4)).await?;
        let racks = groups.per_rack()?;
        ensure!(racks == BTreeMap::from([("a", 1), ("b", 1), ("c", 1)]), "groups per rack: {racks:?}");
        Ok(())
    })
    .await
}
