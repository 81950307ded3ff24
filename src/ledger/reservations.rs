//! Room kept for members of replica groups that have no place yet.
//!
//! ```text
//!   filter lets the first member in        a member is bound: its seat is free, the time begins anew
//!  ------------------------------> kept <-------------------------------------------------------+
//!                                   |  +---------------------------------------------------------+
//!                                   |
//!                                   +--> fulfilled   the last seat is taken
//!                                   +--> expired     no member was bound for the whole time to live
//!                                   +--> released    nobody of the group is left, or it does not fit any more
//! ```
//!
//! A seat says how much is kept on which host. It is not written on it who will sit there: members that ask for the same
//! may change places.

use std::sync::Arc;
use std::time::Duration;

use imbl::HashMap;

use crate::model::group::Scope;
use crate::model::{GroupKey, Name, Resources, Used};

/// Room for one member.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Seat {
    /// On which host.
    pub host: Name,
    /// How much.
    pub asks: Arc<Resources>,
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
    /// The room.
    pub seats: Vec<Seat>,
}

/// What is kept on a host for one group.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Hold {
    /// The group.
    pub group: Arc<GroupKey>,
    /// Its priority.
    pub priority: i32,
    /// How much, for how many pods.
    pub used: Used,
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

/// All reservations. Cheap to clone.
#[derive(Clone, Debug, Default)]
pub struct Reservations {
    by_group: HashMap<Arc<GroupKey>, Kept>,
    /// By host; made anew with every change, which is rare compared to looking.
    holds: Arc<std::collections::HashMap<Name, Vec<Hold>, ahash::RandomState>>,
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
    pub fn on(&self, host: &str) -> &[Hold] {
        if self.holds.is_empty() { &[] } else { self.holds.get(host).map_or(&[], Vec::as_slice) }
    }

    /// How those ended that are no more.
    pub fn endings(&self) -> Endings {
        self.endings
    }

    /// Keeps this room for a group, in the place of what was kept for it before. Asking again is no progress, so the time
    /// that is left stays as it is.
    pub fn keep(&mut self, reservation: Reservation, now: Duration, ttl: Duration) {
        let known = self.by_group.get(&reservation.group);
        if reservation.seats.is_empty() {
            if known.is_some() {
                self.end(&reservation.group.clone(), |endings| &mut endings.released);
            }
            return;
        }
        if known.is_some_and(|kept| *kept.reservation == reservation) {
            return;
        }
        let deadline = known.map_or(now + ttl, |kept| kept.deadline);
        let group = reservation.group.clone();
        self.by_group.insert(group, Kept { reservation: Arc::new(reservation), deadline, ttl });
        self.count_holds();
    }

    /// A member got a place: its seat is free. It may have sat down elsewhere in the domain than planned, but then it was
    /// let in there because everybody else still has a seat.
    pub fn sit_down(&mut self, group: &GroupKey, asks: &Resources, host: &str) {
        let Some(kept) = self.by_group.get_mut(group) else { return };
        let seats = &kept.reservation.seats;
        let alike = |seat: &Seat| *seat.asks == *asks;
        let own = seats
            .iter()
            .position(|seat| alike(seat) && *seat.host == *host)
            .or_else(|| seats.iter().position(alike))
            .or_else(|| seats.iter().position(|seat| *seat.host == *host))
            .unwrap_or_default();
        Arc::make_mut(&mut kept.reservation).seats.remove(own);
        if kept.reservation.seats.is_empty() {
            self.end(group, |endings| &mut endings.fulfilled);
        } else {
            self.count_holds();
        }
    }

    /// A member lost its place before it was really there: it gets its seat back.
    pub fn stand_up(&mut self, group: &GroupKey, asks: &Arc<Resources>, host: &Name) {
        let Some(kept) = self.by_group.get_mut(group) else { return };
        Arc::make_mut(&mut kept.reservation).seats.push(Seat { host: host.clone(), asks: asks.clone() });
        self.count_holds();
    }

    /// A member was bound: the time begins anew.
    pub fn progress(&mut self, group: &GroupKey, now: Duration) {
        if let Some(kept) = self.by_group.get_mut(group) {
            kept.deadline = now + kept.ttl;
        }
    }

    /// Nobody is left who could use it.
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
            self.end(&group, |endings| &mut endings.expired);
        }
    }

    fn end(&mut self, group: &GroupKey, how: impl Fn(&mut Endings) -> &mut u64) {
        self.by_group.remove(group);
        *how(&mut self.endings) += 1;
        self.count_holds();
    }

    fn count_holds(&mut self) {
        let mut holds: std::collections::HashMap<Name, Vec<Hold>, ahash::RandomState> = Default::default();
        for kept in self.by_group.values() {
            let Reservation { group, priority, seats, .. } = &*kept.reservation;
            for seat in seats {
                let here = holds.entry(seat.host.clone()).or_default();
                let at = here.iter().position(|hold| hold.group == *group).unwrap_or_else(|| {
                    here.push(Hold { group: group.clone(), priority: *priority, used: Used::default() });
                    here.len() - 1
                });
                here[at].used.arrive(&seat.asks);
            }
        }
        self.holds = Arc::new(holds);
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;
    use std::time::Duration;

    use super::{Endings, Reservation, Reservations, Seat};
    use crate::model::group::Source;
    use crate::model::{GroupKey, Name, ObjectKey, Resources};

    const TTL: Duration = Duration::from_secs(60);

    fn group(name: &str) -> Arc<GroupKey> {
        let (index, revision) = (Name::from(""), Name::from(""));
        Arc::new(GroupKey { source: Source::Annotation, set: ObjectKey::new("ns", name), index, revision })
    }

    fn cpu(amount: i64) -> Resources {
        Resources::new(amount, 0, 0, [])
    }

    fn of(name: &str, seats: &[(&str, i64)]) -> Reservation {
        let seat =
            |(host, amount): &(&str, i64)| Seat { host: Name::from(*host), asks: Arc::new(cpu(*amount)) };
        let seats = seats.iter().map(seat).collect();
        Reservation { group: group(name), priority: 0, domain: None, exclusive: None, seats }
    }

    fn held(reservations: &Reservations, host: &str) -> (i64, i64) {
        let on = reservations.on(host);
        let sum = |amount: fn(&super::Hold) -> i64| on.iter().map(amount).sum();
        (sum(|hold| hold.used.resources.milli_cpu), sum(|hold| hold.used.pods))
    }

    #[test]
    fn seats_are_held_until_members_sit_down() {
        let mut kept = Reservations::default();
        kept.keep(of("a", &[("x", 1), ("x", 2), ("y", 2)]), Duration::ZERO, TTL);
        kept.keep(of("b", &[("x", 4)]), Duration::ZERO, TTL);
        assert_eq!((held(&kept, "x"), held(&kept, "y"), held(&kept, "z")), ((7, 3), (2, 1), (0, 0)));
        kept.sit_down(&group("a"), &cpu(2), "x");
        assert_eq!((held(&kept, "x"), held(&kept, "y")), ((5, 2), (2, 1)), "its seat there");
        kept.sit_down(&group("a"), &cpu(1), "z");
        assert_eq!((held(&kept, "x"), held(&kept, "y")), ((4, 1), (2, 1)), "one like it elsewhere");
        kept.stand_up(&group("a"), &Arc::new(cpu(3)), &Name::from("z"));
        assert_eq!(held(&kept, "z"), (3, 1), "it did not stay");
        kept.sit_down(&group("a"), &cpu(9), "z");
        kept.sit_down(&group("a"), &cpu(9), "z");
        assert_eq!(
            (kept.len(), kept.endings().fulfilled),
            (1, 1),
            "any, if it asks for something else by now"
        );
        kept.sit_down(&group("nobody"), &cpu(9), "z");
    }

    #[test]
    fn time_runs_from_the_last_member_that_was_placed() {
        let at = Duration::from_secs;
        let mut kept = Reservations::default();
        kept.keep(of("a", &[("x", 1), ("y", 1)]), at(0), TTL);
        kept.keep(of("a", &[("x", 1), ("z", 1)]), at(50), TTL);
        kept.expire(at(59));
        assert_eq!(kept.len(), 1);
        kept.sit_down(&group("a"), &cpu(1), "x");
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
    fn a_plan_without_seats_ends_a_reservation_and_makes_none() {
        let mut kept = Reservations::default();
        kept.keep(of("a", &[]), Duration::ZERO, TTL);
        assert!(kept.is_empty());
        kept.keep(of("a", &[("x", 1)]), Duration::ZERO, TTL);
        kept.keep(of("a", &[]), Duration::ZERO, TTL);
        assert!(kept.is_empty());
    }
}
