//! Room is kept for a group that never comes, and others wait for it. When it is given up, they hear of it.

use std::time::{Duration, Instant};

use anyhow::{Result, ensure};

use super::members::{members, singles};
use super::stage::{Stage, ended, until_slots};
use crate::leader_worker_sets::racks::rack;
use crate::preemption::play::until;
use crate::progress::report;

const SETTINGS: &str = "replicaGroups: {reservationTtl: 15s}\n";
/// kube-scheduler tries a pod that it was told about within 10 seconds, its longest backoff.
const SOON: Duration = Duration::from_secs(15);

#[tokio::test]
async fn who_waits_for_reserved_room_gets_it_soon_after_it_is_given_up() -> Result<()> {
    Stage::play(SETTINGS, rack("only", 2), async |stage| {
        let berth = stage.start_berth().await?;
        stage.let_lead(&berth).await?;
        stage.arrive(&members("llm", 0..1, 2)).await?;
        stage.in_place("llm", 1).await?;
        until_slots(&berth, 1.0).await?;
        let waiting = singles("single", 1);
        stage.arrive(&waiting).await?;
        stage.turned_away(&waiting).await?;

        until("the reservation to expire", async || Ok(ended(&berth, "expired").await? >= 1.0)).await?;
        let expired = Instant::now();
        stage.ensure_unplaced(&waiting)?;
        stage.landed("single-0").await?;
        report(&format!("placed {:.1?} after the reservation expired", expired.elapsed()));
        ensure!(expired.elapsed() < SOON, "placed only {:.1?} after the room was free", expired.elapsed());
        Ok(())
    })
    .await
}
