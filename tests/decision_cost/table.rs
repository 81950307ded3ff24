//! The table that is printed.

use std::time::Duration;

/// What one case cost.
pub struct Row {
    pub case: String,
    pub nodes: usize,
    pub members: usize,
    /// Everything that was asked about one member, member by member.
    pub times: Vec<Duration>,
    /// The longest single call.
    pub longest_call: Duration,
    /// How much more memory than before the first call was in use at the most.
    pub grown: usize,
    pub outcome: &'static str,
}

impl Row {
    pub fn mean(&self) -> Duration {
        let count = u32::try_from(self.times.len().max(1)).expect("few");
        self.times.iter().sum::<Duration>() / count
    }
}

pub fn print(rows: &[Row]) {
    println!(
        "| case | nodes | members | asked | mean per member | longest member | longest call | memory | outcome |"
    );
    println!("|---|---|---|---|---|---|---|---|---|");
    for row in rows {
        let longest = row.times.iter().max().copied().unwrap_or_default();
        println!(
            "| {} | {} | {} | {} | {:.1?} | {:.1?} | {:.1?} | +{} MiB | {} |",
            row.case,
            row.nodes,
            row.members,
            row.times.len(),
            row.mean(),
            longest,
            row.longest_call,
            row.grown >> 20,
            row.outcome,
        );
    }
}
