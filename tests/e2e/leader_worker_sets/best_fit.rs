//! Each group goes into one rack, and large racks stay whole for as long as small ones do.

use std::collections::BTreeMap;

use anyhow::{Result, ensure};

use super::racks::{member, rack};
use super::stage::Stage;
use crate::fixtures::leader_worker_set;
use crate::preemption::setup::Setup;

#[tokio::test]
async fn groups_fill_the_racks_that_fit_best() -> Result<()> {
    let racks = [rack("one", 1), rack("three", 3), rack("four", 4), rack("nine", 9)].concat();
    Stage::play(&Setup::shipped(""), racks, async |stage| {
        stage.arrive(leader_worker_set("llm").replicas(3).size(4).pods(member).build()).await?;
        let groups = stage.until("three whole groups", |groups| groups.are_whole(3, 4)).await?;
        let racks = groups.per_rack()?;
        ensure!(racks == BTreeMap::from([("four", 1), ("nine", 2)]), "groups per rack: {racks:?}");
        Ok(())
    })
    .await
}
