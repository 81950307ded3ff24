//! What is measured of reviews on the admission port.

use prometheus::{Histogram, IntCounterVec, IntGauge};

use crate::admission::Verdict;
use crate::metrics::{NO_LABELS, Registry, create_series};

/// What comes of a request that is answered with something else than a review.
pub(super) const BAD_REQUEST: &str = "bad_request";
pub(super) const OVERLOADED: &str = "overloaded";
pub(super) const FAILED: &str = "failed";

const RESULTS: [&str; 6] = ["unchanged", "changed", "refused", BAD_REQUEST, OVERLOADED, FAILED];

/// Metrics of reviews.
#[derive(Clone)]
pub struct AdmissionMetrics {
    /// Reviews by what came of them.
    pub(super) reviews: IntCounterVec,
    /// Time per review, from the first byte read to the answer made.
    pub(super) duration: Histogram,
    /// Reviews under way.
    pub(super) under_way: IntGauge,
}

impl AdmissionMetrics {
    /// Registers them.
    pub fn register(registry: &Registry) -> Result<Self, prometheus::Error> {
        let metrics = Self {
            reviews: registry.counter(
                "admission_reviews_total",
                "Requests on the admission port, by what came of them.",
                &["result"],
            )?,
            duration: registry
                .histogram(
                    "admission_duration_seconds",
                    "Time to answer a request on the admission port, from reading its body to the answer being ready.",
                    NO_LABELS,
                )?
                .with_label_values(NO_LABELS),
            under_way: registry
                .gauge("admission_inflight_reviews", "Reviews under way.", NO_LABELS)?
                .with_label_values(NO_LABELS),
        };
        create_series(&metrics.reviews, RESULTS.map(|result| [result]));
        Ok(metrics)
    }

    /// Counts what came of a review.
    pub(super) fn count(&self, result: &'static str) {
        self.reviews.with_label_values(&[result]).inc();
    }
}

/// The label of a verdict.
pub(super) const fn label(verdict: Verdict) -> &'static str {
    match verdict {
        Verdict::Unchanged => RESULTS[0],
        Verdict::Changed => RESULTS[1],
        Verdict::Refused => RESULTS[2],
    }
}
