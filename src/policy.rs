//! Policies: pure functions of a pod, its candidate nodes and one view of the cluster.
//!
//! No I/O, no locks, and of the clock only when to give up ([`Budget`]). "Does not fit" is a verdict with a reason code,
//! never an error.

mod allowance;
mod budget;
pub mod fit;
pub mod nominated_node;
pub mod preemption;
pub mod replica_group;
pub mod topology_spread;

use std::borrow::Cow;
use std::cell::OnceCell;
use std::sync::Arc;

pub use self::allowance::{Allowance, Grant};
pub use self::budget::Budget;
use self::preemption::Candidate;
use crate::config::Mode;
use crate::decision::{Decision, Detail};
use crate::ledger::Reservation;
use crate::model::{GroupKey, Pod};
use crate::view::{HostId, Needs, View};

/// What is asked of the policies.
#[derive(Clone, Copy)]
pub struct Question<'a> {
    /// For which verb.
    pub purpose: Purpose,
    /// The pod to place.
    pub pod: &'a Pod,
    /// The nodes to choose from, in the caller's order.
    pub candidates: &'a [Cow<'a, str>],
    /// Their hosts, if several policies share them: whoever asks first looks them up.
    pub hosts: Option<&'a OnceCell<Vec<Option<HostId>>>>,
    /// What if these pods had left each candidate, by its position; empty if nobody is to leave.
    pub evictions: &'a [Candidate],
    /// The cluster.
    pub view: &'a View,
    /// How much is to be told beyond reason codes.
    pub detail: Detail,
    /// Whether the caller waits for bind calls and asks again. Then the answer may stop at the first verdict that they
    /// would settle.
    pub may_wait: bool,
    /// Whether the pod may be nominated to a node that is not among the candidates.
    pub may_nominate: bool,
    /// What the answer may cost.
    pub budget: &'a Budget,
    /// What policies may cost in addition whose answer is only counted.
    pub observing: &'a Budget,
}

/// The scale on which kube-scheduler takes scores from an extender.
pub const MAX_SCORE: i64 = 10;

/// For which verb the policies are asked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Purpose {
    /// Which candidates may be used.
    Filter,
    /// Which of them are best.
    Prioritize,
    /// Which may be used once their victims are gone.
    Preempt,
}

impl Purpose {
    /// All of them, in the order of their numbers.
    pub const ALL: [Purpose; 3] = [Purpose::Filter, Purpose::Prioritize, Purpose::Preempt];

    /// The name of the verb in metrics.
    pub const fn label(self) -> &'static str {
        match self {
            Purpose::Filter => "filter",
            Purpose::Prioritize => "prioritize",
            Purpose::Preempt => "preempt",
        }
    }
}

impl<'a> Question<'a> {
    /// Asks about a pod and some nodes, for reason codes only, whatever the answer costs.
    pub fn about(purpose: Purpose, pod: &'a Pod, candidates: &'a [Cow<'a, str>], view: &'a View) -> Self {
        let (detail, budget) = (Detail::Codes, Budget::unlimited());
        let (may_wait, may_nominate) = (false, false);
        let (hosts, evictions, observing) = (None, &[][..], budget);
        Self {
            purpose,
            pod,
            candidates,
            hosts,
            evictions,
            view,
            detail,
            may_wait,
            may_nominate,
            budget,
            observing,
        }
    }

    /// The same, for a policy whose answer is only counted: nobody waits for its sake, and it has time of its own.
    pub fn for_observer(self) -> Self {
        Self { may_wait: false, budget: self.observing, ..self }
    }

    /// The host of each candidate; `None` for those that no watch shows.
    pub fn candidate_hosts(&self) -> Cow<'a, [Option<HostId>]> {
        let find = || self.candidates.iter().map(|name| self.view.host_id(name)).collect();
        match self.hosts {
            Some(hosts) => Cow::Borrowed(hosts.get_or_init(find)),
            None => Cow::Owned(find()),
        }
    }

    /// Whether the candidates may be a sample of the nodes that would do.
    pub fn may_be_sample(&self) -> bool {
        may_be_sample(self.candidates.len(), self.view.node_count())
    }

    /// The pods that are taken to have left a candidate.
    pub fn evicted_from(&self, candidate: usize) -> &'a [Arc<Pod>] {
        self.evictions.get(candidate).map_or(&[], |candidate| candidate.victims.pods())
    }
}

/// Whether so many candidates may be a sample of the nodes that would do, of so many in all. kube-scheduler stops looking once it
/// has found enough, which are never fewer than this.
pub fn may_be_sample(candidates: usize, nodes: usize) -> bool {
    const FEWEST: usize = 100;
    candidates >= FEWEST && candidates < nodes
}

/// One rule of placement.
pub trait Policy: Send + Sync {
    /// Its name in metrics.
    fn name(&self) -> &'static str;

    /// Whether what it says is followed, or only counted.
    fn mode(&self) -> Mode {
        Mode::Enforce
    }

    /// Works out once per question what both [`Prepared::needs`] and the answer depend on: of the pod and the view, not
    /// of the candidates, of which an answer may take only some. `None` if the policy has no opinion on the pod.
    fn prepare<'a>(&'a self, question: &Question<'a>) -> Option<Box<dyn Prepared + 'a>>;

    /// What the view must provide before [`Policy::owed`] is asked about these groups.
    fn owed_needs(&self, _view: &View, _groups: &[Arc<GroupKey>]) -> Needs {
        Needs::default()
    }

    /// What is owed to these groups, as far as their members in place tell, and as far as the allowance goes. Groups that are
    /// not named keep what they have.
    fn owed(&self, _view: &View, _groups: &[Arc<GroupKey>], _allowance: &Allowance) -> Vec<Owed> {
        Vec::new()
    }

    /// What the view must provide before [`Policy::plan_ahead`] is asked.
    fn plan_needs(&self, _view: &View, _group: &GroupKey) -> Needs {
        Needs::default()
    }

    /// What would be reserved for a group of which nobody has a place, if its first member asked now and might go anywhere.
    fn plan_ahead(&self, _view: &View, _group: &GroupKey) -> Option<Reservation> {
        None
    }

    /// Whether such a plan, made on an earlier view, still has a slot for everybody.
    fn plan_holds(&self, _view: &View, _plan: &Reservation) -> bool {
        false
    }
}

/// What is owed to a group.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Owed {
    /// Nothing: nobody is missing.
    Nothing(Arc<GroupKey>),
    /// Nothing for now: quotas do not let those be created that are missing. It is to be looked at again when they may.
    NotCreatable(Arc<GroupKey>),
    /// Room for those that are.
    Room(Reservation),
    /// More than there is, so nothing; it is to be looked at again when room is made.
    Short(Arc<GroupKey>),
    /// It depends on who is under way: what is reserved stays as it is until that is known.
    Undecided(Arc<GroupKey>),
    /// To find out would cost more than is allowed now: what is reserved stays as it is until then.
    PutOff(Arc<GroupKey>),
}

/// A policy that has looked at the pod. What it does not override it has no opinion on.
pub trait Prepared {
    /// What the view must provide before the other questions are asked.
    fn needs(&self) -> Needs {
        Needs::default()
    }

    /// Rejects candidates that must not be used.
    fn filter(&self, _question: &Question<'_>, _decision: &mut Decision) {}

    /// Adds to the score of each candidate, `scores[i]` being that of `candidates[i]`.
    fn prioritize(&self, _question: &Question<'_>, _scores: &mut [i64]) {}
}
