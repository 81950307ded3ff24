//! One of several Berths is active at a time, by a Lease.
//!
//! ```text
//!   nobody holds it, or its holder has not renewed it for 15 s by our own clock   claim it
//!   we hold it                                                                    renew it, every 2 s
//!   the last renewal was sent 10 s ago                                            stop, whatever the Lease says
//!   Berth ends, or is told not to take part any more                              give it back
//! ```
//!
//! Clocks are never compared: what counts is how long ago, by its own clock, each saw the Lease change. Who is active begins
//! nothing after 10 s, and gives up after 4 s more what it began, so it has ended before somebody else begins. Should two
//! be active all the same (a process that was stopped in the middle of a call), every change is meant for the version that
//! was looked at, and one of both changes nothing.

mod claim;

use std::hash::{BuildHasher, Hasher, RandomState};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use prometheus::IntGauge;
use tokio::sync::watch;

use self::claim::{Observer, Step};
use crate::cluster::lease::{Leases, SeenLease};
use crate::metrics::Registry;
use crate::model::ObjectKey;
use crate::store::Store;

/// A Lease that was not renewed for so long belongs to nobody.
const DURATION: Duration = Duration::from_secs(15);
/// Who could not renew it for so long is not active any more.
const DEADLINE: Duration = Duration::from_secs(10);
/// How often to look, and to renew.
const PAUSE: Duration = Duration::from_secs(2);

/// What is measured.
#[derive(Clone)]
pub(crate) struct ElectionMetrics {
    active: IntGauge,
}

impl ElectionMetrics {
    /// Registers them.
    pub(crate) fn register(registry: &Registry) -> Result<Self, prometheus::Error> {
        let active = registry.gauge(
            "controller_active",
            "1 while this Berth is the one of all that runs a controller.",
            &["controller"],
        )?;
        Ok(Self { active: active.with_label_values(&["group-services"]) })
    }
}

/// Takes part in an election, and knows whether it is won.
pub(crate) struct Election {
    leases: Leases,
    store: Arc<Store>,
    metrics: ElectionMetrics,
    /// Who we are: no two processes ever have the same name.
    identity: String,
    term: Mutex<Term>,
    active: watch::Sender<bool>,
}

#[derive(Default)]
struct Term {
    /// Until when we may act.
    until: Option<Instant>,
    /// What we hold.
    held: Option<(ObjectKey, SeenLease)>,
}

impl Election {
    /// Takes part under a name of its own.
    pub(crate) fn new(leases: Leases, store: Arc<Store>, metrics: ElectionMetrics) -> Self {
        let host = std::env::var("HOSTNAME").unwrap_or_else(|_| "berth".to_owned());
        // Keyed at random for each process.
        let random = RandomState::new().build_hasher().finish();
        let identity = format!("{host}_{random:016x}");
        Self { leases, store, metrics, identity, term: Mutex::default(), active: watch::Sender::new(false) }
    }

    /// Whether we may act now.
    pub(crate) fn is_active(&self) -> bool {
        self.term().until.is_some_and(|until| Instant::now() < until)
    }

    /// Tells when that changes.
    pub(crate) fn subscribe(&self) -> watch::Receiver<bool> {
        self.active.subscribe()
    }

    /// Takes part for as long as the configuration wants it.
    pub(crate) async fn campaign(&self) {
        let mut observer = Observer::default();
        loop {
            match self.lease() {
                Some(key) => self.attempt(&key, &mut observer).await,
                None => self.release().await,
            }
            self.show();
            tokio::time::sleep(PAUSE).await;
        }
    }

    /// Gives the Lease back, so that somebody else need not wait until it has expired.
    pub(crate) async fn release(&self) {
        let held = {
            let mut term = self.term();
            term.until = None;
            term.held.take()
        };
        self.show();
        if let Some((key, seen)) = held
            && let Err(reason) = self.leases.write(&key, Some(&seen), "", DURATION).await
        {
            tracing::debug!(lease = %key, reason, "lease not given back");
        }
    }

    /// The Lease to hold, if we are to take part.
    fn lease(&self) -> Option<ObjectKey> {
        let snapshot = self.store.snapshot();
        let services = &snapshot.config().replica_groups.services;
        let lease = &services.lease;
        services.enabled.then(|| self.leases.key(&lease.namespace, &lease.name))
    }

    async fn attempt(&self, key: &ObjectKey, observer: &mut Observer) {
        if self.term().held.as_ref().is_some_and(|(held, _)| held != key) {
            self.release().await;
        }
        let sent = Instant::now();
        match self.claim(key, observer).await {
            Ok(Some(seen)) => {
                let mut term = self.term();
                if term.held.is_none() {
                    tracing::info!(lease = %key, "active now");
                }
                *term = Term { until: Some(sent + DEADLINE), held: Some((key.clone(), seen)) };
            }
            Ok(None) => {
                if std::mem::take(&mut *self.term()).held.is_some() {
                    tracing::warn!(lease = %key, "somebody else is active now");
                }
            }
            // Until the deadline we may still act.
            Err(reason) => tracing::warn!(lease = %key, reason, "lease neither claimed nor renewed"),
        }
    }

    /// The Lease, if it is ours now.
    async fn claim(&self, key: &ObjectKey, observer: &mut Observer) -> Result<Option<SeenLease>, String> {
        let seen = self.leases.read(key).await?;
        match observer.look(seen.as_ref(), &self.identity, Instant::now()) {
            Step::Claim => self.leases.write(key, seen.as_ref(), &self.identity, DURATION).await,
            Step::Wait => Ok(None),
        }
    }

    fn show(&self) {
        let is_active = self.is_active();
        self.metrics.active.set(is_active.into());
        self.active.send_if_modified(|known| std::mem::replace(known, is_active) != is_active);
    }

    fn term(&self) -> std::sync::MutexGuard<'_, Term> {
        self.term.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
