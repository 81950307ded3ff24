//! A node, as far as placing pods is concerned.

use std::sync::{Arc, LazyLock};

use super::{Labels, Name, Resources};

/// What Berth keeps of a Node.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Node {
    /// The node's name.
    pub name: Name,
    /// Its labels: the topology lives here.
    pub labels: Labels,
    /// Its taints, in the order given.
    pub taints: Box<[Taint]>,
    /// Whether it is cordoned.
    pub unschedulable: bool,
    /// What it has to give to pods.
    pub allocatable: Arc<Resources>,
    /// How many pods it may have.
    pub allowed_pods: i64,
}

impl Node {
    /// A node of which only the name is known: it has nothing to give.
    pub fn named(name: impl Into<Name>) -> Self {
        Self {
            name: name.into(),
            labels: Labels::default(),
            taints: Box::default(),
            unschedulable: false,
            allocatable: Resources::nothing(),
            allowed_pods: 0,
        }
    }
}

/// One taint.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Taint {
    /// The taint's key.
    pub key: Name,
    /// Its value, possibly empty.
    pub value: Name,
    /// `NoSchedule`, `PreferNoSchedule` or `NoExecute`.
    pub effect: Name,
}

impl Taint {
    /// The taint that a cordon amounts to: who tolerates it may be placed on a cordoned node.
    pub(crate) fn of_cordoned_nodes() -> Self {
        static CORDON: LazyLock<Taint> = LazyLock::new(|| Taint {
            key: Name::from("node.kubernetes.io/unschedulable"),
            value: Name::from(""),
            effect: Name::from("NoSchedule"),
        });
        CORDON.clone()
    }
}
