//! What was found out about an installation, before anybody judges it.

use std::time::SystemTime;

use super::certificates::TlsFacts;
use super::permissions::Reviewed;
use super::reach::Reached;
use super::running::RunningFacts;
use super::schedulers::SchedulerPod;
use super::topology::Cluster;
use crate::config::Config;

/// Something that was asked for.
#[derive(Clone, Debug)]
pub(super) enum Asked<T> {
    /// It was not asked for, and why.
    Skipped(String),
    /// It could not be had, and why.
    Failed(String),
    /// Here it is.
    Got(T),
}

/// Everything that was found out.
#[derive(Clone, Debug)]
pub(super) struct Facts {
    /// Whether Berth is not installed yet.
    pub(super) pre: bool,
    pub(super) now: SystemTime,
    /// The text of kube-scheduler's configuration.
    pub(super) scheduler_config: Option<String>,
    /// Berth's configuration, and where it is from.
    pub(super) config: Config,
    pub(super) config_source: ConfigSource,
    pub(super) tls: Asked<TlsFacts>,
    pub(super) reached: Asked<Reached>,
    pub(super) running: Asked<RunningFacts>,
    pub(super) api_server: Asked<ApiServerFacts>,
}

/// Where Berth's configuration is from.
#[derive(Clone, Debug)]
pub(super) enum ConfigSource {
    /// A file.
    File,
    /// A file that is not accepted, and why. The defaults stand in for it.
    Refused(String),
    /// The Berth that runs.
    Running,
    /// Nowhere.
    Defaults,
}

/// What the API server says.
#[derive(Clone, Debug)]
pub(super) struct ApiServerFacts {
    /// Its version, as it says it.
    pub(super) version: String,
    /// The kube-schedulers that run as pods, as far as they can be seen.
    pub(super) schedulers: Vec<SchedulerPod>,
    /// For whom permissions were looked up.
    pub(super) account: String,
    pub(super) permissions: Asked<Vec<Reviewed>>,
    pub(super) cluster: Asked<Cluster>,
}

impl<T> Asked<T> {
    /// What was got, if anything was.
    pub(super) fn got(&self) -> Option<&T> {
        match self {
            Asked::Got(value) => Some(value),
            Asked::Skipped(_) | Asked::Failed(_) => None,
        }
    }
}
