//! Which groups have to be looked at again: what is owed to a group follows from what the watch shows of its members,
//! whoever placed or deleted them.

use std::sync::Arc;

use super::View;
use crate::model::group::Source;
use crate::model::{GroupKey, Membership, Name, ObjectKey, Pod, Uid};

/// Where a member stands, as far as what is owed to its group depends on it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Standing {
    membership: Arc<Membership>,
    place: Option<Name>,
    is_leaving: bool,
    is_finished: bool,
}

impl View {
    /// Where a pod stands; `None` if it is no member that anybody shows.
    pub(super) fn standing(&self, uid: &Uid) -> Option<Standing> {
        let pod = self.pods.get(uid)?;
        let membership = pod.group.clone().filter(|membership| membership.has_topology_request())?;
        let place = self.place_of(uid).cloned();
        Some(Standing { membership, place, is_leaving: pod.terminating, is_finished: pod.finished })
    }

    /// Outdates the groups of a pod that does not stand as before.
    pub(super) fn outdate_if_changed(&mut self, before: Option<Standing>, uid: &Uid) {
        let after = self.standing(uid);
        if before != after {
            for standing in before.into_iter().chain(after) {
                let group = &standing.membership.group;
                self.outdate(group);
                if self.placed_members(group).len() == 0 {
                    // What is kept for it is a mere plan from now on, which gives way to groups that have begun.
                    self.room_is_made();
                }
            }
        }
    }

    /// A member has lost the place that it was to have. It is owed a slot: the one that it had may be taken by now.
    pub(super) fn outdate_by_departure(&mut self, membership: &Membership) {
        if membership.has_topology_request() {
            self.outdate(&membership.group);
        }
    }

    /// Outdates the groups that have members in place, or slots, on a host.
    pub(super) fn outdate_groups_on(&mut self, host: &str) {
        let slots = self.ledger.reservations().on(host).iter().map(|held| held.group.clone());
        let pods = self.host(host).into_iter().flat_map(|host| host.pods.iter());
        let members = pods.filter_map(|pod| Some(pod.group.as_ref()?.group.clone()));
        let concerned: Vec<_> = slots.chain(members).collect();
        for group in concerned {
            self.outdate(&group);
        }
    }

    /// Casts doubt on the groups that an object stands behind: it says how many members there are, and what those ask for that
    /// are still to come.
    pub(super) fn doubt_groups_of(&mut self, source: Source, object: &ObjectKey) {
        let is_behind = |pod: &Arc<Pod>| {
            let behind = pod.group.as_ref().and_then(|membership| source.object_behind(pod, membership));
            behind.as_ref() == Some(object)
        };
        let of_object = |group: &GroupKey| {
            group.source == source
                && group.set.namespace == object.namespace
                && self.placed_members(group).any(is_behind)
        };
        let concerned: Vec<_> = self.groups.keys().filter(|group| of_object(group)).cloned().collect();
        for group in concerned {
            self.doubt(group);
        }
    }

    /// Casts doubt on groups for which something is reserved, or to which more is owed than they have: members still to come are
    /// not what they were. There may be many of them for a single change, made up by somebody: they keep what they have
    /// and are looked at a few at a time.
    pub(super) fn doubt_incomplete_groups(&mut self, is_concerned: impl Fn(&GroupKey) -> bool) {
        let reserved = self.ledger.reservations().iter().map(|kept| &kept.group);
        let incomplete = reserved.chain(self.short_groups()).filter(|group| is_concerned(group));
        let incomplete: Vec<_> = incomplete.cloned().collect();
        for group in incomplete {
            self.doubt(group);
        }
    }

    fn doubt(&mut self, group: Arc<GroupKey>) {
        if self.short.remove(&group).is_some() {
            self.hopeful.insert(group);
        } else if !self.hopeful.contains(&group) && self.is_owed_anything(&group) {
            self.doubtful.insert(group);
        }
    }

    /// Nothing is owed to a group of which nobody has a place, unless something was reserved for it.
    fn outdate(&mut self, group: &Arc<GroupKey>) {
        if self.is_owed_anything(group) {
            self.outdated.insert(group.clone());
        }
    }

    fn is_owed_anything(&self, group: &GroupKey) -> bool {
        self.placed_members(group).len() > 0 || self.ledger.reservations().of(group).is_some()
    }

    /// There is not all the room that a group lacks: it gets none. Whoever else went short may have what it gives up.
    pub fn go_short(&mut self, group: Arc<GroupKey>) {
        self.release(&group);
        self.look_again_when_room_is_made(group);
    }

    /// What a group is owed depends on who is under way, or on room that is not there: it is outdated as soon as that may
    /// have changed.
    pub fn look_again_when_room_is_made(&mut self, group: Arc<GroupKey>) {
        self.short.insert(group);
    }

    /// Groups that have not got all that they lack.
    pub fn short_groups(&self) -> impl Iterator<Item = &Arc<GroupKey>> {
        self.short.iter().chain(&self.hopeful)
    }

    /// Whether a pod is under way and groups have gone short, perhaps because of it.
    pub fn may_hold_up_groups(&self, uid: &str) -> bool {
        self.short_groups().next().is_some() && self.ledger.get(uid).is_some()
    }

    /// A pod is not under way any more. What is kept for its group may be a mere plan from now on, which gives way to groups
    /// that have begun.
    pub(super) fn outdate_by_end_of_attempt(&mut self, pod: &Pod) {
        let group = pod.group.as_ref().map(|membership| &membership.group);
        let is_mere_plan = |group: &Arc<GroupKey>| {
            self.placed_members(group).len() == 0 && !self.ledger.has_member_of(group)
        };
        if self.ledger.has_nobody_under_way() || group.is_some_and(is_mere_plan) {
            self.room_is_made();
        }
    }

    /// A pod has come to a host: whoever has slots there may have lost one. With the first member of a group, what is owed
    /// to it begins to count; until then it was what filter had answered. Once the least of its members has its place, the
    /// rest is kept at the priority of the others.
    pub(super) fn outdate_by_arrival(&mut self, pod: &Pod, host: &str) {
        let own = pod.group.as_ref().map(|membership| &membership.group);
        let is_news = |own: &&Arc<GroupKey>| {
            self.placed_members(own).len() == 1
                || self.was_least(pod, own)
                || self.has_undescribed_members(own)
        };
        if let Some(own) = own.filter(is_news) {
            self.outdate(&own.clone());
        }
        let held = self.ledger.reservations().on(host).iter().map(|held| &held.group);
        let others: Vec<_> = held.filter(|group| Some(*group) != own).cloned().collect();
        self.outdated.extend(others);
    }

    /// Whether room is kept for members that do not exist and that nobody describes. What they are taken to ask for follows from
    /// those that do exist, and from which of them still wait.
    fn has_undescribed_members(&self, group: &GroupKey) -> bool {
        self.ledger.reservations().of(group).is_some_and(|kept| kept.undescribed > 0)
    }

    /// Whether a group's room was kept at the priority of this member, and all that are still waiting matter more.
    fn was_least(&self, pod: &Pod, group: &GroupKey) -> bool {
        let kept = self.ledger.reservations().of(group).filter(|kept| kept.priority == pod.priority);
        let least = self
            .waiting_members(group)
            .filter(|other| other.uid != pod.uid)
            .map(|other| other.priority)
            .min();
        kept.zip(least).is_some_and(|(kept, least)| least > kept.priority)
    }

    /// Of these groups those whose reservations have expired get nothing more; it is room for others.
    pub(super) fn give_up(&mut self, reserved: Vec<Arc<GroupKey>>) {
        let expired: Vec<_> =
            reserved.into_iter().filter(|group| self.ledger.reservations().of(group).is_none()).collect();
        if !expired.is_empty() {
            for group in expired {
                self.list_group(&group);
                self.short.remove(&group);
                self.hopeful.remove(&group);
            }
            self.room_is_made();
        }
    }

    /// A pod has left its place, a node has come, slots are kept no more, or nobody is under way any more.
    pub(super) fn room_is_made(&mut self) {
        for group in std::mem::take(&mut self.short) {
            if self.is_owed_anything(&group) {
                self.hopeful.insert(group);
            }
        }
    }

    /// Whatever is owed to any group is to be worked out: Berth has begun a moment ago, or recognises groups in another way.
    pub(super) fn outdate_all(&mut self) {
        self.outdated = self.groups.keys().cloned().collect();
        self.is_reckoned = false;
    }

    /// What is owed to these groups has been worked out.
    pub fn mark_up_to_date(&mut self, groups: &[Arc<GroupKey>]) {
        for group in groups {
            self.outdated.remove(group);
            self.hopeful.remove(group);
            self.doubtful.remove(group);
        }
        self.is_reckoned |= self.outdated.is_empty();
    }
}
