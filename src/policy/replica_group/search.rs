//! Where a group goes: a slot for every member that has no place, in one domain, or the reason why there is none.
//!
//! ```text
//!   slots are reserved already   those, as long as there is one for everybody                     (keep)
//!   members have a place         their domain, and no other
//!   members are in flight        the domain where slots are reserved for them, and no other       (in_flight)
//!   else                         every domain is counted                                          (count)
//!                                those in which everybody may fit are ranked                      (rank)
//!                                everybody is assigned in the best, else in the next              (packing, subgroups)
//! ```

use std::cell::{OnceCell, RefCell};
use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use super::affinity::Affinity;
use super::availability::{Assumption, Availability};
use super::conflicts::Conflicts;
use super::count::{Capacity, count};
use super::host_set::{HostSet, anchor, domains_of};
use super::in_flight::InFlight;
use super::members::Members;
use super::other_groups::{self, Exclusion};
use super::own_hosts::OwnHosts;
use super::packing::DomainPacking;
use super::problem::{Open, Problem};
use super::rank::{Rank, hash};
use super::subgroup_homes::SubgroupHomes;
use super::subgroups;
use crate::config::Packing;
use crate::decision::ChoiceRule;
use crate::ledger::Reservation;
use crate::model::{Name, Pod, Uid};
use crate::policy::Budget;
use crate::policy::preemption::Cost;
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
    /// How many members a group may have.
    pub most_members: u32,
    /// How many slots may be kept for all groups of a namespace.
    pub most_slots: usize,
}

/// A group that looks for a domain.
pub struct Search<'a> {
    pub(super) members: &'a Members<'a>,
    pub(super) view: &'a View,
    pub(super) settings: &'a Settings,
    /// The domains of the required topology.
    pub(super) required: Option<&'a Domains>,
    /// The domain that the group's members are in.
    pub(super) anchor: Option<DomainId>,
    /// What is reserved for it.
    pub(super) reservation: Option<&'a Arc<Reservation>>,
    /// The member that asks.
    pub(super) asking: Option<&'a Pod>,
    /// The domain that is meant for it: slots are reserved there, or room was made there.
    pub(super) intended: Option<DomainId>,
    pub(super) in_flight: InFlight<'a>,
    pub(super) budget: &'a Budget,
    exclusion: Exclusion,
    own_hosts: OwnHosts,
    homes: SubgroupHomes,
    taken_by_others: OnceCell<HashSet<DomainId>>,
    /// Anti-affinity, under each assumption.
    conflicts: [OnceCell<Conflicts<'a>>; Assumption::COUNT],
    affinity: OnceCell<Affinity<'a>>,
    /// Groups of the same set, by domain of the topology over which they are spread; counted when first asked for.
    groups_of_set: OnceCell<HashMap<DomainId, usize>>,
    /// Whether everybody fits into a domain under an assumption, as found on the way: reasons are read from here.
    found: RefCell<HashMap<(usize, Option<DomainId>), bool>>,
}

/// A slot for everybody.
pub struct Plan {
    /// The domain of the required topology.
    pub domain: Option<DomainId>,
    /// Where the member that asks may go.
    pub open: Vec<HostId>,
    /// The reservation that the plan amounts to.
    pub reservation: Reservation,
    /// How many sets of hosts would have done, and by which rule this one was chosen.
    pub choice: (usize, ChoiceRule),
}

/// What became of the search.
pub enum Outcome {
    /// There is a plan.
    Found(Box<Plan>),
    /// There is one, but it depends on where some pods go; those that are expected any moment are named.
    Undecided(Vec<Uid>),
    /// There is none.
    None,
}

/// Hosts in which everybody may fit, by the count.
struct Candidate<'a> {
    domain: Option<DomainId>,
    set: HostSet<'a>,
    rank: Rank,
}

impl<'a> Search<'a> {
    /// Prepares a search. `None` if the view does not provide the topologies that it needs.
    pub fn new(
        members: &'a Members<'a>,
        asking: Option<&'a Pod>,
        view: &'a View,
        settings: &'a Settings,
        budget: &'a Budget,
    ) -> Option<Self> {
        if !members.anti_affinity_keys().all(|key| view.domains(key).is_some()) {
            return None;
        }
        let required = match &members.membership.topology.required {
            Some(key) => Some(&**view.domains(key)?),
            None => None,
        };
        let anchor = required.and_then(|domains| anchor(members, domains).0);
        let exclusion = match anchor {
            Some(_) => Exclusion::of_settled(members, view),
            None => Exclusion::of(members.membership, required, view),
        };
        let reserved = view.ledger().reservations().of(&members.membership.group);
        let reservation = reserved.filter(|kept| kept.missing > 0);
        let in_flight = InFlight::around(members, asking.map(|pod| &pod.uid), view);
        let homes = SubgroupHomes::of(members, &in_flight, view);
        let mut search = Self {
            members,
            view,
            settings,
            required,
            anchor,
            reservation,
            asking,
            intended: None,
            in_flight,
            budget,
            exclusion,
            own_hosts: OwnHosts::of(members, reserved.map(|kept| &**kept), view),
            homes,
            taken_by_others: OnceCell::new(),
            conflicts: Default::default(),
            affinity: OnceCell::new(),
            groups_of_set: OnceCell::new(),
            found: RefCell::default(),
        };
        search.intended = search.find_intended();
        Some(search)
    }

    fn find_intended(&self) -> Option<DomainId> {
        let domains = self.required?;
        if let Some(reservation) = self.reservation {
            let (_, value) = reservation.domain.as_ref()?;
            return domains.find(value);
        }
        let waiting = self.view.waiting_members(&self.members.membership.group);
        let nominated = waiting.filter_map(|member| self.view.host_id(member.nominated_node.as_ref()?));
        domains_of(nominated, domains).into_iter().min()
    }

    /// The problem under an assumption.
    pub(super) fn problem<'s>(&'s self, assumption: Assumption, open: Open<'s>) -> Problem<'a, 's> {
        let availability = Availability {
            view: self.view,
            group: Some(&self.members.membership.group),
            priority: self.members.priority,
            asking: self.asking.map(|pod| &pod.uid),
            assumption,
        };
        let conflicts = || Conflicts::of(self.members, availability, self.budget);
        let conflicts = self.conflicts[assumption as usize].get_or_init(conflicts);
        Problem {
            members: self.members,
            conflicts,
            affinity: self.affinity.get_or_init(|| Affinity::of(self.members, self.asking)),
            availability,
            packing: self.settings.packing,
            open,
            own_hosts: &self.own_hosts,
            homes: &self.homes,
            taken_by_others: &self.taken_by_others,
            budget: self.budget,
        }
    }

    /// Whether something is reserved for groups that matter less. Their slots may be taken, but not while there is room
    /// elsewhere.
    pub fn outranks_reservations(&self) -> bool {
        let own = &self.members.membership.group;
        let mut others = self.view.ledger().reservations().iter().filter(|kept| kept.group != *own);
        others.any(|kept| kept.priority < self.members.priority)
    }

    /// Looks for a plan. `open` tells where the member that asks may go, by host.
    pub fn run(&self, assumption: Assumption, open: Open<'_>) -> Outcome {
        match self.look(self.problem(assumption, open)) {
            // A node may be new and not shown yet. Then there is one less to find room for.
            Outcome::None if self.asking.is_some() && !self.members.stranded.is_empty() => {
                Outcome::Undecided(Vec::new())
            }
            // A subgroup may be free to go elsewhere soon: whoever is on its way for it may fail.
            Outcome::None if self.homes.depends_on_members_under_way() => {
                Outcome::Undecided(self.in_flight.expected_members())
            }
            // Everybody has a slot, but for now there is none for the member that asks: who is in flight may be on it.
            Outcome::Found(plan) if plan.open.is_empty() && self.asking.is_some() => {
                Outcome::Undecided(self.in_flight.expected_anywhere(self.value_of(plan.domain)))
            }
            outcome => outcome,
        }
    }

    /// Whether members are somewhere, and nobody can tell in which domain: their nodes are gone, or have lost the label.
    pub(super) fn is_adrift(&self) -> bool {
        let is_group = || self.anchor.is_none() && self.members.in_place().next().is_some();
        self.required.is_some() && is_group() || self.homes.is_adrift()
    }

    fn look(&self, problem: Problem<'a, '_>) -> Outcome {
        if self.is_adrift() {
            return Outcome::Undecided(Vec::new());
        }
        if self.in_flight.has_member_without_room() {
            return Outcome::Undecided(Vec::new());
        }
        if self.homes.is_unsettled() {
            return Outcome::Undecided(self.in_flight.expected_members());
        }
        if let Some(plan) = self.keep_to_reservation(problem) {
            return Outcome::Found(Box::new(plan));
        }
        if let Some(domain) = self.anchor.or(self.intended) {
            match self.choose(vec![(Some(domain), self.host_set(Some(domain)))], problem) {
                Outcome::None => {}
                Outcome::Found(mut plan) => {
                    let anchored = self.anchor.is_some();
                    plan.choice.1 = if anchored { ChoiceRule::Anchored } else { ChoiceRule::Reserved };
                    return Outcome::Found(plan);
                }
                undecided @ Outcome::Undecided(_) => return undecided,
            }
        }
        if self.anchor.is_some() {
            return Outcome::None;
        }
        // A member may be on its way into a domain, and the others must not go to another.
        if self.required.is_some() && self.in_flight.has_members() {
            return Outcome::Undecided(self.in_flight.expected_members());
        }
        let all: Vec<Option<DomainId>> =
            self.required.map_or_else(|| vec![None], |domains| domains.ids().map(Some).collect());
        self.choose(all.into_iter().map(|domain| (domain, self.host_set(domain))).collect(), problem)
    }

    /// The hosts of a domain, unless the group may not be in it for the sake of other groups.
    pub(super) fn host_set(&self, domain: Option<DomainId>) -> Option<HostSet<'a>> {
        let set = match (self.required, domain) {
            (Some(domains), Some(domain)) => HostSet::of(domains, domain),
            _ => HostSet::everywhere(self.view),
        };
        if domain.is_some_and(|domain| self.exclusion.shared.contains(&domain)) {
            return None;
        }
        Some(set.without(&self.exclusion.closed, self.view))
    }

    /// Both phases: counts every domain, ranks those in which everybody may fit, and assigns everybody in the best one
    /// whose plan holds wherever pods in flight go.
    fn choose(
        &self,
        sets: Vec<(Option<DomainId>, Option<HostSet<'a>>)>,
        problem: Problem<'a, '_>,
    ) -> Outcome {
        let mut candidates = Vec::new();
        for (domain, set) in sets {
            match set {
                Some(set) => self.add_candidates(domain, set, &problem, &mut candidates),
                None => self.remember(problem.assumption(), domain, false),
            }
        }
        let mut drafts = Drafts { search: self, problem, candidates, assigned: Vec::new() };
        drafts.sort();
        let ranks: Vec<Rank> = drafts.ranks();
        let mut uncertain: Vec<Option<DomainId>> = Vec::new();
        while let Some((candidate, mut packing)) = drafts.next() {
            // Within the preferred topology it may turn out to be possible: no reason to go beyond it.
            if candidate.rank.beyond_preferred && uncertain.contains(&candidate.domain) {
                continue;
            }
            let value = self.value_of(candidate.domain);
            // Where nobody asks, nobody is let in by the plan: it is better than none, also if it is not certain.
            let certain = self.in_flight.make_certain(&mut packing, value, (self.members, problem.conflicts));
            if certain || self.asking.is_none() {
                let next = ranks.iter().find(|rank| **rank > candidate.rank);
                let rule = next.map_or(ChoiceRule::OnlyOne, |next| candidate.rank.rule_against(next));
                let mut plan = self.draw_up(&packing, candidate.domain, &problem);
                plan.choice = (ranks.len(), rule);
                // Room for whatever pods in flight may take must not use up what the namespace may have: rather wait for them.
                // Where it is to be found out where to evict, nothing is reserved.
                let is_followed =
                    self.asking.is_some() && problem.assumption() != Assumption::LowerPriorityGone;
                let has_too_many_spare_slots = self.is_beyond_limit(&plan) && !self.would_be_beyond_limit();
                if !is_followed || !has_too_many_spare_slots {
                    return Outcome::Found(Box::new(plan));
                }
            }
            // Who is expected any moment is waited for; of who is late, another domain is better than waiting.
            let expected = self.in_flight.expected_towards(value);
            if !expected.is_empty() {
                return Outcome::Undecided(expected);
            }
            uncertain.push(candidate.domain);
        }
        if uncertain.is_empty() { Outcome::None } else { Outcome::Undecided(Vec::new()) }
    }

    /// Counts one domain, and the domains of the preferred topology within it.
    fn add_candidates(
        &self,
        domain: Option<DomainId>,
        set: HostSet<'a>,
        problem: &Problem<'a, '_>,
        candidates: &mut Vec<Candidate<'a>>,
    ) {
        let members = self.members;
        let capacity = count(&set, problem);
        let fits = capacity.fits(members);
        if !fits || problem.is_decided_by_counting() {
            self.remember(problem.assumption(), domain, fits);
        }
        if !fits || !capacity.has_room_for_asking {
            return;
        }
        let rank =
            |set: &HostSet<'_>, capacity: &Capacity, beyond_preferred: bool, narrower: Option<&Name>| Rank {
                evictions: None,
                beyond_preferred,
                // Without a required topology there is nothing to choose but a domain of the preferred one.
                groups_of_set: if self.required.is_some() || narrower.is_some() {
                    self.groups_near(set)
                } else {
                    0
                },
                left_over: capacity.left_over(members),
                hash: hash(&members.membership.group, [self.value_of(domain), narrower]),
            };
        let preferred = &members.membership.topology.preferred;
        let narrower = preferred.as_ref().and_then(|key| self.view.domains(key));
        let whole = rank(&set, &capacity, narrower.is_some(), None);
        if let Some(narrower) = narrower {
            // Members that have a place are in one such domain, or it is too late.
            let inhabited = domains_of(members.placed.iter().map(|placed| placed.host), narrower);
            let possible = |part: &HostSet<'_>| inhabited.iter().all(|home| Some(*home) == part.domain);
            for part in set.divided_by(narrower).into_iter().filter(possible) {
                let capacity = count(&part, problem);
                if capacity.fits(members) && capacity.has_room_for_asking {
                    let value = part.domain.map(|part| narrower.value(part));
                    let rank = rank(&part, &capacity, false, value);
                    candidates.push(Candidate { domain, set: part, rank });
                }
            }
        }
        candidates.push(Candidate { domain, set, rank: whole });
    }

    pub(super) fn draw_up(
        &self,
        packing: &DomainPacking<'a, '_>,
        domain: Option<DomainId>,
        problem: &Problem<'a, '_>,
    ) -> Plan {
        let who = (self.members, problem.conflicts);
        let lost = match self.asking {
            Some(_) => self.in_flight.loss_for_asking(packing, self.value_of(domain), who),
            None => 0,
        };
        Plan {
            domain,
            open: packing.hosts_for_asking(lost),
            reservation: self.reservation_of(packing, domain),
            choice: (1, ChoiceRule::Reserved),
        }
    }

    /// How many groups of the same set are in the wider domain around some hosts.
    fn groups_near(&self, set: &HostSet<'_>) -> usize {
        let domains = self.settings.spread_key.as_ref().and_then(|key| self.view.domains(key));
        // Who has a place has no choice.
        let Some(domains) = domains.filter(|_| self.members.placed.is_empty()) else { return 0 };
        let wider = set.hosts.first().map(|host| domains.of(*host));
        let Some(HostDomain::In(wider)) = wider else { return 0 };
        let count = || other_groups::of_same_set(&self.members.membership.group, domains, self.view);
        self.groups_of_set.get_or_init(count).get(&wider).copied().unwrap_or_default()
    }

    /// Whether a plan would keep more slots than the group's namespace may have in all.
    pub(super) fn is_beyond_limit(&self, plan: &Plan) -> bool {
        let own = &self.members.membership.group;
        let reservations = self.view.ledger().reservations();
        plan.reservation.slots.len() + reservations.slots_beside(own) > self.settings.most_slots
    }

    /// Whether any plan would.
    pub(super) fn would_be_beyond_limit(&self) -> bool {
        let beside = self.view.ledger().reservations().slots_beside(&self.members.membership.group);
        self.members.missing() + beside > self.settings.most_slots
    }

    /// The value of a domain of the required topology.
    pub(super) fn value_of(&self, domain: Option<DomainId>) -> Option<&'a Name> {
        domain.and_then(|domain| Some(self.required?.value(domain)))
    }

    /// Whether everybody fits into a domain under an assumption, the member that asks anywhere in it. What the search
    /// found on its way is not looked for again. Only where members differ, so that counting does not tell, they are
    /// assigned, once for a domain and an assumption.
    pub fn fits(&self, domain: Option<DomainId>, assumption: Assumption) -> bool {
        let nothing_reserved = self.view.ledger().reservations().is_empty();
        let assumption = match assumption {
            Assumption::ReservationsGone if nothing_reserved => Assumption::Nothing,
            other => other,
        };
        let known = self.found.borrow().get(&(assumption as usize, domain)).copied();
        known.unwrap_or_else(|| {
            let problem = self.problem(assumption, None);
            let set = self.host_set(domain);
            let fits = set.is_some_and(|set| {
                count(&set, &problem).fits(self.members)
                    && (problem.is_decided_by_counting() || subgroups::assign(&set, problem).is_some())
            });
            self.remember(assumption, domain, fits);
            fits
        })
    }

    /// Whether other groups leave only a part of a domain to this one.
    pub fn is_partly_closed(&self, domain: Option<DomainId>) -> bool {
        let all = self.required.zip(domain).map_or(0, |(domains, domain)| domains.hosts(domain).len());
        self.host_set(domain).is_some_and(|set| set.hosts.len() < all)
    }

    fn remember(&self, assumption: Assumption, domain: Option<DomainId>, fits: bool) {
        self.found.borrow_mut().insert((assumption as usize, domain), fits);
    }
}

/// Candidates in the order in which everybody is assigned.
struct Drafts<'a, 's> {
    search: &'s Search<'a>,
    problem: Problem<'a, 's>,
    /// Best first.
    candidates: Vec<Candidate<'a>>,
    /// Where evictions count: those that have been assigned to, for how many are needed is not known before; best first.
    assigned: Vec<(Candidate<'a>, DomainPacking<'a, 's>)>,
}

impl<'a, 's> Drafts<'a, 's> {
    fn sort(&mut self) {
        if self.problem.assumption() == Assumption::LowerPriorityGone {
            for mut candidate in std::mem::take(&mut self.candidates) {
                if let Some(packing) = self.assign(&candidate) {
                    candidate.rank.evictions = Some(self.evictions(&packing));
                    self.assigned.push((candidate, packing));
                }
            }
            self.assigned.sort_by_key(|(candidate, _)| std::cmp::Reverse(candidate.rank));
        }
        self.candidates.sort_by_key(|candidate| std::cmp::Reverse(candidate.rank));
    }

    fn ranks(&self) -> Vec<Rank> {
        let candidates = self.candidates.iter().chain(self.assigned.iter().map(|(candidate, _)| candidate));
        let mut ranks: Vec<_> = candidates.map(|candidate| candidate.rank).collect();
        ranks.sort_unstable();
        ranks
    }

    /// The best of those that are left, with everybody assigned.
    fn next(&mut self) -> Option<(Candidate<'a>, DomainPacking<'a, 's>)> {
        if let Some(assigned) = self.assigned.pop() {
            return Some(assigned);
        }
        while let Some(candidate) = self.candidates.pop() {
            if let Some(packing) = self.assign(&candidate) {
                return Some((candidate, packing));
            }
        }
        None
    }

    fn assign(&self, candidate: &Candidate<'a>) -> Option<DomainPacking<'a, 's>> {
        let packing = subgroups::assign(&candidate.set, self.problem);
        let preferred = self.search.members.membership.topology.preferred.is_some();
        let whole = candidate.rank.beyond_preferred || !preferred;
        // A failure says something about the domain only if the member that asks could have gone anywhere in it.
        let open = || candidate.set.hosts.iter().all(|host| self.problem.is_open(*host));
        if packing.is_none() && whole && open() {
            self.search.remember(self.problem.assumption(), candidate.domain, false);
        }
        packing
    }

    /// What it costs that lower-priority pods leave the nodes where not everybody who is assigned there would fit beside them.
    fn evictions(&self, packing: &DomainPacking<'a, '_>) -> Cost {
        let evicted = |pod: &&Arc<Pod>| self.problem.availability.may_evict(pod);
        let evicted: Vec<Arc<Pod>> = packing.pods_in_the_way().filter(evicted).cloned().collect();
        // Budgets are kube-scheduler's to count.
        Cost::of(&evicted, 0, self.search.view)
    }
}

#[cfg(test)]
mod tests {
    use super::super::situation::{Situation, cpus, hosts, member};
    use super::{Assumption, ChoiceRule, Outcome};
    use crate::fixtures::pod;
    use crate::model::Pod;

    fn choice(
        situation: &Situation,
        asking: &Pod,
        assumption: Assumption,
    ) -> Option<(String, usize, ChoiceRule)> {
        situation.search(asking, |search| match search.run(assumption, None) {
            Outcome::Found(plan) => {
                let domain = search.value_of(plan.domain).map(ToString::to_string);
                Some((domain.unwrap_or_else(|| hosts(&plan)), plan.choice.0, plan.choice.1))
            }
            Outcome::Undecided(_) | Outcome::None => None,
        })
    }

    #[test]
    fn the_tightest_rack_is_chosen_unless_members_or_slots_say_otherwise() {
        let racks = || Situation::racks(&[("small", &[2]), ("tight", &[4]), ("large", &[8])]);
        let asking = member("g", 0, 2, 2).build();
        for (name, situation, expected) in [
            ("racks of 2, 4 and 8 for two of 2", racks(), Some(("tight", 2, ChoiceRule::BestFit))),
            (
                "a member runs in the large one",
                racks().with(member("g", 1, 2, 2).on("large0").build()),
                Some(("large", 1, ChoiceRule::Anchored)),
            ),
            (
                "the tight one is reserved for others",
                racks().with_reserved("other", &[("tight0", 1)]),
                Some(("large", 1, ChoiceRule::OnlyOne)),
            ),
            (
                "a member runs where there is no room for the other",
                racks().with(member("g", 1, 2, 2).on("small0").build()),
                None,
            ),
        ] {
            let expected = expected.map(|(domain, among, rule)| (domain.to_owned(), among, rule));
            assert_eq!(choice(&situation, &asking, Assumption::Nothing), expected, "{name}");
        }
    }

    #[test]
    fn with_evictions_the_rack_is_chosen_where_they_cost_least() {
        let lower = |name: &str, amount: i64, host: &str| {
            pod(name).requests(cpus(amount)).priority(-1).on(host).build()
        };
        let situation = Situation::racks(&[("a", &[4]), ("b", &[4])])
            .with(lower("x", 2, "a0"))
            .with(lower("y", 2, "a0"))
            .with(lower("z", 4, "b0"));
        let asking = member("g", 0, 2, 2).build();
        assert_eq!(choice(&situation, &asking, Assumption::Nothing), None);
        let found = choice(&situation, &asking, Assumption::LowerPriorityGone);
        assert_eq!(found, Some(("b".to_owned(), 2, ChoiceRule::CheaperEvictions)));

        let of_group = |index: usize| member("whole", index, 2, 2).priority(-9).on("b0").build();
        let single = |name: &str, host: &str| pod(name).requests(cpus(2)).priority(-1).on(host).build();
        let least = |name: &str| pod(name).requests(cpus(2)).priority(-9).on("b0").build();
        let racks = || {
            let racks = Situation::racks(&[("a", &[4]), ("b", &[4])]);
            racks.with(single("x", "a0")).with(single("y", "a0"))
        };
        for (name, situation, expected) in [
            ("a whole group is lost in b", racks().with(of_group(0)).with(of_group(1)), "a"),
            ("less important pods are in b", racks().with(least("v")).with(least("w")), "b"),
        ] {
            // Whatever the group is called: no tie is left to its name.
            for group in ["g", "h", "k", "m"] {
                let asking = member(group, 0, 2, 2).build();
                let found = choice(&situation, &asking, Assumption::LowerPriorityGone);
                assert_eq!(found.map(|(domain, ..)| domain).as_deref(), Some(expected), "{name}, {group}");
            }
        }
    }
}
