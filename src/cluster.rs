//! The door: how the cluster's objects get in.
//!
//! ```text
//!  API server --list, watch--> watch --raw JSON--> slim --Change--> Store --publish--> View
//!  file (--snapshot) ---------> snapshot_file ------^                ^
//!                                                 verbs: offer, assume, refuse
//! ```

pub(crate) mod access_review;
pub mod api;
mod api_metrics;
pub mod binder;
pub(crate) mod compare;
pub mod event_recorder;
pub(crate) mod freshness;
pub(crate) mod lease;
pub mod nominator;
pub(crate) mod service_writer;
pub mod snapshot_file;
pub mod watch;
mod watch_metrics;
mod watch_problem;

pub use api_metrics::ApiMetrics;
pub use binder::Binder;
pub use event_recorder::EventRecorder;
pub use freshness::Freshness;
pub use watch_metrics::WatchMetrics;
pub use watch_problem::{Problem, ProblemLog, WatchProblem};
