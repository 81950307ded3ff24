//! Room kept for members of replica groups that have no place yet.
//!
//! ```text
//!   filter lets the first member in        a member is bound: its slot is free, the time begins anew
//!  ------------------------------> kept <-------------------------------------------------------+
//!                                   |  +---------------------------------------------------------+
//!                                   |
//!                                   +--> fulfilled   the last slot is taken, and the watch shows everybody in place
//!                                   +--> expired     no member was bound for the whole time to live
//!                                   +--> released    nobody of the group is left, or it does not fit any more
//! ```
//!
//! A slot says how much is kept on which host. It names no member: members that request and require the same
//! may change places.

use std::sync::Arc;
use std::time::Duration;

use imbl::HashMap;

use crate::model::group::Scope;
use crate::model::{AntiAffinityTerm, GroupKey, Labels, Name, Pod, Requirements, Resources, Uid, Used};

/// Room for one member.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Slot {
    /// On which host.
    pub host: Name,
    /// How much.
    pub requests: Arc<Resources>,
    /// What the member that it is for requires of a node.
    pub requirements: Arc<Requirements>,
    /// The labels of that member, as far as they are known: anti-affinity of others may be against them.
    pub labels: Labels,
    /// The terms of its own required anti-affinity.
    pub anti_affinity: Option<Arc<[AntiAffinityTerm]>>,
}

impl Slot {
    /// Where a pod is, or was to be.
    pub fn of(pod: &Pod, host: &Name) -> Self {
        Self {
            host: host.clone(),
            requests: pod.requests.clone(),
            requirements: pod.requirements.clone(),
            labels: pod.labels.clone(),
            anti_affinity: pod.anti_affinity.clone(),
        }
    }

    /// The one rule for whether a slot is one for such a pod: members that request and require the same may change
    /// places.
    pub fn suits(&self, requests: &Arc<Resources>, requirements: &Arc<Requirements>) -> bool {
        self.requests == *requests && self.requirements == *requirements
    }
}

/// Room for the members of one group that have no place yet.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Reservation {
    /// The group.
    pub group: Arc<GroupKey>,
    /// The priority of its members: those above it do not have to mind.
    pub priority: i32,
    /// The topology key and its value in the domain that the group is to be in, if it is to be in one.
    pub domain: Option<(Name, Name)>,
    /// Which groups it keeps out of that domain.
    pub exclusive: Option<Scope>,
    /// The topology of which each part of the group has a domain to itself, if it has parts.
    pub parts: Option<Name>,
    /// Members that had a place when this was worked out.
    pub in_place: Vec<Uid>,
    /// How many members have no place.
    pub missing: usize,
    /// A slot for each of them, and some to spare while pods are under way that may take some away.
    pub slots: Vec<Slot>,
}

impl Reservation {
    /// Nothing is kept for a group.
    pub fn nothing(group: Arc<GroupKey>) -> Self {
        let (domain, exclusive, parts) = (None, None, None);
        let (in_place, slots) = (Vec::new(), Vec::new());
        Self { group, priority: 0, domain, exclusive, parts, in_place, missing: 0, slots }
    }
}

/// What is kept on a host for one group.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HeldSlots {
    /// The group.
    pub group: Arc<GroupKey>,
    /// Its priority.
    pub priority: i32,
    /// How much, for how many pods.
    pub used: Used,
    /// The slots one by one.
    pub slots: Vec<Slot>,
}

/// How many reservations have ended, and how.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Endings {
    /// Every member has a place.
    pub fulfilled: u64,
    /// No member was bound for too long.
    pub expired: u64,
    /// Nobody could use it any more.
    pub released: u64,
}

#[derive(Clone, Debug)]
struct Kept {
    reservation: Arc<Reservation>,
    /// When it expires, on the ledger's clock.
    deadline: Duration,
    ttl: Duration,
}

type SlotsByHost = std::collections::HashMap<Name, Vec<HeldSlots>, ahash::RandomState>;

/// All reservations. Cheap to clone.
#[derive(Clone, Debug, Default)]
pub struct Reservations {
    by_group: HashMap<Arc<GroupKey>, Kept>,
    /// By host; made anew with every change, which is rare compared to looking.
    held: Arc<SlotsByHost>,
    endings: Endings,
}

impl Reservations {
    /// A group's.
    pub fn of(&self, group: &GroupKey) -> Option<&Arc<Reservation>> {
        self.by_group.get(group).map(|kept| &kept.reservation)
    }

    /// All of them.
    pub fn iter(&self) -> impl Iterator<Item = &Arc<Reservation>> {
        self.by_group.values().map(|kept| &kept.reservation)
    }

    /// How many there are.
    pub fn len(&self) -> usize {
        self.by_group.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.by_group.is_empty()
    }

    /// What is kept on a host, group by group.
    pub fn on(&self, host: &str) -> &[HeldSlots] {
        if self.held.is_empty() { &[] } else { self.held.get(host).map_or(&[], Vec::as_slice) }
    }

    /// How those ended that are no more.
    pub fn endings(&self) -> Endings {
        self.endings
    }

    /// Keeps this room for a group, in the place of what was kept for it before. Asking again is no progress, so the time
    /// that is left stays as it is. Without slots nothing is kept any more.
    pub fn keep(&mut self, reservation: Reservation, now: Duration, ttl: Duration) {
        if reservation.slots.is_empty() {
            self.release(&reservation.group);
            return;
        }
        let known = self.by_group.get(&reservation.group);
        if known.is_some_and(|kept| *kept.reservation == reservation) {
            return;
        }
        let deadline = known.map_or(now.saturating_add(ttl), |kept| kept.deadline);
        let group = reservation.group.clone();
        self.by_group.insert(group, Kept { reservation: Arc::new(reservation), deadline, ttl });
        self.index_by_host();
    }

    /// A member got a place and consumes its slot. It may be elsewhere in the domain than planned, but then it was
    /// let in there because everybody else still has a slot. Nothing ends yet, for the attempt may still fail.
    pub fn consume(&mut self, group: &GroupKey, pod: &Pod, host: &str) {
        let Some(kept) = self.by_group.get_mut(group).filter(|kept| kept.reservation.missing > 0) else {
            return;
        };
        let reservation = Arc::make_mut(&mut kept.reservation);
        reservation.missing -= 1;
        let slots = &mut reservation.slots;
        let alike = |slot: &Slot| slot.suits(&pod.requests, &pod.requirements);
        let own = slots
            .iter()
            .position(|slot| alike(slot) && *slot.host == *host)
            .or_else(|| slots.iter().position(alike))
            .or_else(|| slots.iter().position(|slot| *slot.host == *host));
        match own {
            // Nobody is left who could use the ones to spare.
            _ if reservation.missing == 0 => slots.clear(),
            Some(own) => drop(slots.remove(own)),
            None => drop(slots.pop()),
        }
        self.index_by_host();
    }

    /// A member lost its place before it was really there: it gets its slot back.
    pub fn reinstate(&mut self, group: &GroupKey, slot: Slot) {
        let Some(kept) = self.by_group.get_mut(group) else { return };
        let reservation = Arc::make_mut(&mut kept.reservation);
        reservation.missing += 1;
        reservation.slots.push(slot);
        self.index_by_host();
    }

    /// A member was bound: the time begins anew.
    pub fn progress(&mut self, group: &GroupKey, now: Duration) {
        if let Some(kept) = self.by_group.get_mut(group) {
            kept.deadline = now.saturating_add(kept.ttl);
        }
    }

    /// Nobody of the group is under way any more. If nobody is missing either, it has served its purpose.
    pub fn settle(&mut self, group: &GroupKey) {
        if self.by_group.get(group).is_some_and(|kept| kept.reservation.missing == 0) {
            self.end(group, |endings| &mut endings.fulfilled);
        }
    }

    /// Nobody could use it any more.
    pub fn release(&mut self, group: &GroupKey) {
        if self.by_group.contains_key(group) {
            self.end(group, |endings| &mut endings.released);
        }
    }

    /// Gives up what nobody came for.
    pub fn expire(&mut self, now: Duration) {
        let over = |(group, kept): (&Arc<GroupKey>, &Kept)| (kept.deadline <= now).then(|| group.clone());
        let over: Vec<_> = self.by_group.iter().filter_map(over).collect();
        for group in over {
            self.settle(&group);
            if self.by_group.contains_key(&group) {
                self.end(&group, |endings| &mut endings.expired);
            }
        }
    }

    fn end(&mut self, group: &GroupKey, how: impl Fn(&mut Endings) -> &mut u64) {
        self.by_group.remove(group);
        *how(&mut self.endings) += 1;
        self.index_by_host();
    }

    fn index_by_host(&mut self) {
        let mut held = SlotsByHost::default();
        for kept in self.by_group.values() {
            let Reservation { group, priority, slots, .. } = &*kept.reservation;
            for slot in slots {
                let here = held.entry(slot.host.clone()).or_default();
                let at = here.iter().position(|held| held.group == *group).unwrap_or_else(|| {
                    let (used, slots) = (Used::default(), Vec::new());
                    here.push(HeldSlots { group: group.clone(), priority: *priority, used, slots });
                    here.len() - 1
                });
                here[at].used.arrive(&slot.requests);
                here[at].slots.push(slot.clone());
            }
        }
        self.held = Arc::new(held);
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;
    use std::time::Duration;

    use super::{Endings, Reservation, Reservations, Slot};
    use crate::fixtures::pod;
    use crate::model::group::Source;
    use crate::model::{GroupKey, Name, ObjectKey, Pod, Resources};

    const TTL: Duration = Duration::from_mins(1);

    fn group(name: &str) -> Arc<GroupKey> {
        let (index, revision) = (Name::from(""), Name::from(""));
        Arc::new(GroupKey { source: Source::Annotation, set: ObjectKey::new("ns", name), index, revision })
    }

    fn slot(host: &str, amount: i64) -> Slot {
        Slot::of(&member(amount), &Name::from(host))
    }

    fn member(amount: i64) -> Pod {
        pod("m").requests(Resources::new(amount, 0, 0, [])).build()
    }

    fn of(name: &str, slots: &[(&str, i64)]) -> Reservation {
        let slots: Vec<_> = slots.iter().map(|(host, amount)| slot(host, *amount)).collect();
        Reservation { missing: slots.len(), slots, ..Reservation::nothing(group(name)) }
    }

    fn held(reservations: &Reservations, host: &str) -> (i64, i64) {
        let on = reservations.on(host);
        let sum = |amount: fn(&super::HeldSlots) -> i64| on.iter().map(amount).sum();
        (sum(|held| held.used.resources.milli_cpu), sum(|held| held.used.pods))
    }

    #[test]
    fn slots_are_held_until_members_consume_them() {
        let mut kept = Reservations::default();
        kept.keep(of("a", &[("x", 1), ("x", 2), ("y", 2)]), Duration::ZERO, TTL);
        kept.keep(of("b", &[("x", 4)]), Duration::ZERO, TTL);
        assert_eq!((held(&kept, "x"), held(&kept, "y"), held(&kept, "z")), ((7, 3), (2, 1), (0, 0)));
        kept.consume(&group("a"), &member(2), "x");
        assert_eq!((held(&kept, "x"), held(&kept, "y")), ((5, 2), (2, 1)), "its slot there");
        kept.consume(&group("a"), &member(1), "z");
        assert_eq!((held(&kept, "x"), held(&kept, "y")), ((4, 1), (2, 1)), "one like it elsewhere");
        kept.reinstate(&group("a"), slot("z", 3));
        assert_eq!(held(&kept, "z"), (3, 1), "it did not stay");
        kept.consume(&group("a"), &member(9), "z");
        kept.consume(&group("a"), &member(9), "z");
        assert_eq!(
            (held(&kept, "y"), held(&kept, "z")),
            ((0, 0), (0, 0)),
            "any, if it asks for something else"
        );
        assert_eq!((kept.len(), kept.endings().fulfilled), (2, 0), "the last attempt may still fail");
        kept.settle(&group("a"));
        kept.settle(&group("b"));
        assert_eq!((kept.len(), kept.endings().fulfilled), (1, 1));
        kept.consume(&group("nobody"), &member(9), "z");
    }

    #[test]
    fn time_runs_from_the_last_member_that_was_placed() {
        let at = Duration::from_secs;
        let mut kept = Reservations::default();
        kept.keep(of("a", &[("x", 1), ("y", 1)]), at(0), TTL);
        kept.keep(of("a", &[("x", 1), ("z", 1)]), at(50), TTL);
        kept.expire(at(59));
        assert_eq!(kept.len(), 1);
        kept.consume(&group("a"), &member(1), "x");
        kept.progress(&group("a"), at(59));
        kept.expire(at(118));
        assert_eq!(held(&kept, "z"), (1, 1), "a member came");
        kept.expire(at(119));
        assert!(kept.is_empty() && kept.on("z").is_empty());
        kept.keep(of("b", &[("x", 1)]), at(119), TTL);
        kept.release(&group("b"));
        kept.release(&group("b"));
        assert_eq!(kept.endings(), Endings { fulfilled: 0, expired: 1, released: 1 });
    }

    #[test]
    fn a_plan_without_slots_ends_a_reservation_and_makes_none() {
        let mut kept = Reservations::default();
        kept.keep(of("a", &[]), Duration::ZERO, TTL);
        assert!(kept.is_empty());
        kept.keep(of("a", &[("x", 1)]), Duration::ZERO, TTL);
        kept.keep(of("a", &[]), Duration::ZERO, TTL);
        assert!(kept.is_empty());
    }

    #[test]
    fn spare_slots_go_when_the_last_member_has_one() {
        let mut kept = Reservations::default();
        let spare = Reservation { missing: 1, ..of("a", &[("x", 1), ("y", 1)]) };
        kept.keep(spare, Duration::ZERO, TTL);
        kept.consume(&group("a"), &member(1), "x");
        assert_eq!(held(&kept, "y"), (0, 0));
        kept.consume(&group("a"), &member(1), "y");
        kept.expire(Duration::MAX);
        assert_eq!(kept.endings(), Endings { fulfilled: 1, expired: 0, released: 0 });
    }
}
