//! What the dearest groups cost on the release build, through HTTP and with a process of its own for each: `make cost`.
#![allow(clippy::expect_used, clippy::panic, reason = "a test fails by panicking")]

mod decision_cost {
    mod berth_process;
    mod cases;
    mod table;
}
mod support;
