//! Objects of one kind, by namespace and name.

use std::sync::Arc;

use imbl::OrdMap;

use crate::model::persistent::HashMap;
use crate::model::{Name, ObjectKey};

/// A persistent map of objects, grouped by namespace because that is how they are asked for.
#[derive(Clone, Debug)]
pub struct Namespaced<T> {
    namespaces: HashMap<Name, OrdMap<Name, Arc<T>>>,
    len: usize,
}

impl<T> Default for Namespaced<T> {
    fn default() -> Self {
        Self { namespaces: HashMap::default(), len: 0 }
    }
}

impl<T> Namespaced<T> {
    /// How many objects there are.
    pub fn len(&self) -> usize {
        self.len
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// The object of that name.
    pub fn get(&self, key: &ObjectKey) -> Option<&Arc<T>> {
        self.namespaces.get(&key.namespace)?.get(&key.name)
    }

    /// The objects of one namespace, by name.
    pub fn in_namespace(&self, namespace: &str) -> impl Iterator<Item = &Arc<T>> {
        self.namespaces.get(namespace).into_iter().flat_map(OrdMap::values)
    }

    /// All objects.
    pub fn iter(&self) -> impl Iterator<Item = &Arc<T>> {
        self.namespaces.values().flat_map(OrdMap::values)
    }

    pub(super) fn insert(&mut self, key: ObjectKey, object: Arc<T>) {
        let previous = self.namespaces.entry(key.namespace).or_default().insert(key.name, object);
        self.len += usize::from(previous.is_none());
    }

    /// Takes in an object, or that it is gone. Whether that changes anything.
    pub(super) fn set(&mut self, key: &ObjectKey, object: Option<Arc<T>>) -> bool
    where
        T: PartialEq,
    {
        let is_new = self.get(key) != object.as_ref();
        match object.filter(|_| is_new) {
            Some(object) => self.insert(key.clone(), object),
            None if is_new => self.remove(key),
            None => {}
        }
        is_new
    }

    pub(super) fn remove(&mut self, key: &ObjectKey) {
        let Some(objects) = self.namespaces.get_mut(&key.namespace) else { return };
        self.len -= usize::from(objects.remove(&key.name).is_some());
        if objects.is_empty() {
            self.namespaces.remove(&key.namespace);
        }
    }
}
