//! Placements that have been decided and that the watch does not show yet.
//!
//! ```text
//!                      filter again
//!                     +-----------+
//!                     v           |
//!   filter answers  +---------------+  bind called        +-------------------+
//!  ---------------> |    offered    | ------------------> |   assumed(node)   |
//!                   |  place open   |  or one node only   | place as good as  |
//!                   +---------------+                     | taken             |
//!                     |     |    ^                        +-------------------+
//!                     |     |    |  filter again             |     |
//!                     |     |    +---------------------------|-----+
//!         dropped <---+-----|--------------------------------+     |
//!    (deleted, failed,      |                                      |
//!     refused, expired,     +-------------> confirmed <------------+
//!     overtaken)
//!                             the watch shows the pod on a node
//! ```
//!
//! What it relies on:
//! - A pod is in here only while the watch shows it on no node; the watch always has the last word,
//!   in whichever order its event and the answer to the bind arrive.
//! - Entries are known by UID: a pod recreated under its old name is another pod.
//! - Entries expire by the ledger's own clock ([`Ledger::advance`]), which stands still while the pod
//!   watch is cut: a confirmation that cannot arrive must not make us forget a placement.

pub mod reservations;

use std::sync::Arc;
use std::time::Duration;

pub use self::reservations::{HeldSlots, Life, Reservation, Reservations, Slot};
use crate::model::persistent::HashMap;
use crate::model::{GroupKey, Name, ObjectKey, Pod, Uid};

/// How far a decision has come.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Phase {
    /// Filter named several nodes; kube-scheduler is choosing.
    Offered,
    /// The place is known.
    Assumed {
        /// The place.
        node: Name,
        /// Whether a bind call named it. Otherwise it was the only node offered, and the attempt
        /// may still fail before it comes to binding.
        binding: bool,
    },
}

impl Phase {
    /// The label in metrics.
    pub fn label(&self) -> &'static str {
        match self {
            Phase::Offered => "offered",
            Phase::Assumed { .. } => "assumed",
        }
    }
}

/// One pod under way.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Entry {
    /// The pod as it was when the attempt began. The watch's own copy is the better one, if there is one.
    pub pod: Arc<Pod>,
    /// How far it has come.
    pub phase: Phase,
    /// The domain that its group was to be in when it was let in: a topology key and its value. `None` if there was none, or
    /// if nodes have changed domains since.
    pub domain: Option<(Name, Name)>,
    /// The same of its subgroup.
    pub subgroup_domain: Option<(Name, Name)>,
    /// Whether somebody already waited for its bind call in vain. It may come late (volumes, permits) or never, and
    /// is not worth waiting for again.
    pub overdue: bool,
    /// The failed-attempt mark it carried when this attempt began.
    prior_failure: Option<u32>,
    /// Whether the watch has shown that mark. Until then it tells of earlier attempts.
    is_watch_behind: bool,
    /// When it expires, on the ledger's clock.
    deadline: Duration,
}

/// Why an entry left without being confirmed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DropCause {
    /// The pod is gone.
    Deleted,
    /// Filter was called again: kube-scheduler gave up on the last attempt.
    Refiltered,
    /// The pod's condition says that the attempt failed.
    AttemptFailed,
    /// The API server refused the binding.
    BindRefused,
    /// Nothing was heard of it for the whole time to live.
    Expired,
    /// Another Berth is asked: the attempt that the offer was made for has ended, or its bind call goes there.
    Overtaken,
}

impl DropCause {
    /// Every cause, for metrics that exist from the start.
    pub const ALL: [DropCause; 6] = [
        DropCause::Deleted,
        DropCause::Refiltered,
        DropCause::AttemptFailed,
        DropCause::BindRefused,
        DropCause::Expired,
        DropCause::Overtaken,
    ];

    /// The label in metrics.
    pub const fn label(self) -> &'static str {
        match self {
            DropCause::Deleted => "deleted",
            DropCause::Refiltered => "refiltered",
            DropCause::AttemptFailed => "attempt_failed",
            DropCause::BindRefused => "bind_refused",
            DropCause::Expired => "expired",
            DropCause::Overtaken => "overtaken",
        }
    }
}

/// The ledger. Cheap to clone: clones share their entries.
///
/// Transitions say what they dropped; they never look at a wall clock.
#[derive(Clone, Debug, Default)]
pub struct Ledger {
    entries: HashMap<Uid, Entry>,
    reservations: Reservations,
    clock: Duration,
    /// Bindings that were sent from here and that no watch has shown, whatever was decided about the pods since: the node,
    /// and until when it is remembered. Empty while bind calls go elsewhere.
    sent: HashMap<Uid, (Name, Duration)>,
    /// Whether bind calls come here at all.
    binds: bool,
}

impl Ledger {
    /// The entry of a pod.
    pub fn get(&self, uid: &str) -> Option<&Entry> {
        self.entries.get(uid)
    }

    /// All entries, in no particular order.
    pub fn iter(&self) -> impl Iterator<Item = &Entry> {
        self.entries.values()
    }

    /// How many pods are under way.
    pub fn len(&self) -> usize {
        self.entries.len()
    }

    /// Whether no pod is under way, whatever room is kept.
    pub fn has_nobody_under_way(&self) -> bool {
        self.entries.is_empty()
    }

    /// Whether no pod is under way and no room is kept: nobody's time runs.
    pub fn is_empty(&self) -> bool {
        self.entries.is_empty() && self.reservations.is_empty()
    }

    /// Room kept for members of groups.
    pub fn reservations(&self) -> &Reservations {
        &self.reservations
    }

    /// Keeps room for the members of a group.
    pub fn reserve(&mut self, reservation: Reservation, life: Life) {
        self.reservations.keep(reservation, self.clock, life);
    }

    /// A group is complete, or nobody of it is left.
    pub fn begin_anew(&mut self, group: &GroupKey) {
        self.reservations.begin_anew(group);
    }

    /// A member of a group got a place.
    pub fn consume(&mut self, group: &GroupKey, place: &Slot) {
        self.reservations.consume(group, place);
    }

    /// A member of a group lost its place before it was really there.
    pub fn reinstate(&mut self, group: &GroupKey, slot: Slot) {
        self.reservations.reinstate(group, slot);
    }

    /// Whether a member of a group is under way.
    pub fn has_member_of(&self, group: &GroupKey) -> bool {
        let of_it = |pod: &Pod| pod.group.as_ref().is_some_and(|membership| *membership.group == *group);
        self.entries.values().any(|entry| of_it(&entry.pod))
    }

    /// A member of a group is where it was to be.
    pub fn arrived(&mut self, group: &GroupKey) {
        let all_seated = self.reservations.of(group).is_some_and(|kept| kept.missing == 0);
        if all_seated && !self.has_member_of(group) {
            self.reservations.settle(group);
        }
    }

    /// A member of a group was bound.
    pub fn progress(&mut self, group: &GroupKey) {
        self.reservations.progress(group, self.clock);
    }

    /// Nobody is left who could use what is kept for a group.
    pub fn release(&mut self, group: &GroupKey) {
        self.reservations.release(group);
    }

    /// Filter answered for `pod`. `only` is the node when exactly one was offered.
    pub fn offer(&mut self, pod: &Arc<Pod>, only: Option<Name>, ttl: Duration) -> Option<DropCause> {
        let phase = match only {
            Some(node) => Phase::Assumed { node, binding: false },
            None => Phase::Offered,
        };
        let group = pod.group.as_ref().and_then(|membership| self.reservations.of(&membership.group));
        let entry = Entry {
            phase,
            domain: group.and_then(|kept| kept.domain.clone()),
            subgroup_domain: None,
            overdue: false,
            prior_failure: pod.failed_attempt,
            is_watch_behind: pod.failed_attempt.is_some(),
            deadline: self.clock + ttl,
            pod: pod.clone(),
        };
        self.entries.insert(pod.uid.clone(), entry).map(|_| DropCause::Refiltered)
    }

    /// Filter has brought the subgroup of a pod to a domain.
    pub fn bring_subgroup_to(&mut self, uid: &str, domain: (Name, Name)) {
        if let Some(entry) = self.entries.get_mut(uid) {
            entry.subgroup_domain = Some(domain);
        }
    }

    /// Filter found no node for the pod, so whatever was decided before is void.
    pub fn withdraw(&mut self, uid: &str) -> Option<DropCause> {
        self.entries.remove(uid).map(|_| DropCause::Refiltered)
    }

    /// Nodes have changed domains: who was let in before may come to another one.
    pub fn forget_domains(&mut self) {
        let is_bound_for_one = |entry: &Entry| entry.domain.is_some() || entry.subgroup_domain.is_some();
        for (_, entry) in self.entries.iter_mut().filter(|(_, entry)| is_bound_for_one(entry)) {
            (entry.domain, entry.subgroup_domain) = (None, None);
        }
    }

    /// The same pod, seen with other eyes.
    pub fn replace_pod(&mut self, pod: Arc<Pod>) {
        if let Some(entry) = self.entries.get_mut(&pod.uid) {
            entry.pod = pod;
        }
    }

    /// Somebody waited for the pod, in vain.
    pub fn mark_overdue(&mut self, uid: &str) {
        if let Some(entry) = self.entries.get_mut(uid) {
            entry.overdue = true;
        }
    }

    /// Bind was called. `pod` is what to remember if filter was never asked about it.
    pub fn assume(&mut self, pod: Arc<Pod>, node: Name, ttl: Duration) {
        let deadline = self.clock + ttl;
        self.binds = true;
        self.sent.insert(pod.uid.clone(), (node.clone(), deadline));
        let phase = Phase::Assumed { node, binding: true };
        if let Some(entry) = self.entries.get_mut(&pod.uid) {
            entry.phase = phase;
            entry.deadline = deadline;
        } else {
            let overdue = false;
            let prior_failure = pod.failed_attempt;
            let (domain, subgroup_domain, is_watch_behind) = (None, None, false);
            let entry = Entry {
                pod,
                phase,
                domain,
                subgroup_domain,
                overdue,
                prior_failure,
                is_watch_behind,
                deadline,
            };
            self.entries.insert(entry.pod.uid.clone(), entry);
        }
    }

    /// The API server refused the binding. An attempt begun since is left alone.
    pub fn refuse(&mut self, uid: &str, node: &str) -> Option<DropCause> {
        let refused = matches!(
            self.entries.get(uid).map(|entry| &entry.phase),
            Some(Phase::Assumed { node: assumed, binding: true }) if **assumed == *node
        );
        refused.then(|| {
            self.entries.remove(uid);
            DropCause::BindRefused
        })
    }

    /// The watch shows the pod on a node: confirmed, nothing left to remember.
    pub fn confirm(&mut self, uid: &str) {
        self.sent.remove(uid);
        self.entries.remove(uid);
    }

    /// The watch shows the pod, still on no node.
    pub fn observe(&mut self, pod: &Pod) -> Option<DropCause> {
        self.shown(pod);
        let entry = self.entries.get(&pod.uid)?;
        let under_way = matches!(entry.phase, Phase::Assumed { binding: true, .. });
        let is_news = pod.failed_attempt != entry.prior_failure && !entry.is_watch_behind;
        if !under_way && pod.failed_attempt.is_some() && is_news {
            self.entries.remove(&pod.uid);
            return Some(DropCause::AttemptFailed);
        }
        None
    }

    /// What the watch shows of a pod that is on no node: perhaps how its last attempt but this one ended.
    pub fn shown(&mut self, pod: &Pod) {
        if let Some(entry) = self.entries.get_mut(&pod.uid) {
            entry.is_watch_behind &= pod.failed_attempt != entry.prior_failure;
        }
    }

    /// The pod is gone.
    pub fn delete(&mut self, uid: &str) -> Option<DropCause> {
        self.sent.remove(uid);
        self.entries.remove(uid).map(|_| DropCause::Deleted)
    }

    /// UIDs of entries under this name that belong to another pod than `uid`. The ledger is short,
    /// so it is simply read through.
    pub fn namesakes(&self, key: &ObjectKey, uid: &str) -> Vec<Uid> {
        let other = |entry: &&Entry| entry.pod.key == *key && *entry.pod.uid != *uid;
        self.entries.values().filter(other).map(|entry| entry.pod.uid.clone()).collect()
    }

    /// Lets the ledger's clock run on by `elapsed` and tells which pods' time is up. Reservations whose time is up are
    /// given up.
    pub fn advance(&mut self, elapsed: Duration) -> Vec<Uid> {
        self.clock += elapsed;
        let clock = self.clock;
        self.sent.retain(|_, (_, until)| clock < *until);
        self.reservations.expire(self.clock);
        let over = |entry: &&Entry| entry.deadline <= self.clock;
        self.entries.values().filter(over).map(|entry| entry.pod.uid.clone()).collect()
    }

    /// Whether a pod that the watch shows on a node for the first time was put there through another Berth.
    pub fn is_overtaken_by(&self, uid: &str, node: &Name) -> bool {
        if self.sent.get(uid).is_some_and(|(sent, _)| sent == node) {
            return false;
        }
        match self.entries.get(uid).map(|entry| &entry.phase) {
            None => true,
            Some(Phase::Assumed { binding: true, .. }) => false,
            Some(Phase::Assumed { node: only, .. }) if only != node => true,
            // Its bind call would have come here.
            Some(_) => self.binds,
        }
    }

    /// Whether a pod is in no other place than one that it was offered.
    pub fn is_unbound(&self, uid: &str) -> bool {
        let phase = self.entries.get(uid).map(|entry| &entry.phase);
        phase.is_some_and(|phase| !matches!(phase, Phase::Assumed { binding: true, .. }))
    }

    /// Members of groups that were let in for a scheduler, and whose bind calls have not come.
    pub fn unbound_members_of(
        &self,
        scheduler: Option<&Name>,
    ) -> impl Iterator<Item = (&Uid, &Arc<GroupKey>)> {
        let unbound = move |entry: &&Entry| {
            entry.pod.scheduler.as_ref() == scheduler && self.is_unbound(&entry.pod.uid)
        };
        let unbound = self.entries.values().filter(unbound);
        unbound.filter_map(|entry| Some((&entry.pod.uid, &entry.pod.group.as_ref()?.group)))
    }

    /// Forgets an offer that somebody else's decisions have overtaken.
    pub fn overtake(&mut self, uid: &str) -> Option<DropCause> {
        self.entries.remove(uid).map(|_| DropCause::Overtaken)
    }

    /// Forgets an entry whose time is up.
    pub fn expire(&mut self, uid: &str) -> Option<DropCause> {
        self.entries.remove(uid).map(|_| DropCause::Expired)
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;
    use std::time::Duration;

    use super::{DropCause, Ledger};
    use crate::fixtures::pod;
    use crate::model::Pod;

    #[test]
    fn late_news_of_earlier_failures_do_not_end_an_attempt() {
        let failed = |mark: Option<u32>| Pod { failed_attempt: mark, ..pod("p").build() };
        for (name, prior, news, expected) in [
            ("the first failure", None, vec![1], Some(DropCause::AttemptFailed)),
            ("the one that was known", Some(2), vec![2], None),
            ("one before it, late", Some(2), vec![1], None),
            ("both, late", Some(2), vec![1, 2], None),
            ("the next one after that", Some(2), vec![1, 2, 3], Some(DropCause::AttemptFailed)),
        ] {
            let mut ledger = Ledger::default();
            ledger.offer(&Arc::new(failed(prior)), None, Duration::from_mins(1));
            let dropped = news.into_iter().find_map(|mark| ledger.observe(&failed(Some(mark))));
            assert_eq!(dropped, expected, "{name}");
            assert_eq!(ledger.has_nobody_under_way(), expected.is_some(), "{name}");
        }
    }
}
