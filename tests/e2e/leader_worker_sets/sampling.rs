//! kube-scheduler looks at a sample of the nodes, and groups are whole all the same: their plan is written to their
//! members as nominated nodes.

use anyhow::{Result, ensure};
use k8s_openapi::api::core::v1::Node;

use super::racks::{member, rack};
use super::stage::Stage;
use crate::fixtures::leader_worker_set;
use crate::preemption::setup::Setup;
use crate::progress::report;

const RACKS: usize = 40;
const SIZE: usize = 8;
const GROUPS: usize = 6;

/// Of 320 nodes kube-scheduler looks at 150 or so at a time: the rest of a rack is mostly not among them.
fn cluster() -> Vec<Node> {
    (0..RACKS).flat_map(|at| rack(&format!("rack-{at}"), SIZE)).collect()
}

#[tokio::test]
async fn groups_are_whole_though_kube_scheduler_shows_a_sample() -> Result<()> {
    Stage::play(&Setup::shipped(""), cluster(), async |stage| {
        stage.arrive(leader_worker_set("llm").replicas(6).size(8).pods(member).build()).await?;
        let whole = stage.until("six whole groups", |groups| groups.are_whole(GROUPS, SIZE)).await?;
        whole.per_rack()?;
        let written = stage.berth_metric("berth_nominations_total", &[("result", "written")]).await?;
        let failed = stage.berth_metric("berth_nominations_total", &[("result", "failed")]).await?;
        report(&format!("{written} nominations were written, {failed} failed"));
        ensure!(written > 0.0 && failed == 0.0, "{written} nominations written, {failed} failed");
        Ok(())
    })
    .await
}
