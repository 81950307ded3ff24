//! What is measured of decisions.

use prometheus::{Histogram, HistogramVec, IntCounterVec};

use crate::decision::{Nominated, Reason};
use crate::metrics::{Registry, create_series};
use crate::policy::Purpose;

/// Where the time of a policy is counted, by purpose.
pub(crate) type Timers = [Histogram; Purpose::ALL.len()];

/// From a microsecond, for a policy that has nothing to say, to twice the time that a decision has unless told otherwise.
const DECISION_SECONDS: &[f64] = &[
    0.000_001,
    0.000_002_5,
    0.000_005,
    0.000_01,
    0.000_025,
    0.000_05,
    0.000_1,
    0.000_25,
    0.000_5,
    0.001,
    0.002_5,
    0.005,
    0.01,
    0.025,
    0.05,
    0.1,
    0.25,
    0.5,
    1.0,
];

/// Metrics of decisions.
#[derive(Clone, Debug)]
pub struct EngineMetrics {
    /// Time per decision and policy.
    pub(crate) decision_duration: HistogramVec,
    /// Nodes that a policy rejected.
    pub nodes_rejected: IntCounterVec,
    /// Nodes that a policy in mode Observe would have rejected.
    pub(crate) observed_rejections: IntCounterVec,
    /// Decisions that a policy in mode Observe failed to make.
    pub(crate) unobserved: IntCounterVec,
    /// Nominated nodes that filter was asked about.
    pub(crate) nominated_nodes: IntCounterVec,
    /// Panics caught in a decision.
    pub panics: IntCounterVec,
}

impl EngineMetrics {
    /// Registers them.
    pub fn register(registry: &Registry) -> Result<Self, prometheus::Error> {
        let metrics = Self {
            decision_duration: registry.histogram_with(
                DECISION_SECONDS,
                "decision_duration_seconds",
                "Time a policy took for its part of a decision.",
                &["verb", "policy"],
            )?,
            nodes_rejected: registry.counter(
                "nodes_rejected_total",
                "Candidate nodes that a policy rejected.",
                &["policy", "reason"],
            )?,
            observed_rejections: registry.counter(
                "observed_rejections_total",
                "Candidate nodes that a policy in mode Observe would have rejected.",
                &["policy", "reason"],
            )?,
            unobserved: registry.counter(
                "observed_undecided_total",
                "Decisions that a policy in mode Observe did not make: they would have taken too long, or it panicked.",
                &["policy"],
            )?,
            nominated_nodes: registry.counter(
                "nominated_node_total",
                "Nominated nodes among the candidates of a filter call, by whether they still fit.",
                &["result"],
            )?,
            panics: registry.counter("panics_total", "Panics caught while deciding.", &["verb"])?,
        };
        for rejections in [&metrics.nodes_rejected, &metrics.observed_rejections] {
            create_series(rejections, Reason::ALL.iter().map(|reason| [reason.policy(), reason.code()]));
        }
        create_series(&metrics.nominated_nodes, Nominated::LABELS.map(|result| [result]));
        create_series(&metrics.panics, [["owed"], ["plan"]]);
        Ok(metrics)
    }

    /// Creates the series of a policy, and tells where its time is counted.
    pub(crate) fn create_series_of(&self, policy: &'static str) -> Timers {
        create_series(&self.unobserved, [[policy]]);
        Purpose::ALL.map(|purpose| self.decision_duration.with_label_values(&[purpose.label(), policy]))
    }
}
