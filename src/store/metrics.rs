//! What is measured of the published view.

use prometheus::{IntCounterVec, IntGauge, IntGaugeVec};

use crate::ledger::DropCause;
use crate::ledger::reservations::Endings;
use crate::metrics::{NO_LABELS, Registry, count, create_series};
use crate::model::Kind;
use crate::view::View;

/// Metrics of the published view and its ledger.
#[derive(Clone, Debug)]
pub(super) struct StoreMetrics {
    /// Objects in the cache.
    pub(super) cache_objects: IntGaugeVec,
    /// Pods under way, by state.
    pub(super) ledger_entries: IntGaugeVec,
    /// Pods that left the ledger unconfirmed.
    pub(super) ledger_dropped: IntCounterVec,
    /// Groups for which room is kept.
    pub(super) reservations: IntGauge,
    /// Members for whom room is kept.
    pub(super) reserved_slots: IntGauge,
    /// Reservations that are no more, by how they ended.
    pub(super) reservations_ended: IntCounterVec,
}

impl StoreMetrics {
    /// Registers them.
    pub(super) fn register(registry: &Registry) -> Result<Self, prometheus::Error> {
        let reservations = registry.gauge(
            "reservations",
            "Replica groups for which room is kept, for members still to be placed.",
            NO_LABELS,
        )?;
        let reserved_slots = registry.gauge(
            "reserved_slots",
            "Members of replica groups still to be placed for whom room is kept.",
            NO_LABELS,
        )?;
        let metrics = Self {
            cache_objects: registry.gauge("cache_objects", "Objects in the cluster cache.", &["kind"])?,
            ledger_entries: registry.gauge(
                "ledger_entries",
                "Placements decided and not yet shown by the watch.",
                &["state"],
            )?,
            ledger_dropped: registry.counter(
                "ledger_dropped_total",
                "Ledger entries that left without being confirmed.",
                &["cause"],
            )?,
            reservations: reservations.with_label_values(NO_LABELS),
            reserved_slots: reserved_slots.with_label_values(NO_LABELS),
            reservations_ended: registry.counter(
                "reservations_ended_total",
                "Reservations that are no more: every member came, nobody came in time, or nobody was left to come.",
                &["how"],
            )?,
        };
        create_series(&metrics.ledger_dropped, DropCause::ALL.map(|cause| [cause.label()]));
        metrics.show(&View::default());
        Ok(metrics)
    }

    /// Shows what a view holds.
    pub(super) fn show(&self, view: &View) {
        for kind in Kind::ALL {
            self.cache_objects.with_label_values(&[kind.label()]).set(count(view.count(kind)));
        }
        for state in ["offered", "assumed"] {
            let entries = view.ledger().iter().filter(|entry| entry.phase.label() == state).count();
            self.ledger_entries.with_label_values(&[state]).set(count(entries));
        }
        let reserved = view.ledger().reservations();
        let slots = reserved.iter().map(|reservation| reservation.slots.len()).sum();
        self.reservations.set(count(reserved.len()));
        self.reserved_slots.set(count(slots));
        let Endings { fulfilled, expired, released } = reserved.endings();
        for (how, ended) in [("fulfilled", fulfilled), ("expired", expired), ("released", released)] {
            // The ledger counts from the start of the process, and so does the metric.
            let counter = self.reservations_ended.with_label_values(&[how]);
            counter.inc_by(ended.saturating_sub(counter.get()));
        }
    }
}
