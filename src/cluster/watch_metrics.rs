//! What is measured of lists and watches.

use prometheus::IntCounterVec;

use crate::metrics::{Registry, create_series};
use crate::model::Kind;

/// Metrics of lists and watches.
#[derive(Clone, Debug)]
pub struct WatchMetrics {
    /// Objects that could not be read.
    pub(crate) undecodable: IntCounterVec,
    /// Full lists taken.
    pub(crate) relists: IntCounterVec,
    /// Watches that ended in an error.
    pub(crate) watch_failures: IntCounterVec,
}

impl WatchMetrics {
    /// Registers them.
    pub fn register(registry: &Registry) -> Result<Self, prometheus::Error> {
        let by_kind = |name, help| {
            let counter = registry.counter(name, help, &["kind"])?;
            create_series(&counter, Kind::ALL.map(|kind| [kind.label()]));
            Ok::<_, prometheus::Error>(counter)
        };
        Ok(Self {
            undecodable: by_kind(
                "undecodable_objects_total",
                "Objects that could not be read and were skipped.",
            )?,
            relists: by_kind("relists_total", "Full lists taken of a kind.")?,
            watch_failures: by_kind("watch_failures_total", "Watches and lists that failed.")?,
        })
    }
}
