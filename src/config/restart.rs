//! Settings that are read once, at the start, and what a running Berth shows of its configuration.

use std::sync::{Mutex, PoisonError};

use serde::Serialize;
use serde_json::Value;

use super::load::{ConfigError, parse};
use super::schema::Config;

/// The field of what is shown that is no field of the file.
const PENDING: &str = "pendingRestart";

/// The fields in which the file says something else than what is in force until the next start.
#[derive(Debug, Default)]
pub(crate) struct PendingRestart(Mutex<Vec<&'static str>>);

impl PendingRestart {
    /// Replaces the list.
    pub(crate) fn set(&self, fields: Vec<&'static str>) {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = fields;
    }

    /// The list.
    pub(crate) fn fields(&self) -> Vec<&'static str> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

/// Leaves in a new configuration what is in force of the settings that are read at the start only, and tells in which
/// of them it said something else.
pub(crate) fn keep_until_restart(in_force: &Config, new: &mut Config) -> Vec<&'static str> {
    let (old, new) = (&in_force.server, &mut new.server);
    let mut pending = Vec::new();
    keep("server.tls", &old.tls, &mut new.tls, &mut pending);
    keep("server.insecure", &old.insecure, &mut new.insecure, &mut pending);
    let (limits, timeouts) = (&mut new.limits, &mut new.timeouts);
    keep(
        "server.limits.maxConnections",
        &old.limits.max_connections,
        &mut limits.max_connections,
        &mut pending,
    );
    keep("server.timeouts.idle", &old.timeouts.idle, &mut timeouts.idle, &mut pending);
    keep("server.timeouts.bind", &old.timeouts.bind, &mut timeouts.bind, &mut pending);
    keep("server.timeouts.drain", &old.timeouts.drain, &mut timeouts.drain, &mut pending);
    pending
}

fn keep<T: Clone + PartialEq>(
    field: &'static str,
    in_force: &T,
    new: &mut T,
    pending: &mut Vec<&'static str>,
) {
    if new != in_force {
        new.clone_from(in_force);
        pending.push(field);
    }
}

/// What is in force, as JSON: a configuration file, and which fields wait for a restart unless there are none.
pub(crate) fn show(in_force: &Config, pending: &[&str]) -> Result<Vec<u8>, serde_json::Error> {
    #[derive(Serialize)]
    #[serde(rename_all = "camelCase")]
    struct Shown<'a> {
        #[serde(flatten)]
        config: &'a Config,
        #[serde(skip_serializing_if = "<[_]>::is_empty")]
        pending_restart: &'a [&'a str],
    }
    serde_json::to_vec(&Shown { config: in_force, pending_restart: pending })
}

/// Reads what [`show`] gives.
pub(crate) fn parse_shown(text: &str) -> Result<Config, ConfigError> {
    match serde_json::from_str::<Value>(text) {
        Ok(Value::Object(mut fields)) => {
            fields.remove(PENDING);
            parse(&Value::Object(fields).to_string())
        }
        _ => parse(text),
    }
}

#[cfg(test)]
mod tests {
    use std::path::PathBuf;

    use super::{PENDING, keep_until_restart, parse_shown, show};
    use crate::config::{Config, ShortDuration, Tls, page};

    fn changed() -> Config {
        let mut config = Config::default();
        let server = &mut config.server;
        let file = || PathBuf::from("a");
        server.tls = Some(Tls { cert_file: file(), key_file: file(), client_ca_file: None });
        server.insecure = true;
        server.limits.max_connections = 7;
        server.limits.max_in_flight = 8;
        server.ledger_ttl = ShortDuration::seconds(33);
        for timeout in [&mut server.timeouts.idle, &mut server.timeouts.bind, &mut server.timeouts.drain] {
            *timeout = ShortDuration::seconds(333);
        }
        config
    }

    #[test]
    fn what_is_read_at_the_start_stays_and_is_listed_as_the_page_of_settings_says() {
        let mut new = changed();
        let mut pending = keep_until_restart(&Config::default(), &mut new);
        pending.sort_unstable();
        let page = page();
        let rows = page.lines().filter(|line| line.contains("akes effect at the next start"));
        let mut told: Vec<_> = rows.filter_map(|row| row.split('`').nth(1)).collect();
        told.sort_unstable();
        assert_eq!(pending, told);
        let mut expected = Config::default();
        expected.server.limits.max_in_flight = 8;
        expected.server.ledger_ttl = ShortDuration::seconds(33);
        assert_eq!(new, expected, "all else is new");
        assert!(keep_until_restart(&changed(), &mut changed()).is_empty());
    }

    #[test]
    fn what_is_shown_can_be_read_again() {
        let config = changed();
        for pending in [&[][..], &["server.tls"]] {
            let shown = String::from_utf8(show(&config, pending).expect("printable")).expect("text");
            assert_eq!(shown.contains(PENDING), !pending.is_empty(), "{shown}");
            assert_eq!(parse_shown(&shown).expect("readable"), config);
        }
        assert!(parse_shown("{}").is_err() && parse_shown("no JSON").is_err());
    }
}
