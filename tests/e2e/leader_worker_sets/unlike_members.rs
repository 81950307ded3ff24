//! A leader that asks for other things than its workers.

use anyhow::{Result, ensure};

use super::racks::{REQUIRED, rack_of};
use super::stage::Stage;
use crate::fixtures::{RACK, leader_worker_set};
use crate::preemption::setup::Setup;

const GPU: &str = "nvidia.com/gpu";

#[tokio::test]
async fn a_leader_goes_only_where_its_workers_fit() -> Result<()> {
    // Far more processors than elsewhere, which kube-scheduler likes; and two workers would even fit.
    let poor = [
        rack_of("poor-a", 2, |node| node.cpu("64").rack("poor").resource(GPU, "8")),
        rack_of("poor-b", 4, |node| node.cpu("64").rack("poor")),
    ];
    let rich = rack_of("rich", 3, |node| node.cpu("8").resource(GPU, "8"));
    Stage::play(&Setup::shipped(""), [poor.concat(), rich].concat(), async |stage| {
        let set = leader_worker_set("llm")
            .size(4)
            .leaders(|pod| pod.cpu("1").annotation(REQUIRED, RACK))
            .pods(|pod| pod.devices(GPU, "8").annotation(REQUIRED, RACK));
        stage.arrive(set.build()).await?;
        let groups = stage.until("a whole group", |groups| groups.are_whole(1, 4)).await?;
        let racks = groups.per_rack()?;
        ensure!(racks.contains_key("rich"), "the group is in {racks:?}");
        Ok(())
    })
    .await
}
