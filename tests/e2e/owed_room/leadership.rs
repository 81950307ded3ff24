//! Two Berths, and leadership that goes from one to the other and back.

use anyhow::{Result, ensure};
use k8s_openapi::api::core::v1::Pod;
use serde_json::{Value, json};

use super::members::{members, singles};
use super::stage::{Stage, slots, until_slots};
use crate::berth_process::BerthProcess;
use crate::http_get::post;
use crate::leader_worker_sets::racks::rack;
use crate::progress::report;

const SIZE: usize = 3;

/// A filter call that nobody meant for this Berth, with the nodes that nobody is on yet. Returns how many of them pass.
async fn stray_call(stage: &Stage<'_>, berth: &BerthProcess, pod: &Pod) -> Result<usize> {
    let name = pod.metadata.name.as_deref().unwrap_or_default();
    let pod = stage.pods().get(name).await?;
    let placements = stage.watch.placements();
    let nodes = ["a", "b"].iter().flat_map(|rack| (0..SIZE).map(move |at| format!("{rack}-{at}")));
    let free: Vec<_> = nodes.filter(|node| !placements.values().any(|taken| taken == node)).collect();
    ensure!(!free.is_empty(), "every node is taken");
    let body = json!({"Pod": pod, "NodeNames": free}).to_string();
    let (status, answer) = post(berth.verbs_address(), "/filter", &body).await?;
    ensure!(status == 200, "filter answers {status}: {answer}");
    let answer: Value = serde_json::from_str(&answer)?;
    Ok(answer["NodeNames"].as_array().map_or(0, Vec::len))
}

#[tokio::test]
async fn leadership_that_comes_back_finds_all_that_is_owed() -> Result<()> {
    Stage::play("", [rack("a", SIZE), rack("b", SIZE)].concat(), async |stage| {
        let (first, second) = (stage.start_berth().await?, stage.start_berth().await?);
        let waiting = singles("single", 4);

        // One group begins under each of them, and each is asked something while it does not lead.
        stage.let_lead(&first).await?;
        stage.arrive(&members("red", 0..1, SIZE)).await?;
        let red = stage.in_place("red", 1).await?;
        until_slots(&first, 2.0).await?;
        until_slots(&second, 2.0).await?;

        stage.let_lead(&second).await?;
        stage.arrive(&members("blue", 0..1, SIZE)).await?;
        let blue = stage.in_place("blue", 1).await?;
        ensure!(red != blue, "there is no room for both in {red}");
        stage.arrive(&members("red", 1..2, SIZE)).await?;
        stage.in_place("red", 2).await?;
        for berth in [&first, &second] {
            until_slots(berth, 3.0).await?;
        }
        stage.arrive(&waiting).await?;
        stage.turned_away(&waiting).await?;
        let passing = stray_call(stage, &first, &waiting[0]).await?;
        ensure!(passing == 0, "the one that does not lead lets a pod onto {passing} nodes");

        // The first one leads again. Everybody who waits is tried anew.
        stage.let_lead(&first).await?;
        stage.until_rejections(4.0).await?;
        stage.ensure_unplaced(&waiting)?;
        let passing = stray_call(stage, &second, &waiting[0]).await?;
        ensure!(passing == 0, "the one that does not lead lets a pod onto {passing} nodes");
        for berth in [&first, &second] {
            ensure!(slots(berth).await? == 3.0, "slots were given away");
        }
        report("the first one leads again, and the single pods wait");
        stage.arrive(&members("blue", 1..SIZE, SIZE)).await?;
        stage.arrive(&members("red", 2..SIZE, SIZE)).await?;
        stage.in_place("red", SIZE).await?;
        stage.in_place("blue", SIZE).await?;
        stage.ensure_unplaced(&waiting)
    })
    .await
}
