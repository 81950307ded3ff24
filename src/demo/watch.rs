//! Plays the API server's watch: tells Berth what happened to pods after they were placed.

use std::sync::Arc;

use crate::cluster::Store;
use crate::demo::workload::{NAMESPACE, Pod};
use crate::model::{Kind, ObjectKey};
use crate::view::change::Change;

/// Where news goes.
pub struct Watch(Arc<Store>);

impl Watch {
    /// News for the cache of a running Berth.
    pub fn new(store: Arc<Store>) -> Self {
        Self(store)
    }

    /// A pod is gone.
    pub fn gone(&self, pod: &Pod) {
        self.0.apply([Change::Remove(Kind::Pod, ObjectKey::new(NAMESPACE, &*pod.name))]);
    }
}
