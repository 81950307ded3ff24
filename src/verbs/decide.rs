//! Deciding: from a snapshot and a call to a decision, without any effect on what is decided next.
//!
//! A verb publishes what the view lacked, such as a counter, because the next calls need it too. [`Verbs::explain`] does
//! the same on a copy of its own.

use std::borrow::Cow;
use std::cell::Cell;
use std::sync::Arc;
use std::time::{Duration, Instant};

use super::Verbs;
use super::call::CalledPod;
use super::owed;
use crate::cluster::freshness::NotReady;
use crate::config::Mode;
use crate::decision::{Decision, Detail, Undecided};
use crate::engine::{Asked, Engine, Unanswered};
use crate::model::Pod;
use crate::policy::{Budget, Purpose, Question};
use crate::store::Snapshot;
use crate::view::Needs;

/// Between the beginning of a call's time and its first decision no more than this passes.
const BARELY_BEGUN: Duration = Duration::from_millis(1);

impl From<NotReady> for Undecided {
    fn from(not_ready: NotReady) -> Self {
        match not_ready {
            NotReady::NotSynced(_) => Undecided::CacheNotSynced,
            NotReady::Stale(_) => Undecided::CacheStale,
        }
    }
}

impl From<Unanswered> for Undecided {
    fn from(unanswered: Unanswered) -> Self {
        match unanswered {
            Unanswered::Panicked => Undecided::InternalError,
            Unanswered::BudgetSpent => Undecided::DecisionTimeout,
        }
    }
}

/// What was answered, and on what.
pub(super) struct Consulted<R> {
    /// What it was decided on.
    pub snapshot: Arc<Snapshot>,
    /// The pod as that snapshot sees it.
    pub pod: Arc<Pod>,
    /// What the policies say.
    pub answer: R,
}

/// What came of a question.
enum Outcome<R> {
    Answer(R),
    /// The view has to provide this first.
    Lacks(Needs),
}

/// What the policies are asked for.
#[derive(Clone, Copy)]
pub(super) struct Consultation<'c> {
    pub purpose: Purpose,
    /// Whether the caller asks again once pods that are awaited have their places.
    pub may_wait: bool,
    /// The time for the decision.
    pub clock: &'c Clock,
}

impl<'c> Consultation<'c> {
    /// One that nobody waits for.
    pub fn on(purpose: Purpose, clock: &'c Clock) -> Self {
        Self { purpose, may_wait: false, clock }
    }
}

/// How long a decision takes, without what is done for others meanwhile.
#[derive(Debug)]
pub(super) struct Clock {
    began: Cell<Instant>,
}

impl Clock {
    /// One that runs from now on.
    pub fn start() -> Self {
        Self { began: Cell::new(Instant::now()) }
    }

    /// Does some work that is nothing of the decision's.
    pub fn stand_still<R>(&self, work: impl FnOnce() -> R) -> R {
        let stopped = Instant::now();
        let result = work();
        self.began.set(self.began.get() + stopped.elapsed());
        result
    }

    /// How long it has taken so far.
    fn elapsed(&self) -> Duration {
        self.began.get().elapsed()
    }
}

impl Verbs {
    /// Asks the policies on one snapshot that has everything they need.
    pub(super) fn consult<R>(
        &self,
        consultation: Consultation<'_>,
        called: &CalledPod,
        candidates: &[Cow<'_, str>],
        answer: impl Fn(&Asked<'_>) -> Result<R, Unanswered>,
    ) -> Result<Consulted<R>, Undecided> {
        // Where groups are only observed they hold nobody up.
        let may_rest = self.store.snapshot().config().replica_groups.mode == Mode::Enforce;
        if may_rest && self.rests.cover(called.pod(), Instant::now()) {
            return Err(Undecided::DecisionTimeout);
        }
        // Of what is left when others have made room theirs meanwhile, nobody is to blame for taking too long.
        let has_all_the_time = consultation.clock.elapsed() < BARELY_BEGUN;
        let consulted = self.consult_at_length(consultation, called, candidates, answer);
        if may_rest && has_all_the_time && consulted.as_ref().err() == Some(&Undecided::DecisionTimeout) {
            self.rests.begin(called.pod(), consultation.clock.elapsed(), Instant::now());
        }
        consulted
    }

    fn consult_at_length<R>(
        &self,
        Consultation { purpose, may_wait, clock }: Consultation<'_>,
        called: &CalledPod,
        candidates: &[Cow<'_, str>],
        answer: impl Fn(&Asked<'_>) -> Result<R, Unanswered>,
    ) -> Result<Consulted<R>, Undecided> {
        let mut snapshot = self.store.snapshot();
        self.trust_cache(&snapshot)?;
        if purpose == Purpose::Filter && snapshot.view().may_hold_up_groups(&called.pod().uid) {
            // kube-scheduler has given up on the last attempt, whatever is answered now: groups that went short for it come
            // before the plan that it was a part of.
            snapshot = self.store.write(|view| view.withdraw(&called.pod().uid));
        }
        loop {
            snapshot = self.catch_up(snapshot, called.pod(), clock)?;
            let (budget, observing) = budgets(&snapshot, clock);
            let pod = called.seen_by(snapshot.view());
            let (view, engine) = (snapshot.view(), snapshot.engine());
            let may_nominate =
                purpose == Purpose::Filter && self.nominations.may_nominate(&pod, snapshot.config());
            let question = Question::about(purpose, &pod, candidates, view);
            let question =
                Question { may_wait, may_nominate, budget: &budget, observing: &observing, ..question };
            match ask(engine, question, &answer)? {
                Outcome::Answer(answer) => return Ok(Consulted { snapshot, pod, answer }),
                // It is made once and kept up from then on. Everything is prepared again on what is published then.
                Outcome::Lacks(needs) => {
                    snapshot = self.store.write(|view| {
                        view.provide(&needs);
                        Vec::new()
                    });
                }
            }
        }
    }

    /// What filter would decide about a pod now, with the facts behind it. It changes nothing: neither the ledger nor
    /// what is published, and no decision is counted or measured.
    pub fn explain(&self, pod: Arc<Pod>, candidates: &[Cow<'_, str>]) -> Result<Decision, Undecided> {
        let snapshot = self.store.snapshot();
        self.trust_cache(&snapshot)?;
        let (engine, mut view) = (snapshot.engine(), snapshot.view().clone());
        owed::catch_up_on(&mut view, &pod, &snapshot)?;
        let pod = CalledPod::new(pod, &view).seen_by(&view);
        let (budget, observing) = budgets(&snapshot, &Clock::start());
        loop {
            let question = Question::about(Purpose::Filter, &pod, candidates, &view);
            let question =
                Question { detail: Detail::Facts, budget: &budget, observing: &observing, ..question };
            match ask(engine, question, |asked: &Asked<'_>| asked.filter())? {
                Outcome::Answer(decision) => return Ok(decision),
                Outcome::Lacks(needs) => view.provide(&needs),
            }
        }
    }

    pub(super) fn trust_cache(&self, snapshot: &Snapshot) -> Result<(), Undecided> {
        let not_ready = self.freshness.not_ready(snapshot.config().server.staleness_limit.0);
        not_ready.map_or(Ok(()), |not_ready| Err(not_ready.into()))
    }
}

/// What a decision may cost, and until when policies may go on that are only observed: those that are followed have at least half
/// of the time.
fn budgets(snapshot: &Snapshot, clock: &Clock) -> (Budget, Budget) {
    let (began, time) = (clock.began.get(), snapshot.config().server.timeouts.decision.0);
    (Budget::until(began + time), Budget::until(began + time / 2))
}

/// Asks the policies as if the pod were nowhere. A pure function of the question.
fn ask<R>(
    engine: &Engine,
    question: Question<'_>,
    answer: impl FnOnce(&Asked<'_>) -> Result<R, Unanswered>,
) -> Result<Outcome<R>, Unanswered> {
    let uid = &question.pod.uid;
    let without_pod;
    let mut question = question;
    if question.view.ledger().get(uid).is_some() {
        // Wherever an earlier attempt put the pod, now it is nowhere: it must not stand in its own way.
        let mut view = question.view.clone();
        view.withdraw(uid);
        without_pod = view;
        question.view = &without_pod;
    }
    let view = question.view;
    let asked = engine.prepare(question)?;
    let needs = asked.needs()?;
    if view.provides(&needs) { answer(&asked).map(Outcome::Answer) } else { Ok(Outcome::Lacks(needs)) }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::Clock;

    #[test]
    fn the_clock_of_a_decision_stands_still_while_others_are_looked_after() {
        let clock = Clock::start();
        let began = clock.began.get();
        clock.stand_still(|| std::thread::sleep(Duration::from_millis(20)));
        assert!(clock.began.get() >= began + Duration::from_millis(20));
    }
}
