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
use super::{Policy, Question, Verdicts};
use crate::config;
use crate::view::{CounterKey, Needs};

const NAME: &str = "topology_spread";

/// kube-scheduler's plugins score 0 to 100, an extender 0 to 10.
const SCALE: i64 = 10;

/// The policy, with the rules of one configuration.
#[derive(Debug)]
pub struct TopologySpread {
    rules: Rules,
}

/// What concerns one pod.
struct Case<'a> {
    rules: &'a RuleSet,
    key: CounterKey,
}

impl TopologySpread {
    /// The policy for a configuration.
    pub fn new(config: &config::TopologySpread) -> Self {
        Self { rules: Rules::compile(config) }
    }

    /// kube-scheduler's own score of each candidate, 0 to 100; `None` where it would skip scoring.
    pub fn normalised_scores(&self, question: Question<'_>) -> Option<Vec<i64>> {
        let case = self.case(&question)?;
        scoring::scores(&case, &question)
    }

    /// `None` if default spreading does not concern the pod.
    fn case(&self, question: &Question<'_>) -> Option<Case<'_>> {
        // The groups of a set are spread, not the members of a group: they are to be together.
        let goes_with_its_group =
            question.pod.group.as_ref().is_some_and(|group| group.has_topology_request());
        if question.pod.has_spread_constraints || goes_with_its_group {
            return None;
        }
        let rules = self.rules.of(question.pod, question.view);
        if rules.is_empty() {
            return None;
        }
        let selector = workload::selector(question.pod, question.view);
        let key = CounterKey { namespace: question.pod.key.namespace.clone(), selector };
        (!key.selector.is_empty()).then_some(Case { rules, key })
    }
}

impl Policy for TopologySpread {
    fn name(&self) -> &'static str {
        NAME
    }

    fn needs(&self, question: Question<'_>) -> Needs {
        let Some(case) = self.case(&question) else { return Needs::default() };
        let topology_keys: Vec<_> = case.rules.topology_keys().cloned().collect();
        let RuleSet { hard, soft, require_all_keys } = case.rules;
        let sums = [(hard, true), (soft, *require_all_keys)]
            .into_iter()
            .filter(|(constraints, all)| domain_counts::are_independent(constraints.iter(), *all, &question));
        // As many domains as hosts are better counted by host.
        let summed =
            sums.flat_map(|(constraints, _)| constraints).filter(|constraint| !constraint.is_per_host());
        let sums = summed.map(|constraint| (case.key.clone(), constraint.topology_key.clone())).collect();
        Needs { topology_keys, sums, counters: vec![case.key] }
    }

    fn filter(&self, question: Question<'_>, verdicts: &mut Verdicts) {
        if let Some(case) = self.case(&question) {
            filtering::filter(&case, &question, verdicts);
        }
    }

    fn prioritize(&self, question: Question<'_>, scores: &mut [i64]) {
        let Some(normalised) = self.normalised_scores(question) else { return };
        for (score, normalised) in scores.iter_mut().zip(normalised) {
            // Rounded down: only the best nodes get the full 10. Rounded half up, nodes that are not quite
            // as good would tie with them, and spreading would be several times worse.
            *score += normalised / SCALE;
        }
    }
}

#[cfg(test)]
mod tests;
