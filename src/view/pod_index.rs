//! Pods gathered under a key.

use std::borrow::Borrow;
use std::hash::Hash;
use std::sync::Arc;

use crate::model::persistent::HashMap;
use crate::model::{Pod, Uid};

/// Pods by key and UID. Cheap to clone, and cheap to change also where a key has thousands of pods.
#[derive(Clone, Debug)]
pub struct PodIndex<K> {
    by_key: HashMap<K, HashMap<Uid, Arc<Pod>>>,
    nobody: HashMap<Uid, Arc<Pod>>,
}

impl<K> Default for PodIndex<K> {
    fn default() -> Self {
        Self { by_key: HashMap::default(), nobody: HashMap::default() }
    }
}

impl<K: Clone + Eq + Hash> PodIndex<K> {
    /// The pods under a key.
    pub fn of<Q>(&self, key: &Q) -> impl ExactSizeIterator<Item = &Arc<Pod>>
    where
        K: Borrow<Q>,
        Q: Eq + Hash + ?Sized,
    {
        self.by_key.get(key).unwrap_or(&self.nobody).values()
    }

    /// All keys, each with its pods.
    pub fn iter(&self) -> impl Iterator<Item = (&K, impl Iterator<Item = &Arc<Pod>>)> {
        self.by_key.iter().map(|(key, pods)| (key, pods.values()))
    }

    /// All keys.
    pub fn keys(&self) -> impl Iterator<Item = &K> {
        self.by_key.keys()
    }

    /// How many keys there are.
    pub fn len(&self) -> usize {
        self.by_key.len()
    }

    pub fn add(&mut self, key: K, pod: Arc<Pod>) {
        self.by_key.entry(key).or_default().insert(pod.uid.clone(), pod);
    }

    /// Takes a pod away, and the key with the last one.
    pub fn remove(&mut self, key: &K, uid: &str) {
        let Some(pods) = self.by_key.get_mut(key) else { return };
        pods.remove(uid);
        if pods.is_empty() {
            self.by_key.remove(key);
        }
    }
}
