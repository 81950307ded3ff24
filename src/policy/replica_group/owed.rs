//! What is owed to groups of which some members are in place: slots for those that are missing.
//!
//! It follows from what is seen, and not from what was once answered. So it is the same case whether Berth began a moment
//! ago, another Berth led for a while, a member died, or somebody else placed one. What is reserved already is kept to as
//! long as it is good. A group that cannot have all that it lacks gets nothing: none of its members would be let in, and
//! what is kept for some of them might be all that another group lacks.

mod contest;

use std::cmp::Reverse;
use std::sync::Arc;
use std::time::Duration;

use super::agreement::spokesman;
use super::availability::Assumption;
use super::host_set::domains_of;
use super::members::Members;
use super::needs_of;
use super::search::{Outcome, Search, Settings};
use crate::ledger::{Life, Reservation};
use crate::model::{GroupKey, Pod};
use crate::policy::{Allowance, Budget, Grant, Owed};
use crate::view::{HostDomain, HostId, Needs, View};

/// How often groups are put into another order, if not all find their slots.
const ATTEMPTS: usize = 16;

/// How many looks at groups all these attempts may take: the more groups there are, the less often all of them are repeated.
const MOST_LOOKS: usize = 256;

/// What the view must provide to work it out.
pub fn needs(view: &View, settings: &Settings, groups: &[Arc<GroupKey>]) -> Needs {
    let mut needs = Needs::default();
    for members in groups.iter().filter_map(|group| members(group, view, settings)) {
        needs.extend(needs_of(&members, settings));
    }
    needs
}

/// What is owed to each of these groups: all that it lacks, or nothing. Where not everybody can have all, it is owed to the
/// same groups by every Berth, whoever had room reserved before; then other groups may be concerned as well. What the allowance
/// does not cover is put off.
pub fn to_groups(
    view: &View,
    settings: &Settings,
    groups: &[Arc<GroupKey>],
    allowance: &Allowance,
) -> Vec<Owed> {
    let (groups, uncovered): (Vec<_>, Vec<_>) = groups.iter().partition(|group| allowance.covers(group));
    let (complete, incomplete): (Vec<_>, Vec<_>) = groups
        .into_iter()
        .filter_map(|group| members(group, view, settings))
        .partition(|members| members.missing() == 0);
    let nothing = complete.iter().map(|members| {
        allowance.pay(&members.membership.group, &Allowance::whole_grant());
        let owed = if members.are_not_creatable { Owed::NotCreatable } else { Owed::Nothing };
        owed(members.membership.group.clone())
    });
    let reservations = view.ledger().reservations();
    let mut order: Vec<_> = incomplete.iter().collect();
    // Who has slots goes first, so that nobody takes them. Of those that matter as much, who finds all it lacks in its preferred
    // domain: for whoever does not, one place is as good as another.
    let is_one_of_several = incomplete.len() > 1;
    order.sort_by_cached_key(|members| {
        let has_slots = reservations.of(&members.membership.group).is_some();
        let is_dispersed =
            !has_slots && is_one_of_several && is_dispersed(members, view, settings, allowance);
        let (priority, is_unplanned, missing, group) = claim(members, view);
        (!has_slots, priority, is_dispersed, is_unplanned, missing, group)
    });
    let order = order.into_iter().map(|members| members.membership.group.clone()).collect();
    let division = Division::among(order, view, settings, allowance);
    let division = contest::settle(division, view, settings, allowance);
    let put_off = uncovered.into_iter().cloned().map(Owed::PutOff);
    nothing.chain(put_off).chain(division.owed()).collect()
}

fn members<'a>(group: &GroupKey, view: &'a View, settings: &Settings) -> Option<Members<'a>> {
    // Any of those will do that ask for what most do, but always the same one.
    let first = spokesman(view.placed_members(group)).or_else(|| first_under_way(group, view))?;
    if view.group_size(first).is_some_and(|size| size > settings.most_members) {
        return None;
    }
    let Grant { budget, .. } = Allowance::whole_grant();
    Members::of_placed(first, view, &budget).filter(|members| members.excess.is_none() && !budget.is_spent())
}

/// Who speaks for a group of which nobody is in place, and somebody is on the way to a domain where slots are reserved: these
/// have to follow the nodes of the domain also until the bind call comes.
fn first_under_way<'a>(group: &GroupKey, view: &'a View) -> Option<&'a Arc<Pod>> {
    view.ledger().reservations().of(group).filter(|kept| kept.domain.is_some())?;
    let of_group = |pod: &&Arc<Pod>| pod.group.as_ref().is_some_and(|own| *own.group == *group);
    let under_way = view.ledger().iter().map(|entry| &entry.pod);
    under_way.filter(of_group).min_by(|a, b| a.key.cmp(&b.key))
}

/// The order in which groups choose, as far as the cluster tells: who matters more; whose plan stands in the status of its
/// members; who lacks least, so that most of them become whole.
fn claim(members: &Members<'_>, view: &View) -> (Reverse<i32>, bool, usize, Arc<GroupKey>) {
    let group = &members.membership.group;
    let is_planned = view.waiting_members(group).any(|pod| pod.nominated_node.is_some());
    (Reverse(members.priority), !is_planned, members.missing(), group.clone())
}

/// Whether a group cannot be in one domain of the topology that it prefers, were it the only one to find its slots.
fn is_dispersed(members: &Members<'_>, view: &View, settings: &Settings, allowance: &Allowance) -> bool {
    let preferred = members.membership.topology.preferred.as_ref();
    let Some(domains) = preferred.and_then(|key| view.domains(key)) else { return false };
    let Some(Outcome::Found(plan)) = room(&members.membership.group, view, settings, allowance) else {
        return false;
    };
    let slots = plan.reservation.slots.iter().filter_map(|slot| view.host_id(&slot.host));
    let placed = members.placed.iter().map(|placed| placed.host);
    let hosts: Vec<_> = placed.chain(slots).collect();
    // A host in no such domain is not where the others are.
    let is_outside = |host: &HostId| domains.of(*host) == HostDomain::MissingLabel;
    hosts.iter().any(is_outside) || domains_of(hosts.into_iter(), domains).len() != 1
}

/// Which groups get all that they lack.
#[derive(Default)]
struct Division {
    /// Those that do, and what that is.
    rooms: Vec<Reservation>,
    /// Those for which there is not enough.
    short: Vec<Arc<GroupKey>>,
    /// Those of which it cannot be told now: it depends on who is under way.
    undecided: Vec<Arc<GroupKey>>,
    /// Those of which it would cost too much to tell now.
    put_off: Vec<Arc<GroupKey>>,
}

impl Division {
    /// Divides room among groups, of which the first have the first choice.
    fn among(mut order: Vec<Arc<GroupKey>>, view: &View, settings: &Settings, allowance: &Allowance) -> Self {
        let mut best: Option<Self> = None;
        for _ in 0..(MOST_LOOKS / order.len().max(1)).clamp(1, ATTEMPTS) {
            let division = Self::in_order(&order, view, settings, allowance);
            if best.is_some() && !division.put_off.is_empty() {
                break;
            }
            // Who is left out may be harder to place than those before it, and goes first the next time.
            let harder = order.iter().position(|group| division.short.contains(group)).filter(|at| *at > 0);
            if best.as_ref().is_none_or(|best| best.rooms.len() < division.rooms.len()) {
                best = Some(division);
            }
            let Some(at) = harder else { break };
            let harder = order.remove(at);
            order.insert(0, harder);
        }
        best.unwrap_or_default()
    }

    fn in_order(order: &[Arc<GroupKey>], view: &View, settings: &Settings, allowance: &Allowance) -> Self {
        let mut view = view.clone();
        let mut division = Self::default();
        for group in order {
            let Some(outcome) = room(group, &view, settings, allowance) else {
                division.put_off.push(group.clone());
                continue;
            };
            match outcome {
                Outcome::Found(plan) => {
                    // The next ones must see it. Time does not matter here: this copy of the view is not kept.
                    view.reserve(plan.reservation.clone(), Life::of(Duration::ZERO));
                    division.rooms.push(plan.reservation);
                }
                Outcome::Undecided(_) => division.undecided.push(group.clone()),
                // Who is on the way has been let in: it is not left without anything before it is seen where it went.
                Outcome::None if view.placed_members(group).len() == 0 => {
                    division.undecided.push(group.clone());
                }
                Outcome::None => {
                    view.release(group);
                    division.short.push(group.clone());
                }
            }
        }
        division
    }

    /// Whether it is known of everybody.
    fn is_decided(&self) -> bool {
        self.undecided.is_empty() && self.put_off.is_empty()
    }

    fn owed(self) -> impl Iterator<Item = Owed> {
        let rooms = self.rooms.into_iter().map(Owed::Room);
        let short = self.short.into_iter().map(Owed::Short);
        let undecided = self.undecided.into_iter().map(Owed::Undecided);
        rooms.chain(short).chain(undecided).chain(self.put_off.into_iter().map(Owed::PutOff))
    }
}

/// The room for all that a group lacks. `None` if it would cost too much to tell now.
fn room(group: &GroupKey, view: &View, settings: &Settings, allowance: &Allowance) -> Option<Outcome> {
    if !allowance.covers(group) {
        return None;
    }
    let grant = allowance.grant(group);
    let outcome = look_for_room(group, view, settings, &grant.budget);
    allowance.pay(group, &grant);
    (!grant.is_too_small()).then_some(outcome)
}

fn look_for_room(group: &GroupKey, view: &View, settings: &Settings, budget: &Budget) -> Outcome {
    // A group before it may have taken what was left of a quota.
    let members = members(group, view, settings).filter(|members| members.missing() > 0);
    let Some(members) = members else { return Outcome::None };
    let Some(search) = Search::new(&members, None, view, settings, budget) else {
        return Outcome::Undecided(Vec::new());
    };
    let mut outcome = search.run(Assumption::Nothing, None);
    if matches!(outcome, Outcome::None) && settings.count_on_preemption && members.may_preempt {
        // As when a member asks: who has taken room that it must leave to the group does not end what is owed to it.
        outcome = search.run(Assumption::LowerPriorityGone, None);
    }
    match outcome {
        Outcome::Found(plan) if budget.is_spent() || search.is_beyond_limit(&plan) => Outcome::None,
        outcome => outcome,
    }
}

#[cfg(test)]
mod tests {
    use super::super::situation::{Situation, cpus, member};
    use super::to_groups;
    use crate::fixtures::pod;
    use crate::policy::{Allowance, Owed};

    #[test]
    fn a_member_whose_bind_call_was_made_is_in_place() {
        let leader = std::sync::Arc::new(member("g", 0, 2, 2).build());
        let mut situation = Situation::racks(&[("a", &[8])]).with(member("g", 0, 2, 2).build());
        let minute = std::time::Duration::from_mins(1);
        situation.view.assume(&leader.uid, &leader.key, "a0".into(), minute);
        let group = leader.group.as_ref().expect("a member").group.clone();
        let owed =
            to_groups(&situation.with_domains(), &situation.settings, &[group], &Allowance::unlimited());
        let [Owed::Room(room)] = &owed[..] else { panic!("{owed:?}") };
        assert_eq!((room.missing, room.slots.len(), room.in_place.len()), (1, 1, 1));
    }

    #[test]
    fn what_is_owed_follows_from_the_members_in_place() {
        let racks = || Situation::racks(&[("a", &[8]), ("b", &[8])]);
        let placed = |index: usize| member("g", index, 3, 2).on("a0").build();
        for (name, situation, expected) in [
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
                "one is leaving whose room its successor needs",
                racks()
                    .with(placed(0))
                    .with(placed(1))
                    .with(member("g", 2, 3, 2).on("a0").terminating().build())
                    .with(pod("x").requests(cpus(2)).on("a0").build()),
                Some("a0"),
            ),
            (
                "there is no room for the rest",
                racks().with(placed(0)).with(pod("x").requests(cpus(4)).on("a0").build()),
                Some("short"),
            ),
        ] {
            assert_eq!(owed_to_g(&situation).as_deref(), expected, "{name}");
        }
    }

    #[test]
    fn what_is_owed_is_kept_and_no_less_for_what_has_to_make_way() {
        let racks = || Situation::racks(&[("a", &[8]), ("b", &[8])]);
        let placed = |index: usize| member("g", index, 3, 2).on("a0").build();
        for (name, situation, expected) in [
            (
                "room that a lower-priority pod has taken is still owed",
                racks().with(placed(0)).with(pod("x").requests(cpus(4)).priority(-1).on("a0").build()),
                Some("a0 a0"),
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
            assert_eq!(owed_to_g(&situation).as_deref(), expected, "{name}");
        }
    }

    #[test]
    fn nothing_is_owed_for_members_that_a_quota_does_not_let_be_created() {
        let racks = || Situation::racks(&[("a", &[8]), ("b", &[8])]);
        let placed = |index: usize| member("g", index, 3, 2).on("a0").build();
        let quota = |pods: u32| {
            format!(
                r#"{{"apiVersion":"v1","kind":"ResourceQuota","metadata":{{"name":"q","namespace":"default"}},
                "spec":{{"hard":{{"pods":"{pods}"}}}}}}"#
            )
        };
        for (name, situation, expected) in [
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
        ] {
            assert_eq!(owed_to_g(&situation).as_deref(), expected, "{name}");
        }
    }

    #[test]
    fn room_that_does_not_suffice_for_all_is_divided_by_what_is_seen() {
        let racks = || Situation::racks(&[("a", &[8]), ("b", &[8])]);
        let placed = |index: usize| member("g", index, 3, 2).on("a0").build();
        for (name, situation, expected) in [
            (
                "a plan of which nobody has a place gives way",
                racks().with(placed(0)).with_reserved("h", &[("a0", 4)]),
                Some("a0 a0"),
            ),
            (
                "another group in place that lacks fewer does not",
                racks()
                    .with(placed(0))
                    .with(member("h", 0, 2, 3).on("a0").build())
                    .with_reserved("h", &[("a0", 3)]),
                Some("short"),
            ),
            (
                "one that lacks more does",
                racks()
                    .with(placed(0))
                    .with(member("h", 0, 4, 1).on("a0").build())
                    .with_reserved("h", &[("a0", 1), ("a0", 1), ("a0", 1)]),
                Some("a0 a0"),
            ),
        ] {
            assert_eq!(owed_to_g(&situation).as_deref(), expected, "{name}");
        }
    }

    #[test]
    fn who_is_not_where_it_would_like_to_be_chooses_last() {
        let unlabelled = r#"{"apiVersion":"v1","kind":"Node","metadata":{"name":"a1","labels":{"example.com/rack":"a"}},
            "status":{"allocatable":{"cpu":"6","pods":"110"}}}"#;
        let placed = |group: &str, at: usize, host: &str| {
            let preferring = member(group, at, 2, 3);
            preferring.annotation("berth.dev/preferred-topology", "kubernetes.io/hostname").on(host).build()
        };
        // Whatever they are called.
        for (outside, inside) in [("g", "h"), ("h", "g")] {
            let situation = Situation::racks(&[("a", &[6])]).with_object(unlabelled);
            let situation = situation.with(placed(outside, 0, "a1")).with(placed(inside, 0, "a0"));
            let key = |group: &str| member(group, 0, 2, 3).build().group.expect("a member").group.clone();
            let owed = to_groups(
                &situation.with_domains(),
                &situation.settings,
                &[key("g"), key("h")],
                &Allowance::unlimited(),
            );
            let host_of = |group: &str| {
                owed.iter().find_map(|owed| match owed {
                    Owed::Room(room) if room.group == key(group) => Some(room.slots[0].host.to_string()),
                    _ => None,
                })
            };
            assert_eq!((host_of(inside).as_deref(), host_of(outside).as_deref()), (Some("a0"), Some("a1")));
        }
    }

    /// The hosts of the slots that are owed to group `g`, or why there are none.
    fn owed_to_g(situation: &Situation) -> Option<String> {
        let group = member("g", 0, 3, 2).build().group.expect("a member").group.clone();
        let (view, group_only) = (situation.with_domains(), std::slice::from_ref(&group));
        let owed = to_groups(&view, &situation.settings, group_only, &Allowance::unlimited());
        owed.iter().find_map(|owed| match owed {
            Owed::Nothing(_) => Some(String::new()),
            Owed::NotCreatable(_) => Some("not creatable".to_owned()),
            Owed::Short(short) => (*short == group).then(|| "short".to_owned()),
            Owed::Undecided(_) => Some("undecided".to_owned()),
            Owed::PutOff(_) => Some("put off".to_owned()),
            Owed::Room(room) => (room.group == group)
                .then(|| room.slots.iter().map(|slot| &*slot.host).collect::<Vec<_>>().join(" ")),
        })
    }
}
