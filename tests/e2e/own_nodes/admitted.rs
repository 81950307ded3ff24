//! What pods get when they are created.

use anyhow::{Result, ensure};
use k8s_openapi::api::core::v1::{Namespace, Pod};
use kube::ResourceExt;
use kube::api::{Api, Patch, PatchParams};
use serde_json::json;

use super::bed::{Bed, POOL, asking, exclusive, node_group, selector, toleration};
use crate::fixtures::{LeaderWorkerSet, create, leader_worker_set, node, pod};

/// The file that Berth ships: two replicas of a leader and two workers.
const EXAMPLE: &str = include_str!("../../../deploy/examples/node-group-per-replica.yaml");

#[tokio::test]
async fn leader_and_workers_of_the_example_get_selector_and_toleration_of_their_leader() -> Result<()> {
    let nodes = [node_group("serve-0", "r0", 3), node_group("serve-1", "r1", 3)].concat();
    Bed::play(nodes, "", async |bed| {
        let mut set: LeaderWorkerSet = serde_saphyr::from_str(EXAMPLE)?;
        set.metadata.namespace = Some("default".to_owned());
        create(&bed.client, &set).await?;
        let pods = bed.until_created(6).await?;
        for pod in &pods {
            let name = pod.name_any();
            let leader = if name.starts_with("serve-0") { "serve-0" } else { "serve-1" };
            ensure!(selector(pod) == Some(leader), "{name}: {:?}", selector(pod));
            ensure!(toleration(pod) == [(leader, "NoSchedule")], "{name}: {:?}", toleration(pod));
        }
        bed.watch.wait_until_bound(6, super::bed::MINUTE).await?;
        for (pod, node) in bed.placements() {
            ensure!(node[..7] == pod[..7], "{pod} is on {node}");
        }
        Ok(())
    })
    .await
}

#[tokio::test]
async fn what_is_wrong_is_refused_and_who_does_not_ask_is_not_held_up() -> Result<()> {
    let sections = "replicaGroups: {uniqueNodes: [{replicaUniqueNodeSelector: ruled.example/nodes}]}\n";
    Bed::play(vec![node("n").build()], sections, async |bed| {
        let asks = |name: &str| {
            let asks = pod(name).annotation("berth.dev/group", "g");
            asks.annotation("berth.dev/replicaUniqueNodeSelector", POOL)
                .annotation("berth.dev/replicaUniqueTolerationKey", POOL)
        };
        let fine = asks("p").annotation("berth.dev/replicaUniqueTolerationEffect", "NoExecute");
        let made = bed.dry_run(&fine.clone().build()).await?;
        ensure!((selector(&made), toleration(&made)) == (Some("g"), vec![("g", "NoExecute")]));
        let mut unnamed = fine.clone().build();
        (unnamed.metadata.name, unnamed.metadata.generate_name) = (None, Some("made-up-".to_owned()));
        ensure!(selector(&bed.dry_run(&unnamed).await?) == Some("g"));

        let wrong = asks("p").annotation("berth.dev/replicaUniqueTolerationEffect", "Never").build();
        for (pod, part) in [
            (wrong, "berth.dev/replicaUniqueTolerationEffect must be one of"),
            (fine.clone().node_selector(POOL, "mine").build(), "spec.nodeSelector has"),
        ] {
            let refused = bed.dry_run(&pod).await;
            let Err(kube::Error::Api(status)) = refused else { anyhow::bail!("{part}: {refused:?}") };
            ensure!(
                status.code == 422 && status.message.contains(part),
                "{}: {}",
                status.code,
                status.message
            );
        }

        // A rule counts where the namespace has opted in.
        let ruled = |pod: &Pod| {
            let selector = pod.spec.as_ref().and_then(|spec| spec.node_selector.clone());
            selector.and_then(|selector| selector.get("ruled.example/nodes").cloned())
        };
        let member = pod("m").annotation("berth.dev/group", "g").build();
        ensure!(ruled(&bed.dry_run(&member).await?).is_none());
        let namespaces: Api<Namespace> = Api::all(bed.client.clone());
        let label = Patch::Merge(json!({"metadata": {"labels": {"berth.dev/unique-nodes": "enabled"}}}));
        namespaces.patch("default", &PatchParams::default(), &label).await?;
        let began = std::time::Instant::now();
        while ruled(&bed.dry_run(&member).await?).as_deref() != Some("g") {
            ensure!(began.elapsed() < super::bed::MINUTE, "the namespace has not opted in");
            tokio::time::sleep(std::time::Duration::from_millis(200)).await;
        }

        // While Berth is down, only those who need it wait for it.
        bed.berth.kill9()?;
        bed.dry_run(&pod("single").build()).await?;
        ensure!(bed.dry_run(&fine.build()).await.is_err(), "a pod without its selector could run anywhere");
        Ok(())
    })
    .await
}

#[tokio::test]
async fn two_replicas_never_share_a_node_group() -> Result<()> {
    // Two members and three nodes: there would be room for another leader.
    Bed::play(node_group("llm-0", "r0", 3), "", async |bed| {
        create(&bed.client, &asking(leader_worker_set("llm").replicas(2).size(2)).build()).await?;
        never_shared(bed).await
    })
    .await
}

#[tokio::test]
async fn two_replicas_never_share_a_node_group_with_exclusive_topology_either() -> Result<()> {
    Bed::play(node_group("llm-0", "r0", 3), "", async |bed| {
        let set = exclusive(asking(leader_worker_set("llm").replicas(2).size(2)));
        create(&bed.client, &set.build()).await?;
        never_shared(bed).await
    })
    .await
}

async fn never_shared(bed: &Bed) -> Result<()> {
    bed.watch.wait_until_bound(2, super::bed::MINUTE).await?;
    bed.until_told("llm-1", "AwaitsOwnNodes").await?;
    let placed = bed.placements();
    ensure!(placed.keys().all(|pod| pod.starts_with("llm-0")), "{placed:?}");
    bed.add_node_group("llm-1", "r1", 3).await?;
    bed.watch.wait_until_bound(4, super::bed::MINUTE).await?;
    for (pod, node) in bed.placements() {
        ensure!(node[..5] == pod[..5], "{pod} is on {node}");
    }
    Ok(())
}
