//! What is measured of the Services of replica groups.

use prometheus::{IntCounterVec, IntGaugeVec};

use crate::cluster::service_writer::Written;
use crate::group_services::{Action, Refusal};
use crate::metrics::{Registry, create_series};

const ACTIONS: [&str; 3] = ["create", "repair", "delete"];
const RESULTS: [&str; 4] = ["done", "superseded", "refused", "failed"];

/// Metrics of Services.
#[derive(Clone)]
pub(crate) struct GroupServiceMetrics {
    pub(super) services: IntGaugeVec,
    pub(super) refused: IntGaugeVec,
    writes: IntCounterVec,
}

impl GroupServiceMetrics {
    /// Registers them.
    pub(crate) fn register(registry: &Registry) -> Result<Self, prometheus::Error> {
        let services = registry.gauge(
            "group_services",
            "Headless Services of replica groups: wanted by groups, and there. 0 unless this Berth is the active one.",
            &["state"],
        )?;
        let refused = registry.gauge(
            "group_services_refused",
            "Replica groups that ask for a Service of their own and cannot have one, by why.",
            &["why"],
        )?;
        let writes = registry.counter(
            "group_service_writes_total",
            "Changes of Services of replica groups, by what was to be done and what became of it.",
            &["action", "result"],
        )?;
        create_series(&services, [["wanted"], ["there"]]);
        create_series(&refused, Refusal::ALL.map(|why| [why.label()]));
        for action in ACTIONS {
            create_series(&writes, RESULTS.map(|result| [action, result]));
        }
        Ok(Self { services, refused, writes })
    }

    pub(super) fn count(&self, action: &Action, written: &Written) {
        let action = match action {
            Action::Create(_) => "create",
            Action::Repair(..) => "repair",
            Action::Delete(..) => "delete",
        };
        let result = match written {
            Written::Done => "done",
            Written::Superseded => "superseded",
            Written::Refused(_) => "refused",
            Written::Failed(_) => "failed",
        };
        self.writes.with_label_values(&[action, result]).inc();
    }
}
