//! What the tests over real sockets share.
#![allow(dead_code, reason = "each test binary uses its own part of this")]

pub mod metrics_page;
pub mod raw_http;
pub mod running;
pub mod small_cluster;
pub mod waiting;
