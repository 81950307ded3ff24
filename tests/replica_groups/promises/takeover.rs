//! Two Berths that see the same cluster owe groups the same room.

use std::collections::BTreeMap;

use super::Violation;
use crate::berth_process::Owed;
use crate::hostile::NAMESPACE;
use crate::world::World;

impl World<'_> {
    /// Another Berth takes over that has only the cluster to go by. What it owes to groups with members in place is what the
    /// old one owes to them, unless the old one has given up on somebody in the meantime, or knows in which domain a group is
    /// while nothing in the cluster tells.
    pub fn check_takeover(&mut self) -> Result<(), Violation> {
        let adrift = (0..self.truth.groups.len()).any(|group| self.is_adrift(group));
        if adrift || self.berth.has_given_up() || self.berth.has_pods_under_way() {
            return Ok(());
        }
        let begun = |owed: BTreeMap<String, Owed>| -> BTreeMap<String, Owed> {
            // Members of a hostile tenant contradict each other: nobody owes it one thing or another.
            let is_honest = |owed: &Owed| owed.namespace != NAMESPACE;
            owed.into_iter().filter(|(_, owed)| owed.in_place > 0 && is_honest(owed)).collect()
        };
        // Nor is what it claims the same for everybody, and others may go short for it.
        let newcomer = self.newcomer();
        if [&self.berth, &newcomer].into_iter().any(|berth| !berth.slots_in(NAMESPACE).is_empty()) {
            return Ok(());
        }
        let (old, new) = (begun(self.berth.owed()), begun(newcomer.owed()));
        self.seen.taken_over |= !new.is_empty();
        for (group, owed) in &new {
            let known = old.get(group);
            if known.is_none_or(|known| !known.covers(owed)) {
                let text = format!("{group}: the newcomer owes {owed:?}, the old one {known:?}");
                return Err(Violation::new("any Berth owes the same", text));
            }
        }
        match old.iter().find(|(group, _)| !new.contains_key(*group)) {
            Some((group, owed)) => {
                let text = format!("{group}: only the old one owes {owed:?}");
                Err(Violation::new("any Berth owes the same", text))
            }
            None => Ok(()),
        }
    }

    /// Whether all nodes of a group's members are gone, or have lost the label of its topology.
    fn is_adrift(&self, group: usize) -> bool {
        self.has_subgroup_adrift(group) || self.is_adrift_as_a_whole(group)
    }

    /// Whether it is so with a subgroup and its rack.
    fn has_subgroup_adrift(&self, group: usize) -> bool {
        self.truth.bound_members(group).any(|(pod, _)| {
            let Some(part) = pod.part.as_ref().filter(|part| self.truth.subgroup_of(part).is_some()) else {
                return false;
            };
            let own = pod.node.as_ref().and_then(|node| self.truth.nodes.get(node));
            let mut places = self.truth.running_in_subgroup_of(part).map(|(_, place)| place).chain(own);
            places.all(|place| place.rack.is_none())
        })
    }

    fn is_adrift_as_a_whole(&self, group: usize) -> bool {
        let Some(level) = self.truth.set_of(group).required else { return false };
        let mut running = self.truth.running_members(group);
        self.truth.bound_members(group).next().is_some()
            && running.all(|(_, node)| node.domain(level).is_none())
    }
}
