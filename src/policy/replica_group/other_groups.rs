//! Other groups: which domains they have to themselves, and where those of the same set are.

use std::collections::{HashMap, HashSet};

use super::agreement::claim;
use super::closed_labels::ClosedLabels;
use super::host_set::domains_of;
use super::members::{Members, subgroup_of};
use crate::model::{GroupKey, Membership, Name, Pod};
use crate::view::{DomainId, Domains, HostDomain, HostId, View};

/// What other groups forbid.
#[derive(Default)]
pub struct Exclusion {
    /// Domains of the group's own topology in which there is somebody whom it will not have beside it.
    pub shared: HashSet<DomainId>,
    /// Labels of nodes that others have to themselves.
    pub closed: ClosedLabels,
}

impl Exclusion {
    /// What concerns a group, whose required topology has these domains.
    pub fn of(membership: &Membership, domains: Option<&Domains>, view: &View) -> Self {
        let mut exclusion = Self::default();
        let own = &*membership.group;
        // Whoever does not mind others looks only for those who mind.
        let minds = membership.topology.exclusive.is_some();
        let all = minds.then(|| view.placed_groups().map(|(group, _)| group));
        let exclusive = (!minds).then(|| view.exclusive_groups().map(|(group, _)| group));
        let others = all.into_iter().flatten().chain(exclusive.into_iter().flatten());
        for group in others.filter(|group| ***group != *own) {
            let mine = membership.topology.exclusive.is_some_and(|scope| scope.covers(own, group));
            let mut members = view.placed_members(group).peekable();
            // Mostly the first one tells.
            let first = members.peek().and_then(|first| first.group.as_ref()?.topology.exclusive);
            let theirs = first.and_then(|_| claim(view.placed_members(group)));
            let theirs = theirs.filter(|(scope, _)| scope.covers(group, own));
            if !mine && theirs.is_none() {
                continue;
            }
            for member in members {
                let Some(place) = view.place_of(&member.uid) else { continue };
                if let (true, Some(domains)) = (mine, domains) {
                    exclusion.exclude_domain_of(view.host_id(place), domains);
                }
                if let (Some((_, key)), Some(node)) = (theirs, view.node(place)) {
                    exclusion.close(key, node.labels.get(key));
                }
            }
        }
        for reservation in
            view.ledger().reservations().iter().filter(|reservation| *reservation.group != *own)
        {
            if let (true, Some((key, value))) = (
                reservation.exclusive.is_some_and(|scope| scope.covers(&reservation.group, own)),
                &reservation.domain,
            ) {
                exclusion.close(key, Some(value));
            }
            if membership.topology.exclusive.is_some_and(|scope| scope.covers(own, &reservation.group))
                && let Some(domains) = domains
            {
                reservation
                    .slots
                    .iter()
                    .for_each(|slot| exclusion.exclude_domain_of(view.host_id(&slot.host), domains));
            }
        }
        exclusion
    }

    /// What concerns a group that is somewhere already: it stays there whoever else is there, and goes nowhere else that
    /// others have to themselves.
    pub fn of_settled(members: &Members<'_>, view: &View) -> Self {
        let mut exclusion = Self::of(members.membership, None, view);
        for node in members.placed.iter().filter_map(|placed| view.host_numbered(placed.host)?.node.as_ref())
        {
            exclusion.closed.reopen(node);
        }
        exclusion
    }

    /// Whether one of two groups will not have the other beside it.
    pub fn between(one: &Membership, other: &Membership) -> bool {
        let objects = |a: &Membership, b: &Membership| {
            a.group != b.group && a.topology.exclusive.is_some_and(|scope| scope.covers(&a.group, &b.group))
        };
        objects(one, other) || objects(other, one)
    }

    /// The topology key whose domains one group does not want to share with another, if it does not.
    pub fn key_against<'m>(one: &'m Membership, other: &Membership) -> Option<&'m Name> {
        let scope = one.topology.exclusive.filter(|_| one.group != other.group)?;
        one.topology.required.as_ref().filter(|_| scope.covers(&one.group, &other.group))
    }

    fn exclude_domain_of(&mut self, host: Option<HostId>, domains: &Domains) {
        if let Some(HostDomain::In(domain)) = host.map(|host| domains.of(host)) {
            self.shared.insert(domain);
        }
    }

    fn close(&mut self, key: &Name, value: Option<&Name>) {
        if let Some(value) = value {
            self.closed.close(key, value);
        }
    }
}

/// How many groups of the same set each domain of a wider topology has. An earlier incarnation of the group itself is
/// none.
pub fn of_same_set(own: &GroupKey, domains: &Domains, view: &View) -> HashMap<DomainId, usize> {
    let of_set = |group: &GroupKey| group.is_of_same_set(own) && group.index != own.index;
    let mut found: HashSet<(DomainId, &Name)> = HashSet::new();
    let mut add = |group: &'_ GroupKey, index, place: Option<&Name>| {
        let host = place.and_then(|place| view.host_id(place));
        if let (true, Some(HostDomain::In(domain))) = (of_set(group), host.map(|host| domains.of(host))) {
            found.insert((domain, index));
        }
    };
    for (group, members) in view.placed_groups().filter(|(group, _)| of_set(group)) {
        members.for_each(|member| add(group, &group.index, view.place_of(&member.uid)));
    }
    for reservation in view.ledger().reservations().iter().filter(|kept| of_set(&kept.group)) {
        reservation
            .slots
            .iter()
            .for_each(|slot| add(&reservation.group, &reservation.group.index, Some(&slot.host)));
    }
    let mut count = HashMap::new();
    for (domain, _) in found {
        *count.entry(domain).or_default() += 1;
    }
    count
}

/// Domains of a topology key that parts of other groups in the namespace have to themselves, or will have.
pub fn domains_of_other_subgroups(
    key: &Name,
    own: &GroupKey,
    domains: &Domains,
    view: &View,
) -> HashSet<DomainId> {
    let other = |group: &GroupKey| *group != *own && group.set.namespace == own.set.namespace;
    // A leader may be in no part: it keeps nobody out.
    let divided = |pod: &Pod| {
        let parts = pod.group.as_ref().and_then(|membership| membership.subgroup.as_ref());
        let is_in_one = || view.group_size(pod).and_then(|size| subgroup_of(pod, size)).is_some();
        parts.is_some_and(|parts| parts.topology == *key) && is_in_one()
    };
    let placed = view.placed_groups().filter(|(group, _)| other(group)).flat_map(|(_, members)| members);
    let placed = placed.filter(|member| divided(member)).filter_map(|member| view.place_of(&member.uid));
    let reservation = view
        .ledger()
        .reservations()
        .iter()
        .filter(|reservation| other(&reservation.group) && reservation.parts.as_ref() == Some(key));
    let slots = reservation.flat_map(|reservation| &reservation.slots).map(|slot| &slot.host);
    let mut taken = domains_of(placed.chain(slots).filter_map(|place| view.host_id(place)), domains);
    // Somebody may be on its way there for longer than slots are kept.
    let of_others = view
        .ledger()
        .iter()
        .filter(|entry| entry.pod.group.as_ref().is_some_and(|membership| other(&membership.group)));
    let bound_for = of_others.filter_map(|entry| entry.subgroup_domain.as_ref());
    taken.extend(
        bound_for.filter(|(topology, _)| topology == key).filter_map(|(_, value)| domains.find(value)),
    );
    taken
}
