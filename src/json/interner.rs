//! One copy of each string, label set, controller, and set of requests or requirements, however many objects carry it.

use std::sync::Arc;

use dashmap::DashMap;

use crate::model::{Controller, Labels, Name, PodConstraints, Requirements, Resources};

/// Hands out one shared copy per distinct string, label set and set of requests.
///
/// Watches of different kinds convert objects at the same time, and their keys are independent of
/// each other, which is what a concurrent map is good at. Entries that nobody else holds are swept
/// out now and then ([`Interner::sweep`]), so names of long-gone objects do not pile up.
#[derive(Debug, Default)]
pub struct Interner {
    names: DashMap<Name, ()>,
    label_sets: DashMap<Labels, ()>,
    resources: DashMap<Arc<Resources>, ()>,
    requirements: DashMap<Arc<Requirements>, ()>,
    constraints: DashMap<Arc<PodConstraints>, ()>,
    controllers: DashMap<Arc<Controller>, ()>,
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

    /// The shared copy of `resources`; pods of one workload ask for the same, and nodes of one make have the same.
    pub fn resources(&self, resources: Resources) -> Arc<Resources> {
        if let Some(known) = self.resources.get(&resources) {
            return known.key().clone();
        }
        self.resources.entry(Arc::new(resources)).or_default().key().clone()
    }

    /// The shared copy of `requirements`; pods of one workload ask the same of their nodes.
    pub fn requirements(&self, requirements: Requirements) -> Arc<Requirements> {
        if let Some(known) = self.requirements.get(&requirements) {
            return known.key().clone();
        }
        self.requirements.entry(Arc::new(requirements)).or_default().key().clone()
    }

    /// The shared copy of `constraints`; pods of one workload occupy the same ports.
    pub fn constraints(&self, constraints: PodConstraints) -> Arc<PodConstraints> {
        if let Some(known) = self.constraints.get(&constraints) {
            return known.key().clone();
        }
        self.constraints.entry(Arc::new(constraints)).or_default().key().clone()
    }

    /// The shared copy of `controller`; it is the same for all its pods.
    pub fn controller(&self, controller: Controller) -> Arc<Controller> {
        if let Some(known) = self.controllers.get(&controller) {
            return known.key().clone();
        }
        self.controllers.entry(Arc::new(controller)).or_default().key().clone()
    }

    /// Forgets what is not in use any more. Names go last: the others hold some.
    pub fn sweep(&self) {
        self.controllers.retain(|controller, ()| Arc::strong_count(controller) > 1);
        self.constraints.retain(|constraints, ()| Arc::strong_count(constraints) > 1);
        self.requirements.retain(|requirements, ()| Arc::strong_count(requirements) > 1);
        self.resources.retain(|resources, ()| Arc::strong_count(resources) > 1);
        self.label_sets.retain(|labels, ()| labels.is_shared());
        self.names.retain(|name, ()| Arc::strong_count(name) > 1);
    }

    /// How many strings and sets are held.
    pub fn len(&self) -> usize {
        let sets = self.label_sets.len() + self.resources.len() + self.requirements.len();
        self.names.len() + sets + self.constraints.len() + self.controllers.len()
    }

    /// Whether nothing is held.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::{Interner, Resources};

    #[test]
    fn equal_strings_share_one_copy_until_swept() {
        let interner = Interner::default();
        let first = interner.name("rack-1");
        assert!(Arc::ptr_eq(&first, &interner.name("rack-1")));
        let labels = interner.labels([("app", "web")]);
        assert_eq!(labels, interner.labels([("app", "web")]));
        let cpu = |amount| Resources::new(amount, 0, 0, [(interner.name("a.com/gpu"), 1)]);
        let resources = interner.resources(cpu(1));
        assert!(Arc::ptr_eq(&resources, &interner.resources(cpu(1))));

        interner.sweep();
        assert_eq!(interner.len(), 6, "everything is still held");
        drop((labels, resources));
        interner.sweep();
        assert_eq!(interner.len(), 1, "only the rack is left");
        drop(first);
        interner.sweep();
        assert!(interner.is_empty());
    }
}
