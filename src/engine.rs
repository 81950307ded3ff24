//! Asks the policies, in their order, and measures them.

mod metrics;

use std::borrow::Cow;
use std::cell::OnceCell;
use std::collections::HashSet;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::time::Instant;

use prometheus::Histogram;

pub use self::metrics::EngineMetrics;
use self::metrics::Timers;

use crate::config::{self, Config, Mode, NominatedNodePolicy};
use crate::decision::{Decision, Detail, Nominated, Reason};
use crate::ledger::Reservation;
use crate::model::GroupKey;
use crate::policy::fit::{Demand, Verdict};
use crate::policy::preemption::{self, Candidate, Fate};
use crate::policy::replica_group::ReplicaGroup;
use crate::policy::topology_spread::TopologySpread;
use crate::policy::{
    Allowance, Budget, MAX_SCORE, Owed, Policy, Prepared, Purpose, Question, nominated_node,
};
use crate::view::{Host, Needs, View};

/// Why the policies gave no answer; the caller gives the one that does the least harm.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Unanswered {
    /// A policy panicked.
    #[error("internal error while deciding")]
    Panicked,
    /// The budget of the question did not suffice.
    #[error("the decision would have taken too long")]
    BudgetSpent,
}

/// The policies of a configuration, in the order in which they are asked.
fn policies(config: &Config) -> Policies {
    // Groups last: slots of lower priority are left alone where another candidate will do, and by then it is known which.
    let spread = TopologySpread::new(&config.topology_spread);
    vec![Box::new(spread), Box::new(ReplicaGroup::new(&config.replica_groups))]
}

/// Policies, in the order in which they are asked.
pub type Policies = Vec<Box<dyn Policy>>;

/// The active policies, and how their answers are put together.
pub struct Engine {
    policies: Policies,
    /// Where the time of each policy is counted, by purpose: looked up once and not in every decision.
    timers: Vec<Timers>,
    nominated_node: config::NominatedNode,
    preemption: config::Preemption,
    metrics: EngineMetrics,
}

/// A question that every policy has looked at.
pub struct Asked<'a> {
    engine: &'a Engine,
    question: Question<'a>,
    parts: Vec<Part<'a>>,
}

/// What one policy made of a question.
struct Part<'a> {
    policy: &'a dyn Policy,
    prepared: Box<dyn Prepared + 'a>,
    timer: &'a Histogram,
}

impl Engine {
    /// The engine of a configuration.
    pub fn new(config: &Config, metrics: EngineMetrics) -> Self {
        Self::with_policies(policies(config), config, metrics)
    }

    /// An engine that asks these policies in this order.
    pub fn with_policies(policies: Policies, config: &Config, metrics: EngineMetrics) -> Self {
        let timers = policies.iter().map(|policy| metrics.create_series_of(policy.name())).collect();
        Self {
            policies,
            timers,
            nominated_node: config.nominated_node,
            preemption: config.preemption,
            metrics,
        }
    }

    /// The engine of another configuration, which counts in the same metrics.
    pub fn of_config(&self, config: &Config) -> Self {
        Self::new(config, self.metrics.clone())
    }

    /// What it counts in.
    pub fn metrics(&self) -> &EngineMetrics {
        &self.metrics
    }

    /// The modes of the policies, in the order in which they are asked.
    pub fn modes(&self) -> impl Iterator<Item = Mode> {
        self.policies.iter().map(|policy| policy.mode())
    }

    /// Lets every policy look at a question.
    pub fn prepare<'a>(&'a self, question: Question<'a>) -> Result<Asked<'a>, Unanswered> {
        let mut parts = Vec::with_capacity(self.policies.len());
        let prepare = |policy: &'a dyn Policy, timer: &'a Histogram, question: &Question<'a>| {
            let prepare = || policy.prepare(question);
            let prepared = self.catching(question.purpose.label(), policy.name(), prepare)?;
            within(question.budget)?;
            Ok(prepared.map(|prepared| Part { policy, prepared, timer }))
        };
        for (policy, timers) in self.policies.iter().zip(&self.timers) {
            let timer = &timers[question.purpose as usize];
            parts.extend(match policy.mode() {
                Mode::Enforce => prepare(&**policy, timer, &question)?,
                Mode::Observe => {
                    let prepared = prepare(&**policy, timer, &question.for_observer());
                    self.or_unobserved(&**policy, prepared).flatten()
                }
            });
        }
        Ok(Asked { engine: self, question, parts })
    }

    /// What a policy said whose answer is only counted. If it fails, that is counted, and nobody is held up.
    fn or_unobserved<R>(&self, policy: &dyn Policy, answer: Result<R, Unanswered>) -> Option<R> {
        if answer.is_err() {
            self.metrics.unobserved.with_label_values(&[policy.name()]).inc();
        }
        answer.ok()
    }

    fn enforced(&self) -> impl Iterator<Item = &dyn Policy> {
        self.policies.iter().map(|policy| &**policy).filter(|policy| policy.mode() == Mode::Enforce)
    }

    /// What the view must provide to work out what is owed to groups.
    pub fn owed_needs(&self, view: &View, groups: &[Arc<GroupKey>]) -> Result<Needs, Unanswered> {
        let mut needs = Needs::default();
        for policy in self.enforced() {
            needs.extend(self.catching("owed", policy.name(), || policy.owed_needs(view, groups))?);
        }
        Ok(needs)
    }

    /// What is owed to groups of which some members are in place, as far as the allowance goes.
    pub fn owed(
        &self,
        view: &View,
        groups: &[Arc<GroupKey>],
        allowance: &Allowance,
    ) -> Result<Vec<Owed>, Unanswered> {
        let mut owed = Vec::new();
        for policy in self.enforced() {
            owed.extend(self.catching("owed", policy.name(), || policy.owed(view, groups, allowance))?);
        }
        Ok(owed)
    }

    /// What the view must provide to plan for a group ahead of time.
    pub fn plan_needs(&self, view: &View, group: &GroupKey) -> Result<Needs, Unanswered> {
        let mut needs = Needs::default();
        for policy in self.enforced() {
            needs.extend(self.catching("plan", policy.name(), || policy.plan_needs(view, group))?);
        }
        Ok(needs)
    }

    /// What would be reserved for a group of which all members wait, and nobody has been asked about.
    pub fn plan_ahead(&self, view: &View, group: &GroupKey) -> Result<Option<Reservation>, Unanswered> {
        for policy in self.enforced() {
            let planned = self.catching("plan", policy.name(), || policy.plan_ahead(view, group))?;
            if planned.is_some() {
                return Ok(planned);
            }
        }
        Ok(None)
    }

    /// Whether such a plan, made on an earlier view, still has a slot for everybody.
    pub fn plan_holds(&self, view: &View, plan: &Reservation) -> Result<bool, Unanswered> {
        for policy in self.enforced() {
            if self.catching("plan", policy.name(), || policy.plan_holds(view, plan))? {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// Counts the verdicts of a decision that is really given as an answer.
    pub fn count(&self, decision: &Decision) {
        for (reason, count) in decision.tally() {
            self.metrics.nodes_rejected.with_label_values(&[reason.policy(), reason.code()]).inc_by(count);
        }
        for (reason, count) in decision.observed() {
            self.metrics
                .observed_rejections
                .with_label_values(&[reason.policy(), reason.code()])
                .inc_by(*count);
        }
        if let Some(nominated) = decision.nominated() {
            self.metrics.nominated_nodes.with_label_values(&[nominated.label()]).inc();
        }
    }

    fn catching<R>(
        &self,
        verb: &'static str,
        policy: &'static str,
        ask: impl FnOnce() -> R,
    ) -> Result<R, Unanswered> {
        catch_unwind(AssertUnwindSafe(ask)).map_err(|_| {
            self.metrics.panics.with_label_values(&[verb]).inc();
            tracing::error!(verb, policy, "policy panicked");
            Unanswered::Panicked
        })
    }
}

impl<'a> Asked<'a> {
    /// What the view must provide before the question can be answered.
    pub fn needs(&self) -> Result<Needs, Unanswered> {
        let mut needs = Needs::default();
        for part in &self.parts {
            let asked = self.catching(part, |prepared| prepared.needs());
            needs.extend(match part.policy.mode() {
                Mode::Enforce => asked?,
                Mode::Observe => self.engine.or_unobserved(part.policy, asked).unwrap_or_default(),
            });
        }
        Ok(needs)
    }

    /// Which candidates may be used. A nominated node that may be used is the only one that passes.
    pub fn filter(&self) -> Result<Decision, Unanswered> {
        let question = &self.question;
        let preferred = self.engine.nominated_node.policy == NominatedNodePolicy::Prefer;
        let nominated = if preferred { nominated_node::position(question) } else { None };
        let Some(at) = nominated else {
            let decision = self.judge(question)?;
            let outside = self.look_outside_of_sample(&decision)?;
            return Ok(outside.unwrap_or(decision));
        };
        if self.engine.nominated_node.mode == Mode::Observe {
            let mut decision = self.judge(question)?;
            let fits = decision.passes(at);
            decision.settle_nominated(Nominated::Observed { fits });
            return Ok(decision);
        }
        let alone = Question { candidates: &question.candidates[at..=at], ..*question };
        let mut decision = self.judge(&alone)?;
        if decision.passing() == 1 {
            decision.settle_nominated(Nominated::Kept(at));
            return Ok(decision);
        }
        if question.candidates.len() > 1 {
            decision = self.judge(question)?;
        }
        decision.settle_nominated(Nominated::Refused(at));
        Ok(decision)
    }

    /// A hard spreading limit may leave none of the candidates, and these may be but a sample of the nodes. If another node
    /// would do, the pod is nominated to it and tried again.
    fn look_outside_of_sample(&self, decision: &Decision) -> Result<Option<Decision>, Unanswered> {
        let question = &self.question;
        let by_limit = |(_, reason): (usize, Reason)| reason == Reason::SkewExceeded;
        let possible = question.may_nominate && question.may_be_sample();
        if !possible || decision.passing() > 0 || !decision.rejections().any(by_limit) {
            return Ok(None);
        }
        let sample: HashSet<&str> = question.candidates.iter().map(|name| &**name).collect();
        let demand = Demand::of(question.pod);
        let fits = |host: &&Host| {
            let node = host.node.as_ref().filter(|_| !sample.contains(&*host.name));
            node.is_some_and(|node| demand.fits(node, &host.used, &host.pods) == Verdict::Fits)
        };
        let others: Vec<_> = question.view.hosts().filter(fits).collect();
        let names: Vec<_> = others.iter().map(|host| Cow::Borrowed(&*host.name)).collect();
        let outside = self.judge(&Question { candidates: &names, may_wait: false, ..*question })?;
        let found = (0..names.len()).find(|at| outside.passes(*at));
        Ok(found.map(|at| {
            let mut nominating = Decision::all_pass(question.candidates.len());
            nominating.reject_all(Reason::SpreadOutsideSample);
            nominating.nominate(others[at].name.clone());
            nominating
        }))
    }

    /// How good the candidates are, 0 to [`MAX_SCORE`].
    pub fn prioritize(&self) -> Result<Vec<i64>, Unanswered> {
        let mut scores = vec![0; self.question.candidates.len()];
        for part in self.parts_in(Mode::Enforce) {
            self.measure(part, |prepared| prepared.prioritize(&self.question, &mut scores))?;
        }
        for score in &mut scores {
            *score = (*score).clamp(0, MAX_SCORE);
        }
        Ok(scores)
    }

    /// What becomes of each candidate for preemption; `find` finds their victims.
    pub fn preempt(&self, find: impl Fn(&View) -> Vec<Candidate>) -> Result<Vec<Fate>, Unanswered> {
        let find = || find(self.question.view);
        let candidates = &self.engine.catching(Purpose::Preempt.label(), preemption::NAME, find)?;
        let question = Question { evictions: candidates, ..self.question };
        let decision = self.judge(&question)?;
        self.engine.catching(Purpose::Preempt.label(), preemption::NAME, || {
            preemption::fates(&question, &decision, self.engine.preemption.decide_up_to)
        })
    }

    /// What the policies say to each candidate. Those that only observe are counted and not followed.
    fn judge(&self, question: &Question<'_>) -> Result<Decision, Unanswered> {
        let hosts = OnceCell::new();
        let question = &Question { hosts: Some(&hosts), ..*question };
        let candidates = question.candidates.len();
        let mut decision = Decision::all_pass(candidates);
        for part in self.parts_in(Mode::Enforce) {
            if question.may_wait && decision.is_to_wait() {
                return Ok(decision);
            }
            self.measure(part, |prepared| prepared.filter(question, &mut decision))?;
        }
        // Afterwards, so that they take nobody's time.
        let question = &question.for_observer();
        for part in self.parts_in(Mode::Observe) {
            let mut observed = Decision::all_pass(candidates);
            let answer = self.measure(part, |prepared| prepared.filter(question, &mut observed));
            if self.engine.or_unobserved(part.policy, answer).is_some() {
                decision.observe(&observed);
            }
        }
        Ok(decision)
    }

    fn parts_in(&self, mode: Mode) -> impl Iterator<Item = &Part<'a>> {
        self.parts.iter().filter(move |part| part.policy.mode() == mode)
    }

    fn measure<R>(&self, part: &Part<'a>, ask: impl FnOnce(&dyn Prepared) -> R) -> Result<R, Unanswered> {
        if self.question.detail > Detail::Codes {
            // Facts cost time that no verb spends.
            return self.catching(part, ask);
        }
        let began = Instant::now();
        let answer = self.catching(part, ask)?;
        part.timer.observe(began.elapsed().as_secs_f64());
        Ok(answer)
    }

    /// Policies only read the view and write into an answer that is thrown away when one panics, so nothing half-done
    /// survives the unwinding.
    fn catching<R>(&self, part: &Part<'a>, ask: impl FnOnce(&dyn Prepared) -> R) -> Result<R, Unanswered> {
        let verb = self.question.purpose.label();
        let answer = self.engine.catching(verb, part.policy.name(), || ask(&*part.prepared))?;
        within(match part.policy.mode() {
            Mode::Enforce => self.question.budget,
            Mode::Observe => self.question.observing,
        })?;
        Ok(answer)
    }
}

/// What was found with a budget that is spent is worth nothing: nobody looked at the rest.
fn within(budget: &Budget) -> Result<(), Unanswered> {
    if budget.is_spent() { Err(Unanswered::BudgetSpent) } else { Ok(()) }
}
