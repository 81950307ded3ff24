//! Assigns everybody within a set of hosts: each subgroup in a domain of its own, if the group has subgroups.

use std::cmp::Reverse;
use std::collections::HashMap;

use super::affinity;
use super::class::ClassId;
use super::host_set::HostSet;
use super::other_groups;
use super::packing::DomainPacking;
use super::problem::Problem;
use crate::view::DomainId;

/// A domain of the subgroups' own topology.
struct Part<'a, 's> {
    domain: DomainId,
    packing: DomainPacking<'a, 's>,
}

/// A host for everybody on some hosts: those of one subgroup in one domain of the subgroups' own topology, each subgroup
/// in another.
pub fn assign<'a, 's>(set: &HostSet<'_>, problem: Problem<'a, 's>) -> Option<DomainPacking<'a, 's>> {
    let (members, view, homes) = (problem.members, problem.availability.view, problem.homes);
    let mut whole = DomainPacking::over(&set.hosts, problem);
    let membership = members.membership;
    let subgroups = membership.subgroup.as_ref();
    let domains = subgroups.and_then(|parts| Some((&parts.topology, view.domains(&parts.topology)?)));
    let Some((topology, domains)) = domains else {
        return affinity::assign_all(whole, set, &problem);
    };
    let others = || other_groups::domains_of_other_subgroups(topology, &membership.group, domains, view);
    let mut taken = problem.taken_by_others.get_or_init(others).clone();
    taken.extend(homes.all());
    let asking = members.asking.and_then(|class| members.class(class).subgroup);
    let mut missing: HashMap<Option<u32>, Vec<ClassId>> = HashMap::new();
    for class in members.classes() {
        missing.entry(members.class(class).subgroup).or_default().push(class);
    }
    let in_none = missing.remove(&None).unwrap_or_default();
    let mut missing: Vec<(u32, Vec<ClassId>)> =
        missing.into_iter().filter_map(|(part, classes)| Some((part?, classes))).collect();
    // Subgroups that are somewhere already have no choice, and the member that asks has less than others.
    missing
        .sort_by_key(|(part, _)| (homes.of_subgroup(*part).is_none(), Reverse(Some(*part) == asking), *part));
    let part = |part: HostSet<'_>| {
        Some(Part { domain: part.domain?, packing: DomainPacking::over(&part.hosts, problem) })
    };
    let mut parts: Vec<Part<'a, 's>> = set.divided_by(domains).into_iter().filter_map(part).collect();
    for (subgroup, classes) in missing {
        let home = homes.of_subgroup(subgroup);
        let possible = |domain: DomainId| home.map_or(!taken.contains(&domain), |home| home == domain);
        // What is left once the subgroup is there: the other subgroups need domains of their own.
        let left_over = |part: &mut Part<'a, 's>| {
            let begin = part.packing.assigned();
            let left_over = part
                .packing
                .assign_all(&classes)
                .then(|| members.main_class().map_or(0, |class| part.packing.capacity_of(class)));
            part.packing.undo(begin);
            left_over
        };
        let fitting = parts.iter_mut().filter(|part| possible(part.domain));
        let fitting = fitting.filter_map(|part| Some((left_over(part)?, part.domain, part)));
        let (_, domain, part) = fitting.min_by_key(|(left_over, domain, _)| (*left_over, *domain))?;
        let begin = part.packing.assigned();
        part.packing.assign_all(&classes);
        taken.insert(domain);
        whole.adopt(&part.packing, begin);
        if asking == Some(subgroup) {
            whole.restrict_asking_to(&part.packing);
        }
    }
    whole.assign_all(&in_none).then_some(whole)
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
