//! Other groups: which domains they have to themselves, and where those of the same set are.

use std::collections::{HashMap, HashSet};

use super::area::domains_of;
use super::roster::Roster;
use crate::model::group::{Scope, TopologyRequest};
use crate::model::{GroupKey, Membership, Name, Pod};
use crate::view::{DomainId, Domains, HostDomain, HostId, View};

/// What other groups forbid.
#[derive(Default)]
pub struct Exclusion {
    /// Domains of the group's own topology in which there is somebody whom it will not have beside it.
    pub crowded: HashSet<DomainId>,
    /// Labels of nodes that others have to themselves.
    pub closed: Vec<(Name, Name)>,
}

impl Exclusion {
    /// What concerns a group, whose required topology has these domains.
    pub fn of(membership: &Membership, domains: Option<&Domains>, view: &View) -> Self {
        let mut exclusion = Self::default();
        let own = &*membership.group;
        for (group, members) in view.placed_groups().filter(|(group, _)| ***group != *own) {
            let mut members = members.peekable();
            let Some(first) = members.peek() else { continue };
            let topology = topology_request_of(first);
            let objects =
                |scope: Option<Scope>, a: &GroupKey, b: &GroupKey| scope.is_some_and(|s| s.covers(a, b));
            let (mine, theirs) =
                (objects(membership.topology.exclusive, own, group), objects(topology.exclusive, group, own));
            if !mine && !theirs {
                continue;
            }
            for member in members {
                let Some(place) = view.place_of(&member.uid) else { continue };
                if let (true, Some(domains)) = (mine, domains) {
                    exclusion.crowd(view.host_id(place), domains);
                }
                if let (true, Some(key), Some(node)) = (theirs, &topology.required, view.node(place)) {
                    exclusion.close(key, node.labels.get(key));
                }
            }
        }
        for kept in view.ledger().reservations().iter().filter(|kept| *kept.group != *own) {
            if let (true, Some((key, value))) =
                (kept.exclusive.is_some_and(|scope| scope.covers(&kept.group, own)), &kept.domain)
            {
                exclusion.close(key, Some(value));
            }
            if membership.topology.exclusive.is_some_and(|scope| scope.covers(own, &kept.group))
                && let Some(domains) = domains
            {
                kept.slots.iter().for_each(|slot| exclusion.crowd(view.host_id(&slot.host), domains));
            }
        }
        exclusion
    }

    /// What concerns a group that is somewhere already: it stays there whoever else is there, and goes nowhere else that
    /// others have to themselves.
    pub fn of_settled(roster: &Roster<'_>, view: &View) -> Self {
        let mut exclusion = Self::of(roster.membership, None, view);
        let home = |(key, value): &(Name, Name)| {
            let nodes =
                roster.placed.iter().filter_map(|placed| view.host_numbered(placed.host)?.node.as_ref());
            nodes.into_iter().any(|node| node.labels.get(key) == Some(value))
        };
        exclusion.closed.retain(|closed| !home(closed));
        exclusion
    }

    /// Whether one of two groups will not have the other beside it.
    pub fn between(one: &Membership, other: &Membership) -> bool {
        let objects = |a: &Membership, b: &Membership| {
            a.group != b.group && a.topology.exclusive.is_some_and(|scope| scope.covers(&a.group, &b.group))
        };
        objects(one, other) || objects(other, one)
    }

    fn crowd(&mut self, host: Option<HostId>, domains: &Domains) {
        if let Some(HostDomain::In(domain)) = host.map(|host| domains.of(host)) {
            self.crowded.insert(domain);
        }
    }

    fn close(&mut self, key: &Name, value: Option<&Name>) {
        let Some(value) = value else { return };
        if !self.closed.iter().any(|(k, v)| k == key && v == value) {
            self.closed.push((key.clone(), value.clone()));
        }
    }
}

fn topology_request_of(pod: &Pod) -> TopologyRequest {
    pod.group.as_ref().map(|membership| membership.topology.clone()).unwrap_or_default()
}

/// How many groups of the same set each domain of a wider topology has. An earlier incarnation of the group itself is
/// none.
pub fn siblings(own: &GroupKey, domains: &Domains, view: &View) -> HashMap<DomainId, usize> {
    let sibling = |group: &GroupKey| group.is_of_same_set(own) && group.index != own.index;
    let mut found: HashSet<(DomainId, &Name)> = HashSet::new();
    let mut add = |group: &'_ GroupKey, index, place: Option<&Name>| {
        let host = place.and_then(|place| view.host_id(place));
        if let (true, Some(HostDomain::In(domain))) = (sibling(group), host.map(|host| domains.of(host))) {
            found.insert((domain, index));
        }
    };
    for (group, members) in view.placed_groups().filter(|(group, _)| sibling(group)) {
        members.for_each(|member| add(group, &group.index, view.place_of(&member.uid)));
    }
    for kept in view.ledger().reservations().iter() {
        kept.slots.iter().for_each(|slot| add(&kept.group, &kept.group.index, Some(&slot.host)));
    }
    let mut count = HashMap::new();
    for (domain, _) in found {
        *count.entry(domain).or_default() += 1;
    }
    count
}

/// Domains of a topology key that parts of other groups in the namespace have to themselves, or will have.
pub fn parts_elsewhere(key: &Name, own: &GroupKey, domains: &Domains, view: &View) -> HashSet<DomainId> {
    let other = |group: &GroupKey| *group != *own && group.set.namespace == own.set.namespace;
    let divided = |pod: &Pod| {
        let parts = pod.group.as_ref().and_then(|membership| membership.subgroup.as_ref());
        parts.is_some_and(|parts| parts.topology == *key)
    };
    let placed = view.placed_groups().filter(|(group, _)| other(group)).flat_map(|(_, members)| members);
    let placed = placed.filter(|member| divided(member)).filter_map(|member| view.place_of(&member.uid));
    let kept = view
        .ledger()
        .reservations()
        .iter()
        .filter(|kept| other(&kept.group) && kept.parts.as_ref() == Some(key));
    let slots = kept.flat_map(|kept| &kept.slots).map(|slot| &slot.host);
    domains_of(placed.chain(slots).filter_map(|place| view.host_id(place)), domains)
}
