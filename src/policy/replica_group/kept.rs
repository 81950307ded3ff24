//! What pods that are in no group see of the room that is kept for groups.

use std::collections::HashSet;

use super::fence::{HOSTNAME, Party};
use super::neighbours::Exclusion;
use super::room::has_slot;
use crate::decision::{Decision, Reason};
use crate::ledger::{Entry, HeldSlots, Phase};
use crate::model::{Membership, Name, Pod, Used};
use crate::policy::Question;
use crate::policy::fit::Applicant;
use crate::view::Host;

/// Rejects candidates where the pod would take room that is kept for a group that matters as much as it does, or would
/// sit beside somebody that does not want it there.
pub fn filter(question: &Question<'_>, decision: &mut Decision) {
    if question.view.ledger().reservations().is_empty() {
        return;
    }
    let doubtful = places_of_members_under_way(question);
    let open = |entry: &&Entry| entry.phase == Phase::Offered && entry.pod.uid != question.pod.uid;
    let under_way: Vec<&Entry> = question.view.ledger().iter().filter(open).collect();
    let mut await_them = false;
    for (at, name) in question.candidates.iter().enumerate() {
        let held = minded(question, name);
        if held.is_empty() && !doubtful.contains(&**name) {
            continue;
        }
        let Some(host) = question.view.host(name) else { continue };
        if !fits_beside(question, at, host, &held, &[]) || clashes(question, &held) {
            decision.reject(at, Reason::ReservedForGroup);
        } else if !under_way.is_empty() && !fits_beside(question, at, host, &held, &under_way) {
            decision.reject(at, Reason::ReservationUndecided);
            await_them = true;
        }
    }
    if await_them {
        let expected = under_way.iter().filter(|entry| !entry.overdue).map(|entry| entry.pod.uid.clone());
        decision.await_placement_of(expected);
    }
}

/// Keeps members of groups out of domains that other groups have to themselves.
pub fn keep_out(question: &Question<'_>, membership: &Membership, decision: &mut Decision) {
    let closed = Exclusion::of(membership, None, question.view).closed;
    for (at, name) in question.candidates.iter().enumerate().filter(|_| !closed.is_empty()) {
        let node = question.view.node(name);
        if node.is_some_and(|node| closed.iter().any(|(key, value)| node.labels.get(key) == Some(value))) {
            decision.reject(at, Reason::DomainExclusive);
        }
    }
}

/// Hosts that members are to be bound to, as far as is known here. If that fails, kube-scheduler takes the room for free
/// at once; it is the member's until that is certain.
fn places_of_members_under_way<'a>(question: &Question<'a>) -> HashSet<&'a str> {
    let entries = question.view.ledger().iter();
    let place = |entry: &'a Entry| match &entry.phase {
        Phase::Assumed { node, .. } => {
            let grouped =
                entry.pod.group.as_ref().is_some_and(|membership| membership.has_topology_request());
            (grouped && entry.pod.priority >= question.pod.priority).then_some(&**node)
        }
        Phase::Offered => None,
    };
    entries.filter_map(place).collect()
}

/// What is kept on a host that the pod has to mind.
fn minded<'a>(question: &Question<'a>, host: &str) -> Vec<&'a HeldSlots> {
    let own = question.pod.group.as_ref().map(|membership| &membership.group);
    let held = question.view.ledger().reservations().on(host).iter();
    held.filter(|held| held.priority >= question.pod.priority && Some(&held.group) != own).collect()
}

/// Whether there is room for the pod beside what is kept, also if all that are under way came here too.
fn fits_beside(
    question: &Question<'_>,
    candidate: usize,
    host: &Host,
    held: &[&HeldSlots],
    under_way: &[&Entry],
) -> bool {
    let Some(node) = host.node.as_ref() else { return true };
    let mut used = Used::clone(&host.used);
    for held in held {
        used.resources.add(&held.used.resources);
        used.pods += held.used.pods;
    }
    let pod = question.pod;
    let nominated = question.view.nominated_to(&host.name);
    let ranks = |other: &Pod| other.priority >= pod.priority && other.uid != pod.uid;
    for other in nominated.filter(|other| ranks(other) && !has_slot(other, host, question.view)) {
        used.arrive(&other.requests);
    }
    for other in under_way.iter().filter(|other| !has_slot(&other.pod, host, question.view)) {
        used.arrive(&other.pod.requests);
    }
    for victim in question.evicted_from(candidate) {
        used.leave(&victim.allocated);
    }
    Applicant { requests: &pod.requests, requirements: &pod.requirements }.times_by_room(node, &used) > 0
}

/// Whether the pod and somebody who will sit on the host do not go together there.
fn clashes(question: &Question<'_>, held: &[&HeldSlots]) -> bool {
    let pod = Party::pod(question.pod);
    let on_host = |keys: Vec<&Name>| keys.iter().any(|key| &***key == HOSTNAME);
    held.iter().any(|held| {
        let namespace = &held.group.set.namespace;
        let picky = held
            .slots
            .iter()
            .filter(|slot| slot.anti_affinity.is_some() || question.pod.anti_affinity.is_some());
        picky.into_iter().any(|slot| on_host(pod.clashes(Party::slot(slot, namespace), question.view)))
    })
}
