//! Assigns everybody within a set of hosts: each subgroup in a domain of its own, if the group has subgroups.

use std::cmp::Reverse;

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
        // What is left once the subgroup is there: the other subgroups need domains of their own.
        let left_over = |packing: &DomainPacking<'_, '_>| {
            members.main_class().map_or(0, |class| packing.capacity_of(class))
        };
        let (packing, part) = assigned.min_by_key(|(packing, part)| (left_over(packing), part.domain))?;
        taken.extend(part.domain);
        whole.adopt(&packing);
        if asking == Some(subgroup) {
            whole.restrict_asking_to(&packing);
        }
    }
    whole.assign_all(|class| class.subgroup.is_none()).then_some(whole)
}

#[cfg(test)]
mod tests {
    use super::super::availability::Assumption;
    use super::super::search::Outcome;
    use super::super::situation::{RACK, Situation, cpus, hosts};
    use crate::fixtures::pod;
    use crate::model::Pod;

    const LWS: &str = "leaderworkerset.sigs.k8s.io";

    /// A worker of a replica of five in subgroups of two, of which the first also has the leader.
    fn worker(index: &str) -> Pod {
        pod(&format!("llm-0-{index}"))
            .label(&format!("{LWS}/name"), "llm")
            .label(&format!("{LWS}/group-index"), "0")
            .label(&format!("{LWS}/worker-index"), index)
            .annotation(&format!("{LWS}/size"), "5")
            .annotation(&format!("{LWS}/subgroup-size"), "2")
            .annotation(&format!("{LWS}/subgroup-exclusive-topology"), RACK)
            .requests(cpus(2))
            .build()
    }

    #[test]
    fn the_tightest_rack_is_left_to_the_smaller_subgroup_whoever_asks() {
        for (racks, expected) in [
            ([("a", &[6][..]), ("b", &[4])], "a0 a0 a0 b0 b0"),
            ([("a", &[4]), ("b", &[6])], "a0 a0 b0 b0 b0"),
            ([("a", &[4]), ("b", &[4])], "none"),
        ] {
            for index in ["1", "4"] {
                let found = Situation::racks(&racks).search(&worker(index), |search| {
                    match search.run(Assumption::Nothing, None) {
                        Outcome::Found(plan) => hosts(&plan),
                        Outcome::Undecided(_) | Outcome::None => "none".to_owned(),
                    }
                });
                assert_eq!(found, expected, "worker {index} asks, {racks:?}");
            }
        }
    }
}
