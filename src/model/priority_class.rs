//! How important pods of a class are.

use super::ObjectKey;

/// What Berth keeps of a `PriorityClass`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PriorityClass {
    /// Its name (the namespace part is empty).
    pub key: ObjectKey,
    /// The priority of its pods.
    pub value: i32,
    /// Whether pods that name no class are of this one.
    pub is_default: bool,
    /// Whether others may be evicted for its pods.
    pub may_preempt: bool,
}
