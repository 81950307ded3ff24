//! Filter: which nodes may be used. It may wait for the bind calls of other pods.

use std::sync::Arc;
use std::time::{Duration, Instant};

use super::Verbs;
use super::call::SchedulingCall;
use super::off_loop::{is_large, off_the_event_loop_if};
use super::waiting::Patience;
use crate::engine::Asked;
use crate::model::Uid;
use crate::policy::Purpose;
use crate::store::Snapshot;
use crate::wire::{WireError, reply};

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

    /// Decides once, and records the decision if it is the answer.
    pub(super) fn attempt(&self, call: &SchedulingCall<'_>, patience: Patience) -> Attempt {
        let _deciding = self.nominations.deciding();
        let candidates = &call.candidates;
        let purpose = (Purpose::Filter, patience != Patience::None);
        let answer =
            match self.consult(purpose, &call.pod, &candidates.names, |asked: &Asked<'_>| asked.filter()) {
                Ok(consulted) if patience.waits_for(&consulted.answer) => {
                    let pods = consulted.answer.effects().awaited.clone();
                    return Attempt::Waits(Awaited { pods, snapshot: consulted.snapshot });
                }
                Ok(consulted) => {
                    self.record_filter(&call.pod, &consulted, &candidates.names);
                    match consulted.answer.undecided() {
                        Some(undecided) => reply::filter_error(undecided),
                        None => reply::filter(candidates, &consulted.answer),
                    }
                }
                Err(undecided) => {
                    self.record_filter_error(&call.pod, undecided);
                    reply::filter_error(undecided)
                }
            };
        Attempt::Answered(answer)
    }
}
