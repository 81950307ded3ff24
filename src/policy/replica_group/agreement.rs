//! What members of a group agree on. Pods are annotated one by one, also while they run, and after a restart nobody can
//! tell what they were placed by: so one that deviates does not speak for the others.

use std::collections::HashMap;
use std::sync::Arc;

use crate::model::group::{Overruled, Scope, TopologyRequest};
use crate::model::{Name, Pod};
use crate::view::View;

/// From whom members in place keep their domain, and of which topology: the least that all of them ask for.
pub fn claim<'a>(mut members: impl Iterator<Item = &'a Arc<Pod>>) -> Option<(Scope, &'a Name)> {
    let first = topology_of(members.next()?)?;
    let (scope, required) = (first.exclusive?, first.required.as_ref()?);
    let least = members.try_fold(scope, |least, member| {
        let topology = topology_of(member).filter(|topology| topology.required.as_ref() == Some(required))?;
        Some(least.min(topology.exclusive?))
    });
    Some((least?, required))
}

/// A member that asks for what most of them do; of several the first by name.
pub fn spokesman<'a>(members: impl Iterator<Item = &'a Arc<Pod>>) -> Option<&'a Arc<Pod>> {
    // How many ask for the same, and the first of them.
    let mut camps: HashMap<Option<&TopologyRequest>, (usize, &'a Arc<Pod>)> = HashMap::new();
    for member in members {
        let (count, first) = camps.entry(topology_of(member)).or_insert((0, member));
        *count += 1;
        if member.key < first.key {
            *first = member;
        }
    }
    let largest =
        camps.into_values().max_by(|(a, first), (b, other)| a.cmp(b).then_with(|| other.key.cmp(&first.key)));
    largest.map(|(_, first)| first)
}

/// Members that deviate from most of their group, or from what they were placed by.
pub fn dissenters(view: &View) -> Vec<&Arc<Pod>> {
    let mut found = Vec::new();
    let placed = view.placed_groups().map(|(group, _)| group);
    let waiting = view.waiting_groups().map(|(group, _)| group);
    let waiting = waiting.filter(|group| view.placed_members(group).len() == 0);
    for group in placed.chain(waiting) {
        let members = || view.placed_members(group).chain(view.waiting_members(group));
        let overruled =
            |pod: &Pod| pod.group.as_ref().is_some_and(|own| own.overruled == Some(Overruled::RunningMember));
        let mut all = members();
        let Some(first) = all.next() else { continue };
        if !overruled(first) && all.all(|member| !overruled(member) && asks_for_same(member, first)) {
            continue;
        }
        let Some(spokesman) = spokesman(members()) else { continue };
        let deviates = |pod: &&Arc<Pod>| overruled(pod) || !asks_for_same(pod, spokesman);
        found.extend(members().filter(deviates).min_by(|a, b| a.key.cmp(&b.key)));
    }
    found
}

fn topology_of(pod: &Pod) -> Option<&TopologyRequest> {
    pod.group.as_ref().map(|membership| &membership.topology)
}

fn asks_for_same(one: &Pod, other: &Pod) -> bool {
    topology_of(one) == topology_of(other)
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::super::situation::{RACK, Situation, member};
    use super::{claim, dissenters, spokesman};
    use crate::fixtures::pod;
    use crate::model::Pod;
    use crate::model::group::Scope;

    fn asking(index: usize, required: &str, exclusive: &str) -> Arc<Pod> {
        let member = pod(&format!("g-{index}")).annotation("berth.dev/group", "g").on("a0");
        let member = member.annotation("berth.dev/required-topology", required);
        Arc::new(match exclusive {
            "" => member.build(),
            scope => member.annotation("berth.dev/exclusive", scope).build(),
        })
    }

    #[test]
    fn a_domain_is_kept_from_no_more_than_all_members_ask_for() {
        for (name, members, expected) in [
            (
                "all agree",
                vec![("rack", "Namespace"), ("rack", "Namespace")],
                Some((Scope::Namespace, "rack")),
            ),
            ("one asks for less", vec![("rack", "Namespace"), ("rack", "Set")], Some((Scope::Set, "rack"))),
            ("one asks for nothing", vec![("rack", "Set"), ("rack", "")], None),
            ("the first asks for nothing", vec![("rack", ""), ("rack", "Set")], None),
            ("one names a wider topology", vec![("rack", "Set"), ("zone", "Set")], None),
            ("nobody is there", vec![], None),
        ] {
            let members: Vec<_> =
                members.iter().enumerate().map(|(at, (key, scope))| asking(at, key, scope)).collect();
            let found = claim(members.iter()).map(|(scope, key)| (scope, &**key));
            assert_eq!(found, expected, "{name}");
        }
    }

    #[test]
    fn most_members_speak_for_their_group() {
        for (keys, expected) in [
            (vec!["rack", "rack"], "g-0"),
            (vec!["zone", "rack", "rack"], "g-1"),
            (vec!["zone", "rack"], "g-0"),
            (vec!["zone", "rack", "block", "rack"], "g-1"),
        ] {
            let members: Vec<_> = keys.iter().enumerate().map(|(at, key)| asking(at, key, "")).collect();
            let found = spokesman(members.iter()).map(|pod| pod.key.name.to_string());
            assert_eq!(found.as_deref(), Some(expected), "{keys:?}");
        }
    }

    #[test]
    fn who_deviates_is_found() {
        let racks = || Situation::racks(&[("a", &[8])]);
        let deviating = || {
            let pod = member("g", 2, 3, 1).annotation("berth.dev/required-topology", "zone");
            pod.annotation("berth.dev/exclusive", "Set")
        };
        let others = || racks().with(member("g", 0, 3, 1).on("a0").build());
        let others = || others().with(member("g", 1, 3, 1).build());
        for (name, situation, expected) in [
            ("nobody", others(), vec![]),
            ("one that runs", others().with(deviating().on("a0").build()), vec!["g-2"]),
            ("one that waits", others().with(deviating().build()), vec!["g-2"]),
            (
                "one that was annotated while it ran",
                racks()
                    .with(member("h", 0, 1, 1).on("a0").build())
                    .with(member("h", 0, 1, 1).annotation("berth.dev/exclusive", "Set").on("a0").build()),
                vec!["h-0"],
            ),
        ] {
            let found = dissenters(&situation.view);
            let found: Vec<_> = found.iter().map(|pod| &*pod.key.name).collect();
            assert_eq!(found, expected, "{name}, {RACK}");
        }
    }
}
