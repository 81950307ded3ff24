//! What `dashboards/` and `docs/runbook.md` say is true of this Berth: the rules of Grafana's dashboard linter hold, every
//! metric exists, `promtool` accepts the rules and their unit tests pass, and each alert has its section in the runbook.
#![allow(clippy::expect_used, clippy::panic, reason = "a test fails by panicking")]

mod dashboards {
    mod files;
    mod layout;
    mod linter;
    mod metrics;
    mod promql;
    mod promtool;
    mod runbook;
    mod units;
}
mod support;
#[path = "tls/authority.rs"]
mod tls_authority;
