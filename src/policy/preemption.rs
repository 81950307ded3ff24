//! Preemption: which of kube-scheduler's candidates are worth an eviction.
//!
//! kube-scheduler finds candidates, nodes on which the pod would fit once some victims are gone, without asking anybody
//! what it will be told afterwards. Here each of them is given one [`Fate`]:
//!
//! ```text
//!   no victims                                 empty      passes: there is nothing to weigh
//!   a victim, or the node, is not known here   doubtful   passes: kube-scheduler knows better
//!   Berth would refuse the pod all the same    refused    dropped: the eviction would be in vain
//!   another candidate costs less               outranked  dropped
//!   none does                                  kept       passes
//! ```
//!
//! Those that pass go back as they came: same victims, same order, same count of violated budgets.

mod cost;
mod victims;

pub use self::cost::{Cost, Rank};
pub use self::victims::{Candidate, Victims};
use super::Question;
use crate::config::Criterion;
use crate::decision::Decision;

/// The name in logs.
pub const NAME: &str = "preemption";

/// What becomes of a candidate.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fate {
    /// Among the best.
    Kept,
    /// Berth's own filter would still refuse the pod there.
    Refused,
    /// Another candidate costs less.
    Outranked,
    /// Something about it is not known, or no longer as kube-scheduler sees it.
    Undecided,
    /// Nobody has to leave.
    Empty,
}

impl Fate {
    /// Every fate, for metrics that exist from the start.
    pub const ALL: [Fate; 5] = [Fate::Kept, Fate::Refused, Fate::Outranked, Fate::Undecided, Fate::Empty];

    /// The label in metrics.
    pub const fn label(self) -> &'static str {
        match self {
            Fate::Kept => "kept",
            Fate::Refused => "refused",
            Fate::Outranked => "outranked",
            Fate::Undecided => "undecided",
            Fate::Empty => "empty",
        }
    }

    /// Whether the candidate goes back to kube-scheduler.
    pub const fn passes(self) -> bool {
        !matches!(self, Fate::Refused | Fate::Outranked)
    }
}

/// The fate of each candidate, with its evictions. `decision` are filter's, with the victims gone; costs are compared up to `criterion`.
pub fn fates(question: &Question<'_>, decision: &Decision, criterion: Criterion) -> Vec<Fate> {
    let class = |(at, candidate): (usize, &Candidate)| {
        let cost = weigh(question, candidate, at, decision)?;
        Ok(Rank { cost, node: &question.candidates[at] }.up_to(criterion))
    };
    let classes: Vec<Result<Rank<'_>, Fate>> = question.evictions.iter().enumerate().map(class).collect();
    let best = classes.iter().flatten().min().copied();
    let fate = |class: Result<Rank<'_>, Fate>| match class {
        Ok(class) if Some(class) == best => Fate::Kept,
        Ok(_) => Fate::Outranked,
        Err(fate) => fate,
    };
    classes.into_iter().map(fate).collect()
}

/// What a candidate costs, or what becomes of it whatever it costs.
fn weigh(
    question: &Question<'_>,
    candidate: &Candidate,
    at: usize,
    decision: &Decision,
) -> Result<Cost, Fate> {
    let victims = match &candidate.victims {
        Victims::None => return Err(Fate::Empty),
        Victims::Unknown => return Err(Fate::Undecided),
        Victims::Known(victims) => victims,
    };
    match decision.rejection(at) {
        Some(reason) if reason.is_certain() || reason.outlasts_evictions() => Err(Fate::Refused),
        Some(_) => Err(Fate::Undecided),
        None => Ok(Cost::of(victims, candidate.budget_violations, question.view)),
    }
}

#[cfg(test)]
mod tests;
