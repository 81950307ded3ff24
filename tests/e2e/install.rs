//! What `deploy` ships, as a cluster sees it: manifests and chart are accepted, rights are enough and not too many, and a
//! scheduler made from them works.

mod accepted;
pub mod account;
mod chart;
mod custom_kinds;
mod in_cluster;
mod kubelet;
mod liveness;
mod permissions;
mod rendering;
mod replica;
mod rollout;
mod scheduler_rights;
mod second_scheduler;
mod service;
