//! What is measured of certificates.

use prometheus::{IntCounterVec, IntGaugeVec};

use super::Expiry;
use crate::metrics::{Registry, create_series};

/// Metrics of the files that TLS is served with.
pub(crate) struct CertificateMetrics {
    expiry: IntGaugeVec,
    renewals: IntCounterVec,
}

impl CertificateMetrics {
    /// Registers them. The expiry of a file has a series only if there is such a file: a 0 would read as expired.
    pub(crate) fn register(registry: &Registry) -> Result<Self, prometheus::Error> {
        let metrics = Self {
            expiry: registry.gauge(
                "certificate_expiry_timestamp_seconds",
                "When the first certificate in the file ends, in seconds since 1970: server for server.tls.certFile, \
                 client_ca for clientCAFile, kubeconfig for the client certificate that the kubeconfig names (as it was at \
                 the start, for it is read then only).",
                &["certificate"],
            )?,
            renewals: registry.counter(
                "certificate_renewals_total",
                "Times the files of server.tls changed, by what became of it.",
                &["result"],
            )?,
        };
        create_series(&metrics.renewals, [["success"], ["failure"]]);
        Ok(metrics)
    }

    /// Shows when what is in force ends.
    pub(crate) fn show(&self, expiry: Expiry) {
        self.expiry.with_label_values(&["server"]).set(expiry.server);
        if let Some(end) = expiry.client_ca {
            self.expiry.with_label_values(&["client_ca"]).set(end);
        }
    }

    /// Shows when Berth's own client certificate ends, with which it asks the API server.
    pub(crate) fn show_kubeconfig(&self, end: i64) {
        self.expiry.with_label_values(&["kubeconfig"]).set(end);
    }

    /// Counts a change that is in force.
    pub(crate) fn renewed(&self) {
        self.renewals.with_label_values(&["success"]).inc();
    }

    /// Counts a change that could not be used.
    pub(crate) fn failed(&self) {
        self.renewals.with_label_values(&["failure"]).inc();
    }
}
