//! A complete group loses a member, and its successor takes its time.

use anyhow::Result;

use super::members::{members, single, singles};
use super::stage::{Stage, until_slots};
use crate::leader_worker_sets::racks::rack;

const SIZE: usize = 3;

/// Pods that wait for just such a node are tried when the member goes, and have to leave it alone.
#[tokio::test]
async fn the_room_of_a_lost_member_is_kept_while_nobody_has_come_for_it() -> Result<()> {
    Stage::play("", rack("only", SIZE), async |stage| {
        let berth = stage.start_berth().await?;
        stage.let_lead(&berth).await?;
        stage.arrive(&members("llm", 0..SIZE, SIZE)).await?;
        stage.in_place("llm", SIZE).await?;
        let waiting = singles("single", 3);
        stage.arrive(&waiting).await?;
        stage.turned_away(&waiting).await?;

        let rejections = stage.rejections().await?;
        stage.destroy_pod("llm-1").await?;
        let kept = until_slots(&berth, 1.0).await;
        stage.ensure_unplaced(&waiting)?;
        kept?;
        let late = [single("late").build()];
        stage.arrive(&late).await?;
        stage.until_rejections(rejections + 4.0).await?;
        stage.ensure_unplaced(&waiting)?;
        stage.ensure_unplaced(&late)?;

        stage.arrive(&members("llm", 1..2, SIZE)).await?;
        stage.in_place("llm", SIZE).await.map(drop)
    })
    .await
}
