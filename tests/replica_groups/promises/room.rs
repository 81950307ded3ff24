//! What is left has to do for every group that has begun.

use std::time::Duration;

use super::Violation;
use crate::room::{Crew, around};
use crate::truth::Pod;
use crate::world::{TTL, World};

/// A member that was let in so long before the end of its time counts as one that came too late.
const MARGIN: Duration = Duration::from_secs(2);

impl World<'_> {
    /// After a pod was given a place: nobody's room was taken.
    pub fn check_room_kept(&self, newcomer: &Pod) -> Result<(), Violation> {
        let occupancy = self.occupancy();
        let under_way: Vec<&Pod> = self.assumed().map(|(pod, _)| pod).collect();
        for at in 0..self.truth.groups.len() {
            let group = &self.truth.groups[at];
            let (Some(level), false) = (self.truth.set_of(at).required, group.record.excused) else { continue };
            let place = self.placed_members(at).find_map(|(_, node)| self.truth.nodes.get(node));
            let (Some(place), rest) = (place, Crew::missing(&self.truth, at, &under_way)) else { continue };
            if !rest.is_empty() && !occupancy.packs(&rest, &around(&self.truth, level, place)) {
                let domain = place.domain(level);
                let text = format!("{} took room that group {at} needs in {domain:?} for {rest:?}", newcomer.uid);
                return Err(Violation::new("room is kept", text));
            }
        }
        Ok(())
    }

    /// A member was bound that had been let in at `since`.
    pub fn remember_progress(&mut self, pod: &Pod, since: Duration) {
        let Some(part) = &pod.part else { return };
        let whole = self.truth.is_whole(part.group);
        let record = &mut self.truth.groups[part.group].record;
        record.progress = record.progress.max(since);
        record.excused &= !whole;
        if whole {
            self.look_at_whole(part.group);
        }
    }

    /// Room is kept for a time only.
    pub fn excuse_the_late(&mut self) {
        for at in 0..self.truth.groups.len() {
            let late = self.truth.groups[at].record.progress + TTL <= self.now + MARGIN;
            let whole = self.truth.is_whole(at);
            self.truth.groups[at].record.excused |= late && !whole;
        }
    }

    fn look_at_whole(&mut self, group: usize) {
        let set = self.truth.set_of(group);
        self.seen.whole |= set.required.is_some() && self.truth.groups[group].size > 1;
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
