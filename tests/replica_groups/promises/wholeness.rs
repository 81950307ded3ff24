//! How it has to end.

use super::Violation;
use crate::room::{Crew, around};
use crate::scenario::{Level, NodeSpec};
use crate::world::World;

impl World<'_> {
    /// When nobody moves any more: a group has all of its members, or none.
    pub fn check_no_pieces(&self) -> Result<(), Violation> {
        for at in 0..self.truth.groups.len() {
            let group = &self.truth.groups[at];
            let promised = group.wanted && !group.record.excused && self.truth.set_of(at).required.is_some();
            if promised && self.has_begun(at) && !self.truth.is_whole(at) {
                return Err(Violation::new("never in pieces", self.describe(at)));
            }
        }
        Ok(())
    }

    /// When there is room for everybody: all run, but for groups that are tied to a domain which cannot take them.
    pub fn check_everybody_runs(&self) -> Result<(), Violation> {
        if let Some(single) =
            self.truth.pods.values().find(|pod| pod.part.is_none() && !pod.is_hostile() && pod.node.is_none())
        {
            return Err(Violation::new("everybody runs", format!("{} waits", single.uid)));
        }
        for at in (0..self.truth.groups.len()).filter(|at| self.truth.groups[*at].wanted) {
            if !self.truth.is_whole(at) && !self.is_tied_down(at) {
                return Err(Violation::new("everybody runs", self.describe(at)));
            }
        }
        Ok(())
    }

    /// Members that run keep the others from going elsewhere.
    fn is_tied_down(&self, group: usize) -> bool {
        if self.truth.set_of(group).subgroups.is_some() && self.is_cramped(group) {
            return true;
        }
        let Some(level) = self.truth.set_of(group).required else { return self.lacks_reachable_room(group) };
        let mut places = self.truth.running_members(group).map(|(_, node)| node);
        let Some(first) = places.next() else { return self.is_tied_by_volumes(group, level) };
        if first.domain(level).is_none() || places.any(|node| node.domain(level) != first.domain(level)) {
            // Pulled apart by somebody who relabelled nodes.
            return true;
        }
        self.cannot_be_around(group, level, first)
    }

    /// Whether a group with subgroups is tied to racks, or others may have taken racks that it would need to itself.
    fn is_cramped(&self, group: usize) -> bool {
        let set = self.truth.set_of(group);
        let is_rival = |other: &usize| {
            let theirs = self.truth.set_of(*other);
            *other != group && theirs.namespace == set.namespace && theirs.subgroups.is_some()
        };
        self.truth.running_members(group).next().is_some()
            || (0..self.truth.groups.len()).any(|other| is_rival(&other))
    }

    /// Volumes that are there keep members from the room that there is.
    fn lacks_reachable_room(&self, group: usize) -> bool {
        let open: Vec<_> = self.truth.nodes.values().filter(|node| !self.is_invaded(group, node)).collect();
        let rest = Crew::missing(&self.truth, group, &[]);
        self.truth.set_of(group).storage.is_some() && !self.occupancy().packs(&rest, &open)
    }

    /// Volumes that are there keep members from going elsewhere, even before one of them runs.
    fn is_tied_by_volumes(&self, group: usize, level: Level) -> bool {
        self.truth.set_of(group).storage.is_some()
            && self
                .truth
                .nodes
                .values()
                .all(|node| node.domain(level).is_none() || self.cannot_be_around(group, level, node))
    }

    fn cannot_be_around(&self, group: usize, level: Level, place: &NodeSpec) -> bool {
        let rest = Crew::missing(&self.truth, group, &[]);
        self.is_invaded(group, place) || !self.occupancy().packs(&rest, &around(&self.truth, level, place))
    }

    /// Whether a group that may not be near runs in the same block.
    fn is_invaded(&self, group: usize, place: &NodeSpec) -> bool {
        (0..self.truth.groups.len()).any(|other| {
            let hostile = self.truth.objects(group, other) || self.truth.objects(other, group);
            hostile && self.truth.running_members(other).any(|(_, node)| node.block == place.block)
        })
    }

    fn describe(&self, group: usize) -> String {
        let name = format!("{}-{}", self.truth.set_of(group).name, self.truth.groups[group].number);
        let members: Vec<_> =
            self.truth.members(group).map(|pod| format!("{} on {:?}", pod.uid, pod.node)).collect();
        format!("{name} of {}: {members:?}", self.truth.groups[group].size)
    }
}
