//! Seats everybody within an area: in one domain of the preferred topology if that can be, and each part of the group in a
//! domain of its own.

use std::cmp::Reverse;

use super::area::{Area, domains_of};
use super::fence::Fence;
use super::neighbours;
use super::packing::{Ground, Open};
use super::plan::Search;
use super::room::Room;
use crate::view::{DomainId, HostId};

/// How the area is looked at.
#[derive(Clone, Copy)]
pub struct Lens<'a, 's, 'o> {
    /// How room is counted.
    pub room: Room<'a>,
    /// Who keeps away from whom.
    pub fence: &'s Fence<'a>,
    /// Where the member that asks may go.
    pub open: Open<'o>,
}

impl<'a> Search<'a> {
    pub(super) fn ground<'s>(&'s self, hosts: &[HostId], lens: Lens<'a, 's, '_>) -> Ground<'a, 's> {
        let who = (self.roster, lens.fence);
        Ground::over(hosts.iter().copied(), who, &lens.room, self.settings.packing, lens.open)
    }

    /// Seats everybody within an area, and tells whether it is within one domain of the preferred topology.
    pub(super) fn slot<'s>(
        &'s self,
        area: &Area<'a>,
        lens: Lens<'a, 's, '_>,
    ) -> Option<(Ground<'a, 's>, bool)> {
        let preferred = &self.roster.membership.topology.preferred;
        let narrower = preferred.as_ref().and_then(|key| self.view.domains(key));
        let Some(narrower) = narrower else {
            return self.seat_parts(&area.hosts, lens).map(|ground| (ground, true));
        };
        // Members that have a place are in one such domain, or it is too late.
        let inhabited = domains_of(self.roster.placed.iter().map(|placed| placed.host), narrower);
        let possible = |part: &Area<'_>| inhabited.iter().all(|domain| Some(*domain) == part.domain);
        let rank = |part: &Area<'_>, ground: &Ground<'_, '_>| {
            let value = part.domain.map(|domain| narrower.value(domain));
            (self.siblings_around(part), self.left_over(ground), self.hash(value))
        };
        let parts = area.divided_by(narrower).into_iter().filter(possible);
        let assigned = parts.filter_map(|part| Some((self.seat_parts(&part.hosts, lens)?, part)));
        if let Some((ground, _)) = assigned.min_by_key(|(ground, part)| rank(part, ground)) {
            return Some((ground, true));
        }
        self.seat_parts(&area.hosts, lens).map(|ground| (ground, false))
    }

    /// Seats everybody on some hosts: those of one part in one domain of the parts' own topology, each part in another.
    fn seat_parts<'s>(&'s self, hosts: &[HostId], lens: Lens<'a, 's, '_>) -> Option<Ground<'a, 's>> {
        let mut whole = self.ground(hosts, lens);
        let membership = self.roster.membership;
        let parts = membership.subgroup.as_ref();
        let domains = parts.and_then(|parts| Some((&parts.topology, self.view.domains(&parts.topology)?)));
        let Some((topology, domains)) = domains else {
            return whole.seat_all(|_| true).then_some(whole);
        };
        let home = |part: u32| {
            let members = self.roster.placed.iter().filter(move |placed| placed.part == Some(part));
            domains_of(members.map(|placed| placed.host), domains).into_iter().min()
        };
        let mut taken = neighbours::parts_elsewhere(topology, &membership.group, domains, self.view);
        taken.extend(self.roster.placed.iter().filter_map(|placed| home(placed.part?)));
        let asking = self.roster.missing.first().and_then(|class| class.part);
        let mut missing: Vec<u32> = self.roster.missing.iter().filter_map(|class| class.part).collect();
        // Parts that are somewhere already have no choice, and the member that asks has less than others.
        missing.sort_by_key(|part| (home(*part).is_none(), Reverse(Some(*part) == asking), *part));
        missing.dedup();
        let area = Area { domain: None, hosts: hosts.into() };
        for part in missing {
            let home = home(part);
            let possible = |domain: DomainId| home.map_or(!taken.contains(&domain), |home| home == domain);
            let areas = area.divided_by(domains).into_iter().filter(|area| area.domain.is_some_and(possible));
            let assigned = areas.filter_map(|area| {
                let mut ground = self.ground(&area.hosts, lens);
                ground.seat_all(|class| class.part == Some(part)).then_some((ground, area.domain))
            });
            let (ground, domain) =
                assigned.min_by_key(|(ground, domain)| (self.left_over(ground), *domain))?;
            taken.extend(domain);
            whole.adopt(&ground);
            if asking == Some(part) {
                whole.close_to_asker_but_for(&ground);
            }
        }
        whole.seat_all(|class| class.part.is_none()).then_some(whole)
    }

    /// How many more of the kind that most members are of would find a place.
    pub(super) fn left_over(&self, ground: &Ground<'_, '_>) -> usize {
        self.roster.main_class().map_or(0, |class| ground.capacity_of(class))
    }
}
