//! The one place where the view changes.

use std::sync::{Arc, Mutex, PoisonError};

use arc_swap::ArcSwap;
use tokio::sync::Notify;
use tokio::sync::futures::Notified;

use crate::config::Config;
use crate::metrics::Metrics;
use crate::view::View;
use crate::view::change::{Change, Dropped};

/// Holds the published view and lets one writer at a time replace it.
///
/// A change is made on a clone, which shares nearly everything with the view it replaces, and is then
/// published whole: readers take no lock, and a change that panics halfway leaves no trace.
#[derive(Debug)]
pub struct Store {
    published: ArcSwap<View>,
    writer: Mutex<()>,
    changes: Notify,
    metrics: Arc<Metrics>,
}

impl Store {
    /// An empty store.
    pub fn new(metrics: Arc<Metrics>) -> Self {
        Self { published: ArcSwap::default(), writer: Mutex::default(), changes: Notify::new(), metrics }
    }

    /// The view to decide on: one per request.
    pub fn view(&self) -> Arc<View> {
        self.published.load_full()
    }

    /// Completes at the next change. Begin to wait before looking at the view, or a change may be missed.
    pub fn changed(&self) -> Notified<'_> {
        self.changes.notified()
    }

    /// Takes in what a watch tells, all of it at once.
    pub fn apply(&self, changes: impl IntoIterator<Item = Change>) {
        self.write(|view| changes.into_iter().flat_map(|change| view.apply(change)).collect());
    }

    /// From now on groups are recognised as the configuration says.
    pub fn recognise_groups(&self, config: &Config) {
        let recogniser = Arc::new(config.replica_groups.recogniser());
        if *self.view().recogniser() != recogniser {
            self.write(|view| {
                view.set_recogniser(recogniser);
                Vec::new()
            });
        }
    }

    /// Makes a change, publishes it, and tells what is published then.
    pub fn write(&self, change: impl FnOnce(&mut View) -> Dropped) -> Arc<View> {
        let guard = self.writer.lock().unwrap_or_else(PoisonError::into_inner);
        let mut view = View::clone(&self.published.load());
        let dropped = change(&mut view);
        let view = Arc::new(view);
        self.published.store(view.clone());
        drop(guard);
        self.changes.notify_waiters();
        for cause in dropped {
            self.metrics.ledger_dropped.with_label_values(&[cause.label()]).inc();
        }
        view
    }
}
