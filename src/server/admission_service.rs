//! Admission reviews over HTTP: bounds, statuses, counting. What is answered is decided in [`crate::admission`].

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::time::Instant;

use hyper::body::Body;
use hyper::header::{ALLOW, HeaderValue, RETRY_AFTER};
use hyper::{Method, Request, StatusCode};

use super::admission_metrics::{AdmissionMetrics, BAD_REQUEST, FAILED, OVERLOADED, label};
use super::body::{self, BodyError};
use super::inflight::InFlight;
use super::{Answer, json};
use crate::admission::{self, Reviewed};
use crate::json::Interner;
use crate::logging::Throttle;
use crate::store::Store;
use crate::wire::{AdmissionError, reply};

/// The only path.
const MUTATE: &str = "/mutate";

/// The largest pod that an API server stores has some two million bytes, and a review holds it once.
const LARGEST_REVIEW: usize = 8 * 1024 * 1024;

/// Answers requests on the admission port.
pub struct AdmissionService {
    store: Arc<Store>,
    interner: Arc<Interner>,
    metrics: AdmissionMetrics,
    reviews: InFlight,
    complaints: Throttle,
}

/// Why a request is not answered with a review.
enum Refusal {
    UnknownPath,
    WrongMethod,
    Overloaded,
    Body(BodyError),
    Review(AdmissionError),
    Broken,
}

impl Refusal {
    /// The result in metrics.
    const fn label(&self) -> &'static str {
        match self {
            Refusal::Overloaded => OVERLOADED,
            Refusal::Broken => FAILED,
            _ => BAD_REQUEST,
        }
    }
}

impl AdmissionService {
    /// A service that knows this cluster.
    pub fn new(
        store: Arc<Store>,
        interner: Arc<Interner>,
        metrics: AdmissionMetrics,
        complaints: Throttle,
    ) -> Self {
        Self { store, interner, metrics, reviews: InFlight::default(), complaints }
    }

    /// Answers one request, whatever it is.
    pub async fn handle<B>(&self, request: Request<B>) -> Answer
    where
        B: Body,
        B::Error: Into<Box<dyn std::error::Error + Send + Sync>>,
    {
        let began = Instant::now();
        let answer = match self.answer(request).await {
            Ok(reviewed) => {
                self.metrics.count(label(reviewed.verdict));
                if let Some(why) =
                    reviewed.refusal.filter(|_| self.complaints.may_speak(("mutate", "refused")))
                {
                    tracing::warn!(why, "pod refused on creation");
                }
                json(StatusCode::OK, reviewed.answer)
            }
            Err(refusal) => self.refuse(&refusal),
        };
        self.metrics.duration.observe(began.elapsed().as_secs_f64());
        answer
    }

    async fn answer<B>(&self, request: Request<B>) -> Result<Reviewed, Refusal>
    where
        B: Body,
        B::Error: Into<Box<dyn std::error::Error + Send + Sync>>,
    {
        // The API server adds its own patience as a query.
        if request.uri().path() != MUTATE {
            return Err(Refusal::UnknownPath);
        }
        if request.method() != Method::POST {
            return Err(Refusal::WrongMethod);
        }
        let snapshot = self.store.snapshot();
        let (limits, timeouts) = (snapshot.config().server.limits, snapshot.config().server.timeouts);
        // Not held while the body is awaited.
        drop(snapshot);
        let place = self.reviews.enter(limits.max_in_flight, self.metrics.under_way.clone());
        let _place = place.ok_or(Refusal::Overloaded)?;
        let largest = LARGEST_REVIEW.min(limits.max_body_bytes);
        let body = body::read(request.into_body(), largest, timeouts.body.0).await.map_err(Refusal::Body)?;
        let snapshot = self.store.snapshot();
        let review = || admission::review(&body, &self.interner, snapshot.view(), snapshot.config());
        match catch_unwind(AssertUnwindSafe(review)) {
            Ok(reviewed) => reviewed.map_err(Refusal::Review),
            Err(_) => Err(Refusal::Broken),
        }
    }

    fn refuse(&self, refusal: &Refusal) -> Answer {
        let (status, text) = match refusal {
            Refusal::UnknownPath => (StatusCode::NOT_FOUND, format!("there is only {MUTATE}")),
            Refusal::WrongMethod => (StatusCode::METHOD_NOT_ALLOWED, "reviews come as POST only".to_owned()),
            Refusal::Overloaded => {
                (StatusCode::SERVICE_UNAVAILABLE, "too many requests under way".to_owned())
            }
            Refusal::Body(error) => (error.status(), error.to_string()),
            Refusal::Review(error) => (StatusCode::BAD_REQUEST, error.to_string()),
            Refusal::Broken => (StatusCode::INTERNAL_SERVER_ERROR, "internal error".to_owned()),
        };
        self.metrics.count(refusal.label());
        if self.complaints.may_speak(("mutate", refusal.label())) {
            tracing::warn!(status = status.as_u16(), reason = text, "admission request refused");
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
