//! A member whose volume takes longer than anybody waits for it.

use anyhow::{Context, Result, ensure};
use k8s_openapi::api::core::v1::{PersistentVolume, PersistentVolumeClaim};
use kube::Api;

use super::members::{member_of, members, single};
use super::stage::{Stage, ended};
use crate::berth_process::BerthProcess;
use crate::fixtures::{NO_PROVISIONER, RACK, bind_claim, claim, create, create_volume, late_storage_class};
use crate::leader_worker_sets::racks::rack;
use crate::preemption::play::until;
use crate::progress::report;

const SETTINGS: &str = "server: {ledgerTtl: 3s}\nreplicaGroups: {reservationTtl: 3s}\n";

/// Waits until a node is chosen for the first member, and kube-scheduler waits for the volume of its claim.
async fn until_chosen(stage: &Stage<'_>) -> Result<String> {
    let mut node = None;
    until("a node for llm-0", async || {
        let claims: Api<PersistentVolumeClaim> = Api::default_namespaced(stage.client.clone());
        let annotations = claims.get("slow").await?.metadata.annotations.unwrap_or_default();
        let volumes: Api<PersistentVolume> = Api::all(stage.client.clone());
        let volume = volumes.get_opt("slow").await?.and_then(|volume| volume.spec?.claim_ref);
        let under_way = volume.is_some() || annotations.contains_key("volume.kubernetes.io/selected-node");
        node = stage.pods().get("llm-0").await?.status.and_then(|status| status.nominated_node_name);
        Ok(under_way && node.is_some())
    })
    .await?;
    node.context("no node")
}

/// Waits until nothing is kept for the group any more, and nobody remembers that its member is under way.
async fn until_given_up(berth: &BerthProcess) -> Result<()> {
    until("its room to be given up", async || Ok(ended(berth, "expired").await? >= 1.0)).await?;
    let ledger = || berth.metric_sum("berth_ledger_entries", &[]);
    until("the member to be given up", async || Ok(ledger().await? == 0.0)).await
}

async fn declined(berth: &BerthProcess) -> Result<f64> {
    berth.metric_sum("berth_bindings_total", &[("result", "declined")]).await
}

#[tokio::test]
async fn a_member_whose_volume_comes_too_late_joins_the_others_where_they_are() -> Result<()> {
    Stage::play(SETTINGS, [rack("a", 2), rack("b", 2)].concat(), async |stage| {
        create(&stage.client, &late_storage_class("late", NO_PROVISIONER)?).await?;
        create_volume(&stage.client, "slow", "late", None).await?;
        create(&stage.client, &claim("slow", "late")?).await?;
        let berth = stage.start_berth().await?;
        stage.let_lead(&berth).await?;
        stage.arrive(&[member_of("llm", 0, 2).claim("slow").build()]).await?;
        let first = until_chosen(stage).await?;
        until_given_up(&berth).await?;

        // Somebody takes the rest of that rack, and the others find room only in the other one.
        let rack = first.split('-').next().context("a rack")?.to_owned();
        stage.arrive(&[single("single").node_selector(RACK, &rack).build()]).await?;
        let taken = stage.landed("single").await?;
        report(&format!("llm-0 waits for {first}, single is on {taken}"));
        stage.arrive(&members("llm", 1..2, 2)).await?;
        let second = stage.in_place("llm", 1).await?;
        ensure!(second != rack, "the second member is in {second}");

        bind_claim(&stage.client, "slow", "slow").await?;
        let both = stage.in_place("llm", 2).await?;
        ensure!(both == second, "the group moved from {second} to {both}");
        ensure!(declined(&berth).await? >= 1.0, "the late bind call was not declined");
        Ok(())
    })
    .await
}

/// A node has been chosen for a volume that is still to be made: that is where the member will be.
#[tokio::test]
async fn others_join_a_member_whose_volume_takes_its_time() -> Result<()> {
    Stage::play(SETTINGS, [rack("small", 2), rack("large", 5)].concat(), async |stage| {
        create(&stage.client, &late_storage_class("late", "example.com/nobody")?).await?;
        create(&stage.client, &claim("slow", "late")?).await?;
        let berth = stage.start_berth().await?;
        stage.let_lead(&berth).await?;
        // The better fit has no room for both at first.
        stage.arrive(&[single("single").node_selector(RACK, "small").build()]).await?;
        stage.landed("single").await?;
        stage.arrive(&[member_of("llm", 0, 2).claim("slow").build()]).await?;
        let first = until_chosen(stage).await?;
        ensure!(first.starts_with("large"), "llm-0 waits for {first}");
        until_given_up(&berth).await?;
        stage.destroy_pod("single").await?;

        stage.arrive(&members("llm", 1..2, 2)).await?;
        let second = stage.in_place("llm", 1).await?;
        ensure!(second == "large", "the second member is in {second}");
        create_volume(&stage.client, "slow", "late", None).await?;
        bind_claim(&stage.client, "slow", "slow").await?;
        stage.in_place("llm", 2).await?;
        ensure!(declined(&berth).await? == 0.0, "a bind call was declined");
        Ok(())
    })
    .await
}
