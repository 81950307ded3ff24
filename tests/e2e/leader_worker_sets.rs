//! Replica groups as the real `LeaderWorkerSet` controller makes them, and as others do.
//!
//! ```text
//!  racks of nodes ──┐
//!                   ├──> Stage::play ──> a set arrives, something happens ──> Groups, now and on the way
//!  Setup: with or ──┘
//!         without Berth
//! ```

mod best_fit;
mod exclusive;
pub mod groups;
mod hidden_demands;
pub mod history;
mod last_rack;
mod other_sources;
mod race;
pub mod racks;
mod recovery;
mod rolling_update;
mod sampling;
mod stage;
mod test_bed;
mod unlike_members;
