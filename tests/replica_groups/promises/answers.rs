//! What filter may answer.

use std::collections::BTreeMap;

use super::Violation;
use crate::room::{Crew, around};
use crate::scenario::{Kind, Level, NodeSpec};
use crate::truth::{Part, Pod, Record};
use crate::world::World;

impl World<'_> {
    pub fn check_answer(
        &mut self,
        pod: &Pod,
        candidates: &[String],
        offered: &[String],
    ) -> Result<(), Violation> {
        if let Some(stranger) = offered.iter().find(|node| !candidates.contains(node)) {
            return Err(Violation::new("a subset of the candidates", format!("{}: {stranger}", pod.uid)));
        }
        let Some(part) = pod.part.clone() else {
            self.seen.single_kept_out |= offered.len() < candidates.len();
            return Ok(());
        };
        let first = !self.has_begun(part.group);
        self.look_at_member(&part, first, candidates, offered);
        if offered.is_empty() {
            return Ok(());
        }
        if first {
            self.check_choice(&part, offered)?;
            let (now, ttl) = (self.now, self.times.reservation);
            let expects_preferred = self.would_fit_as_preferred(&part);
            let record = &mut self.truth.groups[part.group].record;
            let since = if record.progress + ttl > now { record.since } else { now };
            let (spent, excused) = (record.spent, record.spent);
            // What was kept since an earlier attempt is not kept for longer by another one.
            let progress = record.attempted.filter(|attempted| *attempted + ttl > now).unwrap_or(now);
            let (attempted, fresh) = (Some(progress), Record::default());
            *record = Record { excused, progress, attempted, since, spent, expects_preferred, ..fresh };
        }
        if self.watch.has_node_news() || self.is_behind() {
            // Berth's racks are not the real ones, or members of other groups are not where it takes them to be.
            let record = &mut self.truth.groups[part.group].record;
            (record.disturbed, record.excused) = (true, true);
        }
        self.truth.groups[part.group].record.excused |= self.is_blind_to(&part);
        if let Some(level) = self.truth.set_of(part.group).required {
            let domain = |node: &str| self.truth.nodes.get(node).and_then(|node| node.domain(level));
            let blocked = self.forgotten().any(|node| domain(node) == domain(&offered[0]));
            self.truth.groups[part.group].record.excused |= blocked;
        }
        self.check_domain(pod, &part, offered)
    }

    /// Whoever is rejected is told why: one reason for each node.
    pub fn check_reasons(
        &mut self,
        pod: &Pod,
        candidates: &[String],
        offered: &[String],
        reasons: &BTreeMap<String, String>,
    ) -> Result<(), Violation> {
        let silent = |node: &&String| {
            let is_told = reasons.get(*node).is_some_and(|reason| !reason.is_empty());
            is_told == offered.contains(node)
        };
        if let Some(node) = candidates.iter().find(silent) {
            return Err(Violation::new("said out loud", format!("{} on {node}: {reasons:?}", pod.uid)));
        }
        self.seen.hostile_limited |=
            pod.is_hostile() && reasons.values().any(|reason| reason.contains("limits"));
        pod.part.as_ref().map_or(Ok(()), |part| self.check_kept_out(part, reasons))
    }

    fn check_domain(&self, pod: &Pod, part: &Part, offered: &[String]) -> Result<(), Violation> {
        self.check_domain_of_subgroup(pod, part, offered)?;
        let set = self.truth.set_of(part.group);
        let (Some(level), record) = (set.required, &self.truth.groups[part.group].record) else {
            return Ok(());
        };
        if record.disturbed {
            return Ok(());
        }
        let nodes: Vec<&NodeSpec> = offered.iter().map(|name| &self.truth.nodes[name]).collect();
        let Some(domain) = nodes[0].domain(level) else {
            return Err(Violation::new("one domain", format!("{}: {} is in none", pod.uid, nodes[0].name)));
        };
        if let Some(other) = nodes.iter().find(|node| node.domain(level) != Some(domain)) {
            let text = format!("{}: {} is not in {domain}", pod.uid, other.name);
            return Err(Violation::new("one domain", text));
        }
        if record.excused {
            return Ok(());
        }
        let (occupancy, around) = (self.occupancy_to_come(), around(&self.truth, level, nodes[0]));
        let under_way: Vec<&Pod> = self.remembered().map(|(pod, _)| pod).chain([pod]).collect();
        let rest = Crew::missing(&self.truth, part.group, &under_way);
        for node in nodes {
            if !occupancy.with(pod, &node.name).packs(&rest, &around) {
                let text =
                    format!("{} on {}: the rest does not fit into {domain}, {rest:?}", pod.uid, node.name);
                return Err(Violation::new("all or nothing", text));
            }
        }
        Ok(())
    }

    /// All members of a subgroup are in one rack.
    fn check_domain_of_subgroup(&self, pod: &Pod, part: &Part, offered: &[String]) -> Result<(), Violation> {
        let record = &self.truth.groups[part.group].record;
        if self.truth.subgroup_of(part).is_none() || record.disturbed {
            return Ok(());
        }
        let rack = |name: &String| self.truth.nodes[name].rack.as_deref();
        match offered.iter().find(|name| rack(name).is_none() || rack(name) != rack(&offered[0])) {
            Some(other) => {
                let text = format!("{}: {other} is not in {:?}", pod.uid, rack(&offered[0]));
                Err(Violation::new("one domain for a subgroup", text))
            }
            None => Ok(()),
        }
    }

    /// Whether Berth lacks what it takes to know what the rest of the group asks for, or how much is left.
    fn is_blind_to(&self, part: &Part) -> bool {
        let set = self.truth.set_of(part.group);
        let unseen = match set.kind {
            Kind::LeaderWorker => self.watch.has_set_news(),
            Kind::Annotated => {
                let all = self.truth.members(part.group).count() >= self.truth.groups[part.group].size;
                // A group begins only when all its members have been seen.
                let begun = self.has_begun(part.group);
                let unknown = begun && !set.is_uniform() && (!all || self.watch.hides(part.group));
                unknown || self.watch.hides_size_of(part.group)
            }
        };
        unseen || self.watch.hides_loss_of(part.group) || self.watch.hides_volumes_of(part.group)
    }

    /// Whether one domain of the preferred level can take the whole group, beyond doubt: nothing is under way, Berth knows
    /// everything, and nobody else has a claim. Searching is exact for members that are all alike.
    fn would_fit_as_preferred(&self, part: &Part) -> bool {
        let set = self.truth.set_of(part.group);
        let (Some(_), Some(level)) = (set.required, set.preferred) else { return false };
        let certain = self.follows_scores && set.is_uniform() && self.is_calm_around(part.group);
        let (crew, occupancy) = (Crew::missing(&self.truth, part.group, &[]), self.occupancy());
        certain
            && self.truth.nodes.values().any(|node| {
                node.domain(level).is_some() && occupancy.packs(&crew, &around(&self.truth, level, node))
            })
    }

    fn look_at_member(&mut self, part: &Part, first: bool, candidates: &[String], offered: &[String]) {
        self.seen.member_refused |= offered.is_empty();
        self.seen.first_refused |= offered.is_empty() && first;
        self.seen.member_narrowed |= !offered.is_empty() && offered.len() < candidates.len();
        let level = self.truth.set_of(part.group).required;
        let contested = |node: &String| level.is_some_and(|level| self.is_contested(part.group, level, node));
        let conflict = candidates.iter().filter(|node| !offered.contains(node)).any(contested);
        self.seen.exclusive_kept_apart |= conflict;
    }

    /// Whether a group that may not share the domain is in it.
    fn is_contested(&self, group: usize, level: Level, node: &str) -> bool {
        let domain = self.truth.nodes.get(node).and_then(|node| node.domain(level));
        (0..self.truth.groups.len()).any(|other| {
            self.truth.objects(group, other)
                && self
                    .truth
                    .running_members(other)
                    .any(|(_, node)| domain.is_some() && node.domain(level) == domain)
        })
    }
}
