//! Berth: a kube-scheduler extender. See `docs/architecture.md` for the picture.

pub mod app;
pub mod cli;
pub mod cluster;
pub mod config;
pub mod decision;
pub mod demo;
pub mod engine;
#[cfg(test)]
pub mod fixtures;
pub mod json;
pub mod ledger;
pub mod logging;
pub mod metrics;
pub mod model;
pub mod policy;
pub mod server;
pub mod store;
pub mod verbs;
pub mod view;
pub mod wire;
