//! Asks the policies, in their order, and measures them.

mod metrics;

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::time::Instant;

pub use self::metrics::EngineMetrics;

use crate::config::{self, Config, NominatedNodePolicy, PreemptionMode};
use crate::ledger::Reservation;
use crate::policy::preemption::{self, Candidate, Fate};
use crate::policy::replica_group::ReplicaGroup;
use crate::policy::topology_spread::TopologySpread;
use crate::policy::{MAX_SCORE, Nominated, Policy, Question, Rejection, Verdicts, nominated_node};
use crate::view::{Needs, View};

/// A policy panicked; the caller gives the answer that does the least harm.
#[derive(Debug, thiserror::Error)]
#[error("internal error while deciding")]
pub struct Panicked;

/// The policies of a configuration, in the order in which they are asked.
fn policies(config: &Config) -> Policies {
    let groups = ReplicaGroup::new(&config.replica_groups);
    vec![Box::new(groups), Box::new(TopologySpread::new(&config.topology_spread))]
}

/// Policies, in the order in which they are asked.
pub type Policies = Vec<Box<dyn Policy>>;

/// The active policies, and how their answers are put together.
pub struct Engine {
    policies: Policies,
    nominated_first: bool,
    preemption: config::Preemption,
    metrics: EngineMetrics,
}

impl Engine {
    /// The engine of a configuration.
    pub fn new(config: &Config, metrics: EngineMetrics) -> Self {
        Self::with_policies(policies(config), config, metrics)
    }

    /// An engine that asks these policies in this order.
    pub fn with_policies(policies: Policies, config: &Config, metrics: EngineMetrics) -> Self {
        metrics.create_series_of(policies.iter().map(|policy| policy.name()));
        Self {
            policies,
            nominated_first: config.nominated_node.policy == NominatedNodePolicy::Prefer,
            preemption: config.preemption,
            metrics,
        }
    }

    /// What the view must provide for a pod.
    pub fn needs(&self, verb: &'static str, question: Question<'_>) -> Result<Needs, Panicked> {
        let mut needs = Needs::default();
        for policy in &self.policies {
            needs.extend(self.catching(verb, policy.name(), || policy.needs(question))?);
        }
        Ok(needs)
    }

    /// What the view must provide to work out what has to be kept for what is running already.
    pub fn restore_needs(&self, view: &View) -> Result<Needs, Panicked> {
        let mut needs = Needs::default();
        for policy in &self.policies {
            needs.extend(self.catching("restore", policy.name(), || policy.restore_needs(view))?);
        }
        Ok(needs)
    }

    /// Room that has to be kept for what is running already.
    pub fn restore(&self, view: &View) -> Result<Vec<Reservation>, Panicked> {
        let mut restored = Vec::new();
        for policy in &self.policies {
            restored.extend(self.catching("restore", policy.name(), || policy.restore(view))?);
        }
        Ok(restored)
    }

    /// Which candidates may be used. A nominated node that may be used is the only one that passes.
    pub fn filter(&self, question: Question<'_>) -> Result<Verdicts, Panicked> {
        let nominated = if self.nominated_first { nominated_node::position(&question) } else { None };
        let Some(at) = nominated else { return self.judge("filter", question) };
        let alone = Question { candidates: &question.candidates[at..=at], ..question };
        let mut verdicts = self.judge("filter", alone)?;
        if verdicts.passing() == 1 {
            verdicts.settle_nominated(Nominated::Kept(at));
            return Ok(verdicts);
        }
        if question.candidates.len() > 1 {
            verdicts = self.judge("filter", question)?;
        }
        verdicts.settle_nominated(Nominated::Refused(at));
        Ok(verdicts)
    }

    /// What the policies say to each candidate.
    fn judge(&self, verb: &'static str, question: Question<'_>) -> Result<Verdicts, Panicked> {
        let all = Verdicts::all_pass(question.candidates.len());
        self.ask(verb, all, |policy, verdicts| policy.filter(question, verdicts))
    }

    /// Counts the verdicts of an answer that is really given.
    pub fn count(&self, verdicts: &Verdicts) {
        // A policy mostly has one reason for all.
        let mut counted: Vec<(&'static Rejection, u64)> = Vec::new();
        for (_, why) in verdicts.rejections() {
            match counted.iter_mut().find(|(known, _)| std::ptr::eq(*known, why)) {
                Some((_, count)) => *count += 1,
                None => counted.push((why, 1)),
            }
        }
        for (why, count) in counted {
            self.metrics.nodes_rejected.with_label_values(&[why.policy, why.reason]).inc_by(count);
        }
        if let Some(nominated) = verdicts.nominated() {
            self.metrics.nominated_nodes.with_label_values(&[nominated.label()]).inc();
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

    /// Whether candidates for preemption are really dropped.
    pub fn preemption_mode(&self) -> PreemptionMode {
        self.preemption.mode
    }

    /// What becomes of each candidate for preemption; `find` finds their victims.
    pub fn preempt(
        &self,
        question: Question<'_>,
        find: impl FnOnce(&View) -> Vec<Candidate>,
    ) -> Result<Vec<Fate>, Panicked> {
        const VERB: &str = "preempt";
        let candidates = self.catching(VERB, preemption::NAME, || find(question.view))?;
        let question = Question { evictions: &candidates, ..question };
        let verdicts = self.judge(VERB, question)?;
        self.catching(VERB, preemption::NAME, || {
            preemption::fates(&question, &verdicts, self.preemption.decide_up_to)
        })
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
            self.catching(verb, policy.name(), || ask(&**policy, &mut answer))?;
            let spent = began.elapsed().as_secs_f64();
            let labels = [verb, policy.name()];
            self.metrics.decision_duration.with_label_values(&labels).observe(spent);
        }
        Ok(answer)
    }

    fn catching<R>(
        &self,
        verb: &'static str,
        policy: &'static str,
        ask: impl FnOnce() -> R,
    ) -> Result<R, Panicked> {
        catch_unwind(AssertUnwindSafe(ask)).map_err(|_| {
            self.metrics.panics.with_label_values(&[verb]).inc();
            tracing::error!(verb, policy, "policy panicked");
            Panicked
        })
    }
}
