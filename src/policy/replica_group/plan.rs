//! Where a group goes: a seat for every member that has none, in one domain, or the reason why there is none.
//!
//! ```text
//!   members have a place     their domain, and no other
//!   room is kept already     that domain, as long as everybody fits there
//!   else                     of the domains in which everybody fits, by this order:
//!                              1. within one domain of the preferred topology
//!                              2. fewest groups of the same set in the wider domain around it
//!                              3. least room left over, so that large domains stay whole for large groups
//!                              4. a hash of group and domain, so that the answer is always the same
//! ```

use std::cell::OnceCell;
use std::collections::{HashMap, HashSet};
use std::hash::{DefaultHasher, Hash, Hasher};

use super::area::{Area, anchor, domains_of};
use super::fence::Fence;
use super::neighbours::{self, Exclusion};
use super::packing::{Ground, Open};
use super::room::{Counting, Room};
use super::roster::Roster;
use crate::config::Packing;
use crate::ledger::{Phase, Reservation, Seat};
use crate::model::group::Subgroup;
use crate::model::{Name, Pod, Uid};
use crate::view::{DomainId, Domains, HostId, Lies, View};

/// What the operator decides for all groups.
#[derive(Clone, Debug)]
pub struct Settings {
    /// Over which topology the groups of one set are spread.
    pub spread_key: Option<Name>,
    /// How members are put on hosts.
    pub packing: Packing,
    /// Whether a domain counts as large enough if lesser pods can be evicted from it.
    pub count_on_preemption: bool,
}

/// A group that looks for a domain.
pub struct Search<'a> {
    pub roster: Roster<'a>,
    pub view: &'a View,
    pub settings: &'a Settings,
    /// The member that asks.
    pub asking: Option<&'a Pod>,
    /// The domains of the required topology.
    pub required: Option<&'a Domains>,
    /// The domain that the group's members are in.
    pub anchor: Option<DomainId>,
    /// The domain that is meant for it: room is kept there, or was made there.
    standing: Option<DomainId>,
    exclusion: Exclusion,
    /// Groups of the same set, by domain of the topology over which they are spread; counted when first asked for.
    siblings: OnceCell<HashMap<DomainId, usize>>,
}

/// A seat for everybody.
pub struct Plan {
    /// The domain of the required topology.
    pub domain: Option<DomainId>,
    /// Where the member that asks may go.
    pub open: Vec<HostId>,
    /// Who sits where, by class.
    pub seats: Vec<(usize, HostId)>,
    rank: Rank,
    /// Whether everybody would still find a seat wherever pods go whose place is open.
    certain: bool,
}

#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Rank {
    evictions: usize,
    beyond_preferred: bool,
    siblings: usize,
    left_over: usize,
    hash: u64,
}

/// What became of the search.
pub enum Outcome {
    /// There is a plan.
    Found(Plan),
    /// There is one, but it hangs on where these pods go; those that are expected any moment are named.
    Open(Vec<Uid>),
    /// There is none.
    None,
}

/// Why a domain is none for the group.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Obstacle {
    /// Another group has it to itself, or the group wants it to itself and is not alone.
    Exclusive,
    /// It would fit but for what is kept for other groups.
    Reserved,
    /// It would fit if lesser pods left.
    Evictable,
    /// It is too small.
    Room,
}

impl<'a> Search<'a> {
    /// Prepares a search. `None` if the topology that is asked for has not been provided.
    pub fn new(
        roster: Roster<'a>,
        asking: Option<&'a Pod>,
        view: &'a View,
        settings: &'a Settings,
    ) -> Option<Self> {
        let required = match &roster.membership.wishes.required {
            Some(key) => Some(&**view.domains(key)?),
            None => None,
        };
        let anchor = required.and_then(|domains| anchor(&roster, domains).0);
        // A group that is somewhere already stays there, whoever came since.
        let exclusion = match anchor {
            Some(_) => Exclusion::default(),
            None => Exclusion::of(roster.membership, required, view),
        };
        let mut search = Self {
            roster,
            view,
            settings,
            asking,
            required,
            anchor,
            standing: None,
            exclusion,
            siblings: OnceCell::new(),
        };
        search.standing = search.find_standing();
        Some(search)
    }

    fn find_standing(&self) -> Option<DomainId> {
        let domains = self.required?;
        let group = &self.roster.membership.group;
        if let Some(kept) = self.view.ledger().reservations().of(group) {
            let (_, value) = kept.domain.as_ref()?;
            return domains.find(value);
        }
        let waiting = self.view.waiting_members(group);
        let nominated = waiting.filter_map(|member| self.view.host_id(member.nominated_node.as_ref()?));
        domains_of(nominated, domains).into_iter().min()
    }

    fn room(&self, counting: Counting) -> Room<'a> {
        Room {
            view: self.view,
            group: &self.roster.membership.group,
            priority: self.roster.priority,
            counting,
            asking: self.asking,
        }
    }

    /// Looks for a plan. `open` tells where the member that asks may go, by host.
    pub fn run(&self, counting: Counting, open: Open<'_>) -> Outcome {
        let room = self.room(counting);
        let fence = Fence::around(&self.roster, room);
        let plan_for = |area: &Area<'a>| self.plan(area, &room, &fence, open);
        if let Some(area) = self.standing.map(|domain| self.area(Some(domain)))
            && self.anchor.is_none()
            && let Some(plan) = area.and_then(|area| plan_for(&area))
        {
            return self.settle(vec![plan]);
        }
        self.settle(self.areas().iter().filter_map(plan_for).collect())
    }

    /// The areas that come into question.
    fn areas(&self) -> Vec<Area<'a>> {
        match (self.required, self.anchor) {
            (_, Some(domain)) => self.area(Some(domain)).into_iter().collect(),
            (Some(domains), None) => {
                (0..domains.len()).filter_map(|domain| self.area(Some(domain))).collect()
            }
            (None, None) => self.area(None).into_iter().collect(),
        }
    }

    /// One area, unless another group keeps the whole of it.
    fn area(&self, domain: Option<DomainId>) -> Option<Area<'a>> {
        let area = match (self.required, domain) {
            (Some(domains), Some(domain)) => Area::of(domains, domain),
            _ => Area::everywhere(self.view),
        };
        if domain.is_some_and(|domain| self.exclusion.crowded.contains(&domain)) {
            return None;
        }
        Some(area.without(&self.exclusion.closed, self.view))
    }

    /// Of all plans the best, if it holds wherever pods under way go.
    fn settle(&self, mut plans: Vec<Plan>) -> Outcome {
        plans.sort_by(|a, b| a.rank.cmp(&b.rank));
        let best = plans.into_iter();
        let mut open = Vec::new();
        for plan in best {
            if plan.certain {
                return Outcome::Found(plan);
            }
            // Who is expected any moment is waited for; of who is late, another domain is better than waiting.
            let under_way = self.under_way(plan.domain);
            let expected: Vec<_> =
                under_way.filter(|(_, overdue)| !overdue).map(|(pod, _)| pod.uid.clone()).collect();
            if !expected.is_empty() {
                return Outcome::Open(expected);
            }
            open.push(plan);
        }
        if open.is_empty() { Outcome::None } else { Outcome::Open(Vec::new()) }
    }

    /// Pods that were offered nodes and may be going to this domain, and whether their bind calls are late.
    fn under_way(&self, domain: Option<DomainId>) -> impl Iterator<Item = (&'a Pod, bool)> {
        let ledger = self.view.ledger();
        let value = domain.and_then(|domain| Some(self.required?.value(domain)));
        let key = self.roster.membership.wishes.required.as_ref();
        let own = &self.roster.membership.group;
        ledger.iter().filter_map(move |entry| {
            let pod = &*entry.pod;
            let group = pod.group.as_ref().map(|membership| &membership.group);
            let bound_elsewhere =
                group.and_then(|group| ledger.reservations().of(group)).is_some_and(|kept| {
                    kept.domain
                        .as_ref()
                        .is_some_and(|(k, v)| Some(k) == key && value.is_some() && Some(v) != value)
                });
            let open = entry.phase == Phase::Offered && group != Some(own) && !bound_elsewhere;
            open.then_some((pod, entry.overdue))
        })
    }

    /// Whether other members were offered nodes and may be on their way.
    pub fn members_are_under_way(&self) -> bool {
        let own = &self.roster.membership.group;
        let asking = self.asking.map(|pod| &pod.uid);
        self.view.ledger().iter().any(|entry| {
            let group = entry.pod.group.as_ref().map(|membership| &membership.group);
            group == Some(own) && Some(&entry.pod.uid) != asking
        })
    }

    fn plan(&self, area: &Area<'a>, room: &Room<'a>, fence: &Fence<'a>, open: Open<'_>) -> Option<Plan> {
        let (ground, preferred) = self.seat(area, room, fence, open)?;
        let domain = area.domain.filter(|_| self.required.is_some());
        let left_over = |class: usize| ground.capacity_of(class);
        // What is kept already, nobody who came later was let onto.
        let kept = self.view.ledger().reservations().of(&self.roster.membership.group).is_some();
        let certain = (kept && self.standing == domain) || {
            let lost = |class: usize| {
                let each = self.under_way(domain).map(|(pod, _)| ground.worst_loss(class, &pod.asks));
                each.sum::<usize>()
            };
            let holds = |class: usize| {
                let lost = lost(class);
                lost == 0 || left_over(class) >= lost
            };
            (0..self.roster.missing.len()).all(holds)
        };
        let rank = Rank {
            evictions: if room.counting == Counting::Evicting { self.evictions(&ground) } else { 0 },
            beyond_preferred: !preferred,
            siblings: self.siblings_around(area),
            left_over: self.roster.main_class().map_or(0, left_over),
            hash: self.hash(domain),
        };
        Some(Plan {
            domain,
            open: (0..ground.spots.len())
                .filter(|spot| ground.takes_asker(*spot))
                .map(|s| ground.spots[s].id)
                .collect(),
            seats: ground.seats.iter().map(|(class, spot)| (*class, ground.spots[*spot].id)).collect(),
            rank,
            certain,
        })
    }

    /// Seats everybody within an area, and within one domain of the preferred topology if that can be.
    fn seat<'s>(
        &'s self,
        area: &Area<'a>,
        room: &Room<'a>,
        fence: &'s Fence<'a>,
        open: Open<'_>,
    ) -> Option<(Ground<'a, 's>, bool)> {
        let preferred = &self.roster.membership.wishes.preferred;
        let narrower = preferred.as_ref().and_then(|key| self.view.domains(key));
        let Some(narrower) = narrower else {
            return self.seat_parts(&area.hosts, room, fence, open).map(|ground| (ground, true));
        };
        // Members that have a place are in one such domain, or it is too late.
        let inhabited = domains_of(self.roster.placed.iter().map(|placed| placed.host), narrower);
        let mut best: Option<(usize, u64, Ground<'a, 's>)> = None;
        for part in area.divided_by(narrower) {
            let others = inhabited.iter().any(|domain| Some(*domain) != part.domain);
            if others {
                continue;
            }
            let Some(ground) = self.seat_parts(&part.hosts, room, fence, open) else { continue };
            let value = part.domain.map(|domain| narrower.value(domain));
            let mut hasher = DefaultHasher::new();
            (&*self.roster.membership.group, value).hash(&mut hasher);
            let rank = ((0..self.roster.missing.len()).map(|c| ground.capacity_of(c)).sum(), hasher.finish());
            if best.as_ref().is_none_or(|(left, hash, _)| rank < (*left, *hash)) {
                best = Some((rank.0, rank.1, ground));
            }
        }
        if let Some((_, _, ground)) = best {
            return Some((ground, true));
        }
        self.seat_parts(&area.hosts, room, fence, open).map(|ground| (ground, false))
    }

    /// Seats everybody on some hosts: those of one part in one domain of the parts' own topology, each part in another.
    fn seat_parts<'s>(
        &'s self,
        hosts: &[HostId],
        room: &Room<'a>,
        fence: &'s Fence<'a>,
        open: Open<'_>,
    ) -> Option<Ground<'a, 's>> {
        let ground = |hosts: &[HostId]| {
            let who = (&self.roster, fence);
            Ground::over(hosts.iter().copied(), who, room, self.settings.packing, open)
        };
        let mut whole = ground(hosts);
        let parts = self.roster.membership.subgroup.as_ref();
        let Some((parts, domains)) =
            parts.and_then(|parts| Some((parts, self.view.domains(&parts.topology)?)))
        else {
            return whole.seat_all(|_| true).then_some(whole);
        };
        let mut taken = self.domains_of_other_groups(parts, domains);
        let mut missing: Vec<u32> = self.roster.missing.iter().filter_map(|class| class.part).collect();
        // Parts that are somewhere already have no choice, so they go first.
        let home = |part: u32| {
            let members = self.roster.placed.iter().filter(move |placed| placed.part == Some(part));
            domains_of(members.map(|placed| placed.host), domains).into_iter().min()
        };
        missing.sort_by_key(|part| (home(*part).is_none(), *part));
        missing.dedup();
        let all = self.roster.placed.iter().filter_map(|placed| placed.part);
        taken.extend(all.filter_map(home));
        let area = Area { domain: None, hosts: hosts.into() };
        for part in missing {
            let home = home(part);
            let possible = |area: &Area<'_>| match (home, area.domain) {
                (Some(home), Some(domain)) => home == domain,
                (None, Some(domain)) => !taken.contains(&domain),
                (_, None) => false,
            };
            let seated = area.divided_by(domains).into_iter().filter(possible).filter_map(|area| {
                let mut ground = ground(&area.hosts);
                let fits = ground.seat_all(|class| class.part == Some(part));
                fits.then(|| {
                    (
                        (0..self.roster.missing.len()).map(|c| ground.capacity_of(c)).sum::<usize>(),
                        area,
                        ground,
                    )
                })
            });
            let (_, area, ground) = seated.min_by_key(|(left, area, _)| (*left, area.domain))?;
            taken.extend(area.domain);
            whole.adopt(&ground);
            if self.roster.missing.first().is_some_and(|asking| asking.part == Some(part)) {
                whole.close_to_asker_but_for(&ground);
            }
        }
        whole.seat_all(|class| class.part.is_none()).then_some(whole)
    }

    fn domains_of_other_groups(&self, parts: &Subgroup, domains: &Domains) -> HashSet<DomainId> {
        neighbours::parts_elsewhere(&parts.topology, &self.roster.membership.group, domains, self.view)
    }

    /// How many lesser pods are on the hosts where not everybody who is seated there would fit beside them.
    fn evictions(&self, ground: &Ground<'a, '_>) -> usize {
        let room = self.room(Counting::Free);
        let lesser = |pod: &Pod| pod.priority < self.roster.priority && !pod.terminating;
        let crowded = (0..ground.spots.len()).filter(|spot| ground.overflows(*spot, &room));
        crowded.map(|spot| ground.pods_on(spot).filter(|pod| lesser(pod)).count()).sum()
    }

    fn siblings_around(&self, area: &Area<'_>) -> usize {
        let Some(domains) = self.settings.spread_key.as_ref().and_then(|key| self.view.domains(key)) else {
            return 0;
        };
        // Nothing to choose: there is one area.
        if self.required.is_none() || self.anchor.is_some() {
            return 0;
        }
        let Some(Lies::In(wider)) = area.hosts.first().map(|host| domains.of(*host)) else { return 0 };
        let count = || neighbours::siblings(&self.roster.membership.group, domains, self.view);
        let siblings = self.siblings.get_or_init(count);
        siblings.get(&wider).copied().unwrap_or_default()
    }

    fn hash(&self, domain: Option<DomainId>) -> u64 {
        let value = domain.and_then(|domain| Some(self.required?.value(domain)));
        let mut hasher = DefaultHasher::new();
        (&*self.roster.membership.group, value).hash(&mut hasher);
        hasher.finish()
    }

    /// Why a domain is none for the group.
    pub fn obstacle(&self, domain: Option<DomainId>) -> Obstacle {
        let Some(area) = self.area(domain) else { return Obstacle::Exclusive };
        if self.fits(domain, Counting::Reserved, None) {
            Obstacle::Reserved
        } else if self.fits(domain, Counting::Evicting, None) {
            Obstacle::Evictable
        } else if !self.exclusion.closed.is_empty()
            && area.hosts.len()
                < self.required.zip(domain).map_or(0, |(domains, domain)| domains.hosts(domain).len())
        {
            Obstacle::Exclusive
        } else {
            Obstacle::Room
        }
    }

    /// Whether everybody fits into a domain, the member that asks where it may go.
    pub fn fits(&self, domain: Option<DomainId>, counting: Counting, open: Open<'_>) -> bool {
        let room = self.room(counting);
        let fence = Fence::around(&self.roster, room);
        self.area(domain).is_some_and(|area| self.seat(&area, &room, &fence, open).is_some())
    }

    /// What has to be kept for a plan.
    pub fn reservation(&self, plan: &Plan) -> Reservation {
        let membership = self.roster.membership;
        let value = plan.domain.and_then(|domain| Some(self.required?.value(domain).clone()));
        let seat = |(class, host): &(usize, HostId)| {
            let host = self.view.host_numbered(*host)?.name.clone();
            Some(Seat { host, asks: self.roster.missing[*class].asks.clone() })
        };
        Reservation {
            group: membership.group.clone(),
            priority: self.roster.priority,
            domain: membership.wishes.required.clone().zip(value),
            exclusive: membership.wishes.exclusive,
            seats: plan.seats.iter().filter_map(seat).collect(),
        }
    }
}
