//! What the tests share that compare Berth with kube-scheduler's own code.
#![allow(dead_code, reason = "each test binary uses its own part of this")]

pub mod counts;
pub mod demands;
pub mod nodes;
pub mod program;
pub mod rng;
pub mod seeds;
