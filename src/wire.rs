//! kube-scheduler's extender protocol: what comes in and what goes out.
//!
//! The Go types behind it carry no JSON tags, so names are in Go's casing and are matched in any casing,
//! and nil arrives as `null`. Strings are borrowed from the request, and nodes sent as whole objects are
//! answered with the very bytes they came in.
//!
//! [`admission`] is another protocol: the API server's, which asks before it creates a pod.

pub(crate) mod admission;
mod args;
mod error;
pub(crate) mod reply;

pub use admission::AdmissionError;
pub use args::{BindArgs, Candidates, NodeVictims, PreemptArgs, SchedulingArgs};
pub use error::WireError;
