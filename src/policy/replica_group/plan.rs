//! Where a group goes: a slot for every member that has none, in one domain, or the reason why there is none.
//!
//! ```text
//!   room is kept already     those slots, as long as there is one for everybody
//!   members have a place     their domain, and no other
//!   members are under way    the domain where room is kept for them, and no other
//!   else                     of the domains in which everybody fits, by this order:
//!                              1. within one domain of the preferred topology
//!                              2. fewest groups of the same set in the wider domain around it
//!                              3. least room left over, so that large domains stay whole for large groups
//!                              4. a hash of group and domain, so that the answer is always the same
//! ```

use std::cell::OnceCell;
use std::collections::HashMap;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::sync::Arc;

use super::area::{Area, anchor, domains_of};
use super::fence::Fence;
use super::neighbours::{self, Exclusion};
use super::packing::{Ground, Open};
use super::room::{Counting, Room};
use super::roster::{Class, Roster};
use super::seating::Lens;
use crate::config::Packing;
use crate::ledger::{Entry, Phase, Reservation, Slot};
use crate::model::{Name, Pod, Uid, Used};
use crate::policy::fit::Applicant;
use crate::view::{DomainId, Domains, HostDomain, HostId, View};

/// What the operator decides for all groups.
#[derive(Clone, Debug)]
pub struct Settings {
    /// Over which topology the groups of one set are spread.
    pub spread_key: Option<Name>,
    /// How members are put on hosts.
    pub packing: Packing,
    /// Whether a domain counts as large enough if lower-priority pods can be evicted from it.
    pub count_on_preemption: bool,
}

/// A group that looks for a domain.
pub struct Search<'a> {
    pub roster: &'a Roster<'a>,
    pub view: &'a View,
    pub settings: &'a Settings,
    /// The domains of the required topology.
    pub required: Option<&'a Domains>,
    /// The domain that the group's members are in.
    pub anchor: Option<DomainId>,
    /// What is kept for it.
    kept: Option<&'a Arc<Reservation>>,
    /// The member that asks.
    asking: Option<&'a Pod>,
    /// The domain that is meant for it: room is kept there, or was made there.
    standing: Option<DomainId>,
    exclusion: Exclusion,
    /// Pods of others that were offered several nodes, and may be on their way to any of them.
    under_way: Vec<&'a Entry>,
    /// Anti-affinity, for each way of counting room.
    fences: [OnceCell<Fence<'a>>; 3],
    /// Groups of the same set, by domain of the topology over which they are spread; counted when first asked for.
    siblings: OnceCell<HashMap<DomainId, usize>>,
}

/// A slot for everybody.
pub struct Plan {
    /// The domain of the required topology.
    pub domain: Option<DomainId>,
    /// Where the member that asks may go.
    pub open: Vec<HostId>,
    /// Who sits where, by class.
    slots: Vec<(usize, HostId)>,
}

/// A plan in the making.
struct Draft<'a, 's> {
    domain: Option<DomainId>,
    ground: Ground<'a, 's>,
    rank: Rank,
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
    /// There is one, but it hangs on where some pods go; those that are expected any moment are named.
    Open(Vec<Uid>),
    /// There is none.
    None,
}

/// Why a domain is none for the group.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Obstacle {
    /// Another group has it to itself, or the group wants it to itself and is not alone.
    Exclusive,
    /// It would fit, but for where the member that asks may go.
    Member,
    /// It would fit but for what is kept for other groups.
    Reserved,
    /// It would fit if lower-priority pods left.
    Evictable,
    /// It is too small.
    Room,
}

impl<'a> Search<'a> {
    /// Prepares a search. `None` if the topology that is asked for has not been provided.
    pub fn new(
        roster: &'a Roster<'a>,
        asking: Option<&'a Pod>,
        view: &'a View,
        settings: &'a Settings,
    ) -> Option<Self> {
        let required = match &roster.membership.topology.required {
            Some(key) => Some(&**view.domains(key)?),
            None => None,
        };
        let anchor = required.and_then(|domains| anchor(roster, domains).0);
        let exclusion = match anchor {
            Some(_) => Exclusion::of_settled(roster, view),
            None => Exclusion::of(roster.membership, required, view),
        };
        let own = &roster.membership.group;
        let group = |entry: &'a Entry| entry.pod.group.as_ref().map(|membership| &membership.group);
        let open = |entry: &&'a Entry| entry.phase == Phase::Offered && group(entry) != Some(own);
        let under_way = view.ledger().iter().filter(open).collect();
        let kept = view.ledger().reservations().of(own).filter(|kept| kept.missing > 0);
        let (fences, siblings, standing) = (Default::default(), OnceCell::new(), None);
        let mut search = Self {
            roster,
            view,
            settings,
            required,
            anchor,
            kept,
            asking,
            standing,
            exclusion,
            under_way,
            fences,
            siblings,
        };
        search.standing = search.find_standing();
        Some(search)
    }

    fn find_standing(&self) -> Option<DomainId> {
        let domains = self.required?;
        if let Some(kept) = self.kept {
            let (_, value) = kept.domain.as_ref()?;
            return domains.find(value);
        }
        let waiting = self.view.waiting_members(&self.roster.membership.group);
        let nominated = waiting.filter_map(|member| self.view.host_id(member.nominated_node.as_ref()?));
        domains_of(nominated, domains).into_iter().min()
    }

    fn lens<'s, 'o>(&'s self, counting: Counting, open: Open<'o>) -> Lens<'a, 's, 'o> {
        let room = Room {
            view: self.view,
            group: &self.roster.membership.group,
            priority: self.roster.priority,
            counting,
            asking: self.asking,
        };
        let fence = self.fences[counting as usize].get_or_init(|| Fence::around(self.roster, room));
        Lens { room, fence, open }
    }

    /// Looks for a plan. `open` tells where the member that asks may go, by host.
    pub fn run(&self, counting: Counting, open: Open<'_>) -> Outcome {
        match self.look(counting, open) {
            // Everybody has a slot, but for now there is none for the member that asks: who is under way may be on it.
            Outcome::Found(plan) if plan.open.is_empty() && self.asking.is_some() => {
                let under_way = self.under_way(plan.domain).chain(self.other_members());
                let expected = under_way.filter(|entry| entry.phase == Phase::Offered && !entry.overdue);
                Outcome::Open(expected.map(|entry| entry.pod.uid.clone()).collect())
            }
            outcome => outcome,
        }
    }

    fn look(&self, counting: Counting, open: Open<'_>) -> Outcome {
        let lens = self.lens(counting, open);
        if self.is_somebody_in_the_way() {
            return Outcome::Open(Vec::new());
        }
        if let Some(plan) = self.keep_to_plan(lens) {
            return Outcome::Found(plan);
        }
        let draft = |area: &Area<'a>| self.draft(area, lens);
        let standing = self.anchor.or(self.standing).and_then(|domain| self.area(Some(domain)));
        if let Some(draft) = standing.and_then(|area| draft(&area)) {
            return self.settle(vec![draft]);
        }
        if self.anchor.is_some() {
            return Outcome::None;
        }
        // A member may be on its way into a domain, and the others must not go to another.
        if self.required.is_some() && self.members_are_under_way() {
            let expected = self.other_members().filter(|entry| !entry.overdue);
            return Outcome::Open(expected.map(|entry| entry.pod.uid.clone()).collect());
        }
        let areas: Vec<Area<'a>> = match self.required {
            Some(domains) => (0..domains.len()).filter_map(|domain| self.area(Some(domain))).collect(),
            None => self.area(None).into_iter().collect(),
        };
        self.settle(areas.iter().filter_map(draft).collect())
    }

    /// What was kept for the group, if it still has a slot for everybody. Nobody who came later was let onto it, so
    /// whoever is under way changes nothing, unless it matters more.
    fn keep_to_plan(&self, lens: Lens<'a, '_, '_>) -> Option<Plan> {
        let membership = self.roster.membership;
        let kept = self.kept?;
        // Parts have domains of their own, which slots do not tell.
        let lost = self.required.is_some() && self.standing.is_none();
        let left = self.anchor.is_some() && self.anchor != self.standing;
        let outranked = self.under_way(self.standing).any(|entry| entry.pod.priority > kept.priority);
        if membership.subgroup.is_some() || lost || left || outranked {
            return None;
        }
        let area = self.area(self.standing)?;
        // Beyond the preferred topology, it may have become possible within it.
        let area =
            if membership.topology.preferred.is_some() { self.narrowed(&area, &kept.slots)? } else { area };
        let mut ground = self.ground(&area.hosts, lens);
        let kept = ground.take_kept(&kept.slots, !self.under_way.is_empty());
        kept.then(|| self.draw_up(&ground, self.standing))
    }

    /// The domain of the preferred topology within an area that everybody is in, or has a slot in.
    fn narrowed(&self, area: &Area<'a>, slots: &[Slot]) -> Option<Area<'a>> {
        let narrower = self.view.domains(self.roster.membership.topology.preferred.as_ref()?)?;
        let assigned = slots.iter().filter_map(|slot| self.view.host_id(&slot.host));
        let domains =
            domains_of(self.roster.placed.iter().map(|placed| placed.host).chain(assigned), narrower);
        let mut parts = area.divided_by(narrower).into_iter();
        parts.find(|part| domains.len() == 1 && part.domain.is_some_and(|domain| domains.contains(&domain)))
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

    fn draft<'s>(&'s self, area: &Area<'a>, lens: Lens<'a, 's, '_>) -> Option<Draft<'a, 's>> {
        let (ground, preferred) = self.slot(area, lens)?;
        let domain = area.domain.filter(|_| self.required.is_some());
        let value = domain.and_then(|domain| Some(self.required?.value(domain)));
        let rank = Rank {
            evictions: if lens.room.counting == Counting::Evicting { self.evictions(&ground) } else { 0 },
            beyond_preferred: !preferred,
            // Everywhere there is nothing to choose.
            siblings: if self.required.is_some() { self.siblings_around(area) } else { 0 },
            left_over: self.left_over(&ground),
            hash: self.hash(value),
        };
        Some(Draft { domain, ground, rank })
    }

    /// Of all drafts the best, if it holds wherever pods under way go.
    fn settle(&self, mut drafts: Vec<Draft<'a, '_>>) -> Outcome {
        drafts.sort_by(|a, b| a.rank.cmp(&b.rank));
        let found_some = !drafts.is_empty();
        for mut draft in drafts {
            if self.make_certain(&mut draft) {
                return Outcome::Found(self.draw_up(&draft.ground, draft.domain));
            }
            // Who is expected any moment is waited for; of who is late, another domain is better than waiting.
            let expected = self.under_way(draft.domain).filter(|entry| !entry.overdue);
            let expected: Vec<_> = expected.map(|entry| entry.pod.uid.clone()).collect();
            if !expected.is_empty() {
                return Outcome::Open(expected);
            }
        }
        if found_some { Outcome::Open(Vec::new()) } else { Outcome::None }
    }

    /// Pods under way may take some slots away. So many more are kept that it does not matter which. False if that
    /// cannot be, or if a group that must not be in the same domain may be on its way there.
    fn make_certain(&self, draft: &mut Draft<'a, '_>) -> bool {
        let Draft { domain, ground, .. } = draft;
        let mut groups = self.under_way(*domain).filter_map(|entry| entry.pod.group.as_ref());
        if groups.any(|other| Exclusion::between(self.roster.membership, other)) {
            return false;
        }
        let lost = |class: usize| {
            let mut each = self.under_way(*domain).map(|entry| ground.worst_loss(class, &entry.pod));
            each.try_fold(0_usize, usize::checked_add)
        };
        let lost: Option<Vec<usize>> = (0..self.roster.missing.len()).map(lost).collect();
        lost.is_some_and(|lost| ground.seat_more(lost))
    }

    /// Pods of others that may be going to this domain.
    fn under_way(&self, domain: Option<DomainId>) -> impl Iterator<Item = &'a Entry> {
        let value = domain.and_then(|domain| Some(self.required?.value(domain)));
        let key = self.roster.membership.topology.required.as_ref();
        let reservations = self.view.ledger().reservations();
        let elsewhere = move |entry: &Entry| {
            let kept = entry.pod.group.as_ref().and_then(|membership| reservations.of(&membership.group));
            let bound = kept.and_then(|kept| kept.domain.as_ref());
            bound.is_some_and(|(k, v)| Some(k) == key && value.is_some() && Some(v) != value)
        };
        self.under_way.iter().copied().filter(move |entry| !elsewhere(entry))
    }

    /// Other members that were offered nodes and may be on their way.
    fn other_members(&self) -> impl Iterator<Item = &'a Entry> {
        let own = &self.roster.membership.group;
        let asking = self.asking.map(|pod| &pod.uid);
        self.view.ledger().iter().filter(move |entry| {
            let group = entry.pod.group.as_ref().map(|membership| &membership.group);
            group == Some(own) && Some(&entry.pod.uid) != asking
        })
    }

    /// Whether a member that was offered one host would not find room there any more. Its attempt has failed, then, and
    /// it will have to be placed anew.
    fn is_somebody_in_the_way(&self) -> bool {
        self.other_members().any(|entry| {
            let Phase::Assumed { node, binding: false } = &entry.phase else { return false };
            let Some(host) = self.view.host(node) else { return false };
            let mut used = Used::clone(&host.used);
            used.leave(&entry.pod.allocated);
            let applicant =
                Applicant { requests: &entry.pod.requests, requirements: &entry.pod.requirements };
            host.node.as_ref().is_some_and(|node| applicant.times_by_room(node, &used) == 0)
        })
    }

    fn members_are_under_way(&self) -> bool {
        self.other_members().next().is_some()
    }

    /// Whether what is kept is of no use any more: nobody is there or on the way, and not everybody would fit.
    pub fn is_hopeless(&self) -> bool {
        let standing = self.standing.is_none() || !self.fits(self.standing, Counting::Free, None);
        self.kept.is_some() && self.roster.placed.is_empty() && !self.members_are_under_way() && standing
    }

    fn draw_up(&self, ground: &Ground<'a, '_>, domain: Option<DomainId>) -> Plan {
        let members = self.other_members().filter(|entry| entry.phase == Phase::Offered);
        let losses = self.under_way(domain).chain(members).map(|entry| ground.worst_loss(0, &entry.pod));
        let under_way = if self.asking.is_some() { losses.fold(0, usize::saturating_add) } else { 0 };
        let open = (0..ground.spots.len()).filter(|spot| ground.takes_asker(*spot, under_way));
        Plan {
            domain,
            open: open.map(|spot| ground.spots[spot].id).collect(),
            slots: ground.slots.iter().map(|(class, spot)| (*class, ground.spots[*spot].id)).collect(),
        }
    }

    /// How many lower-priority pods are on the hosts where not everybody who is assigned there would fit beside them.
    fn evictions(&self, ground: &Ground<'a, '_>) -> usize {
        let room = self.lens(Counting::Free, None).room;
        let crowded = (0..ground.spots.len()).filter(|spot| ground.overflows(*spot, &room));
        let lesser = |pod: &&Pod| room.outranks(pod) && !pod.terminating;
        crowded.map(|spot| ground.pods_on(spot).filter(lesser).count()).sum()
    }

    /// How many groups of the same set are in the wider domain around an area.
    pub(super) fn siblings_around(&self, area: &Area<'_>) -> usize {
        let domains = self.settings.spread_key.as_ref().and_then(|key| self.view.domains(key));
        // Who has a place has no choice.
        let Some(domains) = domains.filter(|_| self.roster.placed.is_empty()) else { return 0 };
        let Some(HostDomain::In(wider)) = area.hosts.first().map(|host| domains.of(*host)) else { return 0 };
        let count = || neighbours::siblings(&self.roster.membership.group, domains, self.view);
        self.siblings.get_or_init(count).get(&wider).copied().unwrap_or_default()
    }

    pub(super) fn hash(&self, domain: Option<&Name>) -> u64 {
        let mut hasher = DefaultHasher::new();
        (&*self.roster.membership.group, domain).hash(&mut hasher);
        hasher.finish()
    }

    /// Why a domain is none for the group.
    pub fn obstacle(&self, domain: Option<DomainId>) -> Obstacle {
        let Some(area) = self.area(domain) else { return Obstacle::Exclusive };
        let all = self.required.zip(domain).map_or(0, |(domains, domain)| domains.hosts(domain).len());
        let fits = |counting| self.fits(domain, counting, None);
        if fits(Counting::Free) {
            Obstacle::Member
        } else if fits(Counting::Reserved) {
            Obstacle::Reserved
        } else if self.roster.may_preempt && fits(Counting::Evicting) {
            Obstacle::Evictable
        } else if area.hosts.len() < all {
            Obstacle::Exclusive
        } else {
            Obstacle::Room
        }
    }

    /// Whether everybody fits into a domain, the member that asks where it may go.
    pub fn fits(&self, domain: Option<DomainId>, counting: Counting, open: Open<'_>) -> bool {
        self.area(domain).is_some_and(|area| self.slot(&area, self.lens(counting, open)).is_some())
    }

    /// What has to be kept for a plan.
    pub fn reservation(&self, plan: &Plan) -> Reservation {
        let membership = self.roster.membership;
        let value = plan.domain.and_then(|domain| Some(self.required?.value(domain).clone()));
        let slot = |(class, host): &(usize, HostId)| {
            let host = self.view.host_numbered(*host)?.name.clone();
            let Class { requests, requirements, labels, anti_affinity, .. } = &self.roster.missing[*class];
            let (requests, requirements) = ((*requests).clone(), (*requirements).clone());
            Some(Slot {
                host,
                requests,
                requirements,
                labels: labels.clone().into_owned(),
                anti_affinity: anti_affinity.cloned(),
            })
        };
        Reservation {
            priority: self.roster.priority,
            domain: membership.topology.required.clone().zip(value),
            exclusive: membership.topology.exclusive,
            parts: membership.subgroup.as_ref().map(|parts| parts.topology.clone()),
            missing: self.roster.missing(),
            slots: plan.slots.iter().filter_map(slot).collect(),
            in_place: self.roster.placed.iter().map(|placed| placed.pod.uid.clone()).collect(),
            ..Reservation::nothing(membership.group.clone())
        }
    }
}
