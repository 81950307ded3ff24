//! Replica groups: together in one domain, whole or not at all.
//!
//! ```text
//!   roster      who belongs to the group: in place, waiting, still to come
//!   room        what is left on a host for it: minus used, nominated and kept for others
//!   fence       required anti-affinity, among members and with others
//!   packing     a slot for every member on the hosts of a domain, or none
//!   area        domains, and domains within domains
//!   neighbours  other groups: exclusive domains, groups of the same set
//!   seating     everybody within a domain: preferred topology, parts
//!   plan        the choice among domains
//!   reasons     constant words for those that wait
//!   kept        what other pods see of the room that is kept
//!   survey      how groups and domains are doing, for metrics
//! ```
//!
//! The first member that is let in gets a plan for everybody, and the room for the others is kept in the ledger. Later
//! members keep to it as long as it has a slot for everybody; then they are planned for anew, in the same domain. A member may go to any host of the domain
//! where everybody else keeps a slot, so it does not matter which of them kube-scheduler chooses.

mod area;
mod fence;
mod kept;
mod neighbours;
mod packing;
mod plan;
pub mod reasons;
mod room;
mod roster;
mod seating;
pub mod survey;

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use self::plan::{Obstacle, Outcome, Plan, Search, Settings};
use self::reasons::Level;
use self::room::Counting;
use self::roster::Roster;
use super::{Policy, Prepared, Purpose, Question};
use crate::config::{self, Mode, Packing};
use crate::decision::reason::REPLICA_GROUP;
use crate::decision::{Decision, Reason};
use crate::ledger::Reservation;
use crate::model::GroupKey;
use crate::model::group::recognition::flaw;
use crate::view::{DomainId, HostDomain, HostId, Needs, View};

/// How often groups are put into another order after a restart, if not all find their slots again.
const RESTORES: usize = 8;

/// The best score there is, and one for hosts that are second best.
const BEST: i64 = crate::policy::MAX_SCORE;
const SECOND: i64 = BEST / 2;

/// The policy, with the settings of one configuration.
#[derive(Debug)]
pub struct ReplicaGroup {
    settings: Settings,
    mode: Mode,
}

impl ReplicaGroup {
    /// The policy for a configuration.
    pub fn new(config: &config::ReplicaGroups) -> Self {
        let spread_key = Some(&*config.spread_topology).filter(|key| !key.is_empty()).map(Into::into);
        let (packing, count_on_preemption) = (config.packing, config.count_on_preemption);
        let settings = Settings { spread_key, packing, count_on_preemption };
        Self { settings, mode: config.mode }
    }

    /// One of each group that has a member in place, in a certain order, if something of it is missing.
    fn incomplete(view: &View) -> Vec<Roster<'_>> {
        let mut first: Vec<_> =
            view.placed_groups().filter_map(|(group, mut pods)| Some((group, pods.next()?))).collect();
        first.sort_by(|a, b| a.0.cmp(b.0));
        let rosters = first.into_iter().filter_map(|(_, member)| Roster::of_placed(member, view));
        rosters.filter(|roster| roster.missing() > 0).collect()
    }
}

/// What a question about one pod is.
enum Case<'a> {
    /// Annotations of the pod make no sense.
    Flawed(Reason),
    /// The pod is a member of a group that cares where it is.
    Member(Box<Roster<'a>>, &'a Settings),
    /// The pod is none, and has to respect what is reserved for groups.
    Other,
    /// Scores for a member.
    Scores(&'a Settings),
}

impl Policy for ReplicaGroup {
    fn name(&self) -> &'static str {
        REPLICA_GROUP
    }

    fn mode(&self) -> Mode {
        self.mode
    }

    fn prepare<'a>(&'a self, question: &Question<'a>) -> Option<Box<dyn Prepared + 'a>> {
        let case = if question.purpose == Purpose::Prioritize {
            question.pod.group.as_ref()?;
            Case::Scores(&self.settings)
        } else if let Some(flaw) = question.pod.group.as_ref().and_then(|_| flaw(question.pod)) {
            Case::Flawed(reasons::flawed(flaw))
        } else if let Some(roster) = Roster::of(question.pod, question.view) {
            Case::Member(Box::new(roster), &self.settings)
        } else {
            Case::Other
        };
        Some(Box::new(case))
    }

    fn restore_needs(&self, view: &View) -> Needs {
        let mut needs = Needs::default();
        for roster in Self::incomplete(view) {
            needs.extend(needs_of(&roster, &self.settings));
        }
        needs
    }

    fn restore(&self, view: &View) -> Vec<Reservation> {
        let rosters = Self::incomplete(view);
        let mut order: Vec<_> = rosters.iter().map(|roster| roster.membership.group.clone()).collect();
        let mut best = Vec::new();
        for _ in 0..RESTORES {
            let (restored, left_out) = self.restore_in_order(&order, view);
            if best.len() < restored.len() {
                best = restored;
            }
            // They all fitted before: whoever is left out now is harder to slot than others, and goes first.
            let Some(at) = left_out else { break };
            let harder = order.remove(at);
            order.insert(0, harder);
        }
        best
    }
}

impl Prepared for Case<'_> {
    fn needs(&self) -> Needs {
        match self {
            Case::Member(roster, settings) => needs_of(roster, settings),
            _ => Needs::default(),
        }
    }

    fn filter(&self, question: &Question<'_>, decision: &mut Decision) {
        match self {
            Case::Flawed(reason) => decision.reject_all(*reason),
            Case::Member(roster, settings) => {
                if let Some(search) = Search::new(roster, Some(question.pod), question.view, settings) {
                    Member { search, question: *question }.filter(decision);
                }
            }
            Case::Other => {
                if let Some(membership) = &question.pod.group {
                    kept::keep_out(question, membership, decision);
                }
                kept::filter(question, decision);
            }
            Case::Scores(_) => {}
        }
    }

    fn prioritize(&self, question: &Question<'_>, scores: &mut [i64]) {
        let (Case::Scores(settings), Some(membership)) = (self, question.pod.group.as_ref()) else { return };
        let view = question.view;
        let Some(kept) = view.ledger().reservations().of(&membership.group) else { return };
        for (score, name) in scores.iter_mut().zip(question.candidates) {
            let slot =
                kept.slots.iter().any(|slot| *slot.host == **name && slot.requests == question.pod.requests);
            let company = || {
                let mut here =
                    view.placed_members(&membership.group).filter_map(|pod| view.place_of(&pod.uid));
                here.any(|place| **place == **name)
            };
            *score += if slot {
                BEST
            } else if settings.packing == Packing::FewestHosts && company() {
                SECOND
            } else {
                0
            };
        }
    }
}

fn needs_of(roster: &Roster<'_>, settings: &Settings) -> Needs {
    let topology = &roster.membership.topology;
    let parts = roster.membership.subgroup.as_ref().map(|parts| &parts.topology);
    let asked = [&topology.required, &topology.preferred, &settings.spread_key].into_iter().flatten();
    let keys = asked.chain(parts).chain(roster.anti_affinity_keys()).cloned();
    Needs { topology_keys: keys.collect(), ..Needs::default() }
}

impl ReplicaGroup {
    /// What has to be kept for each of these groups, one after another, and which was the first that did not fit.
    fn restore_in_order(&self, order: &[Arc<GroupKey>], view: &View) -> (Vec<Reservation>, Option<usize>) {
        let mut view = view.clone();
        let (mut restored, mut left_out) = (Vec::new(), None);
        for (at, group) in order.iter().enumerate() {
            let member = view.placed_members(group).next().cloned();
            let roster = member.as_ref().and_then(|member| Roster::of_placed(member, &view));
            let search = roster.as_ref().and_then(|roster| Search::new(roster, None, &view, &self.settings));
            let found = search.and_then(|search| match search.run(Counting::Free, None) {
                Outcome::Found(plan) => Some(search.reservation(&plan)),
                _ => None,
            });
            match found {
                Some(reservation) => {
                    // The next ones must see it. Time does not matter here: this copy of the view is not kept.
                    view.reserve(reservation.clone(), Duration::ZERO);
                    restored.push(reservation);
                }
                None => left_out = left_out.or(Some(at).filter(|at| *at > 0)),
            }
        }
        (restored, left_out)
    }
}

/// A member that asks where it may go.
struct Member<'a> {
    search: Search<'a>,
    question: Question<'a>,
}

impl Member<'_> {
    fn filter(&self, decision: &mut Decision) {
        let view = self.question.view;
        let hosts: Vec<Option<HostId>> =
            self.question.candidates.iter().map(|name| view.host_id(name)).collect();
        if !self.question.evictions.is_empty() {
            self.judge_evictions(&hosts, decision);
            return;
        }
        let mut open = vec![false; view.host_numbers()];
        hosts.iter().flatten().for_each(|host| open[*host] = true);
        let mut outcome = self.search.run(Counting::Free, Some(&open));
        if matches!(outcome, Outcome::None)
            && self.search.settings.count_on_preemption
            && self.search.roster.may_preempt
        {
            outcome = match self.search.run(Counting::Evicting, Some(&open)) {
                Outcome::Found(plan) => Outcome::Found(plan),
                _ => Outcome::None,
            };
        }
        match outcome {
            Outcome::Found(plan) => {
                self.offer(&plan, &hosts, decision);
                decision.reserve(self.search.reservation(&plan));
            }
            Outcome::Open(expected) => {
                decision.reject_all(Reason::GroupUndecided);
                decision.await_placement_of(expected);
            }
            Outcome::None => self.explain(&hosts, decision),
        }
    }

    fn offer(&self, plan: &Plan, hosts: &[Option<HostId>], decision: &mut Decision) {
        let mut allowed = vec![false; self.question.view.host_numbers()];
        plan.open.iter().for_each(|host| allowed[*host] = true);
        for (at, host) in hosts.iter().enumerate() {
            match host {
                Some(host) if allowed[*host] => {}
                Some(host) if self.domain_of(*host).is_some_and(|domain| Some(domain) == plan.domain) => {
                    decision.reject(at, Reason::SlotsOfOtherMembers);
                }
                _ => decision.reject(at, Reason::OutsideGroupDomain),
            }
        }
    }

    /// Says of each candidate why it is none.
    fn explain(&self, hosts: &[Option<HostId>], decision: &mut Decision) {
        let search = &self.search;
        if search.is_hopeless() {
            decision.reserve(Reservation::nothing(search.roster.membership.group.clone()));
        }
        let mut known: HashMap<Option<DomainId>, Reason> = HashMap::new();
        for (at, host) in hosts.iter().enumerate() {
            let why = match self.place(*host) {
                Err(why) => why,
                Ok(domain) => *known.entry(domain).or_insert_with(|| self.reason(search.obstacle(domain))),
            };
            decision.reject(at, why);
        }
    }

    fn reason(&self, obstacle: Obstacle) -> Reason {
        let level = match (self.search.required, self.search.anchor) {
            (_, Some(_)) => Level::OwnDomain,
            (Some(_), None) => Level::Domain,
            (None, None) => Level::Cluster,
        };
        reasons::at(level, obstacle)
    }

    /// The domain of a candidate's host, or why the group cannot be there whatever room there is. Without a required
    /// topology there is one domain, the cluster.
    fn place(&self, host: Option<HostId>) -> Result<Option<DomainId>, Reason> {
        if self.search.required.is_none() {
            return Ok(None);
        }
        match host.and_then(|host| self.domain_of(host)) {
            None => Err(Reason::GroupLabelMissing),
            Some(domain) if self.search.anchor.is_some_and(|anchor| anchor != domain) => {
                Err(Reason::GroupInOtherDomain)
            }
            domain => Ok(domain),
        }
    }

    fn domain_of(&self, host: HostId) -> Option<DomainId> {
        match self.search.required?.of(host) {
            HostDomain::In(domain) => Some(domain),
            _ => None,
        }
    }

    /// An eviction is worth it where the whole group will then fit, lower-priority pods leaving for the other members too.
    fn judge_evictions(&self, hosts: &[Option<HostId>], decision: &mut Decision) {
        let mut hopeless: HashMap<Option<DomainId>, bool> = HashMap::new();
        let mut open = vec![false; self.question.view.host_numbers()];
        for (at, host) in hosts.iter().enumerate() {
            let (Some(host), place) = (*host, self.place(*host)) else { continue };
            let domain = match place {
                Ok(domain) => domain,
                Err(why) => {
                    decision.reject(at, why);
                    continue;
                }
            };
            let hopeless = *hopeless
                .entry(domain)
                .or_insert_with(|| !self.search.fits(domain, Counting::Evicting, None));
            open[host] = true;
            if hopeless || !self.search.fits(domain, Counting::Evicting, Some(&open)) {
                decision.reject(at, self.reason(Obstacle::Room));
            }
            open[host] = false;
        }
    }
}
