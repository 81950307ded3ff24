//! A member asks where it may go: the plan for its group, or why there is none.

use std::collections::{HashMap, HashSet};

use super::availability::Assumption;
use super::facts;
use super::preempting::AfterEvictions;
use super::reasons::{self, Level, Obstacle};
use super::search::{Outcome, Plan, Search};
use crate::decision::{Decision, Detail, Reason};
use crate::ledger::Reservation;
use crate::model::Name;
use crate::policy::Question;
use crate::policy::fit::Demand;
use crate::view::{DomainId, HostDomain, HostId};

/// A member that asks where it may go.
pub struct Member<'a, 'q> {
    pub search: Search<'a>,
    pub question: &'q Question<'q>,
}

impl Member<'_, '_> {
    /// Says of each candidate whether the member may go there.
    pub fn filter(&self, decision: &mut Decision) {
        let view = self.question.view;
        let hosts = self.question.candidate_hosts();
        if !self.question.evictions.is_empty() {
            self.judge_evictions(&hosts, decision);
            return;
        }
        let mut open = vec![false; view.host_numbers()];
        hosts.iter().flatten().for_each(|host| open[host.index()] = true);
        if self.keeps_to_announced_plan(&hosts, decision) {
            return;
        }
        let mut outcome = self.search_as_it_is(&open);
        if matches!(outcome, Outcome::None) {
            if let Some(plan) = self.look_outside_of_sample() {
                self.nominate(*plan, decision);
                return;
            }
            outcome = self.search_with_evictions(&open);
        }
        if self.question.detail == Detail::Facts {
            facts::tell(&self.search, &outcome, decision.facts_mut(), |domain| self.reason_of(domain));
        }
        match outcome {
            Outcome::Found(plan) if self.search.is_beyond_limit(&plan) => {
                decision.reject_all(Reason::NamespaceSlotsUsedUp);
            }
            Outcome::Found(plan) => {
                self.offer(&plan, &hosts, decision);
                decision.reserve(plan.reservation);
            }
            Outcome::Undecided(expected) => {
                let adrift = self.search.is_adrift();
                decision.reject_all(if adrift { Reason::GroupDomainUnknown } else { Reason::GroupUndecided });
                decision.await_placement_of(expected);
            }
            Outcome::None => self.reject(&hosts, decision),
        }
    }

    /// Where members have been told their nodes already, a plan that holds is not given up because the candidates are others:
    /// everybody would have to be told anew. The member waits until it is nominated itself. False if there is no such plan, or
    /// some candidate will do.
    fn keeps_to_announced_plan(&self, hosts: &[Option<HostId>], decision: &mut Decision) -> bool {
        let question = self.question;
        let is_nominated_one = question.candidates.len() == 1
            && question.pod.nominated_node.as_deref() == Some(&*question.candidates[0]);
        if !question.may_nominate || !(question.may_be_sample() || is_nominated_one) || !self.is_announced() {
            return false;
        }
        let Outcome::Found(plan) = self.search.run(Assumption::Nothing, None) else { return false };
        let open: HashSet<HostId> = plan.open.iter().copied().collect();
        let is_other = plan.domain != self.search.intended || self.search.is_beyond_limit(&plan);
        if is_other || hosts.iter().flatten().any(|host| open.contains(host)) {
            return false;
        }
        if is_nominated_one {
            // An older nomination: all the others are looked at next.
            decision.reject_all(Reason::OutsideSample);
        } else {
            self.nominate(*plan, decision);
        }
        true
    }

    /// Whether nobody has a place yet, and a member is nominated to a host where the group has a slot.
    fn is_announced(&self) -> bool {
        let Some(reservation) = self.search.reservation.filter(|_| self.search.anchor.is_none()) else {
            return false;
        };
        let hosts: HashSet<&Name> = reservation.slots.iter().map(|slot| &slot.host).collect();
        let mut waiting = self.question.view.waiting_members(&reservation.group);
        waiting.any(|member| member.nominated_node.as_ref().is_some_and(|node| hosts.contains(node)))
    }

    /// A plan with the member that asks on a node that is not among the candidates, if these may be but a sample.
    fn look_outside_of_sample(&self) -> Option<Box<Plan>> {
        let question = self.question;
        let possible = question.may_nominate && question.may_be_sample();
        match possible.then(|| self.search.run(Assumption::Nothing, None))? {
            Outcome::Found(plan) if !plan.open.is_empty() && !self.search.is_beyond_limit(&plan) => {
                Some(plan)
            }
            Outcome::Found(_) | Outcome::Undecided(_) | Outcome::None => None,
        }
    }

    /// The next attempt finds the node: kube-scheduler tries the nominated one first.
    fn nominate(&self, plan: Plan, decision: &mut Decision) {
        let member = self.question.view.slot_of(self.question.pod, &Name::from(""));
        let own = plan.reservation.slots.iter().find(|slot| slot.suits_member_of(&member));
        decision.reject_all(Reason::OutsideSample);
        if let Some(slot) = own {
            decision.nominate(slot.host.clone());
            decision.reserve(plan.reservation);
        }
    }

    /// A domain that fits as it is. Slots of groups that matter less are taken only if there is no other.
    fn search_as_it_is(&self, open: &[bool]) -> Outcome {
        let search = &self.search;
        if search.outranks_reservations()
            && let Outcome::Found(plan) = search.run(Assumption::EverySlotKept, Some(open))
        {
            return Outcome::Found(plan);
        }
        search.run(Assumption::Nothing, Some(open))
    }

    /// Where no domain fits as it is: one that fits once lower-priority pods are gone.
    fn search_with_evictions(&self, open: &[bool]) -> Outcome {
        let search = &self.search;
        if !search.settings.count_on_preemption || !search.members.may_preempt {
            return Outcome::None;
        }
        match search.run(Assumption::LowerPriorityGone, Some(open)) {
            Outcome::Found(plan) => Outcome::Found(plan),
            Outcome::Undecided(_) | Outcome::None => Outcome::None,
        }
    }

    fn offer(&self, plan: &Plan, hosts: &[Option<HostId>], decision: &mut Decision) {
        if let Some((topology, domain)) = self.domain_of_subgroup(plan) {
            decision.bring_subgroup_to(topology, domain);
        }
        let mut allowed = vec![false; self.question.view.host_numbers()];
        plan.open.iter().for_each(|host| allowed[host.index()] = true);
        for (at, host) in hosts.iter().enumerate() {
            match host {
                Some(host) if allowed[host.index()] => {}
                Some(host) if plan.domain.is_some() && self.domain_of(*host) == plan.domain => {
                    decision.reject(at, Reason::SlotsOfOtherMembers);
                }
                _ => decision.reject(at, Reason::OutsideGroupDomain),
            }
        }
    }

    /// The domain that the subgroup of the member that asks comes to by a plan, if it is in one: all its nodes are in there.
    fn domain_of_subgroup(&self, plan: &Plan) -> Option<(Name, Name)> {
        let members = self.search.members;
        members.class(members.asking?).subgroup?;
        let topology = &members.membership.subgroup.as_ref()?.topology;
        let node = self.question.view.host_numbered(*plan.open.first()?)?.node.as_ref()?;
        Some((topology.clone(), node.labels.get(topology)?.clone()))
    }

    /// Says of each candidate why it is none.
    fn reject(&self, hosts: &[Option<HostId>], decision: &mut Decision) {
        if self.search.is_reservation_useless() {
            decision.reserve(Reservation::nothing(self.search.members.membership.group.clone()));
        }
        let mut known: HashMap<Option<DomainId>, Reason> = HashMap::new();
        for (at, host) in hosts.iter().enumerate() {
            let reason = match self.place(*host) {
                _ if host.is_none() => Reason::CacheContradicted,
                Ok(_) if self.is_not_own_node(*host) => Reason::AwaitsOwnNodes,
                Err(reason) => reason,
                // It is no candidate unless kube-scheduler sees room there: one of both is behind.
                Ok(_) if self.is_full(*host) => Reason::CacheContradicted,
                Ok(domain) => *known.entry(domain).or_insert_with(|| self.reason_of(domain)),
            };
            decision.reject(at, reason);
        }
    }

    /// Whether the member that asks would find no room on a host, by what the watch and the ledger show.
    fn is_full(&self, host: Option<HostId>) -> bool {
        let view = self.question.view;
        let Some(host) = host.and_then(|host| view.host_numbered(host)) else { return false };
        let demand = Demand::of(self.question.pod);
        host.node.as_ref().is_none_or(|node| demand.capacity(node, &host.used) == 0)
    }

    /// Why a domain is none for the group, from what the search found on its way.
    fn reason_of(&self, domain: Option<DomainId>) -> Reason {
        let search = &self.search;
        let obstacle = if search.host_set(domain).is_none() {
            Obstacle::Exclusive
        } else if search.fits(domain, Assumption::Nothing) {
            Obstacle::Member
        } else if search.fits(domain, Assumption::ReservationsGone) {
            Obstacle::Reserved
        } else if search.members.may_preempt && search.fits(domain, Assumption::LowerPriorityGone) {
            Obstacle::Evictable
        } else if search.is_partly_closed(domain) {
            Obstacle::Exclusive
        } else {
            Obstacle::Room
        };
        self.reason(obstacle)
    }

    fn reason(&self, obstacle: Obstacle) -> Reason {
        let level = match (self.search.required, self.search.anchor) {
            (_, Some(_)) => Level::OwnDomain,
            (Some(_), None) => Level::Domain,
            (None, None) => Level::Cluster,
        };
        let has_own_nodes = self.question.pod.own_nodes().is_some();
        reasons::at(level, obstacle, has_own_nodes)
    }

    /// Whether the member is to run on nodes of its group only, nobody has a place yet, and this is none of them.
    fn is_not_own_node(&self, host: Option<HostId>) -> bool {
        let Some((key, value)) = self.question.pod.own_nodes().filter(|_| self.search.anchor.is_none())
        else {
            return false;
        };
        let host = host.and_then(|host| self.question.view.host_numbered(host));
        let node = host.and_then(|host| host.node.as_ref());
        node.is_some_and(|node| node.labels.get(key) != Some(value))
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
            HostDomain::MissingLabel | HostDomain::UnknownNode => None,
        }
    }

    /// An eviction is worth it where the whole group will then fit, lower-priority pods leaving for the other members too, if
    /// these may evict anybody. All members evict in one domain.
    fn judge_evictions(&self, hosts: &[Option<HostId>], decision: &mut Decision) {
        if self.search.would_be_beyond_limit() {
            decision.reject_all(Reason::NamespaceSlotsUsedUp);
            return;
        }
        let chosen = self.domain_to_evict_in(hosts);
        let mut after_evictions = AfterEvictions::new(&self.search);
        for (at, host) in hosts.iter().enumerate() {
            // There may be hundreds of candidates, each of which takes a look at the whole cluster.
            if !self.search.budget.spend(self.question.view.host_numbers()) {
                return;
            }
            let (Some(host), place) = (*host, self.place(*host)) else { continue };
            match place {
                Ok(domain) if chosen.is_some() && domain != chosen => {
                    decision.reject(at, Reason::OutsideGroupDomain);
                }
                Ok(domain) => {
                    let fits = if self.search.members.may_preempt {
                        after_evictions.fits(domain, host)
                    } else {
                        self.search.fits_without(self.question.evicted_from(at), host)
                    };
                    if !fits {
                        decision.reject(at, self.reason(Obstacle::Room));
                    }
                }
                Err(reason) => decision.reject(at, reason),
            }
        }
    }

    /// Where a group evicts of which nobody has a place yet: kube-scheduler evicts for one pod at a time, and would do so here for
    /// one and there for the next. `None` if it does not matter, or cannot be told.
    fn domain_to_evict_in(&self, hosts: &[Option<HostId>]) -> Option<DomainId> {
        let search = &self.search;
        let is_free = search.required.is_some() && search.anchor.is_none() && search.members.missing() > 1;
        if !is_free || !search.members.may_preempt {
            return None;
        }
        let fits = |domain: &DomainId| search.fits(Some(*domain), Assumption::LowerPriorityGone);
        if let Some(intended) = search.intended.filter(fits) {
            return Some(intended);
        }
        // As far as the member that asks tells: kube-scheduler counts violated budgets for it alone.
        let violations = || self.question.evictions.iter().map(|candidate| candidate.budget_violations);
        let (least, most) = (violations().min().unwrap_or_default(), violations().max().unwrap_or_default());
        [least, most].into_iter().take(1 + usize::from(least < most)).find_map(|most| {
            let mut open = vec![false; self.question.view.host_numbers()];
            let possible = hosts.iter().zip(violations()).filter(|(_, violations)| *violations <= most);
            possible.filter_map(|(host, _)| *host).for_each(|host| open[host.index()] = true);
            match search.run(Assumption::LowerPriorityGone, Some(&open)) {
                Outcome::Found(plan) => plan.domain,
                Outcome::Undecided(_) | Outcome::None => None,
            }
        })
    }
}

#[cfg(test)]
mod tests {
    use std::borrow::Cow;
    use std::time::Duration;

    use super::super::ahead;
    use super::super::members::Members;
    use super::super::search::Search;
    use super::super::situation::{Situation, cpus, member};
    use super::Member;
    use crate::decision::{Decision, Detail, Reason};
    use crate::fixtures::pod;
    use crate::ledger::Life;
    use crate::model::Pod;
    use crate::policy::preemption::{Candidate, Victims};
    use crate::policy::{Budget, Purpose, Question};

    #[test]
    fn a_plan_that_members_were_told_is_kept_to_though_the_sample_shows_other_nodes() {
        let nominated = |mut pod: Pod, node: &str| {
            pod.nominated_node = Some(node.into());
            pod
        };
        let [asking, other] = [0, 1].map(|at| member("g", at, 2, 2).build());
        let many = [8; 150];
        let planned = |other: &Pod| {
            let racks = Situation::racks(&[("a", &[4]), ("b", &many)]);
            let mut situation = racks.with(asking.clone()).with(other.clone());
            let group = &asking.group.as_ref().expect("a member").group;
            let plan = ahead::plan(&situation.with_domains(), &situation.settings, group).expect("room");
            situation.view.reserve(plan, Life::of(Duration::from_mins(1)));
            situation
        };
        let sample: Vec<String> = (0..120).map(|at| format!("b{at}")).collect();
        let sample: Vec<&str> = sample.iter().map(String::as_str).collect();
        let told = || planned(&nominated(other.clone(), "a0"));
        let decide = |situation: Situation, asking: &Pod, candidates: &[&str]| {
            let decision = situation.decide_among(asking, candidates, true);
            let node = decision.effects().nominate.as_deref().unwrap_or("-").to_owned();
            (decision.passing() > 0, decision.undecided().is_some(), node)
        };
        let moves = (true, false, "-".to_owned());
        let waits = |node: &str| (false, true, node.to_owned());
        assert_eq!(decide(planned(&other), &asking, &sample), moves, "nobody was told anything");
        assert_eq!(decide(told(), &asking, &sample), waits("a0"));
        assert_eq!(
            decide(told(), &nominated(asking.clone(), "b0"), &["b0"]),
            waits("-"),
            "an older nomination"
        );
        assert_eq!(decide(told(), &nominated(asking.clone(), "a0"), &["a0"]), moves);
        let taken = told().with(pod("x").requests(cpus(1)).on("a0").build());
        assert_eq!(decide(taken, &asking, &sample), moves, "the room is gone");
    }

    #[test]
    fn no_further_candidate_for_evictions_is_looked_at_once_the_budget_is_spent() {
        let lower = |at: usize| {
            let pod = pod(&format!("x{at}")).uid(&format!("x{at}")).requests(cpus(4)).priority(-1);
            pod.on(&format!("a{at}")).build()
        };
        // Whoever evicts one pod for itself leaves no room for the other, who may not evict anybody.
        let meek = Pod { may_preempt: false, ..member("g", 1, 2, 4).build() };
        let racks = Situation::racks(&[("a", &[4, 4, 4])]).with(lower(0)).with(lower(1)).with(lower(2));
        let situation = racks.with(meek);
        let asking = member("g", 0, 2, 4).build();
        let view = situation.with_domains();
        let names = ["a0", "a1", "a2"].map(Cow::Borrowed);
        let evictions = ["x0", "x1", "x2"].map(|uid| Candidate {
            victims: Victims::find(&uid.replace('x', "a"), &[Cow::Borrowed(uid)], &view),
            budget_violations: 0,
        });
        let rejected = |budget: &Budget| {
            let question = Question::about(Purpose::Preempt, &asking, &names, &view);
            let question = Question { evictions: &evictions, budget, ..question };
            let members = Members::of(&asking, &view, Budget::unlimited()).expect("a member");
            let search = Search::new(&members, Some(&asking), &view, &situation.settings, budget);
            let mut decision = Decision::all_pass(names.len());
            Member { search: search.expect("provided"), question: &question }.filter(&mut decision);
            decision.rejections().count()
        };
        assert_eq!(rejected(Budget::unlimited()), 3);
        assert_eq!(rejected(&Budget::of_steps(0)), 0, "it is thrown away");
    }

    #[test]
    fn a_group_with_nodes_of_its_own_waits_for_enough_of_them_and_takes_no_others() {
        const SET: &str = r#"{"apiVersion":"leaderworkerset.x-k8s.io/v1","kind":"LeaderWorkerSet",
            "metadata":{"name":"llm","namespace":"default"},"spec":{"leaderWorkerTemplate":{"size":2,
            "workerTemplate":{"spec":{"containers":[{"name":"c","resources":{"requests":{"cpu":"4"}}}]}}}}}"#;
        const LEADER: &str = r#"{"apiVersion":"v1","kind":"Pod","metadata":{"name":"llm-1","namespace":"default",
            "uid":"llm-1","labels":{"leaderworkerset.sigs.k8s.io/name":"llm","leaderworkerset.sigs.k8s.io/group-index":"1",
            "leaderworkerset.sigs.k8s.io/worker-index":"0"},"annotations":{"leaderworkerset.sigs.k8s.io/size":"2",
            "leaderworkerset.sigs.k8s.io/exclusive-topology":"example.com/rack",
            "berth.dev/replicaUniqueNodeSelector":"pool","berth.dev/replicaUniqueTolerationKey":"pool",
            "berth.dev/replicaUniqueTolerationEffect":"NoSchedule"}},"spec":{"nodeSelector":{"pool":"llm-1"},
            "tolerations":[{"key":"pool","operator":"Equal","value":"llm-1","effect":"NoSchedule"}],
            "containers":[{"name":"c","resources":{"requests":{"cpu":"4"}}}]}}"#;
        let node = |name: &str, rack: &str, owner: &str| {
            format!(
                r#"{{"apiVersion":"v1","kind":"Node","metadata":{{"name":"{name}","labels":{{"example.com/rack":"{rack}",
                "pool":"{owner}"}}}},"spec":{{"taints":[{{"key":"pool","value":"{owner}","effect":"NoSchedule"}}]}},
                "status":{{"allocatable":{{"cpu":"4","pods":"10"}}}}}}"#
            )
        };
        // Two free nodes belong to another group, and two to nobody.
        let cluster = |own: &[(&str, &str)]| {
            let racks = Situation::racks(&[("free", &[4, 4])]).with_object(SET).with_object(LEADER);
            let others = [("o0", "other", "llm-0"), ("o1", "other", "llm-0")];
            let own = own.iter().map(|(name, rack)| (*name, *rack, "llm-1"));
            own.chain(others)
                .fold(racks, |racks, (name, rack, owner)| racks.with_object(&node(name, rack, owner)))
        };
        let all = ["free0", "free1", "o0", "o1"];
        for (what, own, expected) in [
            ("no node group", &[][..], None),
            ("one node of two", &[("n0", "r0")], None),
            ("two in different racks", &[("n0", "r0"), ("n1", "r1")], None),
            ("as many as are needed", &[("n0", "r0"), ("n1", "r0")], Some(2)),
        ] {
            let situation = cluster(own);
            let leader = situation.view.pod("llm-1").expect("it is there").clone();
            let names: Vec<&str> = own.iter().map(|(name, _)| *name).chain(all).collect();
            let decision = situation.decide_among(&leader, &names, false);
            assert_eq!(decision.passing(), expected.unwrap_or_default(), "{what}");
            if expected.is_none() {
                let reasons: Vec<_> = decision.rejections().map(|(_, reason)| reason).collect();
                assert!(
                    reasons.iter().all(|reason| *reason == Reason::AwaitsOwnNodes),
                    "{what}: {reasons:?}"
                );
            }
        }
    }

    #[test]
    fn the_reason_of_a_group_of_different_members_is_found_by_assigning_them() {
        let lower = |name: &str, host: &str| pod(name).requests(cpus(4)).priority(-1).on(host).build();
        let equal = |name: &str, host: &str| pod(name).requests(cpus(4)).on(host).build();
        // One node of 4 is free: leader and worker fit there each alone, and not both.
        let racks = || Situation::racks(&[("a", &[4, 4])]).with(member("g", 1, 2, 3).build());
        for (name, mut situation, expected) in [
            ("the rest can be evicted", racks().with(lower("x", "a1")), Reason::DomainNeedsPreemption),
            ("the rest is reserved", racks().with_reserved("other", &[("a1", 4)]), Reason::DomainReserved),
            ("the rest stays", racks().with(equal("x", "a1")), Reason::DomainTooSmall),
        ] {
            situation.settings.count_on_preemption = false;
            let decision = situation.decide(&member("g", 0, 2, 4).build(), Detail::Codes);
            let reasons: Vec<_> = decision.rejections().map(|(_, reason)| reason).collect();
            assert!(!reasons.is_empty(), "{name}");
            assert!(reasons.iter().all(|reason| *reason == expected), "{name}: {reasons:?}");
        }
    }
}
