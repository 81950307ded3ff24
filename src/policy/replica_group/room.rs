//! What is left on a host for a member of a group.

use std::borrow::Cow;

use crate::ledger::Reservation;
use crate::model::{GroupKey, Pod, Used};
use crate::view::{Host, View};

/// How generously room is counted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Counting {
    /// What is free and not promised to anybody else.
    Free,
    /// Also what is kept for other groups: would there be room but for them?
    Reserved,
    /// Also what lower-priority pods take: would there be room if they left?
    Evicting,
}

/// Who looks for room, and how it is counted.
#[derive(Clone, Copy)]
pub struct Room<'a> {
    pub view: &'a View,
    pub group: &'a GroupKey,
    pub priority: i32,
    pub counting: Counting,
    /// The pod that asks: wherever it is nominated to, it does not stand in its own way.
    pub asking: Option<&'a Pod>,
}

impl<'a> Room<'a> {
    /// What is used of a host, as far as the group has to mind.
    pub fn used(&self, host: &'a Host) -> Cow<'a, Used> {
        let mut used = Cow::Borrowed(&*host.used);
        if self.view.nominated_nodes() > 0 {
            for pod in self.view.nominated_to(&host.name).filter(|pod| self.minds(pod, host)) {
                used.to_mut().arrive(&pod.requests);
            }
        }
        if self.counting != Counting::Reserved {
            for held in self.view.ledger().reservations().on(&host.name) {
                if self.minds_group(&held.group, held.priority) {
                    let sum = used.to_mut();
                    sum.resources.add(&held.used.resources);
                    sum.pods += held.used.pods;
                }
            }
        }
        if self.counting == Counting::Evicting {
            for pod in host.pods.iter().filter(|pod| self.outranks(pod)) {
                used.to_mut().leave(&pod.allocated);
            }
        }
        used
    }

    /// Whether a pod in place could be evicted for the group. Its own members could not.
    pub fn outranks(&self, pod: &Pod) -> bool {
        pod.priority < self.priority && !self.is_own(pod)
    }

    fn is_own(&self, pod: &Pod) -> bool {
        pod.group.as_ref().is_some_and(|membership| *membership.group == *self.group)
    }

    /// Whether what is kept for a group counts as taken.
    pub fn minds_reservation(&self, kept: &Reservation) -> bool {
        self.counting != Counting::Reserved && self.minds_group(&kept.group, kept.priority)
    }

    fn minds_group(&self, group: &GroupKey, priority: i32) -> bool {
        *group != *self.group && priority >= self.priority
    }

    /// Room that preemption made for others counts as taken, as in kube-scheduler. A member of the own group is looked
    /// after by the plan, and one that has a slot on the host is counted there.
    fn minds(&self, pod: &Pod, host: &Host) -> bool {
        let asking = self.asking.is_some_and(|asking| asking.uid == pod.uid);
        pod.priority >= self.priority && !self.is_own(pod) && !asking && !has_slot(pod, host, self.view)
    }
}

/// Whether something is kept on the host for a pod's group.
pub fn has_slot(pod: &Pod, host: &Host, view: &View) -> bool {
    pod.group.as_ref().is_some_and(|membership| {
        view.ledger().reservations().on(&host.name).iter().any(|held| held.group == membership.group)
    })
}
