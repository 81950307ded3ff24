//! What is counted on the admin port.

use hyper::StatusCode;
use prometheus::IntCounterVec;

use super::Refusal;
use crate::metrics::{Registry, create_series};
use crate::server::admin::PATHS;

/// The path of a request for none of the endpoints. What callers make up is no label.
const OTHER: &str = "other";

/// Metrics of requests on the admin port.
#[derive(Clone)]
pub(crate) struct AdminMetrics {
    requests: IntCounterVec,
    refused: IntCounterVec,
}

impl AdminMetrics {
    /// Registers them.
    pub(crate) fn register(registry: &Registry) -> Result<Self, prometheus::Error> {
        let metrics = Self {
            requests: registry.counter(
                "admin_requests_total",
                "Requests on the admin port, by endpoint and status.",
                &["path", "code"],
            )?,
            refused: registry.counter(
                "admin_refused_total",
                "Requests on the admin port that were refused because of who asked.",
                &["why"],
            )?,
        };
        for path in PATHS.into_iter().chain([OTHER]) {
            let usual = if path == OTHER { "404" } else { "200" };
            create_series(
                &metrics.requests,
                [usual, "401", "403", "405", "500", "503"].map(|code| [path, code]),
            );
        }
        create_series(&metrics.refused, Refusal::LABELS.map(|why| [why]));
        Ok(metrics)
    }

    /// Counts an answer.
    pub(super) fn answered(&self, path: &str, status: StatusCode) {
        let known = PATHS.into_iter().find(|known| *known == path);
        self.requests.with_label_values(&[known.unwrap_or(OTHER), status.as_str()]).inc();
    }

    /// Counts a refusal.
    pub(super) fn refused(&self, why: &'static str) {
        self.refused.with_label_values(&[why]).inc();
    }
}
