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

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use crate::model::group::Scope;
use crate::model::persistent::{HashMap, HashSet};
use crate::model::{
    AntiAffinityTerm, GroupKey, HostPort, Labels, Name, Pod, PodConstraints, Requirements, Resources, Uid,
    Used, VolumeAffinity,
};

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
    /// What else it asks for.
    pub constraints: Option<Arc<PodConstraints>>,
    /// Where its volumes let it be.
    pub volumes: Option<VolumeAffinity>,
}

impl Slot {
    /// Where a pod is, or was to be, if its volumes let it be anywhere.
    pub fn of(pod: &Pod, host: &Name) -> Self {
        Self {
            host: host.clone(),
            requests: pod.requests.clone(),
            requirements: pod.requirements.clone(),
            labels: pod.labels.clone(),
            anti_affinity: pod.anti_affinity.clone(),
            constraints: pod.constraints.clone(),
            volumes: None,
        }
    }

    /// The ports of the host that the member will occupy.
    pub fn host_ports(&self) -> &[HostPort] {
        PodConstraints::host_ports(self.constraints.as_ref())
    }

    /// Whether the members of both go together with the same pods.
    pub fn has_neighbours_of(&self, other: &Slot) -> bool {
        self.anti_affinity == other.anti_affinity
            && self.labels == other.labels
            && self.host_ports() == other.host_ports()
    }

    /// The one rule for whether a slot is one for such a member: those that request and require the same, of nodes and of
    /// neighbours, and whose volumes let them be in the same places, may change places.
    pub fn suits(
        &self,
        requests: &Arc<Resources>,
        requirements: &Arc<Requirements>,
        anti_affinity: Option<&Arc<[AntiAffinityTerm]>>,
        constraints: Option<&Arc<PodConstraints>>,
        volumes: Option<&VolumeAffinity>,
    ) -> bool {
        self.requests == *requests
            && self.requirements == *requirements
            && self.anti_affinity.as_ref() == anti_affinity
            && PodConstraints::are_alike(self.constraints.as_ref(), constraints)
            && self.volumes.as_ref() == volumes
    }

    /// Whether a slot is one for the member of another, wherever that is.
    pub fn suits_member_of(&self, other: &Slot) -> bool {
        let Slot { requests, requirements, anti_affinity, constraints, volumes, .. } = other;
        let (constraints, volumes) = (constraints.as_ref(), volumes.as_ref());
        self.suits(requests, requirements, anti_affinity.as_ref(), constraints, volumes)
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
    /// How many of them do not exist, without anybody telling what they will ask for.
    pub undescribed: usize,
    /// A slot for each of them, and some to spare while pods are under way that may take some away.
    pub slots: Vec<Slot>,
}

impl Reservation {
    /// Nothing is kept for a group.
    pub fn nothing(group: Arc<GroupKey>) -> Self {
        let (domain, exclusive, parts) = (None, None, None);
        let (in_place, slots) = (Vec::new(), Vec::new());
        let (missing, undescribed) = (0, 0);
        Self { group, priority: 0, domain, exclusive, parts, in_place, missing, undescribed, slots }
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
    /// When it expires if nobody comes until then, on the ledger's clock.
    deadline: Duration,
    /// When it expires whoever comes.
    end: Duration,
    ttl: Duration,
}

/// For how long room is kept.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Life {
    /// While nobody comes.
    pub without_progress: Duration,
    /// Whoever comes.
    pub longest: Duration,
}

impl Life {
    /// So long in any case.
    pub const fn of(time: Duration) -> Self {
        Self { without_progress: time, longest: time }
    }
}

/// All reservations. Cheap to clone.
#[derive(Clone, Debug, Default)]
pub struct Reservations {
    by_group: HashMap<Arc<GroupKey>, Kept>,
    /// By host, each kept up as slots come and go.
    held: HashMap<Name, Arc<Vec<HeldSlots>>>,
    /// Groups whose room was kept for as long as it may be. Nothing is kept for them until they are complete, or gone.
    spent: HashSet<Arc<GroupKey>>,
    /// Groups whose room has expired and for which none was found since, until they are complete, or gone.
    expired: HashSet<Arc<GroupKey>>,
    endings: Endings,
    /// How often room was reserved so far.
    made: u64,
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
        if self.held.is_empty() { &[] } else { self.held.get(host).map_or(&[], |held| held.as_slice()) }
    }

    /// The hosts that have slots.
    pub fn hosts(&self) -> impl Iterator<Item = &Name> {
        self.held.keys()
    }

    /// How those ended that are no more.
    pub fn endings(&self) -> Endings {
        self.endings
    }

    /// Keeps this room for a group, in the place of what was kept for it before. Asking again is no progress, so the time
    /// that is left stays as it is. Without slots nothing is kept any more.
    pub fn keep(&mut self, reservation: Reservation, now: Duration, life: Life) {
        if reservation.slots.is_empty() || self.spent.contains(&reservation.group) {
            self.release(&reservation.group);
            return;
        }
        let known = self.by_group.get(&reservation.group);
        if known.is_some_and(|kept| *kept.reservation == reservation) {
            return;
        }
        self.expired.remove(&reservation.group);
        let ttl = life.without_progress;
        let deadline = known.map_or(now.saturating_add(ttl), |kept| kept.deadline);
        let end = known.map_or(now.saturating_add(life.longest), |kept| kept.end);
        let reservation = Arc::new(reservation);
        let kept = Kept { reservation: reservation.clone(), deadline, end, ttl };
        let before = self.by_group.insert(reservation.group.clone(), kept);
        self.rearrange(before.as_ref().map(|before| &*before.reservation), &reservation);
        self.made += 1;
    }

    /// How often room was reserved so far: who looked before the last time does not know of it.
    pub fn made(&self) -> u64 {
        self.made
    }

    /// A member got a place and consumes its slot. It may be elsewhere in the domain than planned, but then it was
    /// let in there because everybody else still has a slot. Nothing ends yet, for the attempt may still fail.
    pub fn consume(&mut self, group: &GroupKey, place: &Slot) {
        let Some(kept) = self.by_group.get_mut(group).filter(|kept| kept.reservation.missing > 0) else {
            return;
        };
        let reservation = Arc::make_mut(&mut kept.reservation);
        reservation.missing -= 1;
        let slots = &mut reservation.slots;
        let mut gone = Vec::new();
        let alike = |slot: &Slot| slot.suits_member_of(place);
        let own = slots
            .iter()
            .position(|slot| alike(slot) && slot.host == place.host)
            .or_else(|| slots.iter().position(alike))
            .or_else(|| slots.iter().position(|slot| slot.host == place.host));
        match own {
            // Nobody is left who could use the ones to spare.
            _ if reservation.missing == 0 => gone = std::mem::take(slots),
            Some(own) => gone.push(slots.remove(own)),
            None => gone.extend(slots.pop()),
        }
        for slot in gone {
            self.remove_from_host(group, &slot);
        }
    }

    /// A member lost its place before it was really there: it gets its slot back.
    pub fn reinstate(&mut self, group: &GroupKey, slot: Slot) {
        let Some(kept) = self.by_group.get_mut(group) else { return };
        let reservation = Arc::make_mut(&mut kept.reservation);
        reservation.missing += 1;
        reservation.slots.push(slot.clone());
        let (group, priority) = (reservation.group.clone(), reservation.priority);
        self.add_to_host(&group, priority, slot);
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

    /// A group is complete, or nobody of it is left: whatever comes next is a new beginning.
    pub fn begin_anew(&mut self, group: &GroupKey) {
        self.spent.remove(group);
        self.expired.remove(group);
    }

    /// Whether room that was kept for a group has expired, and none was found since.
    pub fn has_expired(&self, group: &GroupKey) -> bool {
        self.expired.contains(group)
    }

    /// How many slots are kept for other groups of a group's namespace.
    pub fn slots_beside(&self, own: &GroupKey) -> usize {
        let others = self.iter().filter(|kept| *kept.group != *own);
        others.filter(|kept| kept.group.set.namespace == own.set.namespace).map(|kept| kept.slots.len()).sum()
    }

    /// Gives up what nobody came for.
    pub fn expire(&mut self, now: Duration) {
        let over = |(group, kept): (&Arc<GroupKey>, &Kept)| {
            (kept.deadline.min(kept.end) <= now).then(|| (group.clone(), kept.end <= now))
        };
        let over: Vec<_> = self.by_group.iter().filter_map(over).collect();
        for (group, spent) in over {
            self.settle(&group);
            if self.by_group.contains_key(&group) {
                if spent {
                    self.spent.insert(group.clone());
                }
                self.expired.insert(group.clone());
                self.end(&group, |endings| &mut endings.expired);
            }
        }
    }

    fn end(&mut self, group: &GroupKey, how: impl Fn(&mut Endings) -> &mut u64) {
        let kept = self.by_group.remove(group);
        *how(&mut self.endings) += 1;
        if let Some(Kept { reservation, .. }) = kept {
            let nothing = Reservation::nothing(reservation.group.clone());
            self.rearrange(Some(&reservation), &nothing);
        }
    }

    /// Brings what is held on the hosts in line with another reservation of a group. Most slots are the same ones as before.
    fn rearrange(&mut self, before: Option<&Reservation>, after: &Reservation) {
        let same_priority = before.is_some_and(|before| before.priority == after.priority);
        let before = slots_by_host(before);
        let now = slots_by_host(Some(after));
        let group = &after.group;
        for (host, slots) in &before {
            if !same_priority || now.get(host) != Some(slots) {
                self.change_host(host, |held| held.retain(|held| held.group != *group));
            }
        }
        for (host, slots) in now {
            if !same_priority || before.get(host) != Some(&slots) {
                for slot in slots {
                    self.add_to_host(group, after.priority, slot.clone());
                }
            }
        }
    }

    fn add_to_host(&mut self, group: &Arc<GroupKey>, priority: i32, slot: Slot) {
        self.change_host(&slot.host.clone(), |held| {
            let at = held.iter().position(|held| held.group == *group).unwrap_or_else(|| {
                let (used, slots) = (Used::default(), Vec::new());
                held.push(HeldSlots { group: group.clone(), priority, used, slots });
                held.len() - 1
            });
            held[at].used.arrive(&slot.requests);
            held[at].slots.push(slot);
        });
    }

    fn remove_from_host(&mut self, group: &GroupKey, slot: &Slot) {
        self.change_host(&slot.host, |held| {
            let Some(own) = held.iter().position(|held| *held.group == *group) else { return };
            if let Some(at) = held[own].slots.iter().position(|held| held == slot) {
                held[own].slots.swap_remove(at);
                held[own].used.leave(&slot.requests);
            }
            if held[own].slots.is_empty() {
                held.remove(own);
            }
        });
    }

    /// A host on which nothing is held is not listed.
    fn change_host(&mut self, host: &Name, change: impl FnOnce(&mut Vec<HeldSlots>)) {
        let held = Arc::make_mut(self.held.entry(host.clone()).or_default());
        change(held);
        if held.is_empty() {
            self.held.remove(host);
        }
    }
}

fn slots_by_host(reservation: Option<&Reservation>) -> BTreeMap<&Name, Vec<&Slot>> {
    let mut by_host: BTreeMap<&Name, Vec<&Slot>> = BTreeMap::new();
    for slot in reservation.into_iter().flat_map(|reservation| &reservation.slots) {
        by_host.entry(&slot.host).or_default().push(slot);
    }
    by_host
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;
    use std::sync::Arc;
    use std::time::Duration;

    use super::{Endings, Life, Reservation, Reservations, Slot};
    use crate::fixtures::pod;
    use crate::model::group::Source;
    use crate::model::{AntiAffinityTerm, GroupKey, Name, ObjectKey, Pod, Resources};

    const TTL: Life = Life { without_progress: Duration::from_mins(1), longest: Duration::from_mins(3) };

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

    /// What is held on each host, as the reservations say.
    fn recount(reservations: &Reservations) -> BTreeMap<(String, String), (i64, i64)> {
        let mut counted = BTreeMap::new();
        for kept in reservations.iter() {
            for slot in &kept.slots {
                let on =
                    counted.entry((slot.host.to_string(), kept.group.set.name.to_string())).or_insert((0, 0));
                on.0 += slot.requests.milli_cpu;
                on.1 += 1;
            }
        }
        counted
    }

    #[test]
    fn what_is_held_on_hosts_follows_every_change() {
        let mut kept = Reservations::default();
        let mut random = 1_u32;
        let mut next = |below: u32| {
            random = random.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            (random >> 16) % below
        };
        let hosts = ["x", "y", "z"];
        for step in 0..2_000 {
            let name = ["a", "b", "c"][next(3) as usize];
            let some = |next: &mut dyn FnMut(u32) -> u32| (hosts[next(3) as usize], 1 + i64::from(next(3)));
            match next(5) {
                0 | 1 => {
                    let slots: Vec<_> = (0..next(5)).map(|_| some(&mut next)).collect();
                    let priority = i32::from(next(2) == 1);
                    kept.keep(Reservation { priority, ..of(name, &slots) }, Duration::ZERO, TTL);
                }
                2 => {
                    let (host, amount) = some(&mut next);
                    kept.consume(&group(name), &slot(host, amount));
                }
                3 => {
                    let (host, amount) = some(&mut next);
                    kept.reinstate(&group(name), slot(host, amount));
                }
                _ => kept.release(&group(name)),
            }
            let shown: BTreeMap<_, _> = hosts
                .iter()
                .flat_map(|host| kept.on(host).iter().map(move |held| (host, held)))
                .map(|(host, held)| {
                    let own = kept.of(&held.group).expect("a reservation");
                    assert_eq!(held.priority, own.priority, "step {step}");
                    assert_eq!(i64::try_from(held.slots.len()), Ok(held.used.pods), "step {step}");
                    let sum = (held.used.resources.milli_cpu, held.used.pods);
                    ((host.to_string(), held.group.set.name.to_string()), sum)
                })
                .collect();
            assert_eq!(shown, recount(&kept), "step {step}");
        }
    }

    #[test]
    fn slots_are_held_until_members_consume_them() {
        let mut kept = Reservations::default();
        kept.keep(of("a", &[("x", 1), ("x", 2), ("y", 2)]), Duration::ZERO, TTL);
        kept.keep(of("b", &[("x", 4)]), Duration::ZERO, TTL);
        assert_eq!((held(&kept, "x"), held(&kept, "y"), held(&kept, "z")), ((7, 3), (2, 1), (0, 0)));
        kept.consume(&group("a"), &slot("x", 2));
        assert_eq!((held(&kept, "x"), held(&kept, "y")), ((5, 2), (2, 1)), "its slot there");
        kept.consume(&group("a"), &slot("z", 1));
        assert_eq!((held(&kept, "x"), held(&kept, "y")), ((4, 1), (2, 1)), "one like it elsewhere");
        kept.reinstate(&group("a"), slot("z", 3));
        assert_eq!(held(&kept, "z"), (3, 1), "it did not stay");
        kept.consume(&group("a"), &slot("z", 9));
        kept.consume(&group("a"), &slot("z", 9));
        assert_eq!(
            (held(&kept, "y"), held(&kept, "z")),
            ((0, 0), (0, 0)),
            "any, if it asks for something else"
        );
        assert_eq!((kept.len(), kept.endings().fulfilled), (2, 0), "the last attempt may still fail");
        kept.settle(&group("a"));
        kept.settle(&group("b"));
        assert_eq!((kept.len(), kept.endings().fulfilled), (1, 1));
        kept.consume(&group("nobody"), &slot("z", 9));
    }

    #[test]
    fn a_member_elsewhere_consumes_the_slot_of_one_with_the_same_anti_affinity() {
        let term = AntiAffinityTerm {
            topology_key: Name::from("kubernetes.io/hostname"),
            selector: None,
            namespaces: [Name::from("ns")].into(),
            namespace_selector: None,
        };
        let mut apart = slot("x", 1);
        apart.anti_affinity = Some(Arc::new([term]));
        let mut kept = Reservations::default();
        let both = vec![apart, slot("y", 1)];
        kept.keep(Reservation { missing: 2, slots: both, ..of("a", &[]) }, Duration::ZERO, TTL);
        kept.consume(&group("a"), &slot("z", 1));
        assert_eq!((held(&kept, "x"), held(&kept, "y")), ((1, 1), (0, 0)));
    }

    #[test]
    fn time_runs_from_the_last_member_that_was_placed() {
        let at = Duration::from_secs;
        let mut kept = Reservations::default();
        kept.keep(of("a", &[("x", 1), ("y", 1)]), at(0), TTL);
        kept.keep(of("a", &[("x", 1), ("z", 1)]), at(50), TTL);
        kept.expire(at(59));
        assert_eq!(kept.len(), 1);
        kept.consume(&group("a"), &slot("x", 1));
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
    fn progress_does_not_keep_room_for_ever() {
        let at = Duration::from_secs;
        let mut kept = Reservations::default();
        kept.keep(of("a", &[("x", 1), ("y", 1), ("z", 1)]), at(0), TTL);
        for now in [50, 100, 150] {
            kept.progress(&group("a"), at(now));
            kept.expire(at(now + 1));
            assert_eq!(kept.len(), 1, "{now} s");
        }
        kept.progress(&group("a"), at(179));
        kept.expire(at(180));
        assert_eq!((kept.len(), kept.endings().expired), (0, 1));
        kept.keep(of("a", &[("x", 1)]), at(181), TTL);
        assert!(kept.is_empty(), "it has had its time");
        kept.begin_anew(&group("a"));
        kept.keep(of("a", &[("x", 1)]), at(182), TTL);
        assert_eq!(kept.len(), 1);
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
        kept.consume(&group("a"), &slot("x", 1));
        assert_eq!(held(&kept, "y"), (0, 0));
        kept.consume(&group("a"), &slot("y", 1));
        kept.expire(Duration::MAX);
        assert_eq!(kept.endings(), Endings { fulfilled: 1, expired: 0, released: 0 });
    }
}
