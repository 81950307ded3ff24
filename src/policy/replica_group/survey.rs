//! How groups and domains are doing, as the metrics show it.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use super::host_set::{HostSet, anchor};
use super::members::Members;
use crate::model::{Dimension, GroupKey, Name, Pod, Resources};
use crate::policy::Budget;
use crate::view::View;

/// How a group is doing, in metrics.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum GroupState {
    /// No member has a place.
    Waiting,
    /// Some have, and room is kept for the others.
    Placing,
    /// All have.
    Complete,
    /// Some have, and nothing is kept for the others.
    Partial,
    /// Members are in several domains of the required topology.
    Split,
    /// Some have a place, and kube-scheduler finds none for the others in their domain.
    Wedged,
}

const STATES: [(GroupState, &str); 6] = [
    (GroupState::Waiting, "waiting"),
    (GroupState::Placing, "placing"),
    (GroupState::Complete, "complete"),
    (GroupState::Partial, "partial"),
    (GroupState::Split, "split"),
    (GroupState::Wedged, "wedged"),
];

/// How many groups there are, by how they are doing. Only those count that mind where they are.
/// `is_wedged` tells which of those that lack members were last found to be wedged, and `waits` hears of those that wait.
pub fn groups(
    view: &View,
    is_wedged: impl Fn(&GroupKey) -> bool,
    mut waits: impl FnMut(&Arc<GroupKey>),
) -> Vec<(&'static str, usize)> {
    let placed = view.placed_groups().filter_map(|(group, mut pods)| Some((group, pods.next()?)));
    let waiting = view.waiting_groups().filter_map(|(group, mut pods)| Some((group, pods.next()?)));
    let unplaced = waiting.filter(|(group, _)| view.placed_members(group).len() == 0);
    let has_request =
        |pod: &Pod| pod.group.as_ref().is_some_and(|membership| membership.has_topology_request());
    let mut counts = STATES.map(|(state, label)| (state, label, 0));
    for (group, pod) in placed.chain(unplaced).filter(|(_, pod)| has_request(pod)) {
        let state = match state(group, pod, view) {
            GroupState::Placing | GroupState::Partial if is_wedged(group) => GroupState::Wedged,
            state => state,
        };
        if state == GroupState::Waiting {
            waits(group);
        }
        counts.iter_mut().filter(|(known, ..)| *known == state).for_each(|(.., count)| *count += 1);
    }
    counts.map(|(_, label, count)| (label, count)).to_vec()
}

/// Whether members of a pod's group run in several domains of the topology that it requires.
pub fn is_split(pod: &Pod, view: &View) -> bool {
    pod.group.as_ref().is_some_and(|membership| state(&membership.group, pod, view) == GroupState::Split)
}

fn state(group: &GroupKey, pod: &Pod, view: &View) -> GroupState {
    let placed = view.placed_members(group).len();
    if placed == 0 {
        return GroupState::Waiting;
    }
    let required = pod.group.as_ref().and_then(|membership| membership.topology.required.as_ref());
    let domains = required.and_then(|key| view.domains(key));
    let members =
        Members::of_placed(pod, view, Budget::unlimited()).filter(|members| members.excess.is_none());
    let (Some(domains), Some(members)) = (domains, members) else {
        let size = view.group_size(pod).unwrap_or_default() as usize;
        return if placed >= size { GroupState::Complete } else { GroupState::Partial };
    };
    if anchor(&members, domains).1 {
        GroupState::Split
    } else if members.missing() == 0 && !members.are_not_creatable {
        GroupState::Complete
    } else if view.ledger().reservations().of(group).is_some() {
        GroupState::Placing
    } else {
        GroupState::Partial
    }
}

/// Of what is scarcest in a domain so much is free, in percent, at least.
const ROOM: [(&str, i64); 4] = [("empty", 100), ("half_free", 50), ("some_free", 10), ("full", 0)];

fn room_classes() -> impl Iterator<Item = &'static str> {
    ROOM.iter().map(|(label, _)| *label)
}

/// How many domains there are of the topologies that groups require, by topology and by how much room they have. Pods name
/// topologies as they like: those that are not `named` by the operator are counted together, under `None`.
pub fn domains<'a>(view: &View, named: &BTreeSet<&'a str>) -> Vec<(Option<&'a str>, &'static str, usize)> {
    let first = |pods: &mut dyn Iterator<Item = &Arc<Pod>>| {
        pods.next().and_then(|pod| pod.group.as_ref()?.topology.required.clone())
    };
    let placed = view.placed_groups().filter_map(|(_, mut pods)| first(&mut pods));
    let waiting = view.waiting_groups().filter_map(|(_, mut pods)| first(&mut pods));
    let keys: BTreeSet<Name> = placed.chain(waiting).collect();
    let mut counts: BTreeMap<Option<&str>, [usize; ROOM.len()]> =
        named.iter().map(|key| Some(*key)).chain([None]).map(|key| (key, [0; ROOM.len()])).collect();
    for (key, domains) in keys.iter().filter_map(|key| Some((key, view.domains(key)?))) {
        let counts = counts.entry(named.get(&**key).copied()).or_default();
        for domain in domains.ids() {
            let free = free_percent(&HostSet::of(domains, domain), view);
            let class = ROOM.iter().position(|(_, least)| free >= *least).unwrap_or(ROOM.len() - 1);
            counts[class] += 1;
        }
    }
    let by_room = |(key, counts): (_, [usize; ROOM.len()])| {
        room_classes().zip(counts).map(move |(room, count)| (key, room, count))
    };
    counts.into_iter().flat_map(by_room).collect()
}

fn free_percent(set: &HostSet<'_>, view: &View) -> i64 {
    let (mut has, mut used) = (Resources::default(), Resources::default());
    for host in set.hosts.iter().filter_map(|host| view.host_numbered(*host)) {
        has.add(host.node.as_ref().map_or(&Resources::default(), |node| &node.allocatable));
        used.add(&host.used.resources);
    }
    let percent =
        |(has, used): (i64, i64)| i128::from(has.saturating_sub(used).max(0)) * 100 / i128::from(has);
    let amounts = has.dimensions().filter(|(dimension, _)| *dimension != Dimension::EphemeralStorage);
    let all = amounts.map(|(dimension, has)| (has, used.amount(dimension))).filter(|(has, _)| *has > 0);
    all.map(percent).min().map_or(0, |least| i64::try_from(least).unwrap_or(0))
}

#[cfg(test)]
mod tests {
    use super::super::situation::{Situation, member};
    use super::{GroupState, is_split, state};

    #[test]
    fn the_state_of_a_group_follows_from_where_its_members_are() {
        let racks = || Situation::racks(&[("a", &[8, 8]), ("b", &[8])]);
        let placed = |at: usize, node: &str| member("g", at, 2, 1).on(node).build();
        for (name, situation, expected) in [
            ("nobody is in place", racks().with(member("g", 0, 2, 1).build()), GroupState::Waiting),
            (
                "one is, and room is kept",
                racks().with(placed(0, "a0")).with_reserved("g", &[("a1", 1)]),
                GroupState::Placing,
            ),
            ("one is", racks().with(placed(0, "a0")), GroupState::Partial),
            (
                "both are, in one rack",
                racks().with(placed(0, "a0")).with(placed(1, "a1")),
                GroupState::Complete,
            ),
            (
                "both are, in two racks",
                racks().with(placed(0, "a0")).with(placed(1, "b0")),
                GroupState::Split,
            ),
        ] {
            let (view, pod) = (situation.with_domains(), member("g", 0, 2, 1).build());
            let group = pod.group.clone().expect("a member").group.clone();
            assert_eq!(state(&group, &pod, &view), expected, "{name}");
            assert_eq!(is_split(&pod, &view), expected == GroupState::Split, "{name}");
        }
    }
}
