//! The verbs over HTTP: bounds, statuses, counting. What is asked is decided in [`crate::verbs`].

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::pin;
use std::sync::Arc;
use std::time::{Duration, Instant};

use bytes::Bytes;
use hyper::body::Body;
use hyper::header::{ALLOW, HeaderValue, RETRY_AFTER};
use hyper::{Method, Request, StatusCode};

use super::body::{self, BodyError};
use super::inflight::InFlight;
use super::verbs_metrics::{RequestMetrics, UNKNOWN, UNKNOWN_VERB, WRONG_METHOD};
use super::{Answer, json};
use crate::logging::Throttle;
use crate::verbs::{Patience, Verb, Verbs};
use crate::wire::{WireError, reply};

/// Bodies above this are worked on outside the event loop, so that one large request does not hold up
/// the small ones.
const LARGE_BODY: usize = 512 * 1024;

/// A bind call is four short strings.
const LARGEST_BINDING: usize = 64 * 1024;

/// Answers requests on the verbs port.
pub struct VerbsService {
    verbs: Arc<Verbs>,
    metrics: RequestMetrics,
    decisions: InFlight,
    bindings: InFlight,
    complaints: Throttle,
}

/// Why a request is not answered with a decision.
enum Refusal {
    UnknownVerb,
    WrongMethod,
    Overloaded,
    Body(BodyError),
    Wire(WireError),
    Broken,
}

impl VerbsService {
    /// A service for these verbs.
    pub fn new(verbs: Arc<Verbs>, metrics: RequestMetrics, complaints: Throttle) -> Self {
        let (decisions, bindings) = (InFlight::default(), InFlight::default());
        Self { verbs, metrics, decisions, bindings, complaints }
    }

    /// Answers one request, whatever it is.
    pub async fn handle<B>(&self, request: Request<B>) -> Answer
    where
        B: Body,
        B::Error: Into<Box<dyn std::error::Error + Send + Sync>>,
    {
        let began = Instant::now();
        let verb = Verb::from_path(request.uri().path());
        let label = verb.map_or(UNKNOWN, Verb::label);
        let answer = match self.answer(verb, request).await {
            Ok(body) => json(StatusCode::OK, body),
            Err(refusal) => self.refuse(label, &refusal),
        };
        let (spent, status) = (began.elapsed().as_secs_f64(), answer.status());
        let labels = [label, status.as_str()];
        self.metrics.request_duration.with_label_values(&labels).observe(spent);
        answer
    }

    async fn answer<B>(&self, verb: Option<Verb>, request: Request<B>) -> Result<Vec<u8>, Refusal>
    where
        B: Body,
        B::Error: Into<Box<dyn std::error::Error + Send + Sync>>,
    {
        let verb = verb.ok_or(Refusal::UnknownVerb)?;
        if request.method() != Method::POST {
            return Err(Refusal::WrongMethod);
        }
        let (limits, timeouts) = {
            let config = self.verbs.config.load();
            (config.server.limits, config.server.timeouts)
        };
        let gauge = self.metrics.inflight.with_label_values(&[verb.label()]);
        // Bindings wait for the API server and must not take the places of decisions, nor their memory.
        let (place, max_body) = match verb {
            Verb::Bind => (
                self.bindings.enter(limits.max_bindings_in_flight, gauge),
                LARGEST_BINDING.min(limits.max_body_bytes),
            ),
            _ => (self.decisions.enter(limits.max_in_flight, gauge), limits.max_body_bytes),
        };
        let _place = place.ok_or(Refusal::Overloaded)?;
        let body = body::read(request.into_body(), max_body, timeouts.body.0);
        let body = body.await.map_err(Refusal::Body)?;
        match verb {
            Verb::Bind => self.bind(body).await,
            Verb::Filter => self.filter(body, timeouts.placement.0).await,
            _ => {
                let answer = self.work(body, move |verbs, body| verbs.decide(verb, body)).await?;
                answer.ok_or(Refusal::Broken)
            }
        }
    }

    /// Where a hard limit hangs on the bind call of the pod before this one, a short wait for it beats a rejection; a
    /// shorter one beats scores that do not know of it.
    async fn filter(&self, body: Bytes, patience: Duration) -> Result<Vec<u8>, Refusal> {
        let began = Instant::now();
        let mut waited = Duration::ZERO;
        loop {
            let mut changed = pin!(self.verbs.store.changed());
            changed.as_mut().enable();
            let left = Patience::after(began.elapsed(), patience);
            let answer = self.work(body.clone(), move |verbs, body| verbs.filter(body, left)).await?;
            if let Some(answer) = answer {
                if !waited.is_zero() {
                    self.metrics.filter_wait.observe(waited.as_secs_f64());
                }
                return Ok(answer);
            }
            let pause = Instant::now();
            let _ = tokio::time::timeout(left.next_change(began.elapsed(), patience), changed).await;
            waited += pause.elapsed();
        }
    }

    async fn work<T: Send + 'static>(
        &self,
        body: Bytes,
        work: impl FnOnce(&Verbs, &[u8]) -> Result<T, WireError> + Send + 'static,
    ) -> Result<T, Refusal> {
        if body.len() <= LARGE_BODY {
            return decide(&self.verbs, &body, work);
        }
        let verbs = self.verbs.clone();
        let work = move || decide(&verbs, &body, work);
        tokio::task::spawn_blocking(work).await.unwrap_or(Err(Refusal::Broken))
    }

    /// On a task of its own: a binding, once begun, is seen through even if the caller hangs up, so that
    /// the ledger learns what became of it.
    async fn bind(&self, body: Bytes) -> Result<Vec<u8>, Refusal> {
        let verbs = self.verbs.clone();
        let work = tokio::spawn(async move { verbs.bind(&body).await });
        work.await.map_or(Err(Refusal::Broken), |answer| answer.map_err(Refusal::Wire))
    }

    fn refuse(&self, verb: &'static str, refusal: &Refusal) -> Answer {
        let (status, reason, text) = match refusal {
            Refusal::UnknownVerb => (
                StatusCode::NOT_FOUND,
                UNKNOWN_VERB,
                "unknown verb; there are /filter, /prioritize, /preempt and /bind".to_owned(),
            ),
            Refusal::WrongMethod => {
                (StatusCode::METHOD_NOT_ALLOWED, WRONG_METHOD, "verbs take POST only".to_owned())
            }
            Refusal::Overloaded => {
                (StatusCode::SERVICE_UNAVAILABLE, "", "too many requests under way".to_owned())
            }
            Refusal::Body(error) => (error.status(), error.label(), error.to_string()),
            Refusal::Wire(error) => (StatusCode::BAD_REQUEST, error.label(), error.to_string()),
            Refusal::Broken => (StatusCode::INTERNAL_SERVER_ERROR, "", "internal error".to_owned()),
        };
        match refusal {
            Refusal::Overloaded => self.metrics.shed.with_label_values(&[verb]).inc(),
            Refusal::Broken => self.verbs.metrics.panics.with_label_values(&[verb]).inc(),
            _ => self.metrics.bad_requests.with_label_values(&[verb, reason]).inc(),
        }
        if self.complaints.may_speak((verb, reason)) {
            tracing::warn!(verb, status = status.as_u16(), reason = text, "request refused");
        }
        let mut answer = json(status, reply::problem(&text));
        match refusal {
            Refusal::WrongMethod => {
                answer.headers_mut().insert(ALLOW, HeaderValue::from_static("POST"));
            }
            Refusal::Overloaded => {
                answer.headers_mut().insert(RETRY_AFTER, HeaderValue::from_static("1"));
            }
            _ => {}
        }
        answer
    }
}

/// The engine catches what policies do; this catches everything else on the way.
fn decide<T>(
    verbs: &Verbs,
    body: &[u8],
    work: impl FnOnce(&Verbs, &[u8]) -> Result<T, WireError>,
) -> Result<T, Refusal> {
    match catch_unwind(AssertUnwindSafe(|| work(verbs, body))) {
        Ok(answer) => answer.map_err(Refusal::Wire),
        Err(_) => Err(Refusal::Broken),
    }
}
