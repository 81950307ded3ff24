//! Objects for test clusters: fluent builders, bulk creation, and a record of every binding.
//!
//! A builder's `build()` gives the plain Kubernetes object, to be made with [`create`] or
//! [`create_all`].

mod bindings;
mod creation;
mod leader_worker_sets;
mod nodes;
mod pods;
mod volumes;
mod workloads;

pub use bindings::{BindingsWatch, SeenPod, Transition, wait_until_all_bound};
pub use creation::{create, create_all};
pub use leader_worker_sets::{LeaderWorkerSet, LeaderWorkerSetBuilder, leader_worker_set};
pub use nodes::{NodeBuilder, NodeSet, RACK, node, nodes};
pub use pods::{PodBuilder, pod, pods};
pub use volumes::{NO_PROVISIONER, bind_claim, claim, create_bound_claim, create_volume, late_storage_class};
pub use workloads::{
    DeploymentBuilder, StatefulSetBuilder, deployment, disruption_budget, priority_class, service,
    statefulset,
};

/// Labels from pairs, as every builder keeps them.
pub type Labels = std::collections::BTreeMap<String, String>;
