//! A set that gets a new template: groups of the old and of the new revision side by side.

use std::collections::BTreeSet;

use anyhow::{Result, ensure};
use kube::api::{Patch, PatchParams};
use serde_json::json;

use super::history::most_revisions;
use super::racks::{member, rack};
use super::stage::Stage;
use crate::fixtures::{LeaderWorkerSet, leader_worker_set};
use crate::preemption::setup::Setup;
use crate::progress::report;

const SIZE: usize = 4;

fn set(model: &str) -> LeaderWorkerSet {
    let pods = leader_worker_set("llm").replicas(3).size(4).surge(1);
    pods.pods(|pod| member(pod).environment("MODEL", model)).build()
}

#[tokio::test]
async fn every_group_of_the_new_revision_is_whole() -> Result<()> {
    // One rack more than there are groups, and a node more in each than a group needs.
    let racks = ["a", "b", "c", "d"].map(|name| rack(name, SIZE + 1)).concat();
    Stage::play(&Setup::shipped(""), racks, async |stage| {
        stage.arrive(set("small")).await?;
        let before = stage.until("three whole groups", |groups| groups.are_whole(3, SIZE)).await?;
        let old: BTreeSet<String> =
            before.0.values().flat_map(|group| group.revisions.iter().cloned()).collect();
        ensure!(old.len() == 1, "the groups are of {old:?}");

        let update = Patch::Merge(json!({"spec": set("large").spec}));
        stage.sets().patch("llm", &PatchParams::default(), &update).await?;
        report("the set has a new template");
        let after = stage
            .until("three whole groups of the new revision", |groups| {
                let renewed = groups.0.values().all(|group| group.revisions.is_disjoint(&old));
                renewed && groups.are_whole(3, SIZE)
            })
            .await?;
        let new: BTreeSet<&String> = after.0.values().flat_map(|group| &group.revisions).collect();
        ensure!(new.len() == 1, "the groups are of {new:?}");
        let most = most_revisions(&stage.watch.transitions());
        ensure!(most == 2, "{most} revisions ran side by side");
        Ok(())
    })
    .await
}
