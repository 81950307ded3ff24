//! A headless Service for each replica group, on a real control plane: `LeaderWorkerSet` controller, garbage collector and
//! `EndpointSlices` included.

mod addressed;
mod bed;
mod exact;
mod history;
#[allow(clippy::expect_used, reason = "a test fails by panicking")]
#[path = "../support/random/rng.rs"]
mod rng;
mod sets;
