//! What is left has to do for every group that has begun.

use std::collections::BTreeSet;
use std::time::Duration;

use super::Violation;
use crate::berth_process::LONGEST;
use crate::hostile::NAMESPACE;
use crate::room::{Crew, around};
use crate::scenario::Kind;
use crate::truth::Pod;
use crate::world::World;

/// A member that was let in so long before the end of its time counts as one that came too late.
const MARGIN: Duration = Duration::from_secs(2);

impl World<'_> {
    /// After a pod was given a place: it took nobody's room, unless it matters more. Then the others may be left with less
    /// than they were promised, even if it would still do.
    pub fn check_room_kept(&mut self, newcomer: &str, node: &str) -> Result<(), Violation> {
        let newcomer = self.truth.pods[newcomer].clone();
        self.excuse_the_outranked();
        self.excuse_the_outranked_by(&newcomer, &[node.to_owned()]);
        self.excuse_rivals_of(&newcomer, node);
        for at in 0..self.truth.groups.len() {
            if self.watch.hides_loss_of(at) {
                // Berth takes the room for occupied.
                self.truth.groups[at].record.excused = true;
            } else if let Some(shortage) = self.shortage(at) {
                return Err(Violation::new("room is kept", format!("{} took it: {shortage}", newcomer.uid)));
            }
        }
        Ok(())
    }

    /// Whoever matters more may have the room of others, from the moment it is offered to it.
    pub fn excuse_the_outranked_by(&mut self, newcomer: &Pod, offered: &[String]) {
        for at in 0..self.truth.groups.len() {
            let is_own = newcomer.part.as_ref().is_some_and(|part| part.group == at);
            let outranks = !is_own && newcomer.priority > self.least_priority(at);
            let is_around = outranks && offered.iter().any(|node| self.is_around(at, node));
            self.truth.groups[at].record.excused |= is_around;
        }
    }

    /// A group that has begun and lost what was kept for it, for a reason that nobody can help, competes with the others of its
    /// domain anew: where not all can have what they lack, the order follows from the cluster alone.
    fn excuse_rivals_of(&mut self, newcomer: &Pod, node: &str) {
        let Some(own) = newcomer.part.as_ref().map(|part| part.group) else { return };
        let has_begun = self.placed_members(own).any(|(other, _)| other.uid != newcomer.uid);
        if has_begun && self.truth.groups[own].record.excused {
            for at in (0..self.truth.groups.len()).filter(|at| *at != own) {
                self.truth.groups[at].record.excused |= self.is_around(at, node);
            }
        }
    }

    /// Room is kept at the priority of the least member that has none: without it, the others would be in vain. A member has
    /// a place when it is bound: before that nobody but kube-scheduler knows.
    fn least_priority(&self, group: usize) -> i32 {
        let placed = self.truth.bound_members(group).map(|(pod, _)| pod);
        let placed: Vec<usize> = placed.filter_map(|pod| Some(pod.part.as_ref()?.index)).collect();
        let missing = (0..self.truth.groups[group].size).filter(|index| !placed.contains(index));
        missing.map(|index| self.truth.set_of(group).priority_of(index)).min().unwrap_or(i32::MAX)
    }

    /// Room for members to come of a group that matters more may be what another group counted on.
    pub fn excuse_the_outranked(&mut self) {
        let priorities: Vec<i32> = (0..self.truth.groups.len()).map(|at| self.least_priority(at)).collect();
        let hostile = self.truth.pods.values().filter(|pod| pod.is_hostile() && pod.node.is_none());
        let hostile =
            hostile.map(|pod| pod.priority).max().filter(|_| !self.berth.slots_in(NAMESPACE).is_empty());
        for at in 0..self.truth.groups.len() {
            let outranks =
                |other: &usize| priorities[*other] > priorities[at] && self.may_keep_room_around(*other, at);
            let outranked = (0..self.truth.groups.len()).any(|other| outranks(&other))
                || hostile.is_some_and(|priority| priority > priorities[at]);
            self.truth.groups[at].record.excused |= outranked;
        }
    }

    /// Whether a group that is not complete may have slots in the domain of another.
    fn may_keep_room_around(&self, group: usize, other: usize) -> bool {
        let is_wide = self.truth.set_of(group).required.is_none();
        let overlap = |(_, node): (&Pod, &str)| is_wide || self.is_around(other, node);
        let mut theirs = self.placed_members(other);
        !self.truth.is_whole(group)
            && (self.placed_members(group).any(overlap)
                || (self.has_begun(group) && theirs.any(|(_, node)| self.is_around(group, node))))
    }

    /// Whether a node is in the domain of a group.
    fn is_around(&self, group: usize, node: &str) -> bool {
        let place = self.placed_members(group).find_map(|(_, node)| self.truth.nodes.get(node));
        let (Some(level), Some(place)) = (self.truth.set_of(group).required, place) else { return false };
        self.truth.nodes.get(node).is_some_and(|node| node.domain(level) == place.domain(level))
    }

    /// What a group lacks that counts on its room.
    fn shortage(&self, group: usize) -> Option<String> {
        let level = self.truth.set_of(group).required?;
        if self.truth.groups[group].record.excused || self.is_mostly_claimed(group) {
            return None;
        }
        let under_way: Vec<&Pod> = self.remembered().map(|(pod, _)| pod).collect();
        let rest = Crew::missing(&self.truth, group, &under_way);
        let place = self.placed_members(group).find_map(|(_, node)| self.truth.nodes.get(node))?;
        // The room of members that are leaving will be there when their successors are.
        let occupancy = self.occupancy_to_come().without(|uid| self.is_leaving_member(uid, group));
        let enough = rest.is_empty() || occupancy.packs(&rest, &around(&self.truth, level, place));
        (!enough).then(|| format!("group {group} in {:?} has no room for {rest:?}", place.domain(level)))
    }

    /// Whether few members exist, and nobody describes those that are still to come: they may never do.
    fn is_mostly_claimed(&self, group: usize) -> bool {
        let present = self.truth.members(group).count();
        let is_described = self.truth.set_of(group).kind != Kind::Annotated;
        !is_described && present * 3 < self.truth.groups[group].size
    }

    pub fn is_leaving_member(&self, uid: &str, group: usize) -> bool {
        let pod = self.truth.pods.get(uid);
        pod.is_some_and(|pod| pod.leaving && pod.part.as_ref().is_some_and(|part| part.group == group))
    }

    /// Whether members are where others cannot follow: on a node that is gone, or that was moved to another domain.
    fn is_stranded(&self, group: usize) -> bool {
        let level = self.truth.set_of(group).required;
        let place = |node: &String| {
            let node = self.truth.nodes.get(node)?;
            Some(level.map(|level| node.domain(level).map(str::to_owned)))
        };
        // A successor would have to be where its node was before it changed racks.
        let is_cut_off = |(pod, node): (&Pod, &String)| {
            self.truth.nodes.get(node).is_some_and(|node| !self.truth.reaches_volume(pod, node))
        };
        let mut places = self.truth.bound_members(group).map(|(_, node)| place(node));
        let first = places.next();
        first.is_some_and(|first| first.is_none() || places.any(|place| place != first))
            || self.truth.bound_members(group).any(is_cut_off)
    }

    /// A member was bound that had been let in at `since`.
    pub fn remember_progress(&mut self, pod: &Pod, since: Duration) {
        let Some(part) = &pod.part else { return };
        let whole = self.truth.is_whole(part.group);
        let stranded = self.is_stranded(part.group);
        let record = &mut self.truth.groups[part.group].record;
        record.progress = record.progress.max(since);
        record.excused &= !whole || stranded;
        record.spent &= !whole;
        self.seen.recovered |= whole && record.lost_member;
        record.lost_member &= !whole;
        if whole {
            self.look_at_whole(part.group);
        }
    }

    /// Whether what was kept for a group may have expired by now.
    pub fn may_have_given_up(&self, group: usize) -> bool {
        self.truth.groups[group].record.progress + self.times.reservation <= self.now + MARGIN
    }

    /// Room is kept for a time only.
    pub fn excuse_the_late(&mut self) {
        for at in 0..self.truth.groups.len() {
            let whole = self.truth.is_whole(at);
            let late = self.may_have_given_up(at);
            let record = &mut self.truth.groups[at].record;
            record.spent |= !whole && record.since + LONGEST <= self.now + MARGIN;
            record.excused |= (late || record.spent) && !whole;
        }
    }

    /// Berth takes the room of pods for free that are still under way when it has forgotten them.
    pub fn excuse_those_around_forgotten(&mut self) {
        for node in self.forgotten().map(str::to_owned).collect::<Vec<_>>() {
            self.excuse_groups_around(&node);
        }
    }

    pub fn excuse_groups_around(&mut self, node: &str) {
        for at in 0..self.truth.groups.len() {
            let around = self.is_around(at, node);
            self.truth.groups[at].record.excused |= around;
        }
    }

    fn look_at_whole(&mut self, group: usize) {
        let set = self.truth.set_of(group);
        self.seen.whole |= set.required.is_some() && self.truth.groups[group].size > 1;
        if set.subgroups.is_some() {
            let racks: BTreeSet<_> = self.truth.running_members(group).map(|(_, node)| &node.rack).collect();
            self.seen.subgroups_whole = true;
            self.seen.subgroups_apart |= racks.len() > 1;
        }
        if let (Some(_), Some(level)) = (set.required, set.preferred) {
            let mut domains: Vec<_> =
                self.truth.running_members(group).map(|(_, node)| node.domain(level)).collect();
            domains.sort_unstable();
            domains.dedup();
            self.seen.preferred_kept |= domains.len() == 1 && self.truth.groups[group].size > 1;
            self.seen.preferred_left |= domains.len() > 1;
        }
    }
}
