//! What must hold when a member is bound.

use super::Violation;
use crate::room::{Crew, around};
use crate::scenario::{Kind, Level, NodeSpec};
use crate::truth::{Part, Pod};
use crate::world::World;

impl World<'_> {
    pub fn check_binding(&self, pod: &Pod, node: &str) -> Result<(), Violation> {
        let (Some(part), Some(node)) = (&pod.part, self.truth.nodes.get(node)) else { return Ok(()) };
        self.check_together(pod, part, node)?;
        self.check_subgroup_together(pod, part, node)?;
        self.check_preferred(pod, part, node)?;
        self.check_alone(pod, part, node)
    }

    /// A bind that comes later than its attempt is remembered may take anybody's room, and that of its own group: nobody
    /// has looked for long whether the others fit there. It still must not tear its group apart.
    pub fn excuse_late_bind(&mut self, pod: &Pod, node: &str) {
        self.seen.bound_late = true;
        let is_blind = self.watch.has_node_news() || self.is_behind();
        if let Some(part) = &pod.part {
            let record = &mut self.truth.groups[part.group].record;
            record.excused = true;
            record.disturbed |= is_blind;
        }
        self.excuse_groups_around(node);
    }

    /// Who is bound later than its attempt is remembered, or than room is kept for the others, as the first of its group, is bound
    /// only where all the others fit.
    pub fn check_late_beginning(&self, pod: &Pod, node: &str) -> Result<(), Violation> {
        let (Some(part), Some(node)) = (&pod.part, self.truth.nodes.get(node)) else { return Ok(()) };
        let Some(level) = self.truth.set_of(part.group).required else { return Ok(()) };
        let is_first = self.placed_members(part.group).all(|(other, _)| other.uid == pod.uid);
        // Others may be as late.
        let set = self.truth.set_of(part.group);
        let is_described =
            set.kind == Kind::LeaderWorker || self.truth.members(part.group).count() >= part.size;
        let is_hidden = self.forgotten().next().is_some() || !self.watch.is_empty() || !is_described;
        if !is_first || is_hidden || node.domain(level).is_none() {
            return Ok(());
        }
        let text = || format!("{} is bound late to {}, where the rest does not fit", pod.uid, node.name);
        let fits = self.rest_fits(pod, part.group, level, node);
        fits.then_some(()).ok_or_else(|| Violation::new("late beginning", text()))
    }

    /// Whether all other members fit into the domain of a node with this one on it.
    fn rest_fits(&self, pod: &Pod, group: usize, level: Level, node: &NodeSpec) -> bool {
        let under_way: Vec<&Pod> = self.remembered().map(|(pod, _)| pod).chain([pod]).collect();
        let rest = Crew::missing(&self.truth, group, &under_way);
        let occupancy = self.occupancy_to_come().without(|uid| self.is_leaving_member(uid, group));
        occupancy.with(pod, &node.name).packs(&rest, &around(&self.truth, level, node))
    }

    /// A bind is declined only for the sake of members that are elsewhere, of others that would find no room, or of a group that must
    /// not be near, or because the node is in no domain any more.
    pub fn check_declined(&self, pod: &Pod, node: &str, is_outdated: bool) -> Result<(), Violation> {
        let unfounded =
            |why: &str| Err(Violation::new("declined with reason", format!("{}: {why}", pod.uid)));
        let part = pod.part.as_ref();
        if pod.is_hostile() {
            return Ok(());
        }
        let Some(part) = part else { return unfounded("no member can tear a group apart") };
        // Nobody of the subgroup may be there yet, or somebody is elsewhere; `check_late_beginning` has what comes of it.
        let mut subgroup = self.truth.running_in_subgroup_of(part).peekable();
        let is_first_of_subgroup = self.truth.subgroup_of(part).is_some() && subgroup.peek().is_none();
        if self.is_apart_from_subgroup(pod, part, node) || is_outdated && is_first_of_subgroup {
            return Ok(());
        }
        let (Some(level), Some(node)) = (self.truth.set_of(part.group).required, self.truth.nodes.get(node))
        else {
            return Ok(());
        };
        let is_blind = self.watch.has_node_news() || self.watch.hides(part.group);
        let is_in_no_domain = node.domain(level).is_none();
        let is_elsewhere = |place: &str| {
            self.truth.nodes.get(place).is_none_or(|place| place.domain(level) != node.domain(level))
        };
        let part_of = part.group;
        let mut others = self.placed_members(part_of).filter(|(other, _)| other.uid != pod.uid);
        let is_kept_out = (0..self.truth.groups.len())
            .any(|other| self.truth.objects(other, part.group) || self.truth.objects(part.group, other));
        // Berth may count on one that was offered a place elsewhere, though nothing came of it.
        let of_group = |uid: &String| {
            let part = self.truth.pods.get(uid).and_then(|pod| pod.part.as_ref());
            *uid != pod.uid && part.is_some_and(|other| other.group == part_of)
        };
        let is_counted_on = self.offers.keys().any(of_group);
        // Then a first member is looked at anew, and room may be kept for others; `check_late_beginning` has what comes of it.
        // So it is if what was kept for the others has been given up: to somebody who outranks them, so that they do not fit any
        // more, or because nobody could have known that they would not.
        let is_given_up =
            self.truth.groups[part_of].record.excused || !self.rest_fits(pod, part_of, level, node);
        let may_not_begin =
            (is_outdated || is_given_up) && self.truth.running_members(part_of).next().is_none();
        let is_founded = is_in_no_domain || is_counted_on || is_kept_out || may_not_begin;
        if is_blind || is_founded || others.any(|(_, place)| is_elsewhere(place)) {
            Ok(())
        } else {
            unfounded("nobody is elsewhere")
        }
    }

    fn check_together(&self, pod: &Pod, part: &Part, node: &NodeSpec) -> Result<(), Violation> {
        let (set, record) = (self.truth.set_of(part.group), &self.truth.groups[part.group].record);
        let Some(level) = set.required.filter(|_| !record.disturbed) else { return Ok(()) };
        let domain = node.domain(level);
        let apart = self
            .truth
            .running_members(part.group)
            .find(|(_, other)| domain.is_none() || other.domain(level) != domain);
        match apart {
            Some((other, place)) => {
                let text =
                    format!("{} goes to {}, but {} is on {}", pod.uid, node.name, other.uid, place.name);
                Err(Violation::new("together", text))
            }
            None if domain.is_none() => {
                Err(Violation::new("together", format!("{} goes to {} in no domain", pod.uid, node.name)))
            }
            None => Ok(()),
        }
    }

    fn check_subgroup_together(&self, pod: &Pod, part: &Part, node: &NodeSpec) -> Result<(), Violation> {
        let is_apart = self.is_apart_from_subgroup(pod, part, &node.name);
        if !is_apart || self.truth.groups[part.group].record.disturbed {
            return Ok(());
        }
        let others: Vec<_> =
            self.truth.running_in_subgroup_of(part).map(|(other, place)| (&other.uid, place)).collect();
        let text = format!("{} goes to {} in {:?}, apart from {others:?}", pod.uid, node.name, node.rack);
        Err(Violation::new("subgroup together", text))
    }

    /// Whether a member on a node would be in another rack than some of its subgroup, or in none.
    pub fn is_apart_from_subgroup(&self, pod: &Pod, part: &Part, node: &str) -> bool {
        let Some(node) = self.truth.nodes.get(node).filter(|_| self.truth.subgroup_of(part).is_some()) else {
            return false;
        };
        let mut others = self.truth.running_in_subgroup_of(part).filter(|(other, _)| other.uid != pod.uid);
        node.rack.is_none() || others.any(|(_, place)| place.rack != node.rack)
    }

    fn check_preferred(&self, pod: &Pod, part: &Part, node: &NodeSpec) -> Result<(), Violation> {
        let (set, record) = (self.truth.set_of(part.group), &self.truth.groups[part.group].record);
        let expected = record.expects_preferred && !record.excused && !record.disturbed;
        let Some(level) = set.preferred.filter(|_| expected) else { return Ok(()) };
        let domain = node.domain(level);
        match self.truth.running_members(part.group).find(|(_, other)| other.domain(level) != domain) {
            Some((other, place)) => {
                let text =
                    format!("{} goes to {}, but {} is on {}", pod.uid, node.name, other.uid, place.name);
                Err(Violation::new("preferred where possible", text))
            }
            None => Ok(()),
        }
    }

    fn check_alone(&self, pod: &Pod, part: &Part, node: &NodeSpec) -> Result<(), Violation> {
        let group = part.group;
        if self.truth.groups[group].record.disturbed {
            return Ok(());
        }
        for other in (0..self.truth.groups.len()).filter(|other| !self.truth.groups[*other].record.disturbed)
        {
            // Each measures by its own domains.
            for asking in [group, other] {
                let asked = if asking == group { other } else { group };
                let level = self.truth.set_of(asking).required;
                let Some(level) = level.filter(|_| self.truth.objects(asking, asked)) else { continue };
                let shared = |place: &NodeSpec| {
                    place.domain(level).is_some() && place.domain(level) == node.domain(level)
                };
                if let Some((neighbour, _)) =
                    self.truth.running_members(other).find(|(_, place)| shared(place))
                {
                    let text = format!(
                        "{} goes to {}, where {} is in the same {level:?}",
                        pod.uid, node.name, neighbour.uid
                    );
                    return Err(Violation::new("exclusive", text));
                }
            }
        }
        Ok(())
    }
}
