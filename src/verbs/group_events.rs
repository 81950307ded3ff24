//! What has been said about each replica group, so that it is said again only when it changes.

use std::sync::Arc;
use std::time::Instant;

use dashmap::DashMap;

use super::GroupMetrics;
use crate::cluster::event_recorder::{EventRecorder, PodEvent};
use crate::decision::reason::REPLICA_GROUP;
use crate::decision::{Decision, Reason};
use crate::ledger::Reservation;
use crate::model::{GroupKey, Membership, Pod};
use crate::view::View;

/// How a group is doing.
#[derive(Clone, Debug, PartialEq, Eq)]
enum State {
    /// Nobody can be placed, for this reason.
    Waiting(Reason),
    /// Room for all that are missing is kept in a domain; its value, where one is required.
    Placing(Option<String>),
    /// Everybody has a place.
    Complete,
}

/// What has been said.
///
/// Groups are independent of each other, and what is said depends on nothing else: a concurrent map will do.
pub struct GroupEvents {
    last: DashMap<Arc<GroupKey>, State>,
    /// When the first member of those that are being placed was bound.
    begun: DashMap<Arc<GroupKey>, Instant>,
    event_recorder: EventRecorder,
    metrics: GroupMetrics,
}

impl GroupEvents {
    /// Nothing said so far.
    pub fn new(event_recorder: EventRecorder, metrics: GroupMetrics) -> Self {
        Self { last: DashMap::new(), begun: DashMap::new(), event_recorder, metrics }
    }

    /// Filter answered for a pod.
    pub fn filtered(&self, pod: &Pod, decision: &Decision) {
        let Some(membership) = pod.group.as_ref().filter(|membership| membership.has_topology_request())
        else {
            return;
        };
        if decision.passing() > 0 {
            if let Some(Reservation { domain, .. }) = &decision.effects().reservation {
                let domain = domain.as_ref().map(|(key, value)| format!("{key}={value}"));
                self.tell(membership, pod, State::Placing(domain));
            }
        } else if let Some(reason) = decision.nearest_reason(REPLICA_GROUP) {
            self.tell(membership, pod, State::Waiting(reason));
        }
    }

    /// A pod was bound, and this is the cluster with it.
    pub fn bound(&self, uid: &str, view: &View) {
        let Some((_, pod)) = view.placement(uid) else { return };
        let Some(membership) = pod.group.as_ref().filter(|membership| membership.has_topology_request())
        else {
            return;
        };
        let group = &membership.group;
        let placed = view.placed_members(group).len();
        if placed == 1 {
            self.begun.insert(group.clone(), Instant::now());
        }
        let missing = view.group_size(pod).unwrap_or_default() as usize > placed;
        if !missing && view.waiting_members(group).len() == 0 {
            // A member that came back to the others is no assembly.
            if let Some((_, began)) = self.begun.remove(group) {
                self.metrics.assembly.observe(began.elapsed().as_secs_f64());
            }
            self.tell(membership, pod, State::Complete);
        }
    }

    fn tell(&self, membership: &Membership, pod: &Pod, state: State) {
        let known = self.last.insert(membership.group.clone(), state.clone());
        if known.as_ref() == Some(&state) {
            return;
        }
        let (reason, message, is_warning) = match state {
            State::Waiting(reason) => {
                ("ReplicaGroupWaiting", format!("{}: {}", reason.code(), reason.entry().meaning), true)
            }
            State::Placing(domain) => {
                let place = domain.unwrap_or_else(|| "the cluster".to_owned());
                (
                    "ReplicaGroupPlacing",
                    format!("room for all members of the replica group is kept in {place}"),
                    false,
                )
            }
            State::Complete => {
                ("ReplicaGroupComplete", "all members of the replica group have a place".to_owned(), false)
            }
        };
        let GroupKey { set, index, .. } = &*membership.group;
        tracing::info!(group = %set, index = &**index, pod = %pod.key, reason, message, "replica group");
        let (pod, uid) = (pod.key.clone(), pod.uid.clone());
        self.event_recorder.announce(PodEvent { pod, uid, reason, message, is_warning });
    }

    /// Forgets groups of which nobody is left.
    pub fn forget(&self, view: &View) {
        let somebody =
            |group: &GroupKey| view.placed_members(group).len() + view.waiting_members(group).len() > 0;
        self.last.retain(|group, _| somebody(group));
        self.begun.retain(|group, _| somebody(group));
    }

    /// Shows in the metrics how groups are doing, and those that wait by their reasons.
    pub fn publish(&self, view: &View) {
        self.metrics.show(view);
        self.forget(view);
        self.metrics.nobody_waits();
        for entry in &self.last {
            if let State::Waiting(reason) = entry.value() {
                self.metrics.waiting.with_label_values(&[reason.code()]).inc();
            }
        }
    }
}
