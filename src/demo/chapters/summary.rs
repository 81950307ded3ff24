//! What was shown, in three lines.

use super::Stage;

/// What each part of the story came to.
#[derive(Clone, Debug, Default)]
pub struct Shown {
    /// Of the groups.
    pub groups: String,
    /// Of the spreading.
    pub spreading: String,
    /// Of the eviction.
    pub preemption: String,
}

pub fn tell(stage: &mut Stage) -> anyhow::Result<()> {
    stage.screen.chapter("What was shown")?;
    let Shown { groups, spreading, preemption } = &stage.shown;
    let lines = [("groups", groups), ("spreading", spreading), ("eviction", preemption)];
    let lines = lines.map(|(part, came_to)| format!("  {part:10} {came_to}"));
    stage.screen.print(&lines)?;
    Ok(())
}
