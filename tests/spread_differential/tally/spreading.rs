//! Filter and scores.

use super::Row;
use crate::reference::Answer;

pub const ROWS: [Row; 14] = [
    ("pod has constraints of its own", 30, |seen| seen.case.has_own_constraints()),
    ("filter skipped", 200, |seen| seen.answer.filter.prepared.is_skip()),
    ("filter asked, all pass", 80, |seen| {
        !seen.answer.filter.prepared.is_skip()
            && seen.answer.filter.nodes.iter().all(|node| node.code == "Success")
    }),
    ("filter: a node fails", 150, |seen| rejects(seen.answer, "Unschedulable")),
    ("filter: a node is unresolvable", 150, |seen| rejects(seen.answer, "UnschedulableAndUnresolvable")),
    ("filter: nodes of all three kinds", 30, |seen| {
        ["Success", "Unschedulable", "UnschedulableAndUnresolvable"]
            .iter()
            .all(|code| rejects(seen.answer, code))
    }),
    ("score skipped", 150, |seen| seen.answer.score.prepared.is_skip()),
    ("score asked", 400, |seen| !seen.answer.score.prepared.is_skip()),
    ("score: nodes differ", 250, |seen| differ(&seen.answer.score.normalized)),
    ("score: nodes differ after division", 250, |seen| {
        differ(&seen.answer.score.normalized.iter().map(|score| score / 10).collect::<Vec<_>>())
    }),
    ("score: more than two values", 150, |seen| distinct(&seen.answer.score.normalized) > 2),
    ("score: not only 0 and 100", 150, |seen| {
        seen.answer.score.normalized.iter().any(|score| score % 100 != 0)
    }),
    ("score: all ignored or all best", 50, |seen| {
        !seen.answer.score.prepared.is_skip() && !differ(&seen.answer.score.normalized)
    }),
    ("filter rejects and score differs", 50, |seen| {
        rejects(seen.answer, "Unschedulable") && differ(&seen.answer.score.normalized)
    }),
];

/// Whether filter says this of a node.
fn rejects(answer: &Answer, code: &str) -> bool {
    answer.filter.nodes.iter().any(|node| node.code == code)
}

fn distinct(scores: &[i64]) -> usize {
    let mut scores = scores.to_vec();
    scores.sort_unstable();
    scores.dedup();
    scores.len()
}

fn differ(scores: &[i64]) -> bool {
    distinct(scores) > 1
}
