//! What tests share.
#![allow(dead_code, unused_imports, reason = "each test binary uses its own part of this")]
#![allow(clippy::expect_used, clippy::panic, reason = "a test fails by panicking")]

pub mod dear_groups;
pub mod differential;
pub mod metrics_page;
pub mod random;
pub mod raw_http;
pub mod running;
pub mod small_cluster;
pub mod waiting;
