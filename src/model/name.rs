//! Shared strings. A cluster repeats few distinct strings very often, so they are stored once.

use std::fmt;
use std::sync::Arc;

/// A shared, immutable string.
pub type Name = Arc<str>;

/// Namespace and name of an object; the namespace of a cluster-scoped object is empty.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct ObjectKey {
    /// The namespace, or empty.
    pub namespace: Name,
    /// The name.
    pub name: Name,
}

impl ObjectKey {
    /// A key from any two strings.
    pub fn new(namespace: impl Into<Name>, name: impl Into<Name>) -> Self {
        Self { namespace: namespace.into(), name: name.into() }
    }
}

impl fmt::Display for ObjectKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.namespace.is_empty() {
            f.write_str(&self.name)
        } else {
            write!(f, "{}/{}", self.namespace, self.name)
        }
    }
}
