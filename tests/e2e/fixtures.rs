//! Objects for test clusters: fluent builders, bulk creation, and a record of every binding.
//!
//! A builder's `build()` gives the plain Kubernetes object, to be made with [`create`] or
//! [`create_all`].

mod bindings;
mod creation;
mod nodes;
mod pods;
mod workloads;

pub use bindings::{BindingsWatch, Transition, wait_until_all_bound};
pub use creation::{create, create_all};
pub use nodes::{NodeBuilder, NodeSet, RACK, node, nodes};
pub use pods::{PodBuilder, pod, pods};
pub use workloads::{
    DeploymentBuilder, StatefulSetBuilder, deployment, disruption_budget, priority_class, service,
    statefulset,
};

/// Labels from pairs, as every builder keeps them.
type Labels = std::collections::BTreeMap<String, String>;
