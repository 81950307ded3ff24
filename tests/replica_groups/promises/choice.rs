//! Which domain a group begins in, when nothing but its own choice decides: spread over the wider level first, then the
//! tightest that will do.

use std::collections::HashSet;

use super::Violation;
use crate::room::Crew;
use crate::scenario::{Level, NodeSpec};
use crate::truth::Part;
use crate::world::World;

impl World<'_> {
    /// The first member of a group was offered these nodes.
    pub fn check_choice(&mut self, part: &Part, offered: &[String]) -> Result<(), Violation> {
        let set = self.truth.set_of(part.group);
        let plain =
            set.storage.is_none() && set.subgroups.is_none() && set.preferred.is_none() && set.is_uniform();
        let level = set.required.filter(|_| plain);
        let Some(level) = level.filter(|_| self.is_calm_around(part.group)) else {
            return Ok(());
        };
        let chosen = self.truth.nodes[&offered[0]].domain(level);
        let possible = self.possible_domains(part.group, level);
        let Some(cost) = possible.iter().find(|(domain, _)| Some(*domain) == chosen).map(|(_, cost)| *cost)
        else {
            return Ok(());
        };
        let better = possible.iter().find(|(_, other)| *other < cost);
        let promise = match better {
            Some((_, other)) if other.0 < cost.0 => "groups of a set are spread",
            Some(_) => "best fit",
            None => {
                let (spread, fit) = (|other: Cost| other.0 > cost.0, |other: Cost| other.1 > cost.1);
                let spread = possible.iter().any(|(_, other)| spread(*other));
                let fit = possible.iter().any(|(_, other)| fit(*other));
                self.seen.spread_chosen |= spread;
                self.seen.best_fit_chosen |= fit;
                return Ok(());
            }
        };
        Err(Violation::new(promise, format!("group {} in {chosen:?} of {possible:?}", part.group)))
    }

    /// Domains that take the whole group, and what each costs.
    fn possible_domains(&self, group: usize, level: Level) -> Vec<(&str, Cost)> {
        let (crew, occupancy) = (Crew::missing(&self.truth, group, &[]), self.occupancy());
        let domains: HashSet<&str> =
            self.truth.nodes.values().filter_map(|node| node.domain(level)).collect();
        let cost = |domain: &'_ str| {
            let nodes: Vec<&NodeSpec> = self.truth.nodes_in(level, domain).collect();
            let near = self.groups_of_set_in(group, &nodes[0].block);
            occupancy.packs(&crew, &nodes).then(|| (near, occupancy.places_for(&crew, &nodes)))
        };
        let mut possible: Vec<_> =
            domains.into_iter().filter_map(|domain| Some((domain, cost(domain)?))).collect();
        possible.sort_unstable();
        possible
    }

    fn groups_of_set_in(&self, group: usize, block: &str) -> usize {
        let of_set =
            |other: &usize| *other != group && self.truth.groups[*other].set == self.truth.groups[group].set;
        let is_there =
            |other: &usize| self.truth.running_members(*other).any(|(_, node)| node.block == *block);
        (0..self.truth.groups.len()).filter(of_set).filter(is_there).count()
    }

    /// Nothing is under way, Berth knows everything, and nobody else has a claim: neither by what this Berth has offered nor
    /// by what the other one has, which may be asked again.
    pub fn is_calm_around(&self, group: usize) -> bool {
        let groups = 0..self.truth.groups.len();
        let offers_elsewhere = self.standby.iter().flat_map(|other| other.offers.values());
        self.watch.is_empty()
            && !self.room_was_kept
            && self.attempts.is_empty()
            && !self.is_hostile_tenant_there()
            && self
                .offers
                .values()
                .chain(offers_elsewhere)
                .all(|since| *since + self.times.ledger <= self.now)
            && groups.clone().all(|other| other == group || self.is_at_rest(other))
            && groups
                .clone()
                .all(|other| !self.truth.objects(other, group) && !self.truth.objects(group, other))
    }

    /// Nobody can claim room for it.
    fn is_at_rest(&self, group: usize) -> bool {
        let begun = self.has_begun(group);
        !begun || self.truth.is_whole(group)
    }
}

/// How many groups of the set are near, and how many members the domain takes.
type Cost = (usize, i64);
