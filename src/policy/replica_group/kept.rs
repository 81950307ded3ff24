//! What pods that are in no group see of the room that is kept for groups.

use super::reasons;
use crate::model::Used;
use crate::policy::fit::Applicant;
use crate::policy::{Question, Verdicts};
use crate::view::Host;

/// Rejects candidates where the pod would take room that is kept for a group that matters as much as it does.
pub fn filter(question: &Question<'_>, verdicts: &mut Verdicts) {
    let reservations = question.view.ledger().reservations();
    if reservations.is_empty() {
        return;
    }
    for (at, name) in question.candidates.iter().enumerate() {
        let Some(kept) = kept(question, name) else { continue };
        let Some(host) = question.view.host(name) else { continue };
        if !fits_beside(question, at, host, kept) {
            verdicts.reject(at, &reasons::KEPT);
        }
    }
}

/// What is kept on a host that the pod has to mind.
fn kept(question: &Question<'_>, host: &str) -> Option<Used> {
    let own = question.pod.group.as_ref().map(|membership| &membership.group);
    let holds = question.view.ledger().reservations().on(host).iter();
    let mut minded = holds.filter(|hold| hold.priority >= question.pod.priority && Some(&hold.group) != own);
    let mut sum = minded.next()?.used.clone();
    for hold in minded {
        sum.resources.add(&hold.used.resources);
        sum.pods += hold.used.pods;
    }
    Some(sum)
}

fn fits_beside(question: &Question<'_>, candidate: usize, host: &Host, kept: Used) -> bool {
    let Some(node) = host.node.as_ref() else { return true };
    let mut used = kept;
    used.resources.add(&host.used.resources);
    used.pods += host.used.pods;
    let pod = question.pod;
    let nominated = question.view.nominated_to(&host.name);
    for other in nominated.filter(|other| other.priority >= pod.priority && other.uid != pod.uid) {
        used.arrive(&other.asks);
    }
    for victim in question.evicted_from(candidate) {
        used.leave(&victim.takes);
    }
    Applicant { asks: &pod.asks, requirements: &pod.requirements }.times_by_room(node, &used) > 0
}
