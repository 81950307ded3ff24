//! How it has to end.

use super::Violation;
use crate::room::{Crew, around};
use crate::truth::Pod;
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
        if let Some(single) = self.truth.pods.values().find(|pod| pod.part.is_none() && pod.node.is_none()) {
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
        let Some(level) = self.truth.set_of(group).required else { return false };
        let mut places = self.truth.running_members(group).map(|(_, node)| node);
        let Some(first) = places.next() else { return false };
        if first.domain(level).is_none() || places.any(|node| node.domain(level) != first.domain(level)) {
            // Pulled apart by somebody who relabelled nodes.
            return true;
        }
        let invaded = (0..self.truth.groups.len()).any(|other| {
            let hostile = self.truth.objects(group, other) || self.truth.objects(other, group);
            hostile && self.truth.running_members(other).any(|(_, node)| node.block == first.block)
        });
        let under_way: Vec<&Pod> = Vec::new();
        let rest = Crew::missing(&self.truth, group, &under_way);
        invaded || !self.occupancy().packs(&rest, &around(&self.truth, level, first))
    }

    fn describe(&self, group: usize) -> String {
        let name = format!("{}-{}", self.truth.set_of(group).name, self.truth.groups[group].number);
        let members: Vec<_> =
            self.truth.members(group).map(|pod| format!("{} on {:?}", pod.uid, pod.node)).collect();
        format!("{name} of {}: {members:?}", self.truth.groups[group].size)
    }
}
