//! One copy of each string and label set, however many objects carry it.

use std::sync::Arc;

use dashmap::DashMap;

use crate::model::{Labels, Name};

/// Hands out one shared copy per distinct string and label set.
///
/// Watches of different kinds convert objects at the same time, and their keys are independent of
/// each other, which is what a concurrent map is good at. Entries that nobody else holds are swept
/// out now and then ([`Interner::sweep`]), so names of long-gone objects do not pile up.
#[derive(Debug, Default)]
pub struct Interner {
    names: DashMap<Name, ()>,
    label_sets: DashMap<Labels, ()>,
}

impl Interner {
    /// The shared copy of `text`.
    pub fn name(&self, text: &str) -> Name {
        if let Some(known) = self.names.get(text) {
            return known.key().clone();
        }
        self.names.entry(Name::from(text)).or_default().key().clone()
    }

    /// The shared copy of `labels`; pods of one workload mostly carry the same set.
    pub fn labels<K: AsRef<str>, V: AsRef<str>>(&self, pairs: impl IntoIterator<Item = (K, V)>) -> Labels {
        let labels: Labels =
            pairs.into_iter().map(|(k, v)| (self.name(k.as_ref()), self.name(v.as_ref()))).collect();
        if let Some(known) = self.label_sets.get(&labels) {
            return known.key().clone();
        }
        self.label_sets.entry(labels).or_default().key().clone()
    }

    /// Forgets what is not in use any more. Label sets go first: they hold names.
    pub fn sweep(&self) {
        self.label_sets.retain(|labels, ()| labels.is_shared());
        self.names.retain(|name, ()| Arc::strong_count(name) > 1);
    }

    /// How many strings and label sets are held.
    pub fn len(&self) -> usize {
        self.names.len() + self.label_sets.len()
    }

    /// Whether nothing is held.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::Interner;

    #[test]
    fn equal_strings_share_one_copy_until_swept() {
        let interner = Interner::default();
        let first = interner.name("rack-1");
        assert!(Arc::ptr_eq(&first, &interner.name("rack-1")));
        let labels = interner.labels([("app", "web")]);
        assert_eq!(labels, interner.labels([("app", "web")]));

        interner.sweep();
        assert_eq!(interner.len(), 4, "everything is still held");
        drop(labels);
        interner.sweep();
        assert_eq!(interner.len(), 1, "only the rack is left");
        drop(first);
        interner.sweep();
        assert!(interner.is_empty());
    }
}
