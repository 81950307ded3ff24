//! Puts members on the hosts of a domain, in thought.
//!
//! Finding out whether things of different sizes fit into boxes is hard in general. Here most members are alike, and for
//! members that are alike counting is exact. For a few different ones several orders are tried. What comes out is always a
//! slot for everybody or nothing; now and then, for very mixed groups in very tight domains, it may be nothing although
//! a cleverer search would have found slots.

use std::borrow::Cow;

use super::fence::{Fence, HOSTNAME};
use super::room::Room;
use super::roster::{Class, Roster};
use crate::config::Packing;
use crate::ledger::Slot;
use crate::model::{Node, Pod, Used};
use crate::policy::fit::Verdict;
use crate::view::{Host, HostId};

/// How many places are tried for the member that requests, if it does not get one of its own accord.
const MOST_PINS: usize = 16;

/// A host on which members may be assigned.
#[derive(Clone)]
pub struct Spot<'a> {
    pub id: HostId,
    host: &'a Host,
    node: &'a Node,
    used: Cow<'a, Used>,
    /// The group is on it already.
    ours: bool,
    /// How many have been assigned on it.
    assigned: usize,
    /// The member that requests may go there.
    open: bool,
}

/// Hosts, and who is assigned on them.
#[derive(Clone)]
pub struct Ground<'a, 'r> {
    roster: &'r Roster<'a>,
    fence: &'r Fence<'a>,
    packing: Packing,
    pub spots: Vec<Spot<'a>>,
    /// Class and spot of each member that has been assigned.
    pub slots: Vec<(usize, usize)>,
    /// By class and spot: what node, taints, affinity and anti-affinity say, which no slot changes.
    suitable: Vec<bool>,
    /// Whether no member minds any other.
    calm: bool,
}

/// Which hosts the member that requests may go to; every one if nobody requests.
pub type Open<'o> = Option<&'o [bool]>;

impl<'a, 'r> Ground<'a, 'r> {
    /// An empty ground over some hosts.
    pub fn over(
        hosts: impl Iterator<Item = HostId>,
        (roster, fence): (&'r Roster<'a>, &'r Fence<'a>),
        room: &Room<'a>,
        packing: Packing,
        open: Open<'_>,
    ) -> Self {
        let reserved = room.view.ledger().reservations().of(&roster.membership.group);
        let ours = |id: HostId, host: &Host| {
            roster.placed.iter().any(|placed| placed.host == id)
                || reserved.is_some_and(|kept| kept.slots.iter().any(|slot| slot.host == host.name))
        };
        let spot = |id: HostId| {
            let host = room.view.host_numbered(id)?;
            let node = host.node.as_deref()?;
            let open = open.is_none_or(|open| open.get(id).copied().unwrap_or_default());
            Some(Spot { id, host, node, used: room.used(host), ours: ours(id, host), assigned: 0, open })
        };
        let spots: Vec<_> = hosts.filter_map(spot).collect();
        let suits = roster.missing.iter().enumerate().flat_map(|(class, members)| {
            let suits = move |spot: &Spot<'_>| {
                let applicant = members.applicant();
                // Room is another matter: nothing used, and hosts too small are found out when counting.
                let by_node = applicant.fits_but_for_room(spot.node) == Verdict::Fits;
                by_node && fence.admits(class, spot.host, spot.node)
            };
            spots.iter().map(suits).collect::<Vec<_>>()
        });
        let suitable = suits.collect();
        Self { roster, fence, packing, spots, slots: Vec::new(), suitable, calm: fence.is_calm() }
    }

    /// Seats everybody that is missing in the given part of the group, or says that it cannot be done. With `None`, all who
    /// are in no part. The member that requests gets a slot where it may go.
    pub fn seat_all(&mut self, wanted: impl Fn(&Class<'_>) -> bool) -> bool {
        let classes: Vec<usize> =
            (0..self.roster.missing.len()).filter(|class| wanted(&self.roster.missing[*class])).collect();
        let spare = |class: usize| self.capacity_of(class).checked_sub(self.roster.missing[class].count);
        let Some(spare) = classes.iter().map(|class| spare(*class)).collect::<Option<Vec<_>>>() else {
            return false;
        };
        let orders = orders(&classes, &spare);
        let asking = classes.contains(&0);
        let begin = self.clone();
        for order in &orders {
            if self.seat_in(order, None) && (!asking || self.asker_is_seated()) {
                return true;
            }
            self.clone_from(&begin);
        }
        if !asking || self.spots.iter().all(|spot| spot.open) {
            return false;
        }
        // Somebody else would have got the last place to which the one who requests may go.
        let pins = (0..self.spots.len()).filter(|spot| self.spots[*spot].open).take(MOST_PINS);
        for pin in pins.collect::<Vec<_>>() {
            for order in &orders {
                if self.seat_in(order, Some(pin)) {
                    return true;
                }
                self.clone_from(&begin);
            }
        }
        false
    }

    /// Seats the member that requests on a certain spot, then everybody else that is wanted.
    fn seat_in(&mut self, order: &[usize], pin: Option<usize>) -> bool {
        let mut pinned = 0;
        if let Some(spot) = pin {
            if self.capacity(0, spot) == 0 {
                return false;
            }
            self.slot(0, spot);
            pinned = 1;
        }
        order.iter().all(|class| {
            let count = self.roster.missing[*class].count - if *class == 0 { pinned } else { 0 };
            self.fill(*class, count)
        })
    }

    fn asker_is_seated(&self) -> bool {
        self.slots.iter().any(|(class, spot)| *class == 0 && self.spots[*spot].open)
    }

    fn fill(&mut self, class: usize, mut count: usize) -> bool {
        let among_themselves = self.fence.clashes(class, class);
        let reaching_further = among_themselves.iter().any(|key| !is_per_host(key));
        let mut capacities: Vec<usize> =
            (0..self.spots.len()).map(|spot| self.capacity(class, spot)).collect();
        while count > 0 {
            let Some(spot) = self.next_spot(&capacities, count) else { return false };
            let often = match self.packing {
                Packing::FewestHosts => capacities[spot].min(count),
                Packing::MostHosts => 1,
            };
            for _ in 0..often {
                self.slot(class, spot);
            }
            count -= often;
            // Whom one member keeps away from more than its own host is seen only now.
            if reaching_further {
                capacities = (0..self.spots.len()).map(|spot| self.capacity(class, spot)).collect();
            } else {
                capacities[spot] = self.capacity(class, spot);
            }
        }
        true
    }

    /// Where the next members go. As few hosts as possible: those that the group is on, the one that takes all that are left
    /// most exactly, else the one that takes most. As many as possible: the one with fewest of the group.
    fn next_spot(&self, capacities: &[usize], count: usize) -> Option<usize> {
        let free = (0..self.spots.len()).filter(|spot| capacities[*spot] > 0);
        match self.packing {
            Packing::FewestHosts => free.min_by_key(|spot| {
                let capacity = capacities[*spot];
                let ours = self.spots[*spot].ours || self.spots[*spot].assigned > 0;
                let takes_all = capacity >= count;
                let exactness = if takes_all { capacity } else { usize::MAX - capacity };
                (!ours, !takes_all, exactness)
            }),
            Packing::MostHosts => free.min_by_key(|spot| {
                let placed = self.roster.placed.iter().filter(|placed| placed.host == self.spots[*spot].id);
                (placed.count() + self.spots[*spot].assigned, usize::MAX - capacities[*spot])
            }),
        }
    }

    fn slot(&mut self, class: usize, spot: usize) {
        self.spots[spot].used.to_mut().arrive(self.roster.missing[class].requests);
        self.spots[spot].assigned += 1;
        self.slots.push((class, spot));
    }

    /// How many more of a class the spot would take.
    pub fn capacity(&self, class: usize, spot: usize) -> usize {
        if !self.suitable[class * self.spots.len() + spot] || (!self.calm && self.clashes(class, spot)) {
            return 0;
        }
        let Spot { node, used, .. } = &self.spots[spot];
        let times =
            usize::try_from(self.roster.missing[class].applicant().times_by_room(node, used)).unwrap_or(0);
        if self.fence.clashes(class, class).is_empty() { times } else { times.min(1) }
    }

    /// How many more of a class would find a place, if they came alone.
    pub fn capacity_of(&self, class: usize) -> usize {
        let all = (0..self.spots.len()).map(|spot| self.capacity(class, spot));
        let unlimited = self.fence.clashes(class, class).iter().all(|key| is_per_host(key));
        if unlimited { all.sum() } else { self.one_by_one(class) }
    }

    /// Members that keep apart by more than the host: the first takes places away from the next.
    fn one_by_one(&self, class: usize) -> usize {
        let mut ground = self.clone();
        let mut count = 0;
        while let Some(spot) = (0..ground.spots.len()).find(|spot| ground.capacity(class, *spot) > 0) {
            ground.slot(class, spot);
            count += 1;
        }
        count
    }

    /// Whether somebody who has been assigned keeps the class away from the spot.
    fn clashes(&self, class: usize, spot: usize) -> bool {
        self.slots.iter().any(|(other, slot)| {
            let keys = self.fence.clashes(class, *other);
            let (here, there) = (&self.spots[spot], &self.spots[*slot]);
            let shared = |key: &str| {
                let value = here.node.labels.get(key);
                value.is_some() && value == there.node.labels.get(key)
            };
            keys.iter().any(|key| shared(key))
        })
    }

    /// Whether the member that requests could go to a spot, all others keeping their slots. Its own slot is one of those of its
    /// class: it may have any of them. kube-scheduler knows who is under way to the host, but not what is kept there: where
    /// it sees more room than there is, those under way, who can take so many places, must leave some.
    pub fn takes_asker(&self, spot: usize, under_way: usize) -> bool {
        let Spot { host, node, open, .. } = &self.spots[spot];
        let slots = self.slots.iter().filter(|(class, slot)| *class == 0 && *slot == spot).count();
        let room = slots + self.capacity(0, spot);
        let seen = self.roster.missing[0].applicant().times_by_room(node, &host.used);
        let all_is_seen = usize::try_from(seen).unwrap_or_default() <= room;
        *open && room > 0 && (all_is_seen || room > under_way)
    }

    /// Takes over the slots of a ground that is a part of this one.
    pub fn adopt(&mut self, part: &Self) {
        for (class, slot) in &part.slots {
            let id = part.spots[*slot].id;
            if let Some(spot) = self.spots.iter().position(|spot| spot.id == id) {
                self.slot(*class, spot);
            }
        }
    }

    /// The member that requests may go nowhere but where the other ground is.
    pub fn close_to_asker_but_for(&mut self, part: &Self) {
        for spot in &mut self.spots {
            spot.open &= part.spots.iter().any(|other| other.id == spot.id);
        }
    }

    /// The pods in place on a spot.
    pub fn pods_on(&self, spot: usize) -> impl Iterator<Item = &Pod> {
        self.spots[spot].host.pods.iter().map(|pod| &**pod)
    }

    /// Whether those assigned on a spot would not all fit there as room is counted here.
    pub fn overflows(&self, spot: usize, room: &Room<'a>) -> bool {
        let Spot { host, node, .. } = &self.spots[spot];
        let mut used = room.used(host).into_owned();
        let here = self
            .slots
            .iter()
            .filter(|(_, slot)| *slot == spot)
            .map(|(class, _)| &self.roster.missing[*class]);
        let mut overflow = false;
        for class in here {
            overflow |= class.applicant().times_by_room(node, &used) == 0;
            used.arrive(class.requests);
        }
        overflow
    }

    /// How many places for a class a pod may take away at the worst, wherever it goes.
    pub fn worst_loss(&self, class: usize, pod: &Pod) -> usize {
        let clashes = self.fence.clashes_with(class, pod);
        if clashes.iter().any(|key| !is_per_host(key)) {
            return usize::MAX;
        }
        let by_presence =
            || (0..self.spots.len()).map(|spot| self.capacity(class, spot)).max().unwrap_or_default();
        let by_presence = if clashes.is_empty() { 0 } else { by_presence().max(1) };
        let wanted = self.roster.missing[class].requests;
        let scalars = wanted.scalars().map(|(name, wanted)| (wanted, pod.requests.scalar(name)));
        let amounts = [
            (wanted.milli_cpu, pod.requests.milli_cpu),
            (wanted.memory, pod.requests.memory),
            (wanted.ephemeral_storage, pod.requests.ephemeral_storage),
        ];
        let lost =
            |(wanted, taken): (i64, i64)| if wanted > 0 { (taken.max(0) + wanted - 1) / wanted } else { 0 };
        let by_room = amounts.into_iter().chain(scalars).map(lost).max().unwrap_or_default();
        by_presence.max(usize::try_from(by_room).unwrap_or_default())
    }

    /// Seats so many more of each class than there are, if that can be.
    pub fn seat_more(&mut self, more: Vec<usize>) -> bool {
        more.into_iter().enumerate().all(|(class, more)| self.fill(class, more))
    }

    /// Takes the slots that were kept as far as they still hold, those that are needed first. Whether there is one for
    /// everybody, and one of them is where the member that requests may go.
    pub fn take_kept(&mut self, kept: &[Slot], spare: bool) -> bool {
        let mut needed: Vec<usize> = self.roster.missing.iter().map(|class| class.count).collect();
        let mut left = Vec::new();
        for slot in kept {
            let spot = self.spots.iter().position(|spot| spot.host.name == slot.host);
            let allocated = |class: &usize| {
                self.suits(*class, slot) && spot.is_some_and(|spot| self.capacity(*class, spot) > 0)
            };
            let wanted = (0..needed.len()).filter(|class| needed[*class] > 0).find(allocated);
            match (wanted, spot) {
                (Some(class), Some(spot)) => {
                    needed[class] -= 1;
                    self.slot(class, spot);
                }
                _ => left.push(slot),
            }
        }
        if needed.iter().any(|needed| *needed > 0) || !self.asker_is_seated() {
            return false;
        }
        for slot in left.into_iter().filter(|_| spare) {
            let spot = self.spots.iter().position(|spot| spot.host.name == slot.host);
            let Some(spot) = spot else { continue };
            let class = (0..needed.len()).find(|class| {
                self.roster.missing[*class].requests == &slot.requests && self.capacity(*class, spot) > 0
            });
            if let Some(class) = class {
                self.slot(class, spot);
            }
        }
        true
    }

    fn suits(&self, class: usize, slot: &Slot) -> bool {
        let Class { requests, requirements, .. } = &self.roster.missing[class];
        **requests == slot.requests && **requirements == slot.requirements
    }
}

/// Classes in the orders in which they are to be tried. Who is hardest to slot comes first; other orders follow if there are few.
fn orders(classes: &[usize], spare: &[usize]) -> Vec<Vec<usize>> {
    let mut first: Vec<(usize, usize)> = spare.iter().copied().zip(classes.iter().copied()).collect();
    first.sort_unstable();
    let first: Vec<usize> = first.into_iter().map(|(_, class)| class).collect();
    match first[..] {
        [a, b] => vec![vec![a, b], vec![b, a]],
        [a, b, c] => {
            vec![vec![a, b, c], vec![a, c, b], vec![b, a, c], vec![b, c, a], vec![c, a, b], vec![c, b, a]]
        }
        _ => vec![first],
    }
}

fn is_per_host(key: &str) -> bool {
    key == HOSTNAME
}
