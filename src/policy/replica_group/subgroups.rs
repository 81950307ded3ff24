//! Assigns everybody within a set of hosts: each subgroup in a domain of its own, if the group has subgroups.

use std::cmp::Reverse;

use super::count::count;
use super::host_set::{HostSet, domains_of};
use super::other_groups;
use super::packing::DomainPacking;
use super::problem::Problem;
use crate::view::DomainId;

/// A host for everybody on some hosts: those of one subgroup in one domain of the subgroups' own topology, each subgroup
/// in another.
pub fn assign<'a, 's>(set: &HostSet<'_>, problem: Problem<'a, 's>) -> Option<DomainPacking<'a, 's>> {
    let (members, view) = (problem.members, problem.availability.view);
    let mut whole = DomainPacking::over(&set.hosts, problem);
    let membership = members.membership;
    let subgroups = membership.subgroup.as_ref();
    let domains = subgroups.and_then(|parts| Some((&parts.topology, view.domains(&parts.topology)?)));
    let Some((topology, domains)) = domains else {
        return whole.assign_all(|_| true).then_some(whole);
    };
    let home = |subgroup: u32| {
        let placed = members.placed.iter().filter(move |placed| placed.subgroup == Some(subgroup));
        domains_of(placed.map(|placed| placed.host), domains).into_iter().min()
    };
    let mut taken = other_groups::domains_of_other_subgroups(topology, &membership.group, domains, view);
    taken.extend(members.placed.iter().filter_map(|placed| home(placed.subgroup?)));
    let asking = members.asking.and_then(|class| members.class(class).subgroup);
    let mut missing: Vec<u32> = members.missing.iter().filter_map(|class| class.subgroup).collect();
    // Subgroups that are somewhere already have no choice, and the member that asks has less than others.
    missing.sort_by_key(|part| (home(*part).is_none(), Reverse(Some(*part) == asking), *part));
    missing.dedup();
    for subgroup in missing {
        let home = home(subgroup);
        let possible = |domain: DomainId| home.map_or(!taken.contains(&domain), |home| home == domain);
        let parts = set.divided_by(domains).into_iter().filter(|part| part.domain.is_some_and(possible));
        let assigned = parts.filter_map(|part| {
            let mut packing = DomainPacking::over(&part.hosts, problem);
            let assigned = packing.assign_all(|class| class.subgroup == Some(subgroup));
            assigned.then_some((packing, part))
        });
        let left_over = |part: &HostSet<'_>| count(part, &problem).left_over(members);
        let (packing, part) = assigned.min_by_key(|(_, part)| (left_over(part), part.domain))?;
        taken.extend(part.domain);
        whole.adopt(&packing);
        if asking == Some(subgroup) {
            whole.restrict_asking_to(&packing);
        }
    }
    whole.assign_all(|class| class.subgroup.is_none()).then_some(whole)
}
