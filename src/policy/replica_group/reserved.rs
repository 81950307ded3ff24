//! What pods that are in no group see of the slots that are reserved for groups.

use std::borrow::Cow;

use super::availability::{Assumption, Availability};
use super::conflicts::{Neighbour, is_per_host};
use super::other_groups::Exclusion;
use crate::decision::{Decision, Reason};
use crate::ledger::{Entry, HeldSlots, Phase, Slot};
use crate::model::{Membership, Name};
use crate::policy::Question;
use crate::policy::fit::Demand;
use crate::view::Host;

/// So few candidates are looked at one by one, however many hosts there are with slots and members.
const FEW_CANDIDATES: usize = 64;

/// Rejects candidates where the pod would take room that is reserved for a group of the same or a higher priority, or that a
/// member has which has gone unseen, or would be beside a member that does not want it there.
pub fn filter(question: &Question<'_>, decision: &mut Decision) {
    if question.view.ledger().reservations().is_empty() && question.view.placed_groups().next().is_none() {
        return;
    }
    let availability = availability(question);
    let open = |entry: &&Entry| entry.phase == Phase::Offered && entry.pod.uid != question.pod.uid;
    let in_flight: Vec<&Entry> = question.view.ledger().iter().filter(open).collect();
    let mut await_them = false;
    let mut contradicted = Vec::new();
    for (at, host) in concerned(question) {
        let held: Vec<_> = availability.respected_slots(&host.name).collect();
        if held.is_empty() && host.members == 0 {
            continue;
        }
        if is_full(question, (at, host)) {
            // It is no candidate unless kube-scheduler sees room there. So one of both is behind, and it may be that a
            // member has gone, or was not bound after all: its room is the group's until that is known.
            if !held.is_empty() || has_respected_member(question, host) {
                decision.reject(at, Reason::CacheContradicted);
                contradicted.push(host);
            }
            continue;
        }
        let slots: usize = held.iter().map(|held| held.slots.len()).sum();
        if !question.budget.spend(slots + in_flight.len()) {
            return;
        }
        if !fits_beside(question, &availability, (at, host), &[]) || conflict(question, &held) {
            decision.reject(at, Reason::ReservedForGroup);
        } else if !in_flight.is_empty() && !fits_beside(question, &availability, (at, host), &in_flight) {
            decision.reject(at, Reason::ReservationUndecided);
            await_them = true;
        }
    }
    leave_slots_alone(question, decision);
    if decision.passing() == 0 {
        // Whoever of them has gone, the watch will show it in a moment.
        let pods = contradicted.iter().flat_map(|host| host.pods.iter());
        decision.await_placement_of(pods.map(|pod| pod.uid.clone()));
    }
    if await_them {
        let expected = in_flight.iter().filter(|entry| !entry.overdue);
        decision.await_placement_of(expected.map(|entry| entry.pod.uid.clone()));
    }
}

/// The candidates that have slots or members, with their positions. They are few, mostly.
fn concerned<'a>(question: &Question<'a>) -> impl Iterator<Item = (usize, &'a Host)> {
    let view = question.view;
    let reservations = view.ledger().reservations();
    let hosts = question.candidate_hosts();
    // Few candidates are rather looked at one by one.
    let marked = (hosts.len() > FEW_CANDIDATES).then(|| {
        let mut marked = vec![false; view.host_numbers()];
        let slots = reservations.hosts().filter_map(|host| view.host_id(host));
        slots.chain(view.hosts_with_members()).for_each(|host| marked[host.index()] = true);
        marked
    });
    (0..hosts.len()).filter_map(move |at| {
        let id = hosts[at].filter(|id| marked.as_ref().is_none_or(|marked| marked[id.index()]))?;
        let host = view.host_numbered(id)?;
        (host.members > 0 || !reservations.on(&host.name).is_empty()).then_some((at, host))
    })
}

/// Slots of groups that matter less may be taken, but not while there is room elsewhere.
fn leave_slots_alone(question: &Question<'_>, decision: &mut Decision) {
    if !question.evictions.is_empty() || question.view.ledger().reservations().is_empty() {
        return;
    }
    let polite = availability(question).assuming(Assumption::EverySlotKept);
    let takes_slots = |(at, host): &(usize, &Host)| {
        decision.passes(*at)
            && polite.respected_slots(&host.name).next().is_some()
            && !fits_beside(question, &polite, (*at, *host), &[])
    };
    let taking: Vec<usize> = concerned(question).filter(takes_slots).map(|(at, _)| at).collect();
    if taking.len() < decision.passing() {
        for at in taking {
            decision.reject(at, Reason::ReservedForGroup);
        }
    }
}

/// Keeps members of groups out of domains that other groups have to themselves.
pub fn keep_out(question: &Question<'_>, membership: &Membership, decision: &mut Decision) {
    let closed = Exclusion::of(membership, None, question.view).closed;
    for (at, name) in question.candidates.iter().enumerate().filter(|_| !closed.is_empty()) {
        let node = question.view.node(name);
        if node.is_some_and(|node| closed.cover(node)) {
            decision.reject(at, Reason::DomainExclusive);
        }
    }
}

fn availability<'a>(question: &Question<'a>) -> Availability<'a> {
    Availability {
        view: question.view,
        // Nothing is planned for the pod's group, if it is in one.
        group: None,
        asking: Some(&question.pod.uid),
        priority: question.pod.priority,
        assumption: Assumption::Nothing,
    }
}

/// Whether there is a member on a host whose group matters as much as the pod.
fn has_respected_member(question: &Question<'_>, host: &Host) -> bool {
    let priority = question.pod.priority;
    host.pods.iter().any(|pod| pod.is_placed_with_its_group() && pod.priority >= priority)
}

/// Whether there is room for the pod beside what is reserved, also if all that are in flight came here too.
fn fits_beside<'a>(
    question: &Question<'a>,
    availability: &Availability<'a>,
    (candidate, host): (usize, &'a Host),
    in_flight: &[&Entry],
) -> bool {
    let Some(node) = host.node.as_ref() else { return true };
    let mut used = availability.used(host);
    for other in in_flight.iter().filter(|other| !availability.counts_slot_of(other, host)) {
        used.to_mut().arrive(&other.pod.requests);
    }
    for victim in question.evicted_from(candidate) {
        used.to_mut().leave(&victim.allocated);
    }
    let pod = question.pod;
    Demand::of(pod).capacity(node, &used) > 0
}

/// Whether the pod would find no room on a host even if nothing were reserved there.
fn is_full(question: &Question<'_>, (candidate, host): (usize, &Host)) -> bool {
    let mut used = Cow::Borrowed(&*host.used);
    for victim in question.evicted_from(candidate) {
        used.to_mut().leave(&victim.allocated);
    }
    host.node.as_ref().is_some_and(|node| Demand::of(question.pod).capacity(node, &used) == 0)
}

/// Whether the pod and a member that has a slot on the host do not go together there.
fn conflict(question: &Question<'_>, held: &[&HeldSlots]) -> bool {
    let pod = Neighbour::pod(question.pod);
    let on_host = |keys: Vec<&Name>| keys.iter().any(|key| is_per_host(key));
    held.iter().any(|held| {
        // The slots of a group are mostly for members that are alike.
        let mut slots: Vec<&Slot> = held.slots.iter().collect();
        slots.dedup_by(|a, b| a.has_neighbours_of(b));
        let slots = slots.into_iter().map(|slot| Neighbour::slot(slot, &held.group.set.namespace));
        let mut slots = slots.filter(|slot| slot.may_mind() || pod.may_mind());
        slots.any(|slot| on_host(pod.conflicts(slot, question.view)))
    })
}
