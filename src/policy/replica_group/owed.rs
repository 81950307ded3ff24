//! What is owed to groups of which some members are in place: slots for those that are missing.
//!
//! It follows from what is seen, and not from what was once answered. So it is the same case whether Berth began a moment
//! ago, another Berth led for a while, a member died, or somebody else placed one. What is reserved already is kept to as
//! long as it is good.

use std::cmp::Reverse;
use std::sync::Arc;
use std::time::Duration;

use super::agreement::spokesman;
use super::availability::Assumption;
use super::members::Members;
use super::needs_of;
use super::search::{Outcome, Search, Settings};
use crate::ledger::{Life, Reservation};
use crate::model::GroupKey;
use crate::policy::{Budget, Owed};
use crate::view::{Needs, View};

/// How often groups are put into another order, if not all find their slots.
const ATTEMPTS: usize = 8;

/// What one group may cost, in steps: the same on every Berth, however fast its machine is. A tenth of a second or so.
const STEPS_PER_GROUP: u64 = 2_000_000;

/// What the view must provide to work it out.
pub fn needs(view: &View, settings: &Settings, groups: &[Arc<GroupKey>]) -> Needs {
    let mut needs = Needs::default();
    for members in groups.iter().filter_map(|group| members(group, view, settings)) {
        needs.extend(needs_of(&members, settings));
    }
    needs
}

/// What is owed to each of these groups. Groups that cannot be given all that they lack keep what they have.
pub fn to_groups(view: &View, settings: &Settings, groups: &[Arc<GroupKey>]) -> Vec<Owed> {
    let (complete, incomplete): (Vec<_>, Vec<_>) = groups
        .iter()
        .filter_map(|group| members(group, view, settings))
        .partition(|members| members.missing() == 0);
    let nothing = complete.iter().map(|members| {
        let owed = if members.are_not_creatable { Owed::NotCreatable } else { Owed::Nothing };
        owed(members.membership.group.clone())
    });
    let rooms = rooms(&incomplete, view, settings);
    let short = incomplete.iter().map(|members| &members.membership.group);
    let short: Vec<_> =
        short.filter(|group| !rooms.iter().any(|room| room.group == **group)).cloned().collect();
    let rooms = rooms.into_iter().map(Owed::Room);
    rooms.chain(nothing).chain(short.into_iter().map(Owed::Short)).collect()
}

fn members<'a>(group: &GroupKey, view: &'a View, settings: &Settings) -> Option<Members<'a>> {
    // Any of those will do that ask for what most do, but always the same one.
    let first = spokesman(view.placed_members(group))?;
    if view.group_size(first).is_some_and(|size| size > settings.most_members) {
        return None;
    }
    let budget = Budget::of_steps(STEPS_PER_GROUP);
    Members::of_placed(first, view, &budget).filter(|members| members.excess.is_none() && !budget.is_spent())
}

fn rooms(incomplete: &[Members<'_>], view: &View, settings: &Settings) -> Vec<Reservation> {
    let reservations = view.ledger().reservations();
    let mut order: Vec<_> = incomplete.iter().collect();
    // Who has slots goes first, so that nobody takes them; then who matters more.
    order.sort_by_key(|members| {
        let group = &members.membership.group;
        (reservations.of(group).is_none(), Reverse(members.priority), group.clone())
    });
    let mut order: Vec<_> = order.into_iter().map(|members| members.membership.group.clone()).collect();
    let mut best = Vec::new();
    for _ in 0..ATTEMPTS {
        let (found, left_out) = in_order(&order, view, settings);
        if best.len() < found.len() {
            best = found;
        }
        // They all fitted before: whoever is left out now is harder to place than others, and goes first.
        let Some(at) = left_out else { break };
        let harder = order.remove(at);
        order.insert(0, harder);
    }
    best
}

/// What has to be reserved for each of these groups, one after another, and which was the first that did not fit.
fn in_order(order: &[Arc<GroupKey>], view: &View, settings: &Settings) -> (Vec<Reservation>, Option<usize>) {
    let mut view = view.clone();
    let (mut found, mut left_out) = (Vec::new(), None);
    for (at, group) in order.iter().enumerate() {
        match room(group, &view, settings) {
            Some(reservation) => {
                // The next ones must see it. Time does not matter here: this copy of the view is not kept.
                view.reserve(reservation.clone(), Life::of(Duration::ZERO));
                found.push(reservation);
            }
            None => left_out = left_out.or(Some(at).filter(|at| *at > 0)),
        }
    }
    (found, left_out)
}

fn room(group: &GroupKey, view: &View, settings: &Settings) -> Option<Reservation> {
    // A group before it may have taken what was left of a quota.
    let members = members(group, view, settings).filter(|members| members.missing() > 0)?;
    let budget = Budget::of_steps(STEPS_PER_GROUP);
    let search = Search::new(&members, None, view, settings, &budget)?;
    match search.run(Assumption::Nothing, None) {
        Outcome::Found(plan) if !budget.is_spent() && !search.is_beyond_limit(&plan) => {
            Some(plan.reservation)
        }
        Outcome::Found(_) | Outcome::Undecided(_) | Outcome::None => None,
    }
}

#[cfg(test)]
mod tests {
    use super::super::situation::{Situation, cpus, member};
    use super::to_groups;
    use crate::fixtures::pod;
    use crate::policy::Owed;

    #[test]
    fn a_member_whose_bind_call_was_made_is_in_place() {
        let leader = std::sync::Arc::new(member("g", 0, 2, 2).build());
        let mut situation = Situation::racks(&[("a", &[8])]).with(member("g", 0, 2, 2).build());
        let minute = std::time::Duration::from_mins(1);
        situation.view.assume(&leader.uid, &leader.key, "a0".into(), minute);
        let group = leader.group.as_ref().expect("a member").group.clone();
        let owed = to_groups(&situation.with_domains(), &situation.settings, &[group]);
        let [Owed::Room(room)] = &owed[..] else { panic!("{owed:?}") };
        assert_eq!((room.missing, room.slots.len(), room.in_place.len()), (1, 1, 1));
    }

    #[test]
    fn what_is_owed_follows_from_the_members_in_place() {
        let racks = || Situation::racks(&[("a", &[8]), ("b", &[8])]);
        let placed = |index: usize| member("g", index, 3, 2).on("a0").build();
        let quota = |pods: u32| {
            format!(
                r#"{{"apiVersion":"v1","kind":"ResourceQuota","metadata":{{"name":"q","namespace":"default"}},
                "spec":{{"hard":{{"pods":"{pods}"}}}}}}"#
            )
        };
        for (name, situation, expected) in vec![
            ("nobody is in place", racks().with(member("g", 0, 3, 2).build()), None),
            ("one of three", racks().with(placed(0)), Some("a0 a0")),
            ("two of three", racks().with(placed(0)).with(placed(1)), Some("a0")),
            ("all", racks().with(placed(0)).with(placed(1)).with(placed(2)), Some("")),
            (
                "one is leaving",
                racks()
                    .with(placed(0))
                    .with(placed(1))
                    .with(member("g", 2, 3, 2).on("a0").terminating().build()),
                Some("a0"),
            ),
            (
                "a quota does not let the rest be created",
                racks().with(placed(0)).with_object(&quota(2)),
                Some("not creatable"),
            ),
            ("a quota lets it be created", racks().with(placed(0)).with_object(&quota(3)), Some("a0 a0")),
            (
                "of the rest one exists",
                racks().with(placed(0)).with(member("g", 1, 3, 2).build()).with_object(&quota(2)),
                Some("a0"),
            ),
            (
                "there is no room for the rest",
                racks().with(placed(0)).with(pod("x").requests(cpus(4)).on("a0").build()),
                Some("short"),
            ),
            (
                "somebody else's room is respected",
                racks().with(placed(0)).with_reserved("h", &[("a0", 4)]),
                Some("short"),
            ),
            (
                "what is reserved already is kept",
                racks()
                    .with(placed(0))
                    .with_reserved("h", &[("b0", 4)])
                    .with_reserved("g", &[("a0", 2), ("a0", 2)]),
                Some("a0 a0"),
            ),
        ] {
            let group = member("g", 0, 3, 2).build().group.expect("a member").group.clone();
            let owed = to_groups(&situation.with_domains(), &situation.settings, &[group]);
            let hosts = owed.first().map(|owed| match owed {
                Owed::NotCreatable(_) => "not creatable".to_owned(),
                Owed::Nothing(_) => String::new(),
                Owed::Short(_) => "short".to_owned(),
                Owed::Room(room) => room.slots.iter().map(|slot| &*slot.host).collect::<Vec<_>>().join(" "),
            });
            assert_eq!(hosts.as_deref(), expected, "{name}");
        }
    }
}
