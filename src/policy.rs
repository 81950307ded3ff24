//! Policies: pure functions of a pod, its candidate nodes and one view of the cluster.
//!
//! No I/O, no clock, no locks. "Does not fit" is a verdict with a constant reason, never an error.

pub mod fit;
pub mod nominated_node;
pub mod preemption;
pub mod replica_group;
pub mod topology_spread;

use std::borrow::Cow;
use std::sync::Arc;

use self::preemption::Candidate;
use crate::ledger::Reservation;
use crate::model::{Pod, Uid};
use crate::view::{Needs, View};

/// What is asked of a policy.
#[derive(Clone, Copy)]
pub struct Question<'a> {
    /// The pod to place.
    pub pod: &'a Pod,
    /// The nodes to choose from, in the caller's order.
    pub candidates: &'a [Cow<'a, str>],
    /// What if these pods had left each candidate, by its position; empty if nobody is to leave.
    pub evictions: &'a [Candidate],
    /// The cluster.
    pub view: &'a View,
}

impl<'a> Question<'a> {
    /// The pods that are taken to have left a candidate.
    pub fn evicted_from(&self, candidate: usize) -> &'a [Arc<Pod>] {
        self.evictions.get(candidate).map_or(&[], |candidate| candidate.victims.pods())
    }
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

    /// What the view must provide before [`Policy::restore`] is asked.
    fn restore_needs(&self, _view: &View) -> Needs {
        Needs::default()
    }

    /// Room that has to be kept for what is running already, as after a restart.
    fn restore(&self, _view: &View) -> Vec<Reservation> {
        Vec::new()
    }
}

/// The scale on which kube-scheduler takes scores from an extender.
pub const MAX_SCORE: i64 = 10;

/// Why a node is rejected.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Rejection {
    /// Who rejects it.
    pub policy: &'static str,
    /// Constant words: kube-scheduler counts nodes by identical text.
    pub reason: &'static str,
    /// Whether evicting pods could help.
    pub resolvable: bool,
    /// Whether it is known to be so. Otherwise something is not known yet, and this is what the worst case asks for.
    pub certain: bool,
}

/// One verdict per candidate.
#[derive(Debug)]
pub struct Verdicts {
    /// Filled in on the first rejection: most calls reject nobody.
    rejections: Vec<Option<&'static Rejection>>,
    candidates: usize,
    rejected: usize,
    uncertain: bool,
    awaited: Vec<Uid>,
    nominated: Option<Nominated>,
    reservation: Option<Reservation>,
}

/// What became of the candidate that is the pod's nominated node.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Nominated {
    /// It passes, and so nobody else was asked about.
    Kept(usize),
    /// It does not.
    Refused(usize),
}

impl Nominated {
    /// All labels in metrics.
    pub const LABELS: [&'static str; 2] = ["kept", "refused"];

    /// The label in metrics.
    pub const fn label(self) -> &'static str {
        match self {
            Nominated::Kept(_) => Self::LABELS[0],
            Nominated::Refused(_) => Self::LABELS[1],
        }
    }
}

impl Verdicts {
    /// Everybody passes so far.
    pub fn all_pass(candidates: usize) -> Self {
        Self {
            rejections: Vec::new(),
            candidates,
            rejected: 0,
            uncertain: false,
            awaited: Vec::new(),
            nominated: None,
            reservation: None,
        }
    }

    /// Rejects a candidate; the first reason stands.
    pub fn reject(&mut self, candidate: usize, why: &'static Rejection) {
        if self.rejections.is_empty() {
            self.rejections.resize(self.candidates, None);
        }
        let verdict = &mut self.rejections[candidate];
        if verdict.is_none() {
            *verdict = Some(why);
            self.rejected += 1;
            self.uncertain |= !why.certain;
        }
    }

    /// Whether a rejection may turn out to be wrong.
    pub fn are_uncertain(&self) -> bool {
        self.uncertain
    }

    /// Names pods whose bind calls are about to come and would settle what is uncertain.
    pub fn await_placement_of(&mut self, pods: impl IntoIterator<Item = Uid>) {
        self.awaited.extend(pods);
    }

    /// The pods that are worth waiting for.
    pub fn awaited(&self) -> &[Uid] {
        &self.awaited
    }

    /// The answer holds only if this room is kept for the pod's group; no slots: nothing has to be kept any more.
    pub fn reserve(&mut self, reservation: Reservation) {
        self.reservation = Some(reservation);
    }

    /// The room that has to be kept for the pod's group, if that is to change.
    pub fn reservation(&self) -> Option<&Reservation> {
        self.reservation.as_ref()
    }

    /// Settles what became of the nominated node. If it is kept, it is the only one that passes.
    pub fn settle_nominated(&mut self, nominated: Nominated) {
        self.nominated = Some(nominated);
    }

    /// What became of the nominated node, if it was among the candidates.
    pub fn nominated(&self) -> Option<Nominated> {
        self.nominated
    }

    /// Whether a candidate passes.
    pub fn passes(&self, candidate: usize) -> bool {
        match self.nominated {
            Some(Nominated::Kept(only)) => candidate == only,
            _ => self.rejection(candidate).is_none(),
        }
    }

    /// How many pass.
    pub fn passing(&self) -> usize {
        match self.nominated {
            Some(Nominated::Kept(_)) => 1,
            _ => self.candidates - self.rejected,
        }
    }

    /// Why a candidate is rejected, if it is.
    pub fn rejection(&self, candidate: usize) -> Option<&'static Rejection> {
        self.rejections.get(candidate).copied().flatten()
    }

    /// The rejected ones, in order.
    pub fn rejections(&self) -> impl Iterator<Item = (usize, &'static Rejection)> {
        self.rejections.iter().enumerate().filter_map(|(at, why)| Some((at, (*why)?)))
    }
}
