//! The domains of the topology keys that decisions ask for: made on first use, dropped when unused, and never too many.
//!
//! Pods name topology keys as they like, so what is kept for them must not grow with what they write.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use super::domains::Domains;
use super::hosts::Hosts;
use crate::model::Name;
use crate::model::persistent::HashMap;

/// Beyond so many keys, those that have not been asked for longest are dropped. Each is a few numbers per node.
pub const MOST_KEYS: usize = 64;

/// The domains that are kept, by topology key.
#[derive(Clone, Debug, Default)]
pub struct Topologies {
    by_key: HashMap<Name, Topology>,
    round: u64,
}

#[derive(Clone, Debug)]
struct Topology {
    domains: Arc<Domains>,
    /// When it was last asked for, in rounds of [`Topologies::sweep`]; shared by all clones.
    last_used: Arc<AtomicU64>,
}

impl Topologies {
    /// The domains of a key, if they are kept.
    pub fn get(&self, key: &str) -> Option<&Arc<Domains>> {
        let topology = self.by_key.get(key)?;
        topology.last_used.store(self.round, Ordering::Relaxed);
        Some(&topology.domains)
    }

    pub fn len(&self) -> usize {
        self.by_key.len()
    }

    /// Keeps the domains of these keys from now on. They all stay, however many they are, for one decision needs all of
    /// them at once; who asks has a limit of its own.
    pub fn provide(&mut self, keys: &[Name], hosts: &Hosts) {
        for key in keys {
            if self.get(key).is_none() {
                let domains = Arc::new(Domains::build(hosts, key));
                let last_used = Arc::new(AtomicU64::new(self.round));
                self.by_key.insert(key.clone(), Topology { domains, last_used });
            }
        }
        let excess = self.by_key.len().saturating_sub(MOST_KEYS);
        if excess > 0 {
            let others = self.by_key.iter().filter(|(key, _)| !keys.contains(key));
            let mut others: Vec<(u64, Name)> =
                others.map(|(key, topology)| (topology.last_used(), key.clone())).collect();
            others.sort_unstable();
            others.iter().take(excess).for_each(|(_, key)| drop(self.by_key.remove(key)));
        }
    }

    /// Forgets all: nodes have come, gone or been relabelled.
    pub fn clear(&mut self) {
        self.by_key.clear();
    }

    /// Begins a new round and forgets keys that nobody asked for `idle` rounds.
    pub fn sweep(&mut self, idle: u64) {
        self.round += 1;
        let oldest = self.round.saturating_sub(idle);
        self.by_key.retain(|_, topology| topology.last_used() >= oldest);
    }
}

impl Topology {
    fn last_used(&self) -> u64 {
        self.last_used.load(Ordering::Relaxed)
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::MOST_KEYS;
    use crate::fixtures::node;
    use crate::model::{Name, Object};
    use crate::view::change::Change;
    use crate::view::{Needs, View};

    fn needs(keys: impl IntoIterator<Item = String>) -> Needs {
        Needs {
            topology_keys: keys.into_iter().map(|key| Name::from(key.as_str())).collect(),
            ..Needs::default()
        }
    }

    #[test]
    fn keys_that_pods_name_do_not_pile_up() {
        let mut view = View::default();
        view.apply(Change::Upsert(Object::Node(Arc::new(node("a").label("rack", "1").build()))));
        view.provide(&needs(["rack".to_owned()]));
        for at in 0..10 * MOST_KEYS {
            view.sweep_unused(u64::MAX);
            let both = needs(["rack".to_owned(), format!("key-{at}")]);
            view.provide(&both);
            assert!(view.provides(&both), "what is asked for is there");
        }
        assert_eq!(view.topologies(), MOST_KEYS);
        let many = needs((0..2 * MOST_KEYS).map(|at| format!("many-{at}")));
        view.provide(&many);
        assert!(view.provides(&many), "one decision gets all that it needs");
    }

    #[test]
    fn keys_that_nobody_asks_for_are_dropped() {
        let mut view = View::default();
        view.provide(&needs(["kept".to_owned(), "unused".to_owned()]));
        for _ in 0..3 {
            view.sweep_unused(2);
            assert!(view.domains("kept").is_some());
        }
        assert_eq!(view.topologies(), 1);
        assert!(view.domains("unused").is_none());
    }
}
