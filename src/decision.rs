//! A decision is a value: a verdict for every candidate with a reason code, the facts behind it if they were asked for,
//! and what has to be recorded if the decision is really given as an answer.
//!
//! Deciding has no side effects. What people see is derived from the value: the reply's text in [`crate::wire`], metric
//! labels from [`Reason::code`], Events and log lines in [`crate::verbs`], the page of the docs from [`catalogue`].

pub mod catalogue;
pub mod facts;
pub mod reason;

pub use self::facts::{Choice, ChoiceRule, Detail, DomainFact, Facts, Shortage, SkewFact};
pub use self::reason::{Reason, Undecided};
use crate::ledger::Reservation;
use crate::model::{Name, Uid};

/// What was decided about one pod: a verdict per candidate, in the caller's order.
#[derive(Debug, Default)]
pub struct Decision {
    /// Filled in on the first rejection: most calls reject nobody.
    rejections: Vec<Option<Reason>>,
    candidates: usize,
    rejected: usize,
    uncertain: bool,
    nominated: Option<Nominated>,
    effects: Effects,
    facts: Facts,
    /// What policies that only observe would have rejected.
    observed: Vec<(Reason, u64)>,
}

/// What has to be recorded in the ledger if the decision is given as an answer.
#[derive(Debug, Default)]
pub struct Effects {
    /// The slots that have to be reserved for the pod's group, if that is to change; without slots, nothing is
    /// reserved any more.
    pub reservation: Option<Reservation>,
    /// The topology key and the value of the domain that the subgroup of the pod comes to, if it is in one.
    pub subgroup_domain: Option<(Name, Name)>,
    /// Pods whose bind calls are about to come and would settle what is uncertain.
    pub awaited: Vec<Uid>,
    /// The node that the pod is to be nominated to: it would do, and is not among the candidates.
    pub nominate: Option<Name>,
}

/// What became of the candidate that is the pod's nominated node.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Nominated {
    /// It passes, and so nobody else was asked about.
    Kept(usize),
    /// It does not.
    Refused(usize),
    /// Nominated nodes are only observed: whether it would have passed.
    Observed {
        /// Whether it would have passed.
        fits: bool,
    },
}

impl Nominated {
    /// All labels in metrics.
    pub const LABELS: [&'static str; 4] = ["kept", "refused", "observed_kept", "observed_refused"];

    /// The label in metrics.
    pub const fn label(self) -> &'static str {
        match self {
            Nominated::Kept(_) => Self::LABELS[0],
            Nominated::Refused(_) => Self::LABELS[1],
            Nominated::Observed { fits: true } => Self::LABELS[2],
            Nominated::Observed { fits: false } => Self::LABELS[3],
        }
    }
}

impl Decision {
    /// Every candidate passes so far.
    pub fn all_pass(candidates: usize) -> Self {
        Self { candidates, ..Self::default() }
    }

    /// Rejects a candidate; the first reason stands.
    pub fn reject(&mut self, candidate: usize, reason: Reason) {
        if self.rejections.is_empty() {
            self.rejections.resize(self.candidates, None);
        }
        let verdict = &mut self.rejections[candidate];
        if verdict.is_none() {
            *verdict = Some(reason);
            self.rejected += 1;
            self.uncertain |= !reason.is_certain();
        }
    }

    /// Rejects every candidate.
    pub fn reject_all(&mut self, reason: Reason) {
        (0..self.candidates).for_each(|candidate| self.reject(candidate, reason));
    }

    /// Whether a rejection may turn out to be wrong.
    pub fn is_uncertain(&self) -> bool {
        self.uncertain
    }

    /// Whether a rejection may turn out to be wrong, and bind calls that are about to come would tell.
    pub fn is_to_wait(&self) -> bool {
        self.uncertain && !self.effects.awaited.is_empty()
    }

    /// The cause if nobody passes and a rejection may turn out to be wrong: then the answer is no rejection but an error,
    /// for a rejection could evict pods for a place that may well be free.
    pub fn undecided(&self) -> Option<Undecided> {
        let cause = |(_, reason)| match reason {
            Reason::GroupDomainUnknown => Some(Undecided::GroupDomainUnknown),
            Reason::GroupSizeUnknown => Some(Undecided::GroupSizeUnknown),
            Reason::MembersNotCreated => Some(Undecided::MembersNotCreated),
            Reason::MemberVolumeUnknown => Some(Undecided::MemberVolumeUnknown),
            Reason::MemberGated => Some(Undecided::MemberGated),
            _ => None,
        };
        (self.passing() == 0 && self.uncertain)
            .then(|| self.rejections().find_map(cause).unwrap_or(Undecided::PlacementUnknown))
    }

    /// Names pods whose bind calls are about to come and would settle what is uncertain.
    pub fn await_placement_of(&mut self, pods: impl IntoIterator<Item = Uid>) {
        self.effects.awaited.extend(pods);
    }

    /// The answer holds only if these slots are reserved for the pod's group.
    pub fn reserve(&mut self, reservation: Reservation) {
        self.effects.reservation = Some(reservation);
    }

    /// All candidates that pass are in this domain, and it is the one of the pod's subgroup from now on.
    pub fn bring_subgroup_to(&mut self, topology: Name, domain: Name) {
        self.effects.subgroup_domain = Some((topology, domain));
    }

    /// This node would do, and is not among the candidates: the pod is to be nominated to it.
    pub fn nominate(&mut self, node: Name) {
        self.effects.nominate = Some(node);
    }

    /// What has to be recorded if the decision is given as an answer.
    pub fn effects(&self) -> &Effects {
        &self.effects
    }

    /// The facts behind the codes; empty unless the question asked for them.
    pub fn facts(&self) -> &Facts {
        &self.facts
    }

    /// Where a policy puts the facts behind its codes.
    pub fn facts_mut(&mut self) -> &mut Facts {
        &mut self.facts
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
    pub fn rejection(&self, candidate: usize) -> Option<Reason> {
        self.rejections.get(candidate).copied().flatten()
    }

    /// The rejected ones, in order.
    pub fn rejections(&self) -> impl Iterator<Item = (usize, Reason)> {
        self.rejections.iter().enumerate().filter_map(|(at, reason)| Some((at, (*reason)?)))
    }

    /// Of one policy's reasons, the one that is nearest to success; the first of several.
    pub fn nearest_reason(&self, policy: &str) -> Option<Reason> {
        let own = self.rejections().map(|(_, reason)| reason).filter(|reason| reason.policy() == policy);
        own.min_by_key(|reason| reason.distance())
    }

    /// Takes note of what a policy that only observes would have decided. It has no other consequence: nothing is
    /// reserved for a plan that nobody follows.
    pub fn observe(&mut self, observed: &Decision) {
        self.observed.extend(observed.tally());
    }

    /// How often policies that only observe would have given each reason.
    pub fn observed(&self) -> &[(Reason, u64)] {
        &self.observed
    }

    /// How often each reason was given.
    pub fn tally(&self) -> Vec<(Reason, u64)> {
        // A policy mostly has one reason for all.
        let mut tally: Vec<(Reason, u64)> = Vec::new();
        for (_, reason) in self.rejections() {
            match tally.iter_mut().find(|(known, _)| *known == reason) {
                Some((_, count)) => *count += 1,
                None => tally.push((reason, 1)),
            }
        }
        tally
    }
}
