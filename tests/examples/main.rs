//! The files of `deploy/examples`, each on a cluster that has the right place for it and some that only look right. Each
//! test also takes away a line that its file could not do without, so that it is known to be looked at.
#![allow(clippy::expect_used, clippy::panic, reason = "a test fails by panicking")]

mod batch_on_spot;
mod controllers;
mod file;
mod gpu_on_tainted_nodes;
mod operator_defaults;
mod stateful_set;
mod team_with_own_racks;
mod world;
