//! End-to-end tests against a real Kubernetes control plane.
#![allow(dead_code, unused_imports, reason = "a test bed offers more than the tests of one day use")]
#![allow(clippy::float_cmp, reason = "counters are whole numbers")]

mod admin_access;
mod berth_process;
mod controlplane;
mod dashboards;
mod discovery;
mod doctor;
mod fixtures;
mod group_services;
mod http_get;
mod install;
mod leader_worker_sets;
mod metrics_text;
mod mutual_tls;
mod outages;
mod owed_room;
mod own_nodes;
mod preemption;
mod progress;
mod rate;
mod recorder;
mod recording;
mod scheduling;
mod smoke;
mod spreading;
mod versions;
