//! What keeps workers from a rack without being a request of theirs: volumes, host ports, affinity, and defaults that the
//! namespace adds. The leader comes first and alone, and has to know.

use anyhow::{Result, ensure};
use k8s_openapi::api::core::v1::{LimitRange, Node};
use kube::api::DeleteParams;
use serde_json::json;

use super::racks::{member, rack_of};
use super::stage::Stage;
use crate::fixtures::{PodBuilder, RACK, create, create_all, create_bound_claim, leader_worker_set, pod};
use crate::preemption::setup::Setup;

const SIZE: usize = 3;
const PORT: i32 = 8080;

/// Room for a member on each node and something to spare. The first rack is the better fit: it has less left over.
fn racks() -> Vec<Node> {
    let near = rack_of("near", 4, |node| node.cpu("5").memory("8Gi"));
    let far = rack_of("far", 5, |node| node.cpu("5").memory("64Gi"));
    [near, far].concat()
}

/// The port is free on one node of the near rack, and on all but one of the far one; the cache runs in the far one.
async fn residents(stage: &Stage) -> Result<()> {
    let ports = ["near-0", "near-1", "near-2", "far-0"].iter();
    let mut pods: Vec<_> =
        ports.map(|node| pod(&format!("port-{node}")).cpu("100m").host_port(PORT).on(node).build()).collect();
    pods.push(pod("cache").label("app", "cache").cpu("100m").on("far-1").build());
    create_all(&stage.client, &pods).await
}

/// A set whose leader could be anywhere, and whose workers could not. It is gone again in the end.
async fn goes_to(
    stage: &Stage,
    name: &str,
    rack: &str,
    workers: impl FnOnce(PodBuilder) -> PodBuilder,
) -> Result<()> {
    let set = leader_worker_set(name)
        .size(3)
        .leaders(|pod| member(pod).memory("1Gi"))
        .pods(|pod| workers(member(pod)));
    stage.arrive(set.build()).await?;
    let goal = format!("the group of {name} to be whole");
    let groups = stage.until(&goal, |groups| groups.are_whole(1, SIZE)).await?;
    let racks = groups.per_rack()?;
    ensure!(racks.contains_key(rack), "the group of {name} is in {racks:?}, not in {rack}");
    stage.sets().delete(name, &DeleteParams::foreground()).await?;
    stage.until(&format!("{name} to be gone"), |groups| groups.0.is_empty()).await?;
    Ok(())
}

#[tokio::test]
async fn a_leader_goes_only_where_volumes_ports_affinity_and_defaults_let_its_workers_follow() -> Result<()> {
    Stage::play(&Setup::shipped(""), racks(), async |stage| {
        residents(stage).await?;
        goes_to(stage, "plain", "near", |pod| pod).await?;
        create_bound_claim(&stage.client, "weights", Some("far")).await?;
        goes_to(stage, "volume", "far", |pod| pod.claim("weights")).await?;
        goes_to(stage, "port", "far", |pod| pod.host_port(PORT)).await?;
        goes_to(stage, "affinity", "far", |pod| pod.beside("cache", RACK)).await?;
        let defaults: LimitRange = serde_json::from_value(json!({
            "metadata": {"name": "defaults", "namespace": "default"},
            "spec": {"limits": [{"type": "Container", "defaultRequest": {"memory": "16Gi"}}]},
        }))?;
        create(&stage.client, &defaults).await?;
        goes_to(stage, "defaults", "far", |pod| pod).await
    })
    .await
}
