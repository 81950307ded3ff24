//! How good nodes are for a member: its slot first, then the company of other members.

use crate::config::Packing;
use crate::policy::Question;

/// The best score there is, and one for hosts that are second best.
const BEST: i64 = crate::policy::MAX_SCORE;
const SECOND: i64 = BEST / 2;

/// Adds to the score of each candidate.
pub fn prioritize(packing: Packing, question: &Question<'_>, scores: &mut [i64]) {
    let (view, pod) = (question.view, question.pod);
    let Some(membership) = pod.group.as_ref() else { return };
    let Some(reservation) = view.ledger().reservations().of(&membership.group) else { return };
    for (score, name) in scores.iter_mut().zip(question.candidates) {
        let slots = &reservation.slots;
        let has_slot =
            slots.iter().any(|slot| *slot.host == **name && slot.suits(&pod.requests, &pod.requirements));
        let has_company = || {
            let placed = view.placed_members(&membership.group);
            placed.filter_map(|pod| view.place_of(&pod.uid)).any(|place| **place == **name)
        };
        *score += if has_slot {
            BEST
        } else if packing == Packing::FewestHosts && has_company() {
            SECOND
        } else {
            0
        };
    }
}
