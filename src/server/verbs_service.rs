//! The verbs over HTTP: bounds, statuses, counting. What is asked is decided in [`crate::verbs`].

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::time::{Duration, Instant};

use bytes::Bytes;
use futures::FutureExt;
use hyper::body::Body;
use hyper::header::{ALLOW, HeaderValue, RETRY_AFTER};
use hyper::{Method, Request, StatusCode};

use super::body::{self, BodyError};
use super::inflight::InFlight;
use super::verbs_metrics::{RequestMetrics, UNKNOWN, UNKNOWN_VERB, WRONG_METHOD};
use super::{Answer, json};
use crate::logging::Throttle;
use crate::verbs::{Verb, Verbs};
use crate::wire::{WireError, reply};

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
            let snapshot = self.verbs.store.snapshot();
            let server = &snapshot.config().server;
            (server.limits, server.timeouts)
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
            Verb::Filter => filter(&self.verbs, &body, timeouts.placement.0).await,
            Verb::Prioritize | Verb::Preempt => decide(&self.verbs, verb, &body),
        }
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

async fn filter(verbs: &Verbs, body: &[u8], limit: Duration) -> Result<Vec<u8>, Refusal> {
    let answer = AssertUnwindSafe(verbs.filter(body, limit)).catch_unwind().await;
    refused_or(answer.map(|answer| answer.map(Some)))
}

fn decide(verbs: &Verbs, verb: Verb, body: &[u8]) -> Result<Vec<u8>, Refusal> {
    refused_or(catch_unwind(AssertUnwindSafe(|| verbs.decide(verb, body))))
}

/// The engine catches what policies do; everything else on the way is caught here.
fn refused_or<P>(answer: Result<Result<Option<Vec<u8>>, WireError>, P>) -> Result<Vec<u8>, Refusal> {
    match answer {
        Ok(answer) => answer.map_err(Refusal::Wire)?.ok_or(Refusal::Broken),
        Err(_) => Err(Refusal::Broken),
    }
}
