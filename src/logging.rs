//! Logs: text or JSON on standard error, at a level that can be changed while running.

use std::error::Error;
use std::io::IsTerminal;
use std::time::{Duration, Instant};

use clap::ValueEnum;
use dashmap::DashMap;
use prometheus::IntCounter;
use tracing_subscriber::layer::SubscriberExt;
use tracing_subscriber::util::SubscriberInitExt;
use tracing_subscriber::{EnvFilter, Layer, fmt, reload};

use crate::metrics::{self, NO_LABELS};

/// How log lines look.
#[derive(Clone, Copy, Debug, Default, ValueEnum)]
pub(crate) enum Format {
    /// For people.
    #[default]
    Text,
    /// For machines.
    Json,
}

/// Changes the level of the running process.
#[derive(Clone)]
pub struct LevelControl(reload::Handle<EnvFilter, tracing_subscriber::Registry>);

impl LevelControl {
    /// Sets a level such as `debug`, or directives such as `berth=debug,kube=info`.
    pub(crate) fn set(&self, directives: &str) -> Result<(), String> {
        self.0.reload(filter(directives)?).map_err(|error| error.to_string())
    }

    /// The level in force.
    pub(crate) fn get(&self) -> String {
        self.0.with_current(ToString::to_string).unwrap_or_default()
    }
}

/// Starts logging. May be called once.
pub(crate) fn start(format: Format, level: &str) -> Result<LevelControl, String> {
    let (filter, handle) = reload::Layer::new(filter(level)?);
    // Colours are for people at a terminal, not for files.
    let colours = std::io::stderr().is_terminal();
    let lines = fmt::layer().with_writer(std::io::stderr).with_ansi(colours);
    let lines = match format {
        Format::Text => lines.boxed(),
        Format::Json => lines.json().flatten_event(true).boxed(),
    };
    let subscriber = tracing_subscriber::registry().with(filter).with(lines);
    subscriber.try_init().map_err(|error| error.to_string())?;
    Ok(LevelControl(handle))
}

const LEVELS: [&str; 6] = ["off", "error", "warn", "info", "debug", "trace"];

/// What a level or directives let through. A single word that is no level would be taken for the name of a module by the
/// library, and silence all others.
fn filter(directives: &str) -> Result<EnvFilter, String> {
    for directive in directives.split(',') {
        let level = directive.rsplit_once('=').map_or(directive, |(_, level)| level).trim();
        if !LEVELS.contains(&level.to_ascii_lowercase().as_str()) {
            let levels = LEVELS.join(", ");
            return Err(format!(
                "unknown log level `{level}`; there are {levels}; for one module write, for example, berth=debug"
            ));
        }
    }
    // The library takes a blank for a part of the name.
    let directives = directives.replace(' ', "");
    EnvFilter::try_new(&directives).map_err(|error| format!("log level `{directives}`: {error}"))
}

/// An error and what caused it, in one line and without saying anything twice: many errors repeat their cause.
pub(crate) fn with_causes(error: &(dyn Error + 'static)) -> String {
    let mut text = first_line(&error.to_string());
    let mut next = error.source();
    while let Some(cause) = next {
        let said = first_line(&cause.to_string());
        if !text.contains(&said) {
            text = format!("{text}: {said}");
        }
        next = cause.source();
    }
    text
}

/// Some parsers draw pictures below their message; whoever reads logs wants the one line.
fn first_line(text: &str) -> String {
    text.lines().next().unwrap_or_default().to_owned()
}

/// Metrics of logging.
#[derive(Clone, Debug)]
pub struct LogMetrics {
    suppressed: IntCounter,
}

impl LogMetrics {
    /// Registers them.
    pub fn register(registry: &metrics::Registry) -> Result<Self, prometheus::Error> {
        let suppressed = registry.counter(
            "log_lines_suppressed_total",
            "Log lines held back by the rate limit.",
            NO_LABELS,
        )?;
        Ok(Self { suppressed: suppressed.with_label_values(NO_LABELS) })
    }
}

/// Lets a complaint of each sort through once in a while and counts the rest.
pub struct Throttle {
    last: DashMap<(&'static str, &'static str), Instant>,
    metrics: LogMetrics,
}

impl Throttle {
    const PAUSE: Duration = Duration::from_secs(10);

    /// Counts what it holds back.
    pub fn new(metrics: LogMetrics) -> Self {
        Self { last: DashMap::new(), metrics }
    }

    /// Whether a complaint of this sort may be logged now.
    pub(crate) fn may_speak(&self, sort: (&'static str, &'static str)) -> bool {
        let now = Instant::now();
        let mut may = false;
        self.last
            .entry(sort)
            .and_modify(|last| {
                may = now.duration_since(*last) >= Self::PAUSE;
                if may {
                    *last = now;
                }
            })
            .or_insert_with(|| {
                may = true;
                now
            });
        if !may {
            self.metrics.suppressed.inc();
        }
        may
    }
}

#[cfg(test)]
mod tests {
    use super::{LEVELS, filter, with_causes};

    #[test]
    fn levels_are_known_and_anything_else_is_refused_with_their_list() {
        for good in LEVELS.into_iter().chain([
            "INFO",
            "berth=debug,kube=info",
            "warn,berth::verbs=trace",
            "info, berth=warn",
        ]) {
            assert!(filter(good).is_ok(), "{good}");
        }
        for bad in ["foo", "berth", "", "info,loud", "berth=loud", "berth=", "verbose"] {
            let refusal = filter(bad).err().unwrap_or_else(|| panic!("{bad} passes"));
            assert!(refusal.contains("off, error, warn, info, debug, trace"), "{bad}: {refusal}");
        }
    }

    #[derive(Debug, thiserror::Error)]
    #[error("cannot read x: {source}")]
    struct Repeating {
        source: std::io::Error,
    }

    #[derive(Debug, thiserror::Error)]
    #[error("outermost")]
    struct Plain(#[source] Repeating);

    #[test]
    fn no_cause_is_said_twice() {
        let error = Plain(Repeating { source: std::io::Error::other("no such file\n  ^ here") });
        assert_eq!(with_causes(&error), "outermost: cannot read x: no such file");
    }
}
