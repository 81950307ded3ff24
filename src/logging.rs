//! Logs: text or JSON on standard error, at a level that can be changed while running.

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
        let filter = EnvFilter::try_new(directives).map_err(|error| error.to_string())?;
        self.0.reload(filter).map_err(|error| error.to_string())
    }

    /// The level in force.
    pub(crate) fn get(&self) -> String {
        self.0.with_current(ToString::to_string).unwrap_or_default()
    }
}

/// Starts logging. May be called once.
pub(crate) fn start(format: Format, level: &str) -> Result<LevelControl, String> {
    let filter = EnvFilter::try_new(level).map_err(|error| format!("log level {level:?}: {error}"))?;
    let (filter, handle) = reload::Layer::new(filter);
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
