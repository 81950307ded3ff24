//! Property tests: random cases that can be had again, and failing ones made small.
//!
//! ```text
//!   Cases: seed, number --> Rng --> case --> property --holds--> what it showed, for Counts
//!                                    ^          |
//!                                    |        fails
//!                                 smaller       v
//!                                    +------- shrink --> seed, number, the smallest case that still fails
//! ```
//!
//! [`check`] does all of this for a property of one case at a time. Tests that judge many cases at once take [`Cases`]
//! and [`shrink`] by themselves.

mod cases;
pub mod caught;
mod check;
pub mod counts;
mod rng;
pub mod shrink;

pub use cases::{Cases, Origin, Seeds};
pub use check::check;
pub use rng::Rng;
pub use shrink::Shrink;
