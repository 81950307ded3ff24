//! Groups that cannot all have what they lack, and must not depend on which Berth is asked.
//!
//! A Berth that has seen it all gave room to who came first. Another one, which has only the cluster to go by, cannot know who
//! that was. So where somebody goes short, the room is divided anew among all who compete for it, in an order that follows from
//! the cluster alone, and unless the same groups get theirs either way, that is what counts.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use super::super::host_set::most_common;
use super::super::needs_of;
use super::super::search::Settings;
use super::{Division, claim, members, spokesman};
use crate::model::{GroupKey, Name};
use crate::policy::Allowance;
use crate::view::{HostDomain, HostId, Needs, View};

/// Among more groups than that room is not divided anew: each of them is looked at several times.
const MOST_CONTENDERS: usize = 16;

/// The domains of so many topology keys are made for it.
const MOST_KEYS: usize = 16;

/// A group in place that may lack members.
struct Contender<'a> {
    group: &'a Arc<GroupKey>,
    /// Its domain; `None` if it may be anywhere.
    hosts: Option<&'a [HostId]>,
}

/// The topology keys that groups require, those first that are used in most namespaces: a tenant that makes up many must not
/// crowd out those of everybody else.
fn keys_of_most(groups: &BTreeSet<&Arc<GroupKey>>, view: &View) -> Vec<Name> {
    let mut namespaces: BTreeMap<&Name, BTreeSet<&Name>> = BTreeMap::new();
    for group in groups {
        if let Some(key) = required_key(group, view) {
            namespaces.entry(key).or_default().insert(&group.set.namespace);
        }
    }
    let mut keys: Vec<_> = namespaces.into_iter().collect();
    keys.sort_by_key(|(_, namespaces)| Reverse(namespaces.len()));
    keys.into_iter().take(MOST_KEYS).map(|(key, _)| key.clone()).collect()
}

/// The topology key that a group in place requires.
fn required_key<'a>(group: &GroupKey, view: &'a View) -> Option<&'a Name> {
    spokesman(view.placed_members(group))?.group.as_ref()?.topology.required.as_ref()
}

impl<'a> Contender<'a> {
    fn new(group: &'a Arc<GroupKey>, view: &'a View) -> Option<Self> {
        let first = spokesman(view.placed_members(group))?;
        let hosts = match &first.group.as_ref()?.topology.required {
            Some(key) => {
                let domains = view.domains(key)?;
                let places = view.placed_members(group).filter_map(|pod| view.place_of(&pod.uid));
                let hosts = places.filter_map(|node| view.host_id(node));
                let value = |host| match domains.of(host) {
                    HostDomain::In(domain) => Some(domains.value(domain)),
                    HostDomain::MissingLabel | HostDomain::UnknownNode => None,
                };
                Some(domains.hosts(domains.find(most_common(hosts.filter_map(value)).0?)?))
            }
            None => None,
        };
        Some(Self { group, hosts })
    }

    fn competes_for(&self, contested: &[bool]) -> bool {
        self.hosts.is_none_or(|hosts| hosts.iter().any(|host| contested[host.index()]))
    }

    fn spread_over(&self, contested: &mut [bool]) {
        match self.hosts {
            Some(hosts) => hosts.iter().for_each(|host| contested[host.index()] = true),
            None => contested.fill(true),
        }
    }
}

/// Lets every Berth owe the same to groups of which not all can have what they lack.
pub fn settle(division: Division, view: &View, settings: &Settings, allowance: &Allowance) -> Division {
    let reservations = view.ledger().reservations();
    // Whose time is up has no claim to what others have by now.
    let is_late = |group: &Arc<GroupKey>| reservations.has_expired(group);
    if division.short.iter().all(is_late) {
        return division;
    }
    let has_begun = |group: &&Arc<GroupKey>| view.placed_members(group).len() > 0;
    let (begun, plans): (Vec<_>, Vec<_>) = reservations.iter().map(|kept| &kept.group).partition(has_begun);
    let asked =
        division.rooms.iter().map(|room| &room.group).chain(&division.short).chain(&division.undecided);
    let all = begun.into_iter().chain(asked).chain(view.short_groups());
    let all: BTreeSet<_> = all.filter(|group| !is_late(group)).collect();
    // Nobody may have asked about the others for long.
    let mut provided = view.clone();
    let topology_keys = keys_of_most(&all, view);
    provided.provide(&Needs { topology_keys, ..Needs::default() });
    let view = &provided;
    let mut all: Vec<_> = all.into_iter().filter_map(|group| Contender::new(group, view)).collect();

    let mut contested = vec![false; view.host_numbers()];
    let mut contenders = Vec::new();
    let is_short = |contender: &Contender<'_>| division.short.contains(contender.group);
    let mut joining: Vec<Contender<'_>> = all.extract_if(.., |contender| is_short(contender)).collect();
    while !joining.is_empty() {
        for contender in &joining {
            contender.spread_over(&mut contested);
        }
        contenders.append(&mut joining);
        if contenders.len() > MOST_CONTENDERS {
            return division;
        }
        joining = all.extract_if(.., |contender| contender.competes_for(&contested)).collect();
    }
    let contenders = contenders.iter().filter_map(|contender| members(contender.group, view, settings));
    let mut contenders: Vec<_> = contenders.filter(|members| members.missing() > 0).collect();
    contenders.sort_by_cached_key(|members| claim(members, view));

    let mut blank = view.clone();
    let mut needs = Needs::default();
    for members in &contenders {
        needs.extend(needs_of(members, settings));
    }
    // All at once: what is provided later may take the place of what was before.
    blank.provide(&needs);
    // A plan of which nobody has a place yet gives way to who has begun.
    let on_contested_hosts = |group: &&Arc<GroupKey>| {
        let slots = reservations.of(group).into_iter().flat_map(|kept| &kept.slots);
        let mut hosts = slots.filter_map(|slot| view.host_id(&slot.host));
        hosts.any(|host| contested[host.index()]) && !view.ledger().has_member_of(group)
    };
    let plans: Vec<_> = plans.into_iter().filter(on_contested_hosts).cloned().collect();
    let order: Vec<_> = contenders.iter().map(|members| members.membership.group.clone()).collect();
    for group in order.iter().chain(&plans) {
        blank.release(group);
    }
    let anew = Division::among(order.clone(), &blank, settings, allowance);

    let is_decided = [&anew, &division].iter().all(|division| division.is_decided());
    let as_it_is = |group: &&Arc<GroupKey>| {
        let asked = division.rooms.iter().any(|room| room.group == **group);
        asked || (!division.short.contains(group) && reservations.of(group).is_some())
    };
    let before: BTreeSet<_> = order.iter().filter(as_it_is).collect();
    let after: BTreeSet<_> = anew.rooms.iter().map(|room| &room.group).collect();
    // More luck than that is not to be had by looking at the cluster alone.
    let is_worse = after.len() < before.len();
    if !is_decided || is_worse || before == after {
        return division;
    }
    let elsewhere = |group: &Arc<GroupKey>| !order.contains(group);
    let Division { mut rooms, mut short, undecided, put_off } = division;
    rooms.retain(|room| elsewhere(&room.group));
    short.retain(elsewhere);
    rooms.extend(anew.rooms);
    short.extend(anew.short.into_iter().chain(plans));
    Division { rooms, short, undecided, put_off }
}
