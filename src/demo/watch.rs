//! Plays the API server's watch: tells Berth of nodes that join, and what happened to pods after they were placed.

use std::sync::Arc;

use anyhow::ensure;

use crate::cluster::snapshot_file;
use crate::demo::cluster::Node;
use crate::demo::workload::{NAMESPACE, Pod};
use crate::json::Interner;
use crate::model::{Kind, ObjectKey};
use crate::store::Store;
use crate::view::change::Change;

/// Where news goes.
pub struct Watch(Arc<Store>);

impl Watch {
    /// News for the cache of a running Berth.
    pub fn new(store: Arc<Store>) -> Self {
        Self(store)
    }

    /// A node has joined.
    pub fn joined(&self, node: &Node) -> anyhow::Result<()> {
        let read = snapshot_file::parse(&node.object().to_string(), &Interner::default())?.objects;
        ensure!(read.len() == 1, "{} cannot be read; this is a bug in the demo", node.name);
        self.0.apply(read.into_iter().map(Change::Upsert));
        Ok(())
    }

    /// A pod is gone.
    pub fn gone(&self, pod: &Pod) {
        self.0.apply([Change::Remove(Kind::Pod, ObjectKey::new(NAMESPACE, &*pod.name))]);
    }
}
