//! Logs: text or JSON on standard error, at a level that can be changed while running.

use std::io::IsTerminal;
use std::time::{Duration, Instant};

use clap::ValueEnum;
use dashmap::DashMap;
use prometheus::IntCounter;
use tracing_subscriber::layer::SubscriberExt;
use tracing_subscriber::util::SubscriberInitExt;
use tracing_subscriber::{EnvFilter, Layer, Registry, fmt, reload};

/// How log lines look.
#[derive(Clone, Copy, Debug, Default, ValueEnum)]
pub enum Format {
    /// For people.
    #[default]
    Text,
    /// For machines.
    Json,
}

/// Changes the level of the running process.
#[derive(Clone)]
pub struct LevelControl(reload::Handle<EnvFilter, Registry>);

impl LevelControl {
    /// Sets a level such as `debug`, or directives such as `berth=debug,kube=info`.
    pub fn set(&self, directives: &str) -> Result<(), String> {
        let filter = EnvFilter::try_new(directives).map_err(|error| error.to_string())?;
        self.0.reload(filter).map_err(|error| error.to_string())
    }

    /// The level in force.
    pub fn get(&self) -> String {
        self.0.with_current(ToString::to_string).unwrap_or_default()
    }
}

/// Starts logging. May be called once.
pub fn start(format: Format, level: &str) -> Result<LevelControl, String> {
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

/// Lets a complaint of each sort through once in a while and counts the rest.
pub struct Throttle {
    last: DashMap<(&'static str, &'static str), Instant>,
    suppressed: IntCounter,
}

impl Throttle {
    const PAUSE: Duration = Duration::from_secs(10);

    /// Counts what it holds back in `suppressed`.
    pub fn new(suppressed: IntCounter) -> Self {
        Self { last: DashMap::new(), suppressed }
    }

    /// Whether a complaint of this sort may be logged now.
    pub fn may_speak(&self, sort: (&'static str, &'static str)) -> bool {
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
            self.suppressed.inc();
        }
        may
    }
}
