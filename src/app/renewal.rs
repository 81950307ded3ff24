//! The service that takes in renewed certificates.

use std::sync::Arc;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use crate::config::{Config, Wrong};
use crate::server::tls::{CertificateMetrics, Certificates, Renewal};

/// How often the files are looked at. They are compared by content: a Secret volume swaps a symlink two levels up, which
/// file notifications on the file itself miss.
const EVERY: Duration = Duration::from_secs(1);

/// What `berth serve` would refuse at the start: files that hold something else, or that do not belong together.
pub(crate) fn check_certificates(config: &Config) -> Vec<Wrong> {
    let loaded = config.server.tls.as_ref().map(Certificates::load);
    let error = loaded.and_then(Result::err);
    let wrong = error.map(|error| {
        let (field, reason) = error.field_and_reason();
        Wrong { path: field.to_owned(), reason }
    });
    wrong.into_iter().collect()
}

/// Looks at the files of `server.tls`, whether or not the configuration that names them changes.
pub(super) struct Renewer {
    /// What is in force.
    pub(super) certificates: Arc<Certificates>,
    /// Who counts renewals and shows the expiry.
    pub(super) metrics: CertificateMetrics,
}

impl Renewer {
    /// Shows what is in force from the start.
    pub(super) fn new(certificates: Arc<Certificates>, metrics: CertificateMetrics) -> Self {
        let renewer = Self { certificates, metrics };
        renewer.show();
        renewer
    }

    /// Looks for ever.
    pub(super) async fn run(self: Arc<Self>) {
        loop {
            tokio::time::sleep(EVERY).await;
            match self.certificates.renew() {
                Renewal::Unchanged => {}
                Renewal::Renewed => {
                    self.metrics.renewed();
                    tracing::info!("certificates renewed");
                    self.show();
                }
                Renewal::Failed(error) => {
                    self.metrics.failed();
                    tracing::error!(%error, "certificates not renewed, the old ones stay in force");
                }
            }
        }
    }

    /// Callers refuse what has expired, and only here is it said why.
    fn show(&self) {
        let expiry = self.certificates.expiry();
        self.metrics.show(expiry);
        let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().as_secs();
        let has_ended = |end: i64| u64::try_from(end).unwrap_or_default() <= now;
        if has_ended(expiry.server) {
            tracing::warn!("a certificate of server.tls.certFile has expired: callers will refuse it");
        }
        if expiry.client_ca.is_some_and(has_ended) {
            tracing::warn!("a certificate of server.tls.clientCAFile has expired: replace it");
        }
    }
}
