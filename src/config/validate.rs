//! What the shape alone cannot say.

use std::time::Duration;

use super::schema::Config;
use super::{groups, spread};

/// Something that is wrong with a configuration.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Wrong {
    /// The field's path.
    pub path: String,
    /// What is wrong with it.
    pub reason: String,
}

/// All that is wrong with a configuration, as far as it has been looked at.
#[derive(Debug, Default)]
pub(crate) struct Findings(Vec<Wrong>);

impl Findings {
    /// Notes that a field is wrong.
    pub(crate) fn add(&mut self, path: impl Into<String>, reason: impl Into<String>) {
        self.0.push(Wrong { path: path.into(), reason: reason.into() });
    }

    /// Notes that a field is wrong unless a condition holds.
    pub(crate) fn require(&mut self, holds: bool, path: impl Into<String>, reason: &str) {
        if !holds {
            self.add(path, reason);
        }
    }

    pub(crate) fn into_vec(self) -> Vec<Wrong> {
        self.0
    }
}

/// Checks what the shape of a configuration alone cannot say, and finds all that is wrong.
pub(crate) fn validate(config: &Config, findings: &mut Findings) {
    spread::validate(&config.topology_spread, findings);
    groups::validate(&config.replica_groups, findings);
    let server = &config.server;
    for (path, value) in [
        ("server.limits.maxBodyBytes", server.limits.max_body_bytes),
        ("server.limits.maxInFlight", server.limits.max_in_flight),
        ("server.limits.maxBindingsInFlight", server.limits.max_bindings_in_flight),
        ("server.limits.maxConnections", server.limits.max_connections),
    ] {
        findings.require(value > 0, path, "must be at least 1");
    }
    findings.require(
        server.timeouts.idle.0 > Duration::from_secs(90),
        "server.timeouts.idle",
        "must be longer than 90s, for which kube-scheduler keeps idle connections",
    );
    for (path, value) in [
        ("server.timeouts.body", server.timeouts.body),
        ("server.timeouts.bind", server.timeouts.bind),
        ("server.timeouts.decision", server.timeouts.decision),
        ("server.stalenessLimit", server.staleness_limit),
        ("server.ledgerTtl", server.ledger_ttl),
    ] {
        findings.require(!value.0.is_zero(), path, "must be longer than 0s");
    }
}

/// Looks whether the files that a configuration names can be read here.
pub fn check_files(config: &Config) -> Vec<Wrong> {
    let mut findings = Findings::default();
    if let Some(tls) = &config.server.tls {
        for (field, file) in [
            ("certFile", Some(&tls.cert_file)),
            ("keyFile", Some(&tls.key_file)),
            ("clientCAFile", tls.client_ca_file.as_ref()),
        ] {
            if let Some((file, error)) = file.and_then(|file| Some((file, std::fs::read(file).err()?))) {
                findings
                    .add(format!("server.tls.{field}"), format!("cannot read {}: {error}", file.display()));
            }
        }
    }
    findings.into_vec()
}
