//! What is measured of replica groups.

use std::collections::BTreeSet;
use std::sync::Arc;

use prometheus::{Gauge, Histogram, IntCounterVec, IntGaugeVec};

use super::notices::Notice;
use crate::decision::Reason;
use crate::decision::reason::REPLICA_GROUP;
use crate::metrics::{NO_LABELS, Registry, count, create_series};
use crate::model::GroupKey;
use crate::policy::replica_group::survey;
use crate::view::View;

/// From one scheduling cycle to many minutes of waiting for the last member.
const ASSEMBLY_SECONDS: &[f64] =
    &[0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0, 60.0, 120.0, 300.0, 900.0, 3600.0];

/// All topologies that the operator has not named.
const OTHER_TOPOLOGY: &str = "other";

/// Metrics of replica groups.
#[derive(Clone, Debug)]
pub struct GroupMetrics {
    /// Groups, by state.
    pub(crate) states: IntGaugeVec,
    /// Groups that wait, by the reason given.
    pub(crate) waiting: IntGaugeVec,
    /// Time from the first to the last member bound.
    pub(crate) assembly: Histogram,
    /// Topologies that are named in vain, as far as it was said.
    pub(crate) ignored: IntCounterVec,
    /// Domains in which groups are to be, by their topology and how much room they have.
    pub(crate) domains: IntGaugeVec,
    /// The age of the group that has waited for longest.
    pub(crate) oldest_waiting: Gauge,
}

impl GroupMetrics {
    /// Registers them.
    pub fn register(registry: &Registry) -> Result<Self, prometheus::Error> {
        let assembly = registry.histogram_with(
            ASSEMBLY_SECONDS,
            "group_assembly_seconds",
            "Time from the bind call of a replica group's first member to that of its last.",
            NO_LABELS,
        )?;
        let oldest_waiting = registry.float_gauge(
            "groups_oldest_waiting_seconds",
            "For how long the replica group has waited that waits for longest, as far as this process has seen; 0 if none waits.",
            NO_LABELS,
        )?;
        let metrics = Self {
            states: registry.gauge("groups", "Replica groups, by state.", &["state"])?,
            waiting: registry.gauge(
                "groups_waiting",
                "Replica groups that cannot be placed, by the reason last given.",
                &["reason"],
            )?,
            assembly: assembly.with_label_values(NO_LABELS),
            ignored: registry.counter(
                "topology_ignored_total",
                "Events about topology annotations that do not count, by why.",
                &["why"],
            )?,
            domains: registry.gauge(
                "domains",
                "Domains of the topologies that replica groups require, by the free share of what is scarcest there.",
                &["topology", "room"],
            )?,
            oldest_waiting: oldest_waiting.with_label_values(NO_LABELS),
        };
        create_series(&metrics.ignored, Notice::ALL.map(|notice| [notice.label()]));
        metrics.show(&View::default(), &BTreeSet::new(), |_| false, |_| ());
        metrics.nobody_waits();
        Ok(metrics)
    }

    /// Sets the groups that wait to 0 for every reason that can be given.
    pub(crate) fn nobody_waits(&self) {
        for reason in Reason::ALL.iter().filter(|reason| reason.policy() == REPLICA_GROUP) {
            self.waiting.with_label_values(&[reason.code()]).set(0);
        }
    }

    /// Shows how the groups of a view are doing, and the domains of the topologies that groups require. Those `named` by the
    /// operator have labels of their own. Which groups are wedged, only kube-scheduler's calls tell; `waits` hears of those
    /// that wait.
    pub(crate) fn show(
        &self,
        view: &View,
        named: &BTreeSet<&str>,
        is_wedged: impl Fn(&GroupKey) -> bool,
        waits: impl FnMut(&Arc<GroupKey>),
    ) {
        for (state, groups) in survey::groups(view, is_wedged, waits) {
            self.states.with_label_values(&[state]).set(count(groups));
        }
        // The settings may name others than they did.
        self.domains.reset();
        for (topology, room, domains) in survey::domains(view, named) {
            self.domains.with_label_values(&[topology.unwrap_or(OTHER_TOPOLOGY), room]).set(count(domains));
        }
    }
}
