//! How often the cases reach what they are made for.

mod contest;
mod spreading;

use crate::support::random::counts::Counts;
use crate::variants::Seen;

/// What is looked for, and in how many of a thousand cases at least.
type Row = (&'static str, usize, fn(&Seen<'_>) -> bool);

fn rows() -> impl Iterator<Item = Row> {
    spreading::ROWS.into_iter().chain(contest::ROWS)
}

pub fn counts() -> Counts {
    Counts::new(rows().map(|(name, least, _)| (name, least)))
}

pub fn count(counts: &mut Counts, seen: &Seen<'_>) {
    counts.count(rows().map(|(_, _, reaches)| reaches(seen)));
}
