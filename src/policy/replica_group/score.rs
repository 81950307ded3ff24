//! How good nodes are for a member: its slot first, then the company of other members.

use std::collections::HashSet;

use crate::config::Packing;
use crate::model::Name;
use crate::policy::Question;

/// The best score there is, and one for hosts that are second best.
const BEST: i64 = crate::policy::MAX_SCORE;
const SECOND: i64 = BEST / 2;

/// Adds to the score of each candidate.
pub fn prioritize(packing: Packing, question: &Question<'_>, scores: &mut [i64]) {
    let (view, pod) = (question.view, question.pod);
    let Some(membership) = pod.group.as_ref() else { return };
    let Some(reservation) = view.ledger().reservations().of(&membership.group) else { return };
    // Which host it is on is compared by itself.
    let member = view.slot_of(pod, &Name::from(""));
    let slots = reservation.slots.iter().filter(|slot| slot.suits_member_of(&member));
    let with_slot: HashSet<&str> = slots.map(|slot| &*slot.host).collect();
    let placed = view.placed_members(&membership.group).filter(|_| packing == Packing::FewestHosts);
    let with_company: HashSet<&str> =
        placed.filter_map(|pod| view.place_of(&pod.uid)).map(|place| &**place).collect();
    for (score, name) in scores.iter_mut().zip(question.candidates) {
        *score += if with_slot.contains(&**name) {
            BEST
        } else if with_company.contains(&**name) {
            SECOND
        } else {
            0
        };
    }
}
