//! Preemption by a real kube-scheduler: who has to go, and where the pod that needs the room ends.
//!
//! ```text
//!  Scenario: who is there, who arrives ──┐
//!                                        ├──> play ──> Ending, compared with a Fate
//!  Setup: kube-scheduler's and Berth's ──┘
//!         configuration
//! ```

mod budgets;
mod gate_off;
mod group_sizes;
pub mod groups;
pub mod play;
mod room_kept;
pub mod scenario;
pub mod setup;
mod spread_limits;
pub mod stage;
