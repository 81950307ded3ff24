//! Asks the policies, in their order, and measures them.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::time::Instant;

use crate::metrics::Metrics;
use crate::policy::{Policy, Question, Verdicts};

/// The scale on which kube-scheduler takes scores from an extender.
pub const MAX_SCORE: i64 = 10;

/// A policy panicked; the caller gives the answer that does the least harm.
#[derive(Debug, thiserror::Error)]
#[error("internal error while deciding")]
pub struct Panicked;

/// The active policies.
pub struct Engine {
    policies: Vec<Box<dyn Policy>>,
    metrics: Arc<Metrics>,
}

impl Engine {
    /// An engine that asks these policies in this order.
    pub fn new(policies: Vec<Box<dyn Policy>>, metrics: Arc<Metrics>) -> Self {
        Self { policies, metrics }
    }

    /// Which candidates may be used.
    pub fn filter(&self, question: Question<'_>) -> Result<Verdicts, Panicked> {
        let verdicts =
            self.ask("filter", Verdicts::all_pass(question.candidates.len()), |policy, verdicts| {
                policy.filter(question, verdicts);
            })?;
        for (_, why) in verdicts.rejections() {
            self.metrics.nodes_rejected.with_label_values(&[why.policy, why.reason]).inc();
        }
        Ok(verdicts)
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
            if catch_unwind(AssertUnwindSafe(|| ask(&**policy, &mut answer))).is_err() {
                self.metrics.panics.with_label_values(&[verb]).inc();
                tracing::error!(verb, policy = policy.name(), "policy panicked");
                return Err(Panicked);
            }
            let spent = began.elapsed().as_secs_f64();
            let labels = [verb, policy.name()];
            self.metrics.decision_duration.with_label_values(&labels).observe(spent);
        }
        Ok(answer)
    }
}
