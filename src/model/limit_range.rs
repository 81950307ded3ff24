//! What a namespace's limits add to pods that say nothing.

use super::pod_requests::Amounts;
use super::{Name, ObjectKey};

/// What Berth keeps of a `LimitRange`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LimitRange {
    /// Namespace and name.
    pub key: ObjectKey,
    /// What a container requests that does not say so itself.
    pub default_requests: Amounts<Name>,
}
