//! Picks up changes of the configuration file.

use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use prometheus::{IntCounterVec, IntGauge};

use crate::config::{self, Config, ConfigError, PendingRestart};
use crate::metrics::{NO_LABELS, Registry, create_series};
use crate::store::Store;

/// How often the file is looked at. It is compared by content: a `ConfigMap` volume swaps a symlink
/// two levels up, which file notifications on the file itself miss.
const EVERY: Duration = Duration::from_secs(1);

/// Metrics of the configuration file.
pub struct ReloadMetrics {
    config_reloads: IntCounterVec,
    config_current: IntGauge,
}

impl ReloadMetrics {
    /// Registers them.
    pub fn register(registry: &Registry) -> Result<Self, prometheus::Error> {
        let config_current = registry.gauge(
            "config_current",
            "1 while the running configuration is the one in the file, 0 after a bad change.",
            NO_LABELS,
        )?;
        let metrics = Self {
            config_reloads: registry.counter(
                "config_reloads_total",
                "Times the configuration file changed, by what became of it.",
                &["result"],
            )?,
            config_current: config_current.with_label_values(NO_LABELS),
        };
        create_series(&metrics.config_reloads, [["success"], ["failure"]]);
        metrics.config_current.set(1);
        Ok(metrics)
    }
}

/// Looks at the file.
pub(super) struct Reloader {
    /// The configuration file.
    pub file: PathBuf,
    /// What it said when the settings in force were read.
    pub seen: Mutex<Option<String>>,
    /// Where the settings in force are.
    pub store: Arc<Store>,
    /// Where it is noted which settings are not, until the next start.
    pub pending: Arc<PendingRestart>,
    /// Who counts reloads.
    pub metrics: ReloadMetrics,
}

impl Reloader {
    /// Looks for ever.
    pub async fn run(self: Arc<Self>) {
        loop {
            tokio::time::sleep(EVERY).await;
            let now = std::fs::read_to_string(&self.file).ok();
            let seen = std::mem::replace(&mut *self.seen(), now.clone());
            if now != seen {
                self.take_in(&self.file, now.as_deref());
            }
        }
    }

    fn seen(&self) -> MutexGuard<'_, Option<String>> {
        self.seen.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn take_in(&self, file: &Path, text: Option<&str>) {
        // A file that vanished is read again only for the sake of the error it gives.
        let result = text.map_or_else(|| config::load(file), config::parse);
        match result {
            Ok(config) => self.accept(config),
            Err(error) => self.refuse(&error),
        }
    }

    fn accept(&self, mut config: Config) {
        let pending = config::keep_until_restart(self.store.snapshot().config(), &mut config);
        if !pending.is_empty() {
            tracing::warn!(fields = pending.join(", "), "changed, and take effect at the next start");
        }
        self.store.reconfigure(config);
        self.pending.set(pending);
        self.metrics.config_reloads.with_label_values(&["success"]).inc();
        self.metrics.config_current.set(1);
        tracing::info!("configuration reloaded");
    }

    fn refuse(&self, error: &ConfigError) {
        self.metrics.config_reloads.with_label_values(&["failure"]).inc();
        self.metrics.config_current.set(0);
        tracing::error!(%error, "configuration not reloaded, the old one stays in force");
    }
}
