//! Slots for groups of which some members run already, worked out from what runs: the first thing after a restart.

use std::sync::Arc;
use std::time::Duration;

use super::availability::Assumption;
use super::members::Members;
use super::needs_of;
use super::search::{Outcome, Search, Settings};
use crate::ledger::Reservation;
use crate::model::GroupKey;
use crate::view::{Needs, View};

/// How often groups are put into another order, if not all find their slots again.
const ATTEMPTS: usize = 8;

/// What the view must provide to work it out.
pub fn needs(view: &View, settings: &Settings) -> Needs {
    let mut needs = Needs::default();
    for members in incomplete(view) {
        needs.extend(needs_of(&members, settings));
    }
    needs
}

/// What has to be reserved.
pub fn reservations(view: &View, settings: &Settings) -> Vec<Reservation> {
    let incomplete = incomplete(view);
    let mut order: Vec<_> = incomplete.iter().map(|members| members.membership.group.clone()).collect();
    let mut best = Vec::new();
    for _ in 0..ATTEMPTS {
        let (restored, left_out) = in_order(&order, view, settings);
        if best.len() < restored.len() {
            best = restored;
        }
        // They all fitted before: whoever is left out now is harder to place than others, and goes first.
        let Some(at) = left_out else { break };
        let harder = order.remove(at);
        order.insert(0, harder);
    }
    best
}

/// The members of each group that has one in place and lacks others, in a certain order.
fn incomplete(view: &View) -> Vec<Members<'_>> {
    let mut first: Vec<_> =
        view.placed_groups().filter_map(|(group, mut pods)| Some((group, pods.next()?))).collect();
    first.sort_by(|a, b| a.0.cmp(b.0));
    let members = first.into_iter().filter_map(|(_, member)| Members::of_placed(member, view));
    members.filter(|members| members.missing() > 0).collect()
}

/// What has to be reserved for each of these groups, one after another, and which was the first that did not fit.
fn in_order(order: &[Arc<GroupKey>], view: &View, settings: &Settings) -> (Vec<Reservation>, Option<usize>) {
    let mut view = view.clone();
    let (mut restored, mut left_out) = (Vec::new(), None);
    for (at, group) in order.iter().enumerate() {
        match restored_one(group, &view, settings) {
            Some(reservation) => {
                // The next ones must see it. Time does not matter here: this copy of the view is not kept.
                view.reserve(reservation.clone(), Duration::ZERO);
                restored.push(reservation);
            }
            None => left_out = left_out.or(Some(at).filter(|at| *at > 0)),
        }
    }
    (restored, left_out)
}

fn restored_one(group: &GroupKey, view: &View, settings: &Settings) -> Option<Reservation> {
    let member = view.placed_members(group).next()?;
    let members = Members::of_placed(member, view)?;
    let search = Search::new(&members, None, view, settings)?;
    match search.run(Assumption::Nothing, None) {
        Outcome::Found(plan) => Some(plan.reservation),
        Outcome::Undecided(_) | Outcome::None => None,
    }
}
