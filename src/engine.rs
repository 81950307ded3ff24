//! Asks the policies, in their order, and measures them.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::time::Instant;

use crate::config::Config;
use crate::metrics::Metrics;
use crate::policy::topology_spread::TopologySpread;
use crate::policy::{Policy, Question, Verdicts};
use crate::view::Needs;

/// The scale on which kube-scheduler takes scores from an extender.
pub const MAX_SCORE: i64 = 10;

/// A policy panicked; the caller gives the answer that does the least harm.
#[derive(Debug, thiserror::Error)]
#[error("internal error while deciding")]
pub struct Panicked;

/// The policies of a configuration, in the order in which they are asked.
pub fn policies(config: &Config) -> Policies {
    vec![Box::new(TopologySpread::new(&config.topology_spread))]
}

/// Policies, in the order in which they are asked.
pub type Policies = Vec<Box<dyn Policy>>;

/// The active policies.
pub struct Engine {
    policies: Policies,
    metrics: Arc<Metrics>,
}

impl Engine {
    /// An engine that asks these policies in this order.
    pub fn new(policies: Policies, metrics: Arc<Metrics>) -> Self {
        Self { policies, metrics }
    }

    /// What the view must provide for a pod.
    pub fn needs(&self, verb: &'static str, question: Question<'_>) -> Result<Needs, Panicked> {
        let mut needs = Needs::default();
        for policy in &self.policies {
            let Needs { counters, topology_keys } =
                self.catching(verb, &**policy, || policy.needs(question))?;
            needs.counters.extend(counters);
            needs.topology_keys.extend(topology_keys);
        }
        Ok(needs)
    }

    /// Which candidates may be used.
    pub fn filter(&self, question: Question<'_>) -> Result<Verdicts, Panicked> {
        let all = Verdicts::all_pass(question.candidates.len());
        self.ask("filter", all, |policy, verdicts| policy.filter(question, verdicts))
    }

    /// Counts the rejections of an answer that is really given.
    pub fn count_rejections(&self, verdicts: &Verdicts) {
        for (_, why) in verdicts.rejections() {
            self.metrics.nodes_rejected.with_label_values(&[why.policy, why.reason]).inc();
        }
    }

    /// How good the candidates are, 0 to [`MAX_SCORE`].
    pub fn prioritize(&self, question: Question<'_>) -> Result<Vec<i64>, Panicked> {
        let none = vec![0; question.candidates.len()];
        let mut scores =
            self.ask("prioritize", none, |policy, scores| policy.prioritize(question, scores))?;
        for score in &mut scores {
            *score = (*score).clamp(0, MAX_SCORE);
        }
        Ok(scores)
    }

    /// Which candidates are worth an eviction.
    pub fn preempt(&self, question: Question<'_>) -> Result<Vec<bool>, Panicked> {
        let all = vec![true; question.candidates.len()];
        self.ask("preempt", all, |policy, kept| policy.preempt(question, kept))
    }

    /// Policies only read the view and write into `answer`, which is thrown away when one panics, so
    /// nothing half-done survives the unwinding.
    fn ask<T>(
        &self,
        verb: &'static str,
        mut answer: T,
        ask: impl Fn(&dyn Policy, &mut T),
    ) -> Result<T, Panicked> {
        for policy in &self.policies {
            let began = Instant::now();
            self.catching(verb, &**policy, || ask(&**policy, &mut answer))?;
            let spent = began.elapsed().as_secs_f64();
            let labels = [verb, policy.name()];
            self.metrics.decision_duration.with_label_values(&labels).observe(spent);
        }
        Ok(answer)
    }

    fn catching<R>(
        &self,
        verb: &'static str,
        policy: &dyn Policy,
        ask: impl FnOnce() -> R,
    ) -> Result<R, Panicked> {
        catch_unwind(AssertUnwindSafe(ask)).map_err(|_| {
            self.metrics.panics.with_label_values(&[verb]).inc();
            tracing::error!(verb, policy = policy.name(), "policy panicked");
            Panicked
        })
    }
}
