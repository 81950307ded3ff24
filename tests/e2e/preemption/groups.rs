//! A member of a replica group stands for the whole group: evicting it restarts all.

use anyhow::Result;

use super::play::play;
use super::scenario::{Cluster, Fate, Scenario, URGENT, ranked};
use super::setup::Setup;
use super::stage::Stage;
use crate::fixtures::{PodBuilder, node};

/// Four nodes hold a member each of one group; two hold single pods, of higher priority than the members.
pub struct MembersAndSingles;

/// With Berth: the lower-priority one of the single pods goes, and the group lives.
pub const SPARED: Fate = Fate {
    evicted: &["single-4"],
    landed: &[
        ("urgent", "node-4"),
        ("llm-0", "node-0"),
        ("llm-1", "node-1"),
        ("llm-2", "node-2"),
        ("llm-3", "node-3"),
    ],
};

/// By priority alone: the least member goes, and in a real cluster the other three would follow.
pub const HIT: Fate = Fate { evicted: &["llm-0"], landed: &[("urgent", "node-0"), ("single-4", "node-4")] };

/// Of six candidates, five that a better one outranks.
pub const CANDIDATES: [(&str, f64); 3] = [("kept", 1.0), ("outranked", 5.0), ("refused", 0.0)];

impl Scenario for MembersAndSingles {
    fn cluster(&self) -> Cluster {
        let place = |pod: PodBuilder, at: i32| pod.cpu("3").on(&format!("node-{at}")).build();
        let members = (0..4).map(|at| place(member("llm", at, 10 + at), at));
        let singles =
            [(4, 20), (5, 30)].map(|(at, priority)| place(ranked(&format!("single-{at}"), priority), at));
        Cluster {
            nodes: (0..6).map(|at| node(&format!("node-{at}")).cpu("4").build()).collect(),
            residents: members.chain(singles).collect(),
            ..Cluster::default()
        }
    }

    async fn unfold(&self, stage: &Stage) -> Result<()> {
        stage.arrive(&[ranked("urgent", URGENT).cpu("3").build()]).await?;
        stage.landed("urgent").await.map(drop)
    }
}

/// A pod as a `LeaderWorkerSet` of one group makes it.
pub fn member(set: &str, at: i32, priority: i32) -> PodBuilder {
    const LABELS: &str = "leaderworkerset.sigs.k8s.io";
    ranked(&format!("{set}-{at}"), priority)
        .label(&format!("{LABELS}/name"), set)
        .label(&format!("{LABELS}/group-index"), "0")
        .label(&format!("{LABELS}/worker-index"), &at.to_string())
}

#[tokio::test]
async fn a_single_pod_goes_rather_than_a_member_of_a_group() -> Result<()> {
    let played = play(&Setup::shipped(""), &MembersAndSingles).await?;
    played.ending.ensure(&SPARED)?;
    played.ensure_candidates("enforce", &CANDIDATES)
}

#[tokio::test]
async fn observing_lets_the_member_go_and_counts_what_would_have_been() -> Result<()> {
    let played = play(&Setup::shipped("preemption: {mode: Observe}\n"), &MembersAndSingles).await?;
    played.ending.ensure(&HIT)?;
    played.ensure_candidates("observe", &CANDIDATES)
}
