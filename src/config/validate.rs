//! What the shape alone cannot say.

use std::time::Duration;

use super::schema::{API_VERSION, Config, KIND};
use super::{groups, spread};

/// What is wrong with a configuration.
pub struct Wrong {
    /// The field's path.
    pub path: String,
    /// What is wrong with it.
    pub reason: String,
}

impl Wrong {
    pub fn new(path: &str, reason: &str) -> Self {
        Self { path: path.to_owned(), reason: reason.to_owned() }
    }
}

/// Checks a configuration.
pub(crate) fn validate(config: &Config) -> Result<(), Wrong> {
    let wrong = |path: &str, reason: &str| Err(Wrong::new(path, reason));
    if config.api_version != API_VERSION {
        return wrong("apiVersion", &format!("must be {API_VERSION}"));
    }
    if config.kind != KIND {
        return wrong("kind", &format!("must be {KIND}"));
    }
    spread::validate(&config.topology_spread)?;
    groups::validate(&config.replica_groups)?;
    let server = &config.server;
    for (path, value) in [
        ("server.limits.maxBodyBytes", server.limits.max_body_bytes),
        ("server.limits.maxInFlight", server.limits.max_in_flight),
        ("server.limits.maxBindingsInFlight", server.limits.max_bindings_in_flight),
        ("server.limits.maxConnections", server.limits.max_connections),
    ] {
        if value == 0 {
            return wrong(path, "must be at least 1");
        }
    }
    if server.timeouts.idle.0 <= Duration::from_secs(90) {
        return wrong(
            "server.timeouts.idle",
            "must be longer than 90s, for which kube-scheduler keeps idle connections",
        );
    }
    for (path, value) in [
        ("server.timeouts.body", server.timeouts.body),
        ("server.timeouts.bind", server.timeouts.bind),
        ("server.timeouts.decision", server.timeouts.decision),
        ("server.stalenessLimit", server.staleness_limit),
        ("server.ledgerTtl", server.ledger_ttl),
    ] {
        if value.0.is_zero() {
            return wrong(path, "must be longer than 0s");
        }
    }
    Ok(())
}
