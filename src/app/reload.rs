//! Picks up changes of the configuration and certificate files.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use crate::config::{self, Config, ConfigError};
use crate::metrics::Metrics;
use crate::server::tls::Certificates;
use crate::store::Store;

/// How often the files are looked at. They are compared by content: a `ConfigMap` volume swaps a symlink
/// two levels up, which file notifications on the file itself miss.
const EVERY: Duration = Duration::from_secs(1);

/// Looks at the files.
pub struct Reloader {
    /// The configuration file.
    pub file: PathBuf,
    /// What it said when the settings in force were read.
    pub seen: Option<String>,
    /// Where the settings in force are.
    pub store: Arc<Store>,
    /// The certificates in force.
    pub certificates: Vec<Arc<Certificates>>,
    /// Who counts reloads.
    pub metrics: Arc<Metrics>,
}

impl Reloader {
    /// Looks for ever.
    pub async fn run(mut self) {
        loop {
            tokio::time::sleep(EVERY).await;
            let now = std::fs::read_to_string(&self.file).ok();
            if now != self.seen {
                self.take_in(&self.file, now.as_deref());
                self.seen = now;
            }
            for certificates in &self.certificates {
                match certificates.renew() {
                    Ok(true) => tracing::info!("certificate renewed"),
                    Ok(false) => {}
                    Err(error) => tracing::warn!(%error, "certificate not renewed, the old one stays"),
                }
            }
        }
    }

    fn take_in(&self, file: &Path, text: Option<&str>) {
        // A file that vanished is read again only for the sake of the error it gives.
        let result = text.map_or_else(|| config::load(file), config::parse);
        match result {
            Ok(config) => self.accept(config),
            Err(error) => self.refuse(&error),
        }
    }

    fn accept(&self, config: Config) {
        let old = self.store.snapshot();
        let new = self.store.reconfigure(config);
        let fixed = |c: &Config| {
            let server = &c.server;
            let timeouts = (server.timeouts.idle, server.timeouts.bind, server.timeouts.drain);
            (server.tls.clone(), server.insecure, server.limits.max_connections, timeouts)
        };
        if fixed(old.config()) != fixed(new.config()) {
            tracing::warn!(
                "server.tls, insecure, limits.maxConnections, timeouts.idle, .bind and .drain take effect at the \
                 next start"
            );
        }
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
