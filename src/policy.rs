//! Policies: pure functions of a pod, its candidate nodes and one view of the cluster.
//!
//! No I/O, no clock, no locks. "Does not fit" is a verdict with a constant reason, never an error.

pub mod topology_spread;

use std::borrow::Cow;

use crate::model::{Pod, Requirements};
use crate::view::{Needs, View};

/// What is asked of a policy.
#[derive(Clone, Copy)]
pub struct Question<'a> {
    /// The pod to place.
    pub pod: &'a Pod,
    /// What it asks of a node.
    pub requirements: &'a Requirements,
    /// The nodes to choose from, in the caller's order.
    pub candidates: &'a [Cow<'a, str>],
    /// The cluster.
    pub view: &'a View,
}

/// One rule of placement. What a policy does not override it has no opinion on.
pub trait Policy: Send + Sync {
    /// Its name in metrics.
    fn name(&self) -> &'static str;

    /// What the view must provide before the other questions are asked.
    fn needs(&self, _question: Question<'_>) -> Needs {
        Needs::default()
    }

    /// Rejects candidates that must not be used.
    fn filter(&self, _question: Question<'_>, _verdicts: &mut Verdicts) {}

    /// Adds to the score of each candidate, `scores[i]` being that of `candidates[i]`.
    fn prioritize(&self, _question: Question<'_>, _scores: &mut [i64]) {}

    /// Says which candidates for preemption, named by `candidates`, are not worth an eviction:
    /// `kept[i]` becomes false.
    fn preempt(&self, _question: Question<'_>, _kept: &mut [bool]) {}
}

/// Why a node is rejected.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Rejection {
    /// Who rejects it.
    pub policy: &'static str,
    /// Constant words: kube-scheduler counts nodes by identical text.
    pub reason: &'static str,
    /// Whether evicting pods could help.
    pub resolvable: bool,
}

/// One verdict per candidate.
#[derive(Debug)]
pub struct Verdicts {
    /// Filled in on the first rejection: most calls reject nobody.
    rejections: Vec<Option<Rejection>>,
    candidates: usize,
    rejected: usize,
    contested: bool,
}

impl Verdicts {
    /// Everybody passes so far.
    pub fn all_pass(candidates: usize) -> Self {
        Self { rejections: Vec::new(), candidates, rejected: 0, contested: false }
    }

    /// Rejects a candidate; the first reason stands.
    pub fn reject(&mut self, candidate: usize, why: Rejection) {
        if self.rejections.is_empty() {
            self.rejections.resize(self.candidates, None);
        }
        let verdict = &mut self.rejections[candidate];
        if verdict.is_none() {
            *verdict = Some(why);
            self.rejected += 1;
        }
    }

    /// Says that a verdict hangs on where a pod goes that was offered nodes a moment ago. The rejections made are
    /// those of the worst case; the answer may be a better one once that pod's bind call has come.
    pub fn contest(&mut self) {
        self.contested = true;
    }

    /// Whether a verdict hangs on a bind call that is about to come.
    pub fn is_contested(&self) -> bool {
        self.contested
    }

    /// Whether a candidate passes.
    pub fn passes(&self, candidate: usize) -> bool {
        self.rejections.get(candidate).is_none_or(Option::is_none)
    }

    /// How many pass.
    pub fn passing(&self) -> usize {
        self.candidates - self.rejected
    }

    /// The rejected ones, in order.
    pub fn rejections(&self) -> impl Iterator<Item = (usize, &Rejection)> {
        self.rejections.iter().enumerate().filter_map(|(at, why)| Some((at, why.as_ref()?)))
    }
}
