//! A member whose volume takes longer than anybody waits for it.

use anyhow::{Context, Result, ensure};
use k8s_openapi::api::core::v1::PersistentVolume;
use kube::Api;

use super::members::{member_of, members, single};
use super::stage::{Stage, ended};
use crate::fixtures::{RACK, bind_claim, claim, create, create_volume, late_storage_class};
use crate::leader_worker_sets::racks::rack;
use crate::preemption::play::until;
use crate::progress::report;

const SETTINGS: &str = "server: {ledgerTtl: 3s}\nreplicaGroups: {reservationTtl: 3s}\n";

/// The node that kube-scheduler has chosen for a pod and waits with, for its volume.
async fn chosen_node(stage: &Stage<'_>, pod: &str) -> Result<String> {
    let mut node = None;
    until(&format!("a node for {pod}, and a volume under way"), async || {
        let volumes: Api<PersistentVolume> = Api::all(stage.client.clone());
        let taken = volumes.get("slow").await?.spec.is_some_and(|spec| spec.claim_ref.is_some());
        node = stage.pods().get(pod).await?.status.and_then(|status| status.nominated_node_name);
        Ok(taken && node.is_some())
    })
    .await?;
    node.context("no node")
}

#[tokio::test]
async fn a_member_whose_volume_comes_too_late_joins_the_others_where_they_are() -> Result<()> {
    Stage::play(SETTINGS, [rack("a", 2), rack("b", 2)].concat(), async |stage| {
        create(&stage.client, &late_storage_class("late")?).await?;
        create_volume(&stage.client, "slow", "late", None).await?;
        create(&stage.client, &claim("slow", "late")?).await?;
        let berth = stage.start_berth().await?;
        stage.let_lead(&berth).await?;

        stage.arrive(&[member_of("llm", 0, 2).claim("slow").build()]).await?;
        let first = chosen_node(stage, "llm-0").await?;
        let gone = || ended(&berth, "expired");
        until("its room to be given up", async || Ok(gone().await? >= 1.0)).await?;
        let ledger = || berth.metric_sum("berth_ledger_entries", &[]);
        until("the member to be given up", async || Ok(ledger().await? == 0.0)).await?;

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
        let declined = berth.metric_sum("berth_bindings_total", &[("result", "declined")]).await?;
        ensure!(declined >= 1.0, "the late bind call was not declined");
        Ok(())
    })
    .await
}
