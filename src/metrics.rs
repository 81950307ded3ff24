//! Every metric Berth exposes, in one place.
//!
//! Label sets are closed: verbs, kinds, policies, causes. Never the name of anything in the cluster.

mod groups;

use prometheus::core::Collector;
use prometheus::{
    Encoder, GaugeVec, Histogram, HistogramOpts, HistogramVec, IntCounter, IntCounterVec, IntGauge,
    IntGaugeVec, Opts, Registry, TextEncoder,
};

pub use self::groups::GroupMetrics;
use crate::config::Mode;
use crate::decision::{Nominated, Reason, Undecided};
use crate::ledger::{DropCause, Ledger};
use crate::model::Kind;
use crate::policy::preemption::Fate;
use crate::view::View;

/// From a hundred microseconds, the cost of a small call, to kube-scheduler's patience.
const SECONDS: &[f64] = &[
    0.000_1, 0.000_25, 0.000_5, 0.001, 0.002_5, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0,
];

/// The metrics and the registry that holds them.
#[derive(Debug)]
pub struct Metrics {
    registry: Registry,
    /// Time per request, from the first byte read to the answer made.
    pub request_duration: HistogramVec,
    /// Time per decision and policy.
    pub decision_duration: HistogramVec,
    /// Time a filter call waited for the bind call of the pod before.
    pub filter_wait: Histogram,
    /// Nodes that a policy rejected.
    pub nodes_rejected: IntCounterVec,
    /// Nodes that a policy in mode Observe would have rejected.
    pub observed_rejections: IntCounterVec,
    /// Calls that were answered without a decision, by reason.
    pub undecided: IntCounterVec,
    /// Nominated nodes that filter was asked about.
    pub nominated_nodes: IntCounterVec,
    /// Candidates for preemption, by what became of them.
    pub preemption_candidates: IntCounterVec,
    /// Requests refused as malformed, by reason.
    pub bad_requests: IntCounterVec,
    /// Requests turned away because too many were under way.
    pub shed: IntCounterVec,
    /// Panics caught in a decision.
    pub panics: IntCounterVec,
    /// Requests under way.
    pub inflight: IntGaugeVec,
    /// TCP connections accepted.
    pub connections: IntCounterVec,
    /// TCP connections open.
    pub connections_open: IntGaugeVec,
    /// Objects in the cache.
    pub cache_objects: IntGaugeVec,
    /// Age of what a watch last told, while it is cut.
    pub cache_staleness: GaugeVec,
    /// Objects that could not be read.
    pub undecodable: IntCounterVec,
    /// Full lists taken.
    pub relists: IntCounterVec,
    /// Watches that ended in an error.
    pub watch_failures: IntCounterVec,
    /// Pods under way, by state.
    pub ledger_entries: IntGaugeVec,
    /// Pods that left the ledger unconfirmed.
    pub ledger_dropped: IntCounterVec,
    /// Bindings, by result.
    pub bindings: IntCounterVec,
    /// Replica groups.
    pub groups: GroupMetrics,
    /// Configuration reloads.
    pub config_reloads: IntCounterVec,
    /// Whether the running configuration is the one in the file.
    pub config_current: IntGauge,
    /// Log lines held back by the rate limit.
    pub log_suppressed: IntCounter,
    /// Objects of a snapshot file that were passed over.
    pub snapshot_skipped: IntCounterVec,
    build_info: GaugeVec,
}

impl Metrics {
    /// All metrics, registered and with their closed label sets present from the start.
    pub fn new() -> Result<Self, prometheus::Error> {
        let registry = Registry::new();
        let maker = Maker { registry: &registry };
        let metrics = Self {
            request_duration: maker.histogram(
                "request_duration_seconds",
                "Time to answer a request, from reading its body to the answer being ready.",
                &["verb", "code"],
            )?,
            decision_duration: maker.histogram(
                "decision_duration_seconds",
                "Time a policy took for its part of a decision.",
                &["verb", "policy"],
            )?,
            filter_wait: maker.register(Histogram::with_opts(seconds(
                "filter_wait_seconds",
                "Time a filter call waited for the bind call of a pod of the same workload.",
            ))?)?,
            nodes_rejected: maker.counter(
                "nodes_rejected_total",
                "Candidate nodes that a policy rejected.",
                &["policy", "reason"],
            )?,
            observed_rejections: maker.counter(
                "observed_rejections_total",
                "Candidate nodes that a policy in mode Observe would have rejected.",
                &["policy", "reason"],
            )?,
            undecided: maker.counter(
                "undecided_total",
                "Calls that were answered without a decision, by reason.",
                &["reason"],
            )?,
            nominated_nodes: maker.counter(
                "nominated_node_total",
                "Nominated nodes among the candidates of a filter call, by whether they still fit.",
                &["result"],
            )?,
            preemption_candidates: maker.counter(
                "preemption_candidates_total",
                "Candidates for preemption, by what became of them, or would have in mode observe.",
                &["mode", "outcome"],
            )?,
            bad_requests: maker.counter(
                "bad_requests_total",
                "Requests refused because they were malformed.",
                &["verb", "reason"],
            )?,
            shed: maker.counter(
                "shed_requests_total",
                "Requests answered 503 because too many were under way.",
                &["verb"],
            )?,
            panics: maker.counter("panics_total", "Panics caught while deciding.", &["verb"])?,
            inflight: maker.gauge("inflight_requests", "Requests under way.", &["verb"])?,
            connections: maker.counter("connections_total", "TCP connections accepted.", &["listener"])?,
            connections_open: maker.gauge("connections_open", "TCP connections open.", &["listener"])?,
            cache_objects: maker.gauge("cache_objects", "Objects in the cluster cache.", &["kind"])?,
            cache_staleness: maker.float_gauge(
                "cache_staleness_seconds",
                "Seconds since a watch that is cut was last heard; 0 while it is open.",
                &["kind"],
            )?,
            undecodable: maker.counter(
                "undecodable_objects_total",
                "Objects that could not be read and were skipped.",
                &["kind"],
            )?,
            relists: maker.counter("relists_total", "Full lists taken of a kind.", &["kind"])?,
            watch_failures: maker.counter(
                "watch_failures_total",
                "Watches and lists that failed.",
                &["kind"],
            )?,
            ledger_entries: maker.gauge(
                "ledger_entries",
                "Placements decided and not yet shown by the watch.",
                &["state"],
            )?,
            ledger_dropped: maker.counter(
                "ledger_dropped_total",
                "Ledger entries that left without being confirmed.",
                &["cause"],
            )?,
            bindings: maker.counter("bindings_total", "Bind calls, by what became of them.", &["result"])?,
            groups: GroupMetrics::new(&maker)?,
            config_reloads: maker.counter(
                "config_reloads_total",
                "Times the configuration file changed, by what became of it.",
                &["result"],
            )?,
            config_current: maker.register(IntGauge::with_opts(opts(
                "config_current",
                "1 while the running configuration is the one in the file, 0 after a bad change.",
            ))?)?,
            log_suppressed: maker.register(IntCounter::with_opts(opts(
                "log_lines_suppressed_total",
                "Log lines held back by the rate limit.",
            ))?)?,
            build_info: maker.float_gauge("build_info", "The version running.", &["version"])?,
            snapshot_skipped: maker.counter(
                "snapshot_skipped_total",
                "Objects of a snapshot file that were passed over.",
                &["reason"],
            )?,
            registry,
        };
        metrics.prepare();
        Ok(metrics)
    }

    /// Series that must be there before their first event, so that a rate over them is right.
    fn prepare(&self) {
        self.build_info.with_label_values(&[env!("CARGO_PKG_VERSION")]).set(1.0);
        self.config_current.set(1);
        for kind in Kind::ALL {
            let kind = &[kind.label()];
            self.cache_objects.with_label_values(kind).set(0);
            self.undecodable.with_label_values(kind).inc_by(0);
            self.watch_failures.with_label_values(kind).inc_by(0);
        }
        for cause in DropCause::ALL {
            self.ledger_dropped.with_label_values(&[cause.label()]).inc_by(0);
        }
        for reason in Reason::ALL {
            let labels = &[reason.policy(), reason.code()];
            self.nodes_rejected.with_label_values(labels).inc_by(0);
            self.observed_rejections.with_label_values(labels).inc_by(0);
        }
        for undecided in Undecided::ALL {
            self.undecided.with_label_values(&[undecided.code()]).inc_by(0);
        }
        for result in Nominated::LABELS {
            self.nominated_nodes.with_label_values(&[result]).inc_by(0);
        }
        for mode in Mode::ALL {
            for fate in Fate::ALL {
                self.preemption_candidates.with_label_values(&[mode.label(), fate.label()]).inc_by(0);
            }
        }
        for result in ["success", "failure"] {
            self.config_reloads.with_label_values(&[result]).inc_by(0);
        }
        for result in ["bound", "refused", "unknown"] {
            self.bindings.with_label_values(&[result]).inc_by(0);
        }
        for listener in ["verbs", "admin"] {
            self.connections.with_label_values(&[listener]).inc_by(0);
        }
        self.set_view(&View::default());
    }

    /// Shows what a view holds.
    pub fn set_view(&self, view: &View) {
        for kind in Kind::ALL {
            let count = i64::try_from(view.count(kind)).unwrap_or(i64::MAX);
            self.cache_objects.with_label_values(&[kind.label()]).set(count);
        }
        self.set_ledger(view.ledger());
        self.groups.set_view(view);
    }

    fn set_ledger(&self, ledger: &Ledger) {
        for state in ["offered", "assumed"] {
            let count = ledger.iter().filter(|entry| entry.phase.label() == state).count();
            let count = i64::try_from(count).unwrap_or(i64::MAX);
            self.ledger_entries.with_label_values(&[state]).set(count);
        }
    }

    /// The text format that Prometheus scrapes.
    pub fn render(&self) -> Vec<u8> {
        let mut text = Vec::with_capacity(16 * 1024);
        // Writing into memory does not fail; a family without samples would, and there is none.
        if TextEncoder::new().encode(&self.registry.gather(), &mut text).is_err() {
            tracing::error!("metrics could not be rendered");
        }
        text
    }
}

/// A metric with Berth's prefix.
fn opts(name: &str, help: &str) -> Opts {
    Opts::new(format!("berth_{name}"), help)
}

/// A metric of times, with Berth's prefix.
fn seconds(name: &str, help: &str) -> HistogramOpts {
    HistogramOpts::from(opts(name, help)).buckets(SECONDS.to_vec())
}

/// Makes metrics that are registered.
struct Maker<'a> {
    registry: &'a Registry,
}

impl Maker<'_> {
    fn register<C: Collector + Clone + 'static>(&self, metric: C) -> Result<C, prometheus::Error> {
        self.registry.register(Box::new(metric.clone()))?;
        Ok(metric)
    }

    fn histogram(&self, name: &str, help: &str, labels: &[&str]) -> Result<HistogramVec, prometheus::Error> {
        self.register(HistogramVec::new(seconds(name, help), labels)?)
    }

    fn counter(&self, name: &str, help: &str, labels: &[&str]) -> Result<IntCounterVec, prometheus::Error> {
        self.register(IntCounterVec::new(opts(name, help), labels)?)
    }

    fn gauge(&self, name: &str, help: &str, labels: &[&str]) -> Result<IntGaugeVec, prometheus::Error> {
        self.register(IntGaugeVec::new(opts(name, help), labels)?)
    }

    fn float_gauge(&self, name: &str, help: &str, labels: &[&str]) -> Result<GaugeVec, prometheus::Error> {
        self.register(GaugeVec::new(opts(name, help), labels)?)
    }
}
