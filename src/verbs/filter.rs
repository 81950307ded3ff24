//! Filter: which nodes may be used. It may wait for the bind calls of other pods.

use std::borrow::Cow;
use std::sync::Arc;
use std::time::{Duration, Instant};

use super::Verbs;
use super::call::{CalledPod, SchedulingCall};
use super::decide::{Clock, Consultation};
use super::off_loop::{is_large, off_the_event_loop_if};
use super::record::Outdated;
use super::waiting::Patience;
use crate::decision::Undecided;
use crate::engine::Asked;
use crate::model::{Pod, Uid};
use crate::policy::Purpose;
use crate::store::Snapshot;
use crate::wire::{WireError, reply};

/// How often a decision is made anew because room was reserved before it was recorded. Plans wait for decisions under way,
/// so that even once is rare.
const MOST_DECISIONS: usize = 4;

/// What came of asking once.
pub(super) enum Attempt {
    /// The answer, which is recorded.
    Answered(Vec<u8>),
    /// Bind calls that are about to come would make the answer better. Nothing is recorded.
    Waits(Awaited),
}

/// For whom a filter call waits.
pub(super) struct Awaited {
    pods: Vec<Uid>,
    /// What the attempt was decided on.
    snapshot: Arc<Snapshot>,
}

impl Awaited {
    /// Whether something about the pods, or the configuration, has changed since the attempt.
    pub(super) fn is_outdated(&self, now: &Snapshot) -> bool {
        let differs = |uid: &Uid| self.snapshot.view().differs_in_pod(now.view(), uid);
        !self.snapshot.has_settings_of(now) || self.pods.iter().any(differs)
    }
}

impl Verbs {
    /// Answers filter. Where a hard limit depends on the bind call of the pod before this one, a short wait for it beats
    /// a rejection; a shorter one beats scores that do not know of it. `limit` is the time for both.
    pub async fn filter(&self, body: &[u8], limit: Duration) -> Result<Vec<u8>, WireError> {
        let began = Instant::now();
        let mut patience = Patience::after(Duration::ZERO, limit);
        let call = off_the_event_loop_if(is_large(body), || self.scheduling_call(body))?;
        let takes_long = call.pod.is_placed_with_its_group();
        let mut attempt = off_the_event_loop_if(takes_long, || self.attempt(&call, patience));
        let mut waited = Duration::ZERO;
        let mut subscription = None;
        loop {
            let awaited = match attempt {
                Attempt::Answered(answer) => {
                    if !waited.is_zero() {
                        self.metrics.filter_wait.observe(waited.as_secs_f64());
                    }
                    return Ok(answer);
                }
                Attempt::Waits(awaited) => awaited,
            };
            let pause = Instant::now();
            // Most calls never wait, so the first attempt is made without a subscription. What has changed between its
            // snapshot and the subscription is not announced, and is looked for.
            let is_new = subscription.is_none();
            let changes = subscription.get_or_insert_with(|| self.store.subscribe());
            if !is_new || !awaited.is_outdated(&self.store.snapshot()) {
                let pods = awaited.pods;
                let concerning = changes.until(|changes| changes.concern(&pods));
                let time = patience.next_change(began.elapsed(), limit);
                // Both ends of the wait lead to another attempt.
                let _ = tokio::time::timeout(time, concerning).await;
                waited += pause.elapsed();
            }
            patience = Patience::after(began.elapsed(), limit);
            attempt = off_the_event_loop_if(takes_long, || self.attempt(&call, patience));
        }
    }

    /// Decides, and records the decision if it is the answer. Without a lock in between: it is made anew if room was
    /// reserved for others meanwhile.
    pub(super) fn attempt(&self, call: &SchedulingCall<'_>, patience: Patience) -> Attempt {
        let _deciding = self.nominations.deciding();
        let clock = Clock::start();
        for _ in 0..MOST_DECISIONS {
            if let Ok(attempt) = self.decide_once(call, patience, &clock) {
                return attempt;
            }
        }
        Attempt::Answered(self.filter_error(call, Undecided::DecisionTimeout))
    }

    fn decide_once(
        &self,
        call: &SchedulingCall<'_>,
        patience: Patience,
        clock: &Clock,
    ) -> Result<Attempt, Outdated> {
        let candidates = &call.candidates;
        let consultation =
            Consultation { purpose: Purpose::Filter, may_wait: patience != Patience::None, clock };
        let answer = |asked: &Asked<'_>| asked.filter();
        let consulted = match self.consult(consultation, &call.pod, &candidates.names, answer) {
            Ok(consulted) => consulted,
            Err(undecided) => return Ok(Attempt::Answered(self.filter_error(call, undecided))),
        };
        if patience.waits_for(&consulted.answer) {
            let pods = consulted.answer.effects().awaited.clone();
            return Ok(Attempt::Waits(Awaited { pods, snapshot: consulted.snapshot }));
        }
        self.record_filter(&call.pod, &consulted, &candidates.names)?;
        Ok(Attempt::Answered(match consulted.answer.undecided() {
            Some(undecided) => reply::filter_error(undecided),
            None => reply::filter(candidates, &consulted.answer),
        }))
    }

    /// Decides once more about a pod whose attempt is long under way, and records it as for a call with this node alone. In doubt
    /// the answer is no, and kube-scheduler tries the pod again; but while the cache is not to be trusted, nobody knows better than
    /// it.
    pub(super) fn lets_in(&self, pod: Arc<Pod>, node: &str) -> bool {
        let _deciding = self.nominations.deciding();
        let called = CalledPod::new(pod, &self.store.view());
        let (candidates, clock) = ([Cow::Borrowed(node)], Clock::start());
        for _ in 0..MOST_DECISIONS {
            let consultation = Consultation::on(Purpose::Filter, &clock);
            match self.consult(consultation, &called, &candidates, |asked: &Asked<'_>| asked.filter()) {
                Ok(consulted) => {
                    let passes = consulted.answer.passing() > 0;
                    if self.record_filter(&called, &consulted, &candidates).is_ok() {
                        return passes;
                    }
                }
                Err(Undecided::CacheNotSynced | Undecided::CacheStale) => return true,
                Err(_) => return false,
            }
        }
        false
    }

    fn filter_error(&self, call: &SchedulingCall<'_>, undecided: Undecided) -> Vec<u8> {
        self.record_filter_error(&call.pod, undecided);
        reply::filter_error(undecided)
    }
}
