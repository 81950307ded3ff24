//! The story of an autoscaler: nobody has room for the group, it says so, and a node group for it alone appears.

use anyhow::{Result, ensure};

use super::bed::{Bed, MINUTE, asking, exclusive, node_group};
use crate::fixtures::{create, create_all, leader_worker_set, node, pods};

#[tokio::test]
async fn a_group_waits_for_its_own_node_group_and_lands_on_it_as_a_whole() -> Result<()> {
    // Room enough for everybody, but nodes of nobody.
    let nodes: Vec<_> =
        (0..4).map(|at| node(&format!("shared-{at}")).rack("shared").cpu("8").build()).collect();
    Bed::play(nodes, "", async |bed| {
        create(&bed.client, &exclusive(asking(leader_worker_set("llm").size(3))).build()).await?;
        bed.until_told("llm-0", "AwaitsOwnNodes").await?;
        bed.until_measured("berth_groups_waiting", &[("reason", "AwaitsOwnNodes")], 1.0).await?;
        ensure!(bed.watch.bound() == 0, "{:?}", bed.placements());

        bed.add_node_group("llm-0", "r0", 3).await?;
        // Single pods would like that room, too.
        create_all(&bed.client, &pods("single", 4, |pod| pod.cpu("6"))).await?;
        bed.watch.wait_until_bound(3 + 4, MINUTE).await?;
        for (pod, node) in bed.placements() {
            let own = if pod.starts_with("llm-0") { "llm-0-node" } else { "shared" };
            ensure!(node.starts_with(own), "{pod} is on {node}");
        }
        bed.until_measured("berth_groups_waiting", &[("reason", "AwaitsOwnNodes")], 0.0).await
    })
    .await
}

#[tokio::test]
async fn a_node_group_that_is_too_small_is_not_begun() -> Result<()> {
    Bed::play(node_group("llm-0", "r0", 2), "", async |bed| {
        create(&bed.client, &exclusive(asking(leader_worker_set("llm").size(3))).build()).await?;
        bed.until_told("llm-0", "AwaitsOwnNodes").await?;
        ensure!(bed.watch.bound() == 0, "{:?}", bed.placements());
        let rest = node_group("llm-0", "r0", 3).split_off(2);
        create_all(&bed.client, &rest).await?;
        bed.watch.wait_until_bound(3, MINUTE).await
    })
    .await
}
