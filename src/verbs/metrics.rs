//! What is measured of verbs.

use prometheus::{Histogram, IntCounterVec};

use super::Verb;
use crate::config::Mode;
use crate::decision::Undecided;
use crate::engine::EngineMetrics;
use crate::metrics::{NO_LABELS, Registry, create_series};
use crate::policy::preemption::Fate;

/// Metrics of verbs.
#[derive(Clone, Debug)]
pub struct VerbsMetrics {
    /// Time a filter call waited for the bind call of the pod before.
    pub(crate) filter_wait: Histogram,
    /// Calls that were answered without a decision, by reason.
    pub(crate) undecided: IntCounterVec,
    /// Candidates for preemption, by what became of them.
    pub preemption_candidates: IntCounterVec,
    /// Bindings, by result.
    pub(crate) bindings: IntCounterVec,
    /// Nominations, by what became of them.
    pub(crate) nominations: IntCounterVec,
    /// Panics caught on the way to an answer. It is the engine's metric, which counts those of policies there.
    pub(crate) panics: IntCounterVec,
}

impl VerbsMetrics {
    /// Registers them.
    pub fn register(registry: &Registry, engine: &EngineMetrics) -> Result<Self, prometheus::Error> {
        let filter_wait = registry.histogram(
            "filter_wait_seconds",
            "Time a filter call waited for the bind call of a pod of the same workload.",
            NO_LABELS,
        )?;
        let metrics = Self {
            filter_wait: filter_wait.with_label_values(NO_LABELS),
            undecided: registry.counter(
                "undecided_total",
                "Calls that were answered without a decision, by reason.",
                &["reason"],
            )?,
            preemption_candidates: registry.counter(
                "preemption_candidates_total",
                "Candidates for preemption, by what became of them, or would have in mode observe.",
                &["mode", "outcome"],
            )?,
            bindings: registry.counter(
                "bindings_total",
                "Bind calls, by what became of them.",
                &["result"],
            )?,
            nominations: registry.counter(
                "nominations_total",
                "Nominated nodes written to members of replica groups or taken back, by result.",
                &["result"],
            )?,
            panics: engine.panics.clone(),
        };
        create_series(
            &metrics.nominations,
            [["written"], ["taken_back"], ["announced"], ["superseded"], ["failed"]],
        );
        create_series(&metrics.undecided, Undecided::ALL.map(|undecided| [undecided.code()]));
        for mode in Mode::ALL {
            let fates = Fate::ALL.map(|fate| [mode.label(), fate.label()]);
            create_series(&metrics.preemption_candidates, fates);
        }
        create_series(&metrics.bindings, [["bound"], ["refused"], ["declined"], ["unknown"]]);
        create_series(&metrics.panics, Verb::ALL.map(|verb| [verb.label()]));
        Ok(metrics)
    }
}
