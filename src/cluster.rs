//! The door: how the cluster's objects get in, and the one place where views are published.
//!
//! ```text
//!  API server --list, watch--> watch --raw JSON--> slim --Change--> Store --publish--> View
//!  file (--snapshot) ---------> snapshot_file ------^                ^
//!                                                 verbs: offer, assume, refuse
//! ```

pub mod announcer;
pub mod api;
pub mod binder;
pub mod compare;
pub mod freshness;
pub mod interner;
pub mod slim;
pub mod snapshot_file;
pub mod store;
pub mod watch;

pub use announcer::Announcer;
pub use binder::Binder;
pub use freshness::Freshness;
pub use interner::Interner;
pub use store::Store;
