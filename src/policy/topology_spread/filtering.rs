//! `DoNotSchedule`: which candidates would skew too much.

mod global_minimum;
mod under_way;

use self::global_minimum::GlobalMinimum;
use self::under_way::{NominatedPods, OpenPlacements};
use super::domain_counts::Inclusion;
use super::{Case, DomainCounts};
use crate::decision::{Decision, Detail, Reason, SkewFact};
use crate::policy::Question;
use crate::view::{DomainId, HostDomain, HostId};

pub fn filter(case: &Case<'_>, question: &Question<'_>, decision: &mut Decision) {
    let open = OpenPlacements::of(case, question);
    if case.rules.hard.is_empty() {
        if question.candidates.len() > 1 {
            // Scores follow, and are as good as kube-scheduler's own only if they know of the pod before.
            decision.await_placement_of(open.awaited);
        }
        return;
    }
    let Some(limits) = Limits::prepare(case, question, &open) else {
        // Not to be expected; but a limit that cannot be checked must not pass for one that holds.
        // Our watch is a moment behind: the pod is to be tried again soon.
        decision.reject_all(Reason::SpreadNodeUnknown);
        return;
    };
    if question.detail == Detail::Facts {
        decision.facts_mut().skews.extend(limits.facts());
    }
    let nominated = NominatedPods::of(case, question);
    let leavers = |at: usize| -> i64 {
        question.evicted_from(at).iter().map(|pod| i64::from(case.key.counts(pod))).sum()
    };
    // The call waits and asks again: what is found out about the other candidates is of no use.
    let may_stop = question.may_wait && !open.awaited.is_empty();
    let hosts = (!may_stop).then(|| question.candidate_hosts());
    for (at, name) in question.candidates.iter().enumerate() {
        let host = hosts.as_ref().map_or_else(|| question.view.host_id(name), |hosts| hosts[at]);
        let refusal = match host {
            Some(host) => limits.check(host, nominated.on(host) - leavers(at)),
            None => Some(Reason::SpreadNodeUnknown),
        };
        if let Some(reason) = refusal {
            decision.reject(at, reason);
            if may_stop && decision.is_uncertain() {
                break;
            }
        }
    }
    if decision.is_uncertain() {
        decision.await_placement_of(open.awaited);
    }
}

/// The constraints at hand, with all that does not depend on the candidate.
struct Limits<'a> {
    question: &'a Question<'a>,
    domain_counts: DomainCounts<'a>,
    /// What a domain is compared with, for each constraint.
    least: Vec<Floor>,
    /// 1 if the pod is one of those that are counted.
    own: i64,
    /// Pods that may be on any of several nodes.
    anywhere: i64,
}

/// The least count of all domains.
struct Floor {
    /// If all goes as it seems.
    seemingly: GlobalMinimum,
    /// If only what is certain is counted; `None` if all of it is.
    certainly: Option<GlobalMinimum>,
}

impl<'a> Limits<'a> {
    fn prepare(case: &'a Case<'a>, question: &'a Question<'a>, open: &OpenPlacements) -> Option<Self> {
        let mut domain_counts = DomainCounts::prepare(case, &case.rules.hard, question)?;
        domain_counts.count(question, true, |_, _| true);
        let least = domain_counts.keys.iter().map(|key| {
            let min_domains = key.constraint.min_domains;
            let counted = |host: HostId| {
                let counts = || Inclusion::of(host, question).counts_for(key.constraint);
                domain_counts.takes_part(host, true) && counts()
            };
            let certainly = open.certain_pods(key, counted).map(|pods| GlobalMinimum::of(min_domains, pods));
            Floor { seemingly: GlobalMinimum::of(min_domains, key.pods.clone()), certainly }
        });
        let (least, own) = (least.collect(), i64::from(case.key.selector.matches(&question.pod.labels)));
        Some(Self { question, domain_counts, least, own, anywhere: open.anywhere })
    }

    /// How the workload is spread over the domains of each constraint.
    fn facts(&self) -> impl Iterator<Item = SkewFact> {
        let keys = self.domain_counts.keys.iter().zip(&self.least);
        keys.flat_map(|(key, least)| {
            key.domains.ids().filter_map(|domain| {
                Some(SkewFact {
                    topology_key: key.constraint.topology_key.clone(),
                    domain: key.domains.value(domain).clone(),
                    pods: key.pods[domain.index()]?,
                    minimum: least.seemingly.with(domain, 0),
                    max_skew: key.constraint.max_skew,
                })
            })
        })
    }

    /// Why the pod must not go to a host on which there will be `change` more pods that count.
    fn check(&self, host: HostId, change: i64) -> Option<Reason> {
        // As kube-scheduler has it: on a node that does not take part, comings and goings change nothing.
        let takes_part = change != 0 && self.domain_counts.takes_part(host, true);
        let inclusion = takes_part.then(|| Inclusion::of(host, self.question));
        let mut perhaps = None;
        for (key, least) in self.domain_counts.keys.iter().zip(&self.least) {
            let domain = match key.domains.of(host) {
                HostDomain::In(domain) => domain,
                HostDomain::MissingLabel => return Some(Reason::SpreadLabelMissing),
                HostDomain::UnknownNode => return Some(Reason::SpreadNodeUnknown),
            };
            let counts = inclusion.is_some_and(|inclusion| inclusion.counts_for(key.constraint));
            let change = if counts { change } else { 0 };
            let skew = Skew::of(self.own, least, domain, change, self.anywhere);
            if skew.at_best > key.constraint.max_skew {
                return Some(Reason::SkewExceeded);
            }
            if skew.at_worst > key.constraint.max_skew {
                perhaps = Some(Reason::SkewUndecided);
            }
        }
        perhaps
    }
}

/// The skew with the pod in a domain. Both ends are the same unless pods are under way.
struct Skew {
    /// Pods under way all go where they help: to the emptiest domains, and away from this one.
    at_best: i64,
    /// They all go where they do not.
    at_worst: i64,
}

impl Skew {
    fn of(own: i64, floor: &Floor, domain: DomainId, change: i64, anywhere: i64) -> Self {
        let seeming = floor.seemingly.pods_in(domain);
        let certain = floor.certainly.as_ref().unwrap_or(&floor.seemingly);
        let doubtful = seeming - certain.pods_in(domain);
        // At worst all of them are here, and where there are others only what is certain.
        let here = seeming + change + anywhere;
        let at_worst = here + own - certain.with(domain, change + doubtful + anywhere);
        let at_best = seeming + change + own - doubtful - floor.seemingly.at_most(domain, change, anywhere);
        Self { at_best, at_worst }
    }
}
