//! What both sides say, in one form.

use std::fmt;

use crate::case::Case;
use crate::reference::Answer;

/// What becomes of one candidate.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    Passes,
    Failed,
    Unresolvable,
}

/// A verdict and a score for every candidate, in their order.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Outcome {
    pub verdicts: Vec<Verdict>,
    pub scores: Vec<i64>,
}

impl Outcome {
    /// What Berth has to say where kube-scheduler's plugin gives this answer.
    pub fn expected(case: &Case, answer: &Answer) -> Self {
        let count = case.candidates().len();
        let mut outcome = Self { verdicts: vec![Verdict::Passes; count], scores: vec![0; count] };
        if case.has_own_constraints() {
            return outcome;
        }
        for (verdict, status) in outcome.verdicts.iter_mut().zip(&answer.filter.nodes) {
            *verdict = match &*status.code {
                "Success" => Verdict::Passes,
                "Unschedulable" => Verdict::Failed,
                "UnschedulableAndUnresolvable" => Verdict::Unresolvable,
                code => panic!("case {}: a filter answers {code}", case.id()),
            };
        }
        for (score, normalized) in outcome.scores.iter_mut().zip(&answer.score.normalized) {
            *score = normalized / 10;
        }
        outcome
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
