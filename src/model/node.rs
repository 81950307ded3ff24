//! A node, as far as placing pods is concerned.

use super::{Labels, Name};

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
