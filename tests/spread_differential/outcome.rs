//! What both sides say, in one form.

use std::fmt;

use crate::case::{Case, is_terminating};
use crate::reference::{Answer, Status};

/// What becomes of one candidate.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    Passes,
    Failed,
    Unresolvable,
}

/// What is said of every candidate, in their order.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Outcome {
    pub verdicts: Vec<Verdict>,
    pub scores: Vec<i64>,
    /// Where there are victims: whether the pod fits once they are gone.
    pub fits_after: Vec<Option<bool>>,
}

impl Outcome {
    /// What Berth has to say where kube-scheduler's plugin gives this answer.
    pub fn expected(case: &Case, answer: &Answer) -> Self {
        let candidates = case.candidates();
        let count = candidates.len();
        let victims = case.victims();
        let mut outcome = Self {
            verdicts: vec![Verdict::Passes; count],
            scores: vec![0; count],
            fits_after: candidates.iter().map(|name| victims.contains_key(name).then_some(true)).collect(),
        };
        if case.has_own_constraints() {
            return outcome;
        }
        for (verdict, status) in outcome.verdicts.iter_mut().zip(&answer.filter.nodes) {
            *verdict = Verdict::of(status);
        }
        for (fits, name) in outcome.fits_after.iter_mut().zip(candidates) {
            *fits = victims.get(name).map(|uids| fits_after(case, answer, name, uids));
        }
        for (score, normalized) in outcome.scores.iter_mut().zip(&answer.score.normalized) {
            *score = normalized / 10;
        }
        outcome
    }
}

/// A pod that is terminating is not counted, but kube-scheduler's dry run takes it off the count all the same if it is
/// a victim, and may see room where filter will find none. Berth is held to what filter will say; without such a victim
/// that has to be the same.
fn fits_after(case: &Case, answer: &Answer, node: &str, victims: &[&str]) -> bool {
    let (dry_run, afterwards) = (&answer.dry_run[node], &answer.afterwards[node]);
    let miscounts = victims.iter().any(|uid| is_terminating(case.pod_of(uid)));
    assert!(
        miscounts || dry_run == afterwards,
        "case {}, {node}: a dry run says {dry_run:?}, filter will say {afterwards:?}",
        case.id()
    );
    Verdict::of(afterwards) == Verdict::Passes
}

impl Verdict {
    pub fn of(status: &Status) -> Self {
        match &*status.code {
            "Success" => Verdict::Passes,
            "Unschedulable" => Verdict::Failed,
            "UnschedulableAndUnresolvable" => Verdict::Unresolvable,
            code => panic!("a filter answers {code}"),
        }
    }
}

impl fmt::Display for Verdict {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Verdict::Passes => "passes",
            Verdict::Failed => "failed",
            Verdict::Unresolvable => "unresolvable",
        })
    }
}
