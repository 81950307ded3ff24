//! Nobody is evicted for a place that a spreading limit of Berth's forbids.

use anyhow::{Result, ensure};
use k8s_openapi::api::core::v1::Node;

use super::play::play;
use super::scenario::{Cluster, Fate, Scenario, URGENT, ranked};
use super::setup::Setup;
use super::stage::Stage;
use crate::fixtures::{node, service};

/// As many in one zone as in the other, give or take one.
const LIMIT: &str = "topologySpread:
  defaultingType: List
  defaultConstraints:
    - {maxSkew: 1, topologyKey: topology.kubernetes.io/zone, whenUnsatisfiable: DoNotSchedule}
";

fn two_zones() -> Vec<Node> {
    ["a", "b"].map(|zone| node(&format!("node-{zone}")).zone(&format!("zone-{zone}")).cpu("4").build()).into()
}

/// The workload has a pod in zone a, so its next one has to go to zone b. Who looks at priorities alone evicts in a.
struct SecondReplica;

impl Scenario for SecondReplica {
    fn cluster(&self) -> Cluster {
        let first = ranked("web-0", URGENT).label("app", "web").cpu("1").on("node-a").build();
        let fillers = [("a", 10), ("b", 20)].map(|(zone, priority)| {
            ranked(&format!("filler-{zone}"), priority).cpu("3").on(&format!("node-{zone}")).build()
        });
        let residents = [first].into_iter().chain(fillers).collect();
        Cluster { nodes: two_zones(), services: vec![service("web")], residents, ..Cluster::default() }
    }

    async fn unfold(&self, stage: &Stage) -> Result<()> {
        stage.arrive(&[ranked("web-1", URGENT).label("app", "web").cpu("2").build()]).await?;
        stage.landed("web-1").await.map(drop)
    }
}

#[tokio::test]
async fn nobody_is_evicted_where_a_hard_default_forbids_the_pod() -> Result<()> {
    let played = play(&Setup::shipped(LIMIT), &SecondReplica).await?;
    played.ending.ensure(&Fate { evicted: &["filler-b"], landed: &[("web-1", "node-b")] })?;
    played.ensure_candidates("enforce", &[("kept", 1.0), ("refused", 1.0), ("outranked", 0.0)])
}

/// What the test above prevents.
#[tokio::test]
async fn without_the_preempt_verb_a_pod_is_evicted_in_vain() -> Result<()> {
    let played = play(&Setup::shipped(LIMIT).without_preempt_verb()?, &SecondReplica).await?;
    played.ending.ensure(&Fate { evicted: &["filler-a", "filler-b"], landed: &[("web-1", "node-b")] })?;
    ensure!(
        played.nominated("refused")? >= 1.0,
        "it was not Berth that kept the pod from the room made for it"
    );
    Ok(())
}

/// The pod that stands in the way is one of the workload itself, of low priority: when it is gone the limit allows its
/// place.
struct OwnVictim;

impl Scenario for OwnVictim {
    fn cluster(&self) -> Cluster {
        let old = ranked("web-old", 10).label("app", "web").cpu("3").on("node-a").build();
        let filler = ranked("filler-b", 20).cpu("3").on("node-b").build();
        let residents = vec![old, filler];
        Cluster { nodes: two_zones(), services: vec![service("web")], residents, ..Cluster::default() }
    }

    async fn unfold(&self, stage: &Stage) -> Result<()> {
        stage.arrive(&[ranked("web-new", URGENT).label("app", "web").cpu("2").build()]).await?;
        stage.landed("web-new").await.map(drop)
    }
}

#[tokio::test]
async fn victims_do_not_count_when_the_limit_is_asked_for() -> Result<()> {
    let played = play(&Setup::shipped(LIMIT), &OwnVictim).await?;
    played.ending.ensure(&Fate { evicted: &["web-old"], landed: &[("web-new", "node-a")] })?;
    played.ensure_candidates("enforce", &[("kept", 1.0), ("refused", 0.0), ("outranked", 1.0)])
}
