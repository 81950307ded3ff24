//! What the shape alone cannot say.

use std::time::Duration;

use super::schema::{API_VERSION, Config, DefaultingType, KIND};

/// What is wrong with a configuration: the field's path and the reason.
pub fn validate(config: &Config) -> Result<(), (String, String)> {
    let wrong = |path: &str, reason: &str| Err((path.to_owned(), reason.to_owned()));
    if config.api_version != API_VERSION {
        return wrong("apiVersion", &format!("must be {API_VERSION}"));
    }
    if config.kind != KIND {
        return wrong("kind", &format!("must be {KIND}"));
    }
    let spread = &config.topology_spread;
    if spread.defaulting_type == DefaultingType::System && !spread.default_constraints.is_empty() {
        return wrong("topologySpread.defaultConstraints", "must be empty when defaultingType is System");
    }
    // Refused rather than ignored: whoever sets a constraint must be able to rely on it.
    for (path, constraints) in [
        ("topologySpread.defaultConstraints", &spread.default_constraints),
        ("topologySpread.overrides", &spread.overrides),
    ] {
        if !constraints.is_empty() {
            return wrong(path, "this version of Berth does not spread pods yet; leave it empty");
        }
    }
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
        ("server.stalenessLimit", server.staleness_limit),
        ("server.ledgerTtl", server.ledger_ttl),
    ] {
        if value.0.is_zero() {
            return wrong(path, "must be longer than 0s");
        }
    }
    Ok(())
}
