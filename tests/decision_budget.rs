//! Whatever tenants write into their pods, a decision costs a bounded time and bounded memory.
#![allow(clippy::expect_used, clippy::panic, reason = "a test fails by panicking")]

mod decision_budget {
    mod catching_up;
    mod cluster;
    mod known_cases;
    mod random_groups;
    mod usage;
}
mod support;
