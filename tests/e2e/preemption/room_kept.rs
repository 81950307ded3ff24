//! The room that victims leave is kept for the pod they left for, however slowly they go and whoever else comes.

use anyhow::{Result, ensure};
use k8s_openapi::api::core::v1::Pod;

use super::play::{play, until};
use super::scenario::{Cluster, Fate, Scenario, URGENT, ranked};
use super::setup::Setup;
use super::stage::Stage;
use crate::fixtures::node;
use crate::progress::report;

/// Two residents on each of three nodes, which fill it, and one on the fourth, which leaves a little room. A pod that
/// needs a whole node arrives; its victims go when the test lets them. Meanwhile comes a stream of pods of least
/// priority.
pub struct SlowVictims;

pub const FATE: Fate = Fate {
    evicted: &["left-0", "right-0"],
    landed: &[("urgent", "room-0"), ("small-0", "room-3"), ("small-1", "room-3")],
};

const FINALIZER: &str = "example.com/slow";
/// As large as one victim: each fits into the room that the first of two leaves.
const LARGE: usize = 48;
const STREAM_PRIORITY: i32 = 5;

impl Scenario for SlowVictims {
    fn cluster(&self) -> Cluster {
        let nodes = (0..4).map(|at| node(&format!("room-{at}")).cpu("4").build()).collect();
        let resident = |side: &str, at: i32, cpu: &str| {
            let pod = ranked(&format!("{side}-{at}"), 10 * (at + 1)).cpu(cpu);
            pod.on(&format!("room-{at}")).finalizer(FINALIZER).build()
        };
        let mut residents: Vec<Pod> =
            (0..3).flat_map(|at| ["left", "right"].map(|side| resident(side, at, "2"))).collect();
        residents.push(resident("only", 3, "3"));
        Cluster { nodes, residents, ..Cluster::default() }
    }

    async fn unfold(&self, stage: &Stage) -> Result<()> {
        stage.arrive(&[ranked("urgent", URGENT).cpu("4").build()]).await?;
        let room = stage.nominated("urgent").await?;
        let residents = stage.guests(&room);

        // Tried before the first victim goes, in the room of the first, and in that of both: nothing may come of it.
        let mut rejections = stage.rejections().await?;
        stage.arrive(&stream()).await?;
        for victim in ["left-0", "right-0"] {
            stage.until_rejections(rejections + LARGE as f64).await?;
            ensure!(stage.guests(&room) == residents, "the room is taken: {:?}", stage.guests(&room));
            rejections = stage.rejections().await?;
            stage.release(victim).await?;
            report(&format!("{victim} has gone from {room}"));
        }
        let newcomers = || stage.guests(&room).split_off(residents.len());
        until("somebody in the room", async || Ok(!newcomers().is_empty())).await?;
        // Once more, now that it is taken.
        stage.until_rejections(rejections + LARGE as f64).await?;
        ensure!(newcomers() == ["urgent"], "came to {room}: {:?}", newcomers());
        Ok(())
    }
}

/// Only the small ones have a place, in the room that was left on the fourth node.
fn stream() -> Vec<Pod> {
    let large = (0..LARGE).map(|at| ranked(&format!("large-{at}"), STREAM_PRIORITY).cpu("2").build());
    let small = (0..2).map(|at| ranked(&format!("small-{at}"), STREAM_PRIORITY).cpu("500m").build());
    large.chain(small).collect()
}

#[tokio::test]
async fn a_stream_of_lesser_pods_does_not_take_the_room_of_slow_victims() -> Result<()> {
    let played = play(&Setup::shipped(""), &SlowVictims).await?;
    played.ending.ensure(&FATE)?;
    let bound = played.ending.places.keys().filter(|pod| pod.starts_with("large")).count();
    ensure!(bound == 0, "{bound} pods are bound that do not fit");
    let (kept, refused) = (played.nominated("kept")?, played.nominated("refused")?);
    ensure!(
        (kept, refused) == (1.0, 0.0),
        "the nominated node was kept {kept} times, refused {refused} times"
    );
    Ok(())
}
