//! Berth: a kube-scheduler extender. See `docs/architecture.md` for the picture.

pub mod cluster;
#[cfg(test)]
pub mod fixtures;
pub mod ledger;
pub mod metrics;
pub mod model;
pub mod view;
