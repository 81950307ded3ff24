//! A pod that matters more than a group may take its slots, but not while there is room elsewhere.

use anyhow::{Result, ensure};

use super::members::member_of;
use super::stage::{Stage, until_slots};
use crate::fixtures::{create, node, pod, pods, priority_class};
use crate::leader_worker_sets::racks::rack_of;

const EMPTY: usize = 20;
const IMPORTANT: usize = 5;

#[tokio::test]
async fn a_more_important_pod_does_not_take_the_last_slot_while_other_nodes_are_empty() -> Result<()> {
    // The nodes of the rack are much larger, which kube-scheduler likes.
    let rack = rack_of("large", 2, |node| node.cpu("64"));
    let others = (0..EMPTY).map(|at| node(&format!("empty-{at}")).cpu("16").zone("zone-a").build());
    Stage::play("", rack.into_iter().chain(others).collect(), async |stage| {
        create(&stage.client, &priority_class("somewhat-higher", 1)).await?;
        let berth = stage.start_berth().await?;
        stage.let_lead(&berth).await?;
        stage.arrive(&[member_of("llm", 0, 2).cpu("60").build()]).await?;
        stage.in_place("llm", 1).await?;
        until_slots(&berth, 1.0).await?;

        // One would fit beside the member that is in place, and none beside the one to come.
        let important =
            |name, cpu| pods(name, IMPORTANT, |pod| pod.cpu(cpu).priority_class("somewhat-higher"));
        stage.arrive(&important("important", "8")).await?;
        for at in 0..IMPORTANT {
            let node = stage.landed(&format!("important-{at}")).await?;
            ensure!(node.starts_with("empty"), "important-{at} is on {node}");
        }
        stage.arrive(&[member_of("llm", 1, 2).cpu("60").build()]).await?;
        stage.in_place("llm", 2).await.map(drop)
    })
    .await
}
