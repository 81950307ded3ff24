//! Pods in flight: offered several nodes, and on their way to any of them. A plan has to hold wherever they go.

use std::cell::OnceCell;

use super::class::ClassId;
use super::conflicts::{Conflicts, is_per_host};
use super::members::Members;
use super::other_groups::Exclusion;
use super::packing::DomainPacking;
use crate::ledger::{Entry, Phase};
use crate::model::{Name, Pod, Uid, Used};
use crate::policy::fit::Demand;
use crate::view::View;

/// The pods in flight that concern a group.
pub struct InFlight<'a> {
    view: &'a View,
    /// Pods of others whose node is not known.
    others: Vec<&'a Entry>,
    /// Other members of the group that were offered nodes, or one node.
    members: Vec<&'a Entry>,
    /// The topology key that the group requires.
    key: Option<&'a Name>,
}

impl<'a> InFlight<'a> {
    /// Those that concern a group while one of its members asks.
    pub fn around(members: &Members<'a>, asking: Option<&Uid>, view: &'a View) -> Self {
        let own = &members.membership.group;
        let group = |entry: &'a Entry| entry.pod.group.as_ref().map(|membership| &membership.group);
        let (ours, others): (Vec<_>, Vec<_>) =
            view.ledger().iter().partition(|entry| group(entry) == Some(own));
        Self {
            view,
            others: others.into_iter().filter(|entry| entry.phase == Phase::Offered).collect(),
            members: ours.into_iter().filter(|entry| Some(&entry.pod.uid) != asking).collect(),
            key: members.membership.topology.required.as_ref(),
        }
    }

    /// Whether a pod of others is in flight anywhere.
    pub fn has_others(&self) -> bool {
        !self.others.is_empty()
    }

    /// Whether another member is.
    pub fn has_members(&self) -> bool {
        !self.members.is_empty()
    }

    /// Other members that were offered several nodes.
    pub fn offered_members(&self) -> impl Iterator<Item = &'a Entry> {
        self.members.iter().copied().filter(|entry| entry.phase == Phase::Offered)
    }

    /// Pods of others that may be going to the domain of this value.
    pub fn towards<'s>(&'s self, domain: Option<&'s Name>) -> impl Iterator<Item = &'a Entry> + 's {
        let elsewhere = move |entry: &Entry| {
            entry.domain.as_ref().is_some_and(|(key, value)| {
                Some(key) == self.key && domain.is_some() && Some(value) != domain
            })
        };
        self.others.iter().copied().filter(move |entry| !elsewhere(entry))
    }

    /// Pods of others that may be going to a domain and whose bind calls are still expected any moment.
    pub fn expected_towards(&self, domain: Option<&Name>) -> Vec<Uid> {
        uids(self.towards(domain).filter(|entry| !entry.overdue))
    }

    /// Members whose bind calls are still expected any moment.
    pub fn expected_members(&self) -> Vec<Uid> {
        uids(self.members.iter().copied().filter(|entry| !entry.overdue))
    }

    /// Everybody whose node is not known, who may be going to a domain, and whose bind call is still expected.
    pub fn expected_anywhere(&self, domain: Option<&Name>) -> Vec<Uid> {
        let all = self.towards(domain).chain(self.members.iter().copied());
        uids(all.filter(|entry| entry.phase == Phase::Offered && !entry.overdue))
    }

    /// Whether a member that was offered one host would not find room there any more. Its attempt has failed, then, and
    /// it will have to be placed anew.
    pub fn has_member_without_room(&self) -> bool {
        self.members.iter().any(|entry| {
            let Phase::Assumed { node, binding: false } = &entry.phase else { return false };
            let Some(host) = self.view.host(node) else { return false };
            let mut used = Used::clone(&host.used);
            used.leave(&entry.pod.allocated);
            let demand = Demand::of(&entry.pod);
            host.node.as_ref().is_some_and(|node| demand.capacity(node, &used) == 0)
        })
    }

    /// Reserves so many slots more that it does not matter where pods in flight go. False if that cannot be, or if a
    /// group that must not be in the same domain may be on its way there.
    pub fn make_certain(
        &self,
        packing: &mut DomainPacking<'a, '_>,
        domain: Option<&Name>,
        (members, conflicts): (&Members<'a>, &Conflicts<'a>),
    ) -> bool {
        let mut groups = self.towards(domain).filter_map(|entry| entry.pod.group.as_ref());
        if groups.any(|other| Exclusion::between(members.membership, other)) {
            return false;
        }
        let lost = |class: ClassId| {
            let loss = Loss::of(class, packing, members, conflicts);
            let mut each = self.towards(domain).map(|entry| loss.at_worst(&entry.pod));
            each.try_fold(0_usize, usize::checked_add)
        };
        let lost: Option<Vec<usize>> = members.classes().map(lost).collect();
        lost.is_some_and(|lost| packing.assign_spare(&lost))
    }

    /// How many places for the member that asks may be taken away by pods in flight, other members included.
    pub fn loss_for_asking(
        &self,
        packing: &DomainPacking<'a, '_>,
        domain: Option<&Name>,
        (members, conflicts): (&Members<'a>, &Conflicts<'a>),
    ) -> usize {
        let Some(asking) = members.asking else { return 0 };
        let all = self.towards(domain).chain(self.offered_members());
        let loss = Loss::of(asking, packing, members, conflicts);
        all.map(|entry| loss.at_worst(&entry.pod)).fold(0, usize::saturating_add)
    }
}

/// What pods in flight may take away from a class.
struct Loss<'p, 'a, 's> {
    class: ClassId,
    packing: &'p DomainPacking<'a, 's>,
    members: &'p Members<'a>,
    conflicts: &'p Conflicts<'a>,
    /// The most that one node takes of the class; looked for once, if at all.
    largest_capacity: OnceCell<usize>,
}

impl<'p, 'a, 's> Loss<'p, 'a, 's> {
    fn of(
        class: ClassId,
        packing: &'p DomainPacking<'a, 's>,
        members: &'p Members<'a>,
        conflicts: &'p Conflicts<'a>,
    ) -> Self {
        Self { class, packing, members, conflicts, largest_capacity: OnceCell::new() }
    }

    /// How many places for the class a pod may take away at the worst, wherever it goes.
    fn at_worst(&self, pod: &Pod) -> usize {
        let keys = self.conflicts.with_pod(self.class, pod);
        if keys.iter().any(|key| !is_per_host(key)) {
            return usize::MAX;
        }
        let largest = || *self.largest_capacity.get_or_init(|| self.packing.largest_capacity(self.class));
        let by_presence = if keys.is_empty() { 0 } else { largest().max(1) };
        let requests = self.members.class(self.class).requests;
        let by_dimension =
            requests.dimensions().filter(|(_, wanted)| *wanted > 0).map(|(dimension, wanted)| {
                let taken = pod.requests.amount(dimension).max(0);
                (taken / wanted) + i64::from(taken % wanted > 0)
            });
        by_presence.max(usize::try_from(by_dimension.max().unwrap_or_default()).unwrap_or_default())
    }
}

fn uids<'e>(entries: impl Iterator<Item = &'e Entry>) -> Vec<Uid> {
    entries.map(|entry| entry.pod.uid.clone()).collect()
}

#[cfg(test)]
mod tests {
    use super::super::availability::Assumption;
    use super::super::search::Outcome;
    use super::super::situation::{Situation, cpus, hosts, member};
    use crate::fixtures::pod;

    #[test]
    fn slots_are_reserved_beyond_what_pods_in_flight_can_take() {
        let asking = member("g", 0, 2, 2).build();
        let single = |requested| pod("single").requests(cpus(requested)).build();
        for (name, nodes, in_flight, expected) in [
            ("nobody is in flight", &[4][..], None, "a0 a0"),
            ("a pod of 2 takes one place at most", &[6], Some(single(2)), "a0 a0 a0"),
            ("a pod of 3 takes two", &[8], Some(single(3)), "a0 a0 a0 a0"),
            ("a pod without requests takes none", &[4], Some(single(0)), "a0 a0"),
            ("not enough is left for both", &[4], Some(single(1)), "waits for single"),
        ] {
            let mut situation = Situation::racks(&[("a", nodes)]);
            if let Some(pod) = in_flight {
                situation = situation.with_offered(pod);
            }
            let found = situation.search(&asking, |search| match search.run(Assumption::Nothing, None) {
                Outcome::Found(plan) => hosts(&plan),
                Outcome::Undecided(expected) => format!("waits for {}", expected.join(" ")),
                Outcome::None => "none".to_owned(),
            });
            assert_eq!(found, expected, "{name}");
        }
    }
}
