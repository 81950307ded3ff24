//! `berth doctor`: checks an installation, as `linkerd check` does for its own.
//!
//! ```text
//!   gather    reads files, asks Berth, asks the API server            I/O, no judgement
//!      |
//!      v  Facts
//!   examine   one function per family of checks over those facts      pure, tested by tables
//!      |
//!      v  Report
//!   report    text or JSON, and whether anything is an error
//! ```
//!
//! Nothing is changed anywhere. The call to the verbs is about a pod without a UID and no nodes, of which Berth keeps
//! nothing.

mod certificates;
mod examine;
mod extender;
mod facts;
mod finding;
mod gather;
mod go_duration;
mod metrics_page;
mod permissions;
mod profiles;
mod reach;
mod report;
mod running;
mod scheduler_config;
mod scheduler_fields;
mod schedulers;
#[cfg(test)]
mod tests;
mod topology;
mod url;
mod uses;
mod versions;

use std::path::PathBuf;

pub use self::finding::{Code, Finding, Severity};
pub use self::report::{Check, Outcome, Report};

/// What to look at.
#[derive(Clone, Debug)]
pub struct Options {
    /// kube-scheduler's configuration file.
    pub scheduler_config: Option<PathBuf>,
    /// Whether Berth is not installed yet.
    pub pre: bool,
    /// Berth's configuration file. Without it, what the Berth that runs says, or the defaults.
    pub config: Option<PathBuf>,
    /// The kubeconfig. Without it, the usual ones, or the in-cluster account.
    pub kubeconfig: Option<PathBuf>,
    /// For whom permissions are looked up; whoever asks, if absent.
    pub impersonate: Option<String>,
    /// The admin endpoints of a running Berth.
    pub server: String,
    /// A bearer token for them, which they want off loopback.
    pub token_file: Option<PathBuf>,
    /// The authorities that vouch for their certificate.
    pub ca_file: Option<PathBuf>,
    /// Where Berth is or will be installed.
    pub namespace: String,
}

/// Why nothing could be asked.
#[derive(Debug, thiserror::Error)]
pub enum CannotAsk {
    /// A file that was named cannot be read.
    #[error("cannot read {path}: {source}")]
    Unreadable {
        /// The file.
        path: PathBuf,
        /// Why.
        source: std::io::Error,
    },
    /// A file that was named cannot be used.
    #[error("{option} {path}: {reason}")]
    File {
        /// What it is for.
        option: &'static str,
        /// The file.
        path: PathBuf,
        /// Why not.
        reason: String,
    },
    /// The kubeconfig that was named, here or in the environment, or the usual one is there and unusable.
    #[error("{0}")]
    Kubeconfig(String),
    /// The address of the admin endpoints is none.
    #[error("--server {url:?} {reason}")]
    Server {
        /// What was given.
        url: String,
        /// What is wrong with it.
        reason: String,
    },
}

/// Looks at everything, and says what was found.
pub async fn run(options: &Options) -> Result<Report, CannotAsk> {
    let facts = gather::gather(options).await?;
    Ok(examine::examine(&facts))
}
