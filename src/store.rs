//! The one place where what decisions are made on changes.
//!
//! ```text
//!   watches, binder, verbs --write--> Store --publish--> Snapshot (view + settings), read without a lock
//!   reloader --------------reconfigure-^  \
//!                                          +--------> Changes, to those who subscribed
//! ```

mod metrics;
mod snapshot;
mod subscription;

use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, TryLockError};
use std::time::Duration;

use arc_swap::ArcSwap;
use tokio::sync::broadcast;

use self::metrics::StoreMetrics;
use self::snapshot::Settings;
pub use self::snapshot::Snapshot;
pub use self::subscription::Subscription;
use crate::config::Config;
use crate::engine::{Engine, EngineMetrics};
use crate::metrics::Registry;
use crate::off_loop::off_the_event_loop;
use crate::view::View;
use crate::view::change::{Change, Dropped};
pub use crate::view::changes::{Changes, Kinds};

/// How many publications a subscriber may be behind before it is told to look at everything.
const BACKLOG: usize = 256;

/// How long, and how often in a row, it is waited for others who want to make a change.
const PAUSE: Duration = Duration::from_micros(50);
const MOST_PAUSES: usize = 20;

/// Holds the published snapshot and lets one writer at a time replace it.
///
/// A change is made on a clone of the view, which shares nearly everything with the view it replaces, and is then
/// published whole: readers take no lock, and a change that panics halfway leaves no trace.
pub struct Store {
    published: ArcSwap<Snapshot>,
    writer: Mutex<()>,
    /// How many wait to become the writer.
    waiting: AtomicUsize,
    subscribers: broadcast::Sender<Arc<Changes>>,
    metrics: StoreMetrics,
}

impl Store {
    /// A store without objects, for decisions by this configuration.
    pub fn new(config: Config, registry: &Registry) -> Result<Self, prometheus::Error> {
        let engine = Engine::new(&config, EngineMetrics::register(registry)?);
        Self::with_engine(config, engine, registry)
    }

    /// A store without objects, for decisions by an engine that need not be the one that the configuration describes.
    pub fn with_engine(
        config: Config,
        engine: Engine,
        registry: &Registry,
    ) -> Result<Self, prometheus::Error> {
        let mut view = View::default();
        view.set_recogniser(Arc::new(config.replica_groups.recogniser()));
        let settings = Arc::new(Settings { config, engine });
        let snapshot = Snapshot { view: Arc::new(view), settings };
        Ok(Self {
            published: ArcSwap::from_pointee(snapshot),
            writer: Mutex::default(),
            waiting: AtomicUsize::default(),
            subscribers: broadcast::Sender::new(BACKLOG),
            metrics: StoreMetrics::register(registry)?,
        })
    }

    /// What to decide on: one per request.
    pub fn snapshot(&self) -> Arc<Snapshot> {
        self.published.load_full()
    }

    /// The cluster alone, for those who do not decide.
    pub fn view(&self) -> Arc<View> {
        self.published.load().view.clone()
    }

    /// Shows in the metrics what the published view holds.
    pub(crate) fn refresh_metrics(&self) {
        self.metrics.show(&self.view());
    }

    /// Hands over what every publication from now on changes. Nothing is missed by who subscribes first and takes a
    /// snapshot then.
    pub fn subscribe(&self) -> Subscription {
        Subscription::new(self.subscribers.subscribe())
    }

    /// Takes in what a watch tells, all of it at once.
    pub fn apply(&self, changes: impl IntoIterator<Item = Change>) {
        self.write(|view| changes.into_iter().flat_map(|change| view.apply(change)).collect());
    }

    /// From now on decisions are made, and groups recognised, by this configuration. All of it is one publication, so
    /// no snapshot holds a view of one configuration and an engine of another.
    pub fn reconfigure(&self, config: Config) -> Arc<Snapshot> {
        let recogniser = Arc::new(config.replica_groups.recogniser());
        let engine = self.published.load().engine().of_config(&config);
        let new = Arc::new(Settings { config, engine });
        self.publish(|view, settings| {
            view.list_settings();
            view.set_recogniser(recogniser);
            if settings.config.replica_groups.mode != new.config.replica_groups.mode {
                // Nothing is reserved for a plan that nobody follows, and all that is owed once it is followed again.
                view.forget_reservations();
            }
            *settings = new;
            Vec::new()
        })
    }

    /// Makes a change, publishes it, and tells what is published then.
    pub fn write(&self, change: impl FnOnce(&mut View) -> Dropped) -> Arc<Snapshot> {
        self.publish(|view, _| change(view))
    }

    /// Makes a change that depends on the settings in force.
    pub fn write_by_settings(
        &self,
        change: impl FnOnce(&mut View, &Config, &Engine) -> Dropped,
    ) -> Arc<Snapshot> {
        self.publish(|view, settings| change(view, &settings.config, &settings.engine))
    }

    /// Makes a change that was worked out on a snapshot. It is told whether anything has been published since.
    pub fn write_after(
        &self,
        seen: &Arc<Snapshot>,
        change: impl FnOnce(&mut View, &Config, &Engine, bool) -> Dropped,
    ) -> Arc<Snapshot> {
        self.publish(|view, settings| {
            // Nobody else publishes while this is made.
            let is_unchanged = Arc::ptr_eq(&self.published.load(), seen);
            change(view, &settings.config, &settings.engine, is_unchanged)
        })
    }

    fn publish(&self, change: impl FnOnce(&mut View, &mut Arc<Settings>) -> Dropped) -> Arc<Snapshot> {
        let guard = self.become_writer();
        let mut snapshot = Snapshot::clone(&self.published.load());
        let mut view = View::clone(&snapshot.view);
        if self.subscribers.receiver_count() > 0 {
            view.list_changes();
        }
        let dropped = change(&mut view, &mut snapshot.settings);
        let changes = view.take_changes();
        snapshot.view = Arc::new(view);
        let snapshot = Arc::new(snapshot);
        self.published.store(snapshot.clone());
        // Still under the lock, so that subscribers hear of publications in their order.
        self.tell(changes);
        drop(guard);
        for cause in dropped {
            self.metrics.ledger_dropped.with_label_values(&[cause.label()]).inc();
        }
        snapshot
    }

    /// Mostly at once. Where somebody is working out what is owed to groups it may take a while.
    fn become_writer(&self) -> MutexGuard<'_, ()> {
        match self.writer.try_lock() {
            Ok(guard) => guard,
            Err(TryLockError::Poisoned(poisoned)) => poisoned.into_inner(),
            Err(TryLockError::WouldBlock) => {
                self.waiting.fetch_add(1, Relaxed);
                let guard = off_the_event_loop(|| self.writer.lock().unwrap_or_else(PoisonError::into_inner));
                self.waiting.fetch_sub(1, Relaxed);
                guard
            }
        }
    }

    /// Lets those go first who wait to make a change. To be called between two of many changes: a thread that makes one after
    /// the other would mostly be faster than one that has to be woken.
    pub(crate) fn let_others_write(&self) {
        for _ in 0..MOST_PAUSES {
            if self.waiting.load(Relaxed) == 0 {
                return;
            }
            std::thread::sleep(PAUSE);
        }
    }

    /// Comes after the publication: who subscribes after the count was looked at here sees the new snapshot.
    fn tell(&self, changes: Option<Changes>) {
        let changes = match changes {
            Some(changes) => changes,
            None if self.subscribers.receiver_count() == 0 => return,
            // Somebody subscribed while the change was made, and may have taken the snapshot before it.
            None => Changes::unlisted(),
        };
        if !changes.is_empty() {
            // Fails only if nobody listens any more.
            let _ = self.subscribers.send(Arc::new(changes));
        }
    }
}

#[cfg(test)]
mod tests;
