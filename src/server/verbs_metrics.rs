//! What is measured of requests on the verbs port.

use prometheus::{HistogramVec, IntCounterVec, IntGaugeVec};

use super::body::BodyError;
use crate::metrics::{Registry, create_series};
use crate::verbs::Verb;
use crate::wire::WireError;

/// The verb of a request that asks for none of them.
pub(crate) const UNKNOWN: &str = "unknown";
/// The reason to refuse it.
pub(crate) const UNKNOWN_VERB: &str = "unknown_verb";
/// The reason to refuse a request that is no POST.
pub(crate) const WRONG_METHOD: &str = "wrong_method";

/// The statuses of answers on the verbs port, but for the one that a verb gets which does not exist.
const CODES: [&str; 7] = ["200", "400", "405", "408", "413", "500", "503"];

/// Metrics of requests on the verbs port.
#[derive(Clone, Debug)]
pub struct RequestMetrics {
    /// Time per request, from the first byte read to the answer made.
    pub(crate) request_duration: HistogramVec,
    /// Requests refused as malformed, by reason.
    pub(crate) bad_requests: IntCounterVec,
    /// Requests turned away because too many were under way.
    pub(crate) shed: IntCounterVec,
    /// Requests under way.
    pub(crate) inflight: IntGaugeVec,
}

impl RequestMetrics {
    /// Registers them.
    pub fn register(registry: &Registry) -> Result<Self, prometheus::Error> {
        let metrics = Self {
            request_duration: registry.histogram(
                "request_duration_seconds",
                "Time to answer a request, from reading its body to the answer being ready.",
                &["verb", "code"],
            )?,
            bad_requests: registry.counter(
                "bad_requests_total",
                "Requests refused because they were malformed.",
                &["verb", "reason"],
            )?,
            shed: registry.counter(
                "shed_requests_total",
                "Requests answered 503 because too many were under way.",
                &["verb"],
            )?,
            inflight: registry.gauge("inflight_requests", "Requests under way.", &["verb"])?,
        };
        let verbs = Verb::ALL.map(Verb::label);
        create_series(&metrics.request_duration, [[UNKNOWN, "404"]]);
        for verb in verbs {
            create_series(&metrics.request_duration, CODES.map(|code| [verb, code]));
            let reasons = BodyError::LABELS.into_iter().chain(WireError::LABELS).chain([WRONG_METHOD]);
            create_series(&metrics.bad_requests, reasons.map(|reason| [verb, reason]));
        }
        create_series(&metrics.bad_requests, [[UNKNOWN, UNKNOWN_VERB]]);
        create_series(&metrics.shed, verbs.map(|verb| [verb]));
        create_series(&metrics.inflight, verbs.map(|verb| [verb]));
        Ok(metrics)
    }
}
