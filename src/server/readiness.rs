//! Whether Berth is ready, and if not, why.

use std::fmt::Write;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use crate::cluster::Freshness;
use crate::metrics::{NO_LABELS, Registry};
use crate::model::Kind;
use crate::store::Store;

/// What readiness depends on.
#[derive(Clone)]
pub struct Readiness {
    /// The settings in force.
    pub store: Arc<Store>,
    /// How far the cluster can be trusted.
    pub freshness: Arc<Freshness>,
    /// Set when told to stop.
    pub draining: Arc<AtomicBool>,
}

/// How much is said of what is wrong. The words of the API server, its address and what Berth's account may not do are not
/// for everybody who reaches the port.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reasons {
    /// Everything.
    Told,
    /// That something is, and of which sort.
    Withheld,
}

impl Readiness {
    /// Shows it in the metrics.
    pub fn register(&self, registry: &Registry) -> Result<(), prometheus::Error> {
        let ready = registry.gauge("ready", "1 while /readyz says ok, else 0.", NO_LABELS)?;
        let (ready, readiness) = (ready.with_label_values(NO_LABELS), self.clone());
        registry.before_rendering(move || ready.set(i64::from(readiness.is_ready())));
        Ok(())
    }

    /// Whether kube-scheduler may count on the answers.
    pub fn is_ready(&self) -> bool {
        let limit = self.store.snapshot().config().server.staleness_limit.0;
        !self.draining.load(Ordering::Relaxed) && self.freshness.not_ready(limit).is_none()
    }

    /// Everything it depends on, a line each, with what is wrong and what helps.
    pub fn report(&self, reasons: Reasons) -> String {
        let limit = self.store.snapshot().config().server.staleness_limit.0;
        let mut lines = String::new();
        // Writing to a string does not fail.
        let _ =
            writeln!(lines, "[{}] shutdown", if self.draining.load(Ordering::Relaxed) { "-" } else { "+" });
        for kind in Kind::ALL {
            let (name, staleness) = (kind.label(), self.freshness.staleness(kind));
            let (mark, state) = if !self.freshness.is_synced(kind) {
                ("-", ": not synced".to_owned())
            } else if staleness > limit {
                ("-", format!(": watch cut for {} s", staleness.as_secs()))
            } else {
                ("+", String::new())
            };
            let problem = self.freshness.problem(kind);
            let said = match (reasons, problem) {
                (Reasons::Told, Some(found)) => {
                    format!("{state}: {}: {}", found.problem.label(), found.text)
                }
                (Reasons::Told, None) => state,
                // As Kubernetes puts it.
                (Reasons::Withheld, Some(found)) => format!(": {}: reason withheld", found.problem.label()),
                (Reasons::Withheld, None) if mark == "-" => ": reason withheld".to_owned(),
                (Reasons::Withheld, None) => String::new(),
            };
            let _ = writeln!(lines, "[{mark}] {name}{said}");
        }
        lines
    }
}
