//! A plan for a group that has come as a whole, before kube-scheduler asks about its first member.

use std::sync::Arc;
use std::time::Duration;

use super::availability::Assumption;
use super::members::Members;
use super::needs_of;
use super::search::{Outcome, Search, Settings};
use crate::ledger::{Life, Reservation};
use crate::model::{GroupKey, Pod};
use crate::policy::Budget;
use crate::view::{Needs, View};

/// What a plan may cost, in steps; a few hundredths of a second. Whoever costs more is planned for when it asks.
const STEPS: u64 = 500_000;

/// What the view must provide for it.
pub fn needs(view: &View, settings: &Settings, group: &GroupKey) -> Needs {
    first(view, settings, group)
        .and_then(|first| Members::of(first, view, &Budget::of_steps(STEPS)))
        .map_or_else(Needs::default, |members| needs_of(&members, settings))
}

/// The plan, if everybody fits somewhere as things are. Nothing is evicted ahead of time.
pub fn plan(view: &View, settings: &Settings, group: &GroupKey) -> Option<Reservation> {
    let budget = Budget::of_steps(STEPS);
    let members = Members::of(first(view, settings, group)?, view, &budget)?;
    let search = Search::new(&members, None, view, settings, &budget).filter(|_| members.excess.is_none())?;
    match search.run(Assumption::EverySlotKept, None) {
        Outcome::Found(plan) if !budget.is_spent() && !search.is_beyond_limit(&plan) => {
            Some(plan.reservation)
        }
        Outcome::Found(_) | Outcome::Undecided(_) | Outcome::None => None,
    }
}

/// Whether a plan that was made on an earlier view still has a slot for everybody. Only its own domain is looked at. Plans whose
/// slots do not tell everything (subgroups, members that have to be near each other) are taken not to.
pub fn holds(view: &View, settings: &Settings, plan: &Reservation) -> bool {
    if view.ledger().reservations().of(&plan.group).is_some() {
        return false;
    }
    let mut with_plan = view.clone();
    // Time does not matter here: this copy of the view is not kept.
    with_plan.reserve(plan.clone(), Life::of(Duration::ZERO));
    let budget = Budget::of_steps(STEPS);
    let members = first(view, settings, &plan.group)
        .and_then(|first| Members::of(first, &with_plan, &budget))
        .filter(|members| members.excess.is_none());
    let search =
        members.as_ref().and_then(|members| Search::new(members, None, &with_plan, settings, &budget));
    search.is_some_and(|search| {
        let kept = search.keep_to_reservation(search.problem(Assumption::EverySlotKept, None));
        kept.is_some_and(|kept| !search.is_beyond_limit(&kept)) && !budget.is_spent()
    })
}

/// The first member of a group that has come as a whole and of which nobody is anywhere.
fn first<'a>(view: &'a View, settings: &Settings, group: &GroupKey) -> Option<&'a Arc<Pod>> {
    let first = view.waiting_members(group).min_by(|a, b| a.key.cmp(&b.key))?;
    let size = view.group_size(first).filter(|size| *size <= settings.most_members)?;
    let untouched = view.placed_members(group).len() == 0 && !view.ledger().has_member_of(group);
    let has_come = view.waiting_members(group).len() >= size as usize;
    let is_known = || view.waiting_members(group).all(|pod| view.knows_volumes_of(pod));
    (untouched && has_come && is_known()).then_some(first)
}

#[cfg(test)]
mod tests {
    use super::super::situation::{Situation, cpus, member};
    use super::{holds, plan};
    use crate::fixtures::pod;

    #[test]
    fn a_group_is_planned_for_once_it_has_come_as_a_whole() {
        let racks = || Situation::racks(&[("a", &[2]), ("b", &[4])]);
        let waiting = |index: usize| member("g", index, 2, 2).build();
        let group = waiting(0).group.expect("a member").group.clone();
        for (name, situation, expected) in [
            ("one of two has come", racks().with(waiting(0)), None),
            ("both have", racks().with(waiting(0)).with(waiting(1)), Some("b0 b0")),
            ("one is in place", racks().with(waiting(0)).with(member("g", 1, 2, 2).on("b0").build()), None),
            ("one was offered nodes", racks().with(waiting(0)).with_offered(waiting(1)), None),
            (
                "there is no room",
                racks().with(waiting(0)).with(waiting(1)).with(pod("x").requests(cpus(2)).on("b0").build()),
                None,
            ),
        ] {
            let planned = plan(&situation.with_domains(), &situation.settings, &group);
            let hosts = planned.map(|plan| {
                plan.slots.iter().map(|slot| slot.host.to_string()).collect::<Vec<_>>().join(" ")
            });
            assert_eq!(hosts.as_deref(), expected, "{name}");
        }
    }

    #[test]
    fn a_plan_holds_while_nobody_takes_its_room() {
        let waiting = |index: usize| member("g", index, 2, 2).build();
        let one_waits = || Situation::racks(&[("a", &[4]), ("b", &[8])]).with(waiting(0));
        let racks = || one_waits().with(waiting(1));
        let group = waiting(0).group.expect("a member").group.clone();
        let made = plan(&racks().with_domains(), &racks().settings, &group).expect("room");
        for (name, situation, expected) in [
            ("nothing has changed", racks(), true),
            ("a pod has come elsewhere", racks().with(pod("x").requests(cpus(8)).on("b0").build()), true),
            ("a pod has come there", racks().with(pod("x").requests(cpus(1)).on("a0").build()), false),
            ("room is kept there for others", racks().with_reserved("other", &[("a0", 1)]), false),
            ("a member was offered nodes", racks().with_offered(waiting(1)), false),
            ("a member is gone", one_waits(), false),
            ("it has a plan by now", racks().with_reserved("g", &[("b0", 2), ("b0", 2)]), false),
        ] {
            assert_eq!(holds(&situation.with_domains(), &situation.settings, &made), expected, "{name}");
        }
    }
}
