//! How far the cache can be trusted: which watches have synced, and which are cut since when.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use prometheus::{GaugeVec, IntGaugeVec};

use super::watch_problem::{Problem, WatchProblem};
use crate::metrics::{Registry, create_series};
use crate::model::Kind;

/// The state of every watch.
///
/// A watch is *open* from the moment the API server accepts it until it breaks; one that stays silent
/// for long is reopened, so that a connection that died without a word is noticed. While a watch is not
/// open, its staleness is the time since anything was last heard on it. A kind is *synced* once its first
/// watch is open: who may list and not watch has a cache that is never right again.
#[derive(Debug)]
pub struct Freshness {
    began: Instant,
    watches: [Watch; Kind::ALL.len()],
}

#[derive(Debug, Default)]
struct Watch {
    synced: AtomicBool,
    open: AtomicBool,
    /// Milliseconds after `began`.
    heard: AtomicU64,
    /// Why it is not open, if something failed.
    problem: Mutex<Option<Arc<WatchProblem>>>,
}

/// Metrics of how current the cache is.
#[derive(Clone, Debug)]
pub struct FreshnessMetrics {
    cache_staleness: GaugeVec,
    watch_problem: IntGaugeVec,
}

impl FreshnessMetrics {
    /// Registers them.
    pub fn register(registry: &Registry) -> Result<Self, prometheus::Error> {
        let cache_staleness = registry.float_gauge(
            "cache_staleness_seconds",
            "Seconds since a watch that is cut was last heard; 0 while it is open.",
            &["kind"],
        )?;
        let watch_problem = registry.gauge(
            "watch_problem",
            "1 while a kind is not followed because it is forbidden, the API server cannot be reached, or it fails.",
            &["kind", "problem"],
        )?;
        create_series(&cache_staleness, Kind::ALL.map(|kind| [kind.label()]));
        for problem in Problem::ALL {
            create_series(&watch_problem, Kind::ALL.map(|kind| [kind.label(), problem.label()]));
        }
        Ok(Self { cache_staleness, watch_problem })
    }
}

/// Why the cache cannot be trusted now.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NotReady {
    /// The first list has not arrived, or the watch after it has not been opened.
    NotSynced(Kind),
    /// The watch is cut for longer than allowed.
    Stale(Kind),
}

impl Default for Freshness {
    fn default() -> Self {
        Self { began: Instant::now(), watches: std::array::from_fn(|_| Watch::default()) }
    }
}

impl Freshness {
    /// The API server gave a whole list, accepted the watch, or said something on it.
    pub(crate) fn mark_heard(&self, kind: Kind) {
        let now = u64::try_from(self.began.elapsed().as_millis()).unwrap_or(u64::MAX);
        self.watch(kind).heard.store(now, Relaxed);
    }

    /// The watch that goes on from a list in the cache is open, or the kind is known not to be installed.
    pub fn mark_open(&self, kind: Kind) {
        self.mark_heard(kind);
        self.watch(kind).open.store(true, Relaxed);
        self.watch(kind).synced.store(true, Relaxed);
        *self.problem_mut(kind) = None;
    }

    /// It cannot be followed now, and this is why.
    pub(crate) fn mark_problem(&self, kind: Kind, problem: Arc<WatchProblem>) {
        *self.problem_mut(kind) = Some(problem);
    }

    /// Why it is not followed, if something failed.
    pub fn problem(&self, kind: Kind) -> Option<Arc<WatchProblem>> {
        self.problem_mut(kind).clone()
    }

    fn problem_mut(&self, kind: Kind) -> MutexGuard<'_, Option<Arc<WatchProblem>>> {
        self.watch(kind).problem.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The watch broke.
    pub(crate) fn mark_cut(&self, kind: Kind) {
        self.watch(kind).open.store(false, Relaxed);
    }

    /// Whether the first list has arrived, and a watch after it was opened.
    pub fn is_synced(&self, kind: Kind) -> bool {
        self.watch(kind).synced.load(Relaxed)
    }

    /// Zero while the watch is open, else the time since it was last heard.
    pub fn staleness(&self, kind: Kind) -> Duration {
        let watch = self.watch(kind);
        if watch.open.load(Relaxed) {
            return Duration::ZERO;
        }
        self.began.elapsed().saturating_sub(Duration::from_millis(watch.heard.load(Relaxed)))
    }

    /// The first reason not to trust the cache, if there is one.
    pub fn not_ready(&self, limit: Duration) -> Option<NotReady> {
        let unsynced = Kind::ALL.into_iter().find(|kind| !self.is_synced(*kind));
        let stale = || Kind::ALL.into_iter().find(|kind| self.staleness(*kind) > limit);
        unsynced.map(NotReady::NotSynced).or_else(|| stale().map(NotReady::Stale))
    }

    /// Declares every kind complete and current, as a file is.
    pub fn mark_all_current(&self) {
        for kind in Kind::ALL {
            self.mark_open(kind);
        }
    }

    /// Shows the staleness of every kind, and why it is not followed.
    pub fn publish(&self, metrics: &FreshnessMetrics) {
        for kind in Kind::ALL {
            let gauge = metrics.cache_staleness.with_label_values(&[kind.label()]);
            gauge.set(self.staleness(kind).as_secs_f64());
            let found = self.problem(kind).map(|found| found.problem);
            for problem in Problem::ALL {
                let gauge = metrics.watch_problem.with_label_values(&[kind.label(), problem.label()]);
                gauge.set(i64::from(found == Some(problem)));
            }
        }
    }

    fn watch(&self, kind: Kind) -> &Watch {
        &self.watches[kind.index()]
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::{Freshness, NotReady};
    use crate::model::Kind;

    #[test]
    fn trust_needs_every_watch_synced_and_none_cut_for_long() {
        let freshness = Freshness::default();
        assert_eq!(freshness.not_ready(Duration::MAX), Some(NotReady::NotSynced(Kind::Node)));
        freshness.mark_all_current();
        assert_eq!(freshness.not_ready(Duration::ZERO), None);

        freshness.mark_cut(Kind::Pod);
        std::thread::sleep(Duration::from_millis(5));
        assert!(freshness.staleness(Kind::Pod) >= Duration::from_millis(4));
        assert_eq!(freshness.not_ready(Duration::ZERO), Some(NotReady::Stale(Kind::Pod)));
        assert_eq!(freshness.not_ready(Duration::from_mins(1)), None);

        freshness.mark_open(Kind::Pod);
        assert_eq!(freshness.staleness(Kind::Pod), Duration::ZERO);
    }
}
