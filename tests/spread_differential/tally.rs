//! How often the cases reach what they are made for.

use std::fmt;

use crate::case::Case;
use crate::reference::Answer;

/// Counts over many cases.
#[derive(Debug, Default)]
pub struct Tally {
    cases: usize,
    reached: [usize; ROWS.len()],
}

type Reached = fn(&Case, &Answer) -> bool;

/// What is looked for, and in how many of a hundred cases at least.
const ROWS: [(&str, usize, Reached); 14] = [
    ("pod has constraints of its own", 3, |case, _| case.has_own_constraints()),
    ("filter skipped", 20, |_, answer| answer.filter.prepared.is_skip()),
    ("filter asked, all pass", 8, |_, answer| {
        !answer.filter.prepared.is_skip() && answer.filter.nodes.iter().all(|node| node.code == "Success")
    }),
    ("filter: a node fails", 15, |_, answer| rejects(answer, "Unschedulable")),
    ("filter: a node is unresolvable", 15, |_, answer| rejects(answer, "UnschedulableAndUnresolvable")),
    ("filter: nodes of all three kinds", 3, |_, answer| {
        ["Success", "Unschedulable", "UnschedulableAndUnresolvable"].iter().all(|code| rejects(answer, code))
    }),
    ("score skipped", 15, |_, answer| answer.score.prepared.is_skip()),
    ("score asked", 40, |_, answer| !answer.score.prepared.is_skip()),
    ("score: nodes differ", 25, |_, answer| differ(&answer.score.normalized)),
    ("score: nodes differ after division", 25, |_, answer| {
        differ(&answer.score.normalized.iter().map(|score| score / 10).collect::<Vec<_>>())
    }),
    ("score: more than two values", 15, |_, answer| distinct(&answer.score.normalized) > 2),
    ("score: not only 0 and 100", 15, |_, answer| {
        answer.score.normalized.iter().any(|score| score % 100 != 0)
    }),
    ("score: all ignored or all best", 5, |_, answer| {
        !answer.score.prepared.is_skip() && !differ(&answer.score.normalized)
    }),
    ("filter rejects and score differs", 5, |_, answer| {
        rejects(answer, "Unschedulable") && differ(&answer.score.normalized)
    }),
];

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

impl Tally {
    pub fn count(&mut self, case: &Case, answer: &Answer) {
        self.cases += 1;
        for (reached, (_, _, reaches)) in self.reached.iter_mut().zip(ROWS) {
            *reached += usize::from(reaches(case, answer));
        }
    }

    /// Panics if something is reached too rarely.
    pub fn check(&self) {
        for (reached, (name, percent, _)) in self.reached.iter().zip(ROWS) {
            assert!(reached * 100 >= percent * self.cases, "{name}: in less than {percent} of 100 cases");
        }
    }
}

impl fmt::Display for Tally {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "of {} cases", self.cases)?;
        for (reached, (name, ..)) in self.reached.iter().zip(ROWS) {
            writeln!(f, "{:>5.1} % {name}", *reached as f64 * 100.0 / self.cases as f64)?;
        }
        Ok(())
    }
}
