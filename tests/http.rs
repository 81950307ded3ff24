//! Berth over real sockets, from a snapshot: exact answers, bad input, limits, reload, and stopping.
#![allow(clippy::expect_used, reason = "a test fails by panicking")]

mod http {
    mod answers;
    mod bad_input;
    mod bounds;
    mod liveness;
    mod metrics;
    mod reload;
    mod stopping;
}
mod support;
