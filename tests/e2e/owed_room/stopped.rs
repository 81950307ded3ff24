//! Berth is stopped for longer than it keeps room, and goes on: a debugger, a suspended machine.

use std::time::Duration;

use anyhow::{Result, ensure};

use super::members::{members, single, singles};
use super::stage::{Stage, ended, until_slots};
use crate::leader_worker_sets::racks::rack;

/// Time enough, afterwards, for what has to happen before the room may be given up.
const SETTINGS: &str = "replicaGroups: {reservationTtl: 15s}\n";
const PAUSE: Duration = Duration::from_secs(17);

#[tokio::test]
async fn a_berth_that_was_stopped_gives_nothing_away_when_it_goes_on() -> Result<()> {
    Stage::play(SETTINGS, rack("only", 2), async |stage| {
        let mut berth = stage.start_berth().await?;
        stage.let_lead(&berth).await?;
        stage.arrive(&members("llm", 0..1, 2)).await?;
        stage.in_place("llm", 1).await?;
        until_slots(&berth, 1.0).await?;
        let waiting = singles("single", 2);
        stage.arrive(&waiting).await?;
        stage.turned_away(&waiting).await?;

        berth.process().signal("STOP")?;
        tokio::time::sleep(PAUSE).await;
        berth.process().signal("CONT")?;

        let late = [single("late").build()];
        stage.arrive(&late).await?;
        stage.turned_away(&late).await?;
        ensure!(ended(&berth, "expired").await? == 0.0, "the reservation has expired");
        stage.arrive(&members("llm", 1..2, 2)).await?;
        stage.in_place("llm", 2).await?;
        stage.ensure_unplaced(&waiting)?;
        stage.ensure_unplaced(&late)
    })
    .await
}
