//! What replica groups are promised, one situation after another, asked over the wire.
#![allow(clippy::expect_used, clippy::panic, reason = "a test fails by panicking")]

mod demands;
mod disaggregated_set;
mod exclusive;
mod grove;
mod keeping;
mod kube_ray;
mod leader_worker_set;
mod least_member;
mod levels;
mod limits;
mod losses;
mod preempting;
mod priorities;
mod quotas;
mod scene;
mod second_thoughts;
mod seen;
mod shapes;
mod subgroups;
mod topologies_said;
mod unseen;
mod whole;
