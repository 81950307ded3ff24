//! The one rule for what is left on a host for a pod: what counts as used there.
//!
//! ```text
//!   pods in place or assumed             always, unless their eviction is taken for granted, or they are leaving
//!                                        and make way for a slot of their own group
//!   pods nominated to the host           of the same or a higher priority, as in kube-scheduler
//!   slots reserved for other groups      of the same or a higher priority
//! ```

use std::borrow::Cow;
use std::sync::Arc;

use crate::ledger::{Entry, HeldSlots, Reservation};
use crate::model::{GroupKey, Pod, Uid, Used};
use crate::view::{Host, View};

/// What is taken for granted when room is counted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Assumption {
    /// Nothing: only what is free and promised to nobody else.
    Nothing,
    /// Slots of other groups are kept whatever their priority: is there room without theirs?
    EverySlotKept,
    /// Slots reserved for other groups are free: would there be room but for them?
    ReservationsGone,
    /// Lower-priority pods have left: would there be room without them?
    LowerPriorityGone,
}

impl Assumption {
    /// How many there are, for tables with one row for each.
    pub const COUNT: usize = 4;
}

/// Who looks for room, and what is taken for granted.
#[derive(Clone, Copy)]
pub struct Availability<'a> {
    /// The cluster.
    pub view: &'a View,
    /// The group whose own slots and members do not stand in its way.
    pub group: Option<&'a GroupKey>,
    /// The pod that asks: wherever it is nominated to, it does not stand in its own way.
    pub asking: Option<&'a Uid>,
    /// The priority at which room is looked for.
    pub priority: i32,
    /// What is taken for granted.
    pub assumption: Assumption,
}

impl<'a> Availability<'a> {
    /// The same with something else taken for granted.
    pub fn assuming(self, assumption: Assumption) -> Self {
        Self { assumption, ..self }
    }

    /// What counts as used of a host.
    pub fn used(&self, host: &'a Host) -> Cow<'a, Used> {
        let mut used = Cow::Borrowed(&*host.used);
        for pod in self.nominated(host) {
            used.to_mut().arrive(&pod.requests);
        }
        for held in self.respected_slots(&host.name) {
            used.to_mut().reserve(&held.used, &self.leavers(host, &held.group));
        }
        if self.looks_ahead() {
            for pod in host.pods.iter().filter(|pod| self.makes_way(pod)) {
                used.to_mut().leave(&pod.allocated);
            }
        }
        if self.assumption == Assumption::LowerPriorityGone {
            for pod in host.pods.iter().filter(|pod| self.may_evict(pod)) {
                used.to_mut().leave(&pod.allocated);
            }
        }
        used
    }

    /// The pods nominated to a host that count as if they were there.
    pub fn nominated<'h>(&self, host: &'h Host) -> impl Iterator<Item = &'h Arc<Pod>> + use<'a, 'h>
    where
        'a: 'h,
    {
        let this = *self;
        let nominated = (self.view.nominated_nodes() > 0).then(|| self.view.nominated_to(&host.name));
        nominated.into_iter().flatten().filter(move |pod| this.respects_nominated(pod))
    }

    /// The slots of other groups on a host that count as used.
    pub fn respected_slots(&self, host: &str) -> impl Iterator<Item = &'a HeldSlots> {
        let slots = match self.assumption {
            Assumption::ReservationsGone => &[],
            Assumption::Nothing | Assumption::EverySlotKept | Assumption::LowerPriorityGone => {
                self.view.ledger().reservations().on(host)
            }
        };
        let this = *self;
        slots.iter().filter(move |held| this.respects(&held.group, held.priority))
    }

    /// Whether a pod in flight counts already, by a slot for such as it on a host. One for another member of its group will
    /// do no longer once it is there.
    pub fn counts_slot_of(&self, entry: &Entry, host: &Host) -> bool {
        let mut held = self.respected_slots(&host.name).filter(|held| is_of(&entry.pod, &held.group));
        let Some(slots) = held.next().map(|held| &held.slots) else { return false };
        let own = self.view.slot_of(&entry.pod, &host.name);
        slots.iter().any(|slot| slot.suits_member_of(&own))
    }

    /// Whether what is reserved for a group counts as used.
    pub fn respects_reservation(&self, reservation: &Reservation) -> bool {
        self.assumption != Assumption::ReservationsGone
            && self.respects(&reservation.group, reservation.priority)
    }

    /// Whether a pod in place could be evicted for the group. Its own members could not.
    pub fn may_evict(&self, pod: &Pod) -> bool {
        pod.priority < self.priority && !self.is_own(pod)
    }

    /// Whether a pod in place counts: not if its eviction is taken for granted, or it makes way.
    pub fn counts(&self, pod: &Pod) -> bool {
        let is_gone = self.assumption == Assumption::LowerPriorityGone && self.may_evict(pod);
        !is_gone && !self.makes_way(pod)
    }

    /// What members that are leaving a host still take of it: their group's slots there are for their successors.
    fn leavers(&self, host: &Host, group: &GroupKey) -> Used {
        let mut sum = Used::default();
        if self.view.leaving_members(group).len() > 0 {
            let leavers = host.pods.iter().filter(|pod| pod.terminating && is_of(pod, group));
            leavers.filter(|pod| self.counts(pod)).for_each(|pod| sum.arrive(&pod.allocated));
        }
        sum
    }

    /// Nobody goes anywhere yet: room is looked for that members will need once it is theirs.
    fn looks_ahead(&self) -> bool {
        self.asking.is_none() && self.group.is_some()
    }

    /// Whether a pod is a member that is leaving. Its room is its successor's, which mostly does not exist before it is gone.
    fn makes_way(&self, pod: &Pod) -> bool {
        self.looks_ahead() && pod.terminating && self.is_own(pod)
    }

    fn respects(&self, group: &GroupKey, priority: i32) -> bool {
        let outranked = priority < self.priority && self.assumption != Assumption::EverySlotKept;
        self.group != Some(group) && !outranked
    }

    fn is_own(&self, pod: &Pod) -> bool {
        self.group.is_some_and(|own| is_of(pod, own))
    }

    /// A member of the own group is looked after by the plan, and one that has a slot is counted there, wherever it was
    /// nominated to before its group was planned anew.
    fn respects_nominated(&self, pod: &Pod) -> bool {
        pod.priority >= self.priority
            && !self.is_own(pod)
            && self.asking != Some(&pod.uid)
            && !is_provided_for(pod, self.view)
    }
}

fn is_of(pod: &Pod, group: &GroupKey) -> bool {
    pod.group.as_ref().is_some_and(|membership| *membership.group == *group)
}

/// Whether there is a slot for every member of a pod's group that waits.
fn is_provided_for(pod: &Pod, view: &View) -> bool {
    pod.group.as_ref().is_some_and(|membership| {
        let kept = view.ledger().reservations().of(&membership.group);
        kept.is_some_and(|kept| kept.slots.len() >= view.waiting_members(&membership.group).len())
    })
}

#[cfg(test)]
mod tests {
    use super::super::situation::{Situation, cpus, member};
    use super::Assumption;
    use crate::fixtures::pod;

    #[test]
    fn what_counts_as_used_of_a_host() {
        let nominated = |priority| {
            let mut pod = pod("nominated").requests(cpus(4)).priority(priority).build();
            pod.nominated_node = Some("a0".into());
            pod
        };
        let nominated_member = || {
            let mut pod = member("other", 0, 1, 4).build();
            pod.nominated_node = Some("a0".into());
            pod
        };
        let leaving = |requested| member("other", 0, 1, requested).on("a0").terminating().build();
        let leaving_lower =
            |requested| member("other", 0, 1, requested).priority(-1).on("a0").terminating().build();
        let base = || {
            Situation::racks(&[("a", &[32]), ("b", &[4])]).with(pod("p").requests(cpus(1)).on("a0").build())
        };
        let lower = || pod("low").requests(cpus(2)).priority(-1).on("a0").build();
        for (name, situation, assumption, expected) in vec![
            ("a pod in place", base(), Assumption::Nothing, 1),
            ("and one of lower priority", base().with(lower()), Assumption::Nothing, 3),
            ("which may leave", base().with(lower()), Assumption::LowerPriorityGone, 1),
            ("a nominated pod of the same priority", base().with(nominated(0)), Assumption::Nothing, 5),
            ("a nominated pod of lower priority", base().with(nominated(-1)), Assumption::Nothing, 1),
            (
                "a nominated member whose group has its slots elsewhere",
                base().with(nominated_member()).with_reserved("other", &[("b0", 4)]),
                Assumption::Nothing,
                1,
            ),
            ("a nominated member without a slot", base().with(nominated_member()), Assumption::Nothing, 5),
            ("slots of another group", base().with_reserved("other", &[("a0", 8)]), Assumption::Nothing, 9),
            (
                "slots that are left out",
                base().with_reserved("other", &[("a0", 8)]),
                Assumption::ReservationsGone,
                1,
            ),
            ("slots of the own group", base().with_reserved("g", &[("a0", 8)]), Assumption::Nothing, 1),
            (
                "a slot for the successor of a member that is leaving",
                base().with(leaving(8)).with_reserved("other", &[("a0", 8)]),
                Assumption::Nothing,
                9,
            ),
            (
                "one that is smaller than what the leaving member has",
                base().with(leaving(8)).with_reserved("other", &[("a0", 2)]),
                Assumption::Nothing,
                9,
            ),
            (
                "one that is larger",
                base().with(leaving(2)).with_reserved("other", &[("a0", 8)]),
                Assumption::Nothing,
                9,
            ),
            ("a leaving member without a slot", base().with(leaving(8)), Assumption::Nothing, 9),
            (
                "a slot where the leaving member is taken to be evicted",
                base().with(leaving_lower(8)).with_reserved("other", &[("a0", 2)]),
                Assumption::LowerPriorityGone,
                3,
            ),
        ] {
            let used = situation.problem(&member("g", 0, 1, 1).build(), assumption, |search, problem| {
                let (host, _) = problem.host(search.view.host_id("a0").expect("a0")).expect("a node");
                problem.availability.used(host).resources.milli_cpu
            });
            assert_eq!(used, expected * 1_000, "{name}");
        }
    }
}
