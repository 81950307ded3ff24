//! Which group is planned next: those that have come as a whole, in the order in which kube-scheduler asks about their pods,
//! and not too many ahead of it.

use std::cmp::Reverse;
use std::collections::{BTreeMap, HashMap, HashSet};
use std::sync::Arc;

use crate::model::{GroupKey, Pod};
use crate::view::View;

/// How many members may have room kept before anybody asked about their groups: one of the largest groups, or many small ones.
const MEMBERS_AHEAD: usize = 1_024;

/// kube-scheduler's queue has who matters more first, then who came first.
type Turn = (Reverse<i32>, u64);

/// Groups that wait, as far as they are of interest.
#[derive(Default)]
pub(super) struct Line {
    /// When a group was first seen to wait, as a number.
    arrivals: HashMap<Arc<GroupKey>, u64>,
    seen: u64,
    /// Groups that can be planned.
    ready: BTreeMap<Turn, Arc<GroupKey>>,
    turns: HashMap<Arc<GroupKey>, Turn>,
    /// Groups that have been planned ahead: if nothing came of it, their members are to ask.
    planned: HashSet<Arc<GroupKey>>,
    /// Groups with slots of which nobody has a place, with the number of those.
    ahead: HashMap<Arc<GroupKey>, usize>,
}

impl Line {
    /// Takes in how a group is doing now.
    pub(super) fn look_at(&mut self, group: &Arc<GroupKey>, view: &View, is_ours: impl Fn(&Pod) -> bool) {
        if let Some(turn) = self.turns.remove(group) {
            self.ready.remove(&turn);
        }
        self.ahead.remove(group);
        if view.waiting_members(group).len() == 0 {
            self.planned.remove(group);
            self.arrivals.remove(group);
            return;
        }
        let arrival = *self.arrivals.entry(group.clone()).or_insert_with(|| {
            self.seen += 1;
            self.seen
        });
        if let Some(reservation) = view.ledger().reservations().of(group) {
            if view.placed_members(group).len() == 0 {
                self.ahead.insert(group.clone(), reservation.slots.len());
            }
            return;
        }
        let is_ready = |pod: &Arc<Pod>| {
            let asks = pod.group.as_ref().is_some_and(|membership| membership.has_topology_request());
            asks && is_ours(pod) && !pod.gated && pod.failed_attempt.is_none()
        };
        let size = view.waiting_members(group).next().and_then(|pod| view.group_size(pod));
        let is_whole = size.is_some_and(|size| view.waiting_members(group).len() >= size as usize);
        if is_whole && !self.planned.contains(group) && view.waiting_members(group).all(is_ready) {
            let priority = view.waiting_members(group).map(|pod| pod.priority).max().unwrap_or_default();
            let turn = (Reverse(priority), arrival);
            self.ready.insert(turn, group.clone());
            self.turns.insert(group.clone(), turn);
        }
    }

    /// Takes in how several groups are doing; of those that are new, the ones that were created first have come first.
    pub(super) fn look_at_all(
        &mut self,
        groups: impl IntoIterator<Item = Arc<GroupKey>>,
        view: &View,
        is_ours: impl Fn(&Pod) -> bool,
    ) {
        let first = |group: &Arc<GroupKey>| {
            view.waiting_members(group).map(|pod| (pod.created, pod.key.clone())).min()
        };
        let mut groups: Vec<_> = groups.into_iter().map(|group| (first(&group), group)).collect();
        groups.sort();
        for (_, group) in groups {
            self.look_at(&group, view, &is_ours);
        }
    }

    /// The next group to plan, unless enough have been. It is planned once.
    pub(super) fn next(&mut self) -> Option<Arc<GroupKey>> {
        if self.ahead.values().sum::<usize>() >= MEMBERS_AHEAD {
            return None;
        }
        let (_, group) = self.ready.pop_first()?;
        self.turns.remove(&group);
        self.planned.insert(group.clone());
        Some(group)
    }

    /// Whether there is one.
    pub(super) fn has_next(&self) -> bool {
        !self.ready.is_empty() && self.ahead.values().sum::<usize>() < MEMBERS_AHEAD
    }

    /// A group that was to be planned could not be, for the moment.
    pub(super) fn put_back(&mut self, group: &Arc<GroupKey>) {
        self.planned.remove(group);
    }

    /// Groups that have been looked at and wait, as far as is known.
    pub(super) fn groups(&self) -> impl Iterator<Item = &Arc<GroupKey>> {
        self.arrivals.keys()
    }
}
