//! Default topology spreading: kube-scheduler's `PodTopologySpread` arithmetic for pods that bring no
//! constraints of their own, with rules per namespace and workload.
//!
//! ```text
//!   rules      which constraints apply to this pod, by configuration
//!   workload   which pods it is spread among, deduced from Services and controllers
//!   domain_counts     how many of those each domain holds, over the nodes that count
//!   filtering  DoNotSchedule: too much skew, or no topology label
//!   scoring    ScheduleAnyway: weights, rounding and normalisation over the candidates
//! ```

mod domain_counts;
mod filtering;
mod rules;
mod scoring;
mod workload;

use self::domain_counts::DomainCounts;
use self::rules::RuleSet;
pub use self::rules::Rules;
use super::{Policy, Prepared, Question};
use crate::config::{self, Mode};
use crate::decision::Decision;
use crate::decision::reason::TOPOLOGY_SPREAD;
use crate::model::Name;
use crate::view::{CounterKey, Needs};

/// kube-scheduler's plugins score 0 to 100, an extender 0 to 10.
const SCALE: i64 = 10;

/// The policy, with the rules of one configuration.
#[derive(Debug)]
pub struct TopologySpread {
    rules: Rules,
    mode: Mode,
}

/// What concerns one pod: which constraints, and which pods are counted.
struct Case<'a> {
    rules: &'a RuleSet,
    key: CounterKey,
    /// Constraints whose domains are counted by domain and not by host.
    summed: Vec<Name>,
}

impl TopologySpread {
    /// The policy for a configuration.
    pub fn new(config: &config::TopologySpread) -> Self {
        Self { rules: Rules::compile(config), mode: config.mode }
    }

    /// kube-scheduler's own score of each candidate, 0 to 100; `None` where it would skip scoring.
    pub fn normalised_scores(&self, question: &Question<'_>) -> Option<Vec<i64>> {
        scoring::scores(&self.case(question)?, question)
    }

    /// `None` if default spreading does not concern the pod.
    fn case(&self, question: &Question<'_>) -> Option<Case<'_>> {
        // The groups of a set are spread, not the members of a group: they are to be together.
        let in_group = question.pod.is_placed_with_its_group();
        if question.pod.has_spread_constraints || in_group {
            return None;
        }
        let rules = self.rules.of(question.pod, question.view);
        if rules.is_empty() {
            return None;
        }
        let selector = workload::selector(question.pod, question.view);
        let key = CounterKey { namespace: question.pod.key.namespace.clone(), selector };
        let summed = summed(rules, question);
        (!key.selector.is_empty()).then_some(Case { rules, key, summed })
    }
}

/// The keys of constraints that are counted by domain. As many domains as hosts are better counted by host.
fn summed(rules: &RuleSet, question: &Question<'_>) -> Vec<Name> {
    let RuleSet { hard, soft, require_all_keys } = rules;
    let independent = [(hard, true), (soft, *require_all_keys)]
        .into_iter()
        .filter(|(constraints, all)| domain_counts::are_independent(constraints.iter(), *all, question));
    let constraints = independent.flat_map(|(constraints, _)| constraints);
    constraints.filter(|constraint| !constraint.is_per_host()).map(|c| c.topology_key.clone()).collect()
}

impl Policy for TopologySpread {
    fn name(&self) -> &'static str {
        TOPOLOGY_SPREAD
    }

    fn mode(&self) -> Mode {
        self.mode
    }

    fn prepare<'a>(&'a self, question: &Question<'a>) -> Option<Box<dyn Prepared + 'a>> {
        self.case(question).map(|case| Box::new(case) as Box<dyn Prepared>)
    }
}

impl Prepared for Case<'_> {
    fn needs(&self) -> Needs {
        Needs {
            topology_keys: self.rules.topology_keys().cloned().collect(),
            sums: self.summed.iter().map(|key| (self.key.clone(), key.clone())).collect(),
            counters: vec![self.key.clone()],
        }
    }

    fn filter(&self, question: &Question<'_>, decision: &mut Decision) {
        filtering::filter(self, question, decision);
    }

    fn prioritize(&self, question: &Question<'_>, scores: &mut [i64]) {
        let Some(normalised) = scoring::scores(self, question) else { return };
        for (score, normalised) in scores.iter_mut().zip(normalised) {
            // Rounded down: only the best nodes get the full 10. Rounded half up, nodes that are not quite
            // as good would tie with them, and spreading would be several times worse.
            *score += normalised / SCALE;
        }
    }
}

#[cfg(test)]
mod tests;
