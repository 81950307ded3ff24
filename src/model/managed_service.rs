//! What Berth keeps of the Services that it made for replica groups.

use std::fmt;

use super::{GroupKey, Labels, Name, ObjectKey};

/// The label of every Service that Berth made, and its value.
pub const MANAGED_BY: (&str, &str) = ("app.kubernetes.io/managed-by", "berth");
/// The annotation that says for which group it was made, as [`GroupName`] writes it.
pub const MADE_FOR: &str = "berth.dev/service-of";
/// The annotation that says what the Service was called when it was made: somebody's copy of it is none of ours.
pub const MADE_AS: &str = "berth.dev/service-identity";

/// A Service that Berth made for a group, as far as it has to be kept as it was made.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ManagedService {
    /// The group, as [`GroupName`] writes it.
    pub made_for: Name,
    /// Its UID.
    pub uid: Name,
    /// Its version: a change is meant for this one only.
    pub version: Name,
    /// With whom it is garbage-collected.
    pub owners: Box<[Owner]>,
    /// Whether it has no address of its own.
    pub is_headless: bool,
    /// Whether members are found that are not ready.
    pub publishes_not_ready: bool,
    /// Whether it is about to go.
    pub terminating: bool,
}

/// A Service that a group is to have.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct GroupService {
    /// Namespace and name.
    pub key: ObjectKey,
    /// The group, as [`GroupName`] writes it.
    pub made_for: Name,
    /// What selects the members of the group and nobody else.
    pub selector: Labels,
    /// With whom it is garbage-collected, in a fixed order.
    pub owners: Box<[Owner]>,
}

/// An object with which another one is garbage-collected.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Owner {
    /// The API group and version.
    pub api_version: Name,
    /// The kind.
    pub kind: Name,
    /// The name.
    pub name: Name,
    /// The UID.
    pub uid: Name,
}

/// A group, whatever its incarnation: `LeaderWorkerSet/llm/0`.
pub struct GroupName<'a>(pub &'a GroupKey);

impl fmt::Display for GroupName<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let GroupKey { source, set, index, revision: _ } = self.0;
        write!(f, "{}/{}", source.name(), set.name)?;
        if index.is_empty() { Ok(()) } else { write!(f, "/{index}") }
    }
}
