//! What is measured of replica groups.

use prometheus::{Histogram, HistogramOpts, IntCounterVec, IntGaugeVec};

use super::{Maker, opts};
use crate::ledger::reservations::Endings;
use crate::policy::replica_group::survey;
use crate::view::View;

/// From one scheduling cycle to many minutes of waiting for the last member.
const ASSEMBLY_SECONDS: &[f64] =
    &[0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0, 60.0, 120.0, 300.0, 900.0, 3600.0];

/// Metrics of replica groups.
#[derive(Debug)]
pub struct GroupMetrics {
    /// Groups, by state.
    pub states: IntGaugeVec,
    /// Groups that wait, by the reason given.
    pub waiting: IntGaugeVec,
    /// Time from the first to the last member bound.
    pub assembly: Histogram,
    /// Groups for which room is kept, and for how many members.
    pub reservations: IntGaugeVec,
    /// Reservations that are no more, by how they ended.
    pub reservations_ended: IntCounterVec,
    /// Domains in which groups are to be, by how much room they have.
    pub domains: IntGaugeVec,
    /// Events for pods, by what became of them.
    pub events: IntCounterVec,
}

impl GroupMetrics {
    pub(super) fn new(maker: &Maker<'_>) -> Result<Self, prometheus::Error> {
        let metrics = Self {
            states: maker.gauge("groups", "Replica groups, by state.", &["state"])?,
            waiting: maker.gauge(
                "groups_waiting",
                "Replica groups that cannot be placed, by the reason last given.",
                &["reason"],
            )?,
            assembly: maker.register(Histogram::with_opts(
                HistogramOpts::from(opts(
                    "group_assembly_seconds",
                    "Time from the bind call of a replica group's first member to that of its last.",
                ))
                .buckets(ASSEMBLY_SECONDS.to_vec()),
            )?)?,
            reservations: maker.gauge(
                "reservations",
                "Room kept for members of replica groups still to be placed: groups, and slots in all.",
                &["of"],
            )?,
            reservations_ended: maker.counter(
                "reservations_ended_total",
                "Reservations that are no more: every member came, nobody came in time, or nobody was left to come.",
                &["how"],
            )?,
            domains: maker.gauge(
                "domains",
                "Domains of the topologies that replica groups require, by the free share of what is scarcest there.",
                &["room"],
            )?,
            events: maker.counter("events_total", "Events about pods, by what became of them.", &["result"])?,
        };
        for result in ["posted", "failed", "dropped"] {
            metrics.events.with_label_values(&[result]).inc_by(0);
        }
        Ok(metrics)
    }

    /// Shows what a view holds.
    pub(super) fn set_view(&self, view: &View) {
        let count = |gauge: &IntGaugeVec, label: &str, value: usize| {
            gauge.with_label_values(&[label]).set(i64::try_from(value).unwrap_or(i64::MAX));
        };
        for (state, groups) in survey::groups(view) {
            count(&self.states, state, groups);
        }
        for (room, domains) in survey::domains(view) {
            count(&self.domains, room, domains);
        }
        let kept = view.ledger().reservations();
        count(&self.reservations, "groups", kept.len());
        count(&self.reservations, "slots", kept.iter().map(|kept| kept.slots.len()).sum());
        let Endings { fulfilled, expired, released } = kept.endings();
        for (how, ended) in [("fulfilled", fulfilled), ("expired", expired), ("released", released)] {
            // The ledger counts from the start, and so does this.
            let counter = self.reservations_ended.with_label_values(&[how]);
            counter.inc_by(ended.saturating_sub(counter.get()));
        }
    }
}
