//! Pods gathered under a key: few of them per key, and few keys.

use std::hash::Hash;
use std::sync::Arc;

use imbl::HashMap;

use crate::model::Pod;

/// Pods by key, in no particular order. Cheap to clone.
#[derive(Clone, Debug)]
pub struct Gatherings<K>(HashMap<K, Arc<Vec<Arc<Pod>>>>);

impl<K> Default for Gatherings<K> {
    fn default() -> Self {
        Self(HashMap::default())
    }
}

impl<K: Clone + Eq + Hash> Gatherings<K> {
    /// The pods under a key.
    pub fn of(&self, key: &K) -> &[Arc<Pod>] {
        self.0.get(key).map_or(&[], |pods| pods)
    }

    /// All pods, each with its key.
    pub fn iter(&self) -> impl Iterator<Item = (&K, &Arc<Pod>)> {
        self.0.iter().flat_map(|(key, pods)| pods.iter().map(move |pod| (key, pod)))
    }

    pub fn add(&mut self, key: K, pod: Arc<Pod>) {
        Arc::make_mut(self.0.entry(key).or_default()).push(pod);
    }

    /// Takes a pod away, and the key with the last one.
    pub fn remove(&mut self, key: &K, uid: &str) {
        let Some(pods) = self.0.get_mut(key) else { return };
        if let Some(at) = pods.iter().position(|pod| *pod.uid == *uid) {
            Arc::make_mut(pods).swap_remove(at);
        }
        if pods.is_empty() {
            self.0.remove(key);
        }
    }
}
