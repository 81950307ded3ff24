//! How many pods a selector matches on each host, kept up to date as pods come and go.
//!
//! A counter is made on first use by one count over all pods, and from then on costs a few steps per
//! change of a pod, so that asking it never depends on how many pods there are.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use imbl::{HashMap, Vector};

use super::HostId;
use crate::model::{Name, Pod, Selector};

/// Which pods are counted: those of a namespace that a selector matches and that are not terminating.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct CounterKey {
    /// The namespace.
    pub namespace: Name,
    /// The selector.
    pub selector: Selector,
}

impl CounterKey {
    /// Whether the pod is counted.
    pub fn counts(&self, pod: &Pod) -> bool {
        pod.key.namespace == self.namespace && !pod.terminating && self.selector.matches(&pod.labels)
    }
}

/// Matching pods per host.
#[derive(Clone, Debug, Default)]
pub struct Counter {
    per_host: Vector<u32>,
    /// When it was last asked, in rounds of [`Counters::sweep`]; shared by all clones.
    last_used: Arc<AtomicU64>,
}

impl Counter {
    /// The counts of all hosts, by their number; hosts beyond the end have none.
    pub fn per_host(&self) -> impl Iterator<Item = u32> + '_ {
        self.per_host.iter().copied()
    }

    /// The count of one host.
    pub fn on(&self, host: HostId) -> u32 {
        self.per_host.get(host).copied().unwrap_or_default()
    }

    fn add(&mut self, host: HostId, difference: i32) {
        while self.per_host.len() <= host {
            self.per_host.push_back(0);
        }
        let count = self.on(host).saturating_add_signed(difference);
        self.per_host.set(host, count);
    }
}

/// All counters, by namespace because a pod concerns those of its own only.
#[derive(Clone, Debug, Default)]
pub struct Counters {
    by_namespace: HashMap<Name, HashMap<CounterKey, Counter>>,
    round: u64,
}

impl Counters {
    pub fn get(&self, key: &CounterKey) -> Option<&Counter> {
        let counter = self.by_namespace.get(&key.namespace)?.get(key)?;
        counter.last_used.store(self.round, Ordering::Relaxed);
        Some(counter)
    }

    pub fn len(&self) -> usize {
        self.by_namespace.values().map(HashMap::len).sum()
    }

    /// Makes a counter from where all pods are.
    pub fn insert<'a>(&mut self, key: CounterKey, placed: impl Iterator<Item = (HostId, &'a Arc<Pod>)>) {
        let mut counter =
            Counter { per_host: Vector::new(), last_used: Arc::new(AtomicU64::new(self.round)) };
        for (host, _) in placed.filter(|(_, pod)| key.counts(pod)) {
            counter.add(host, 1);
        }
        self.by_namespace.entry(key.namespace.clone()).or_default().insert(key, counter);
    }

    /// A pod came to a host (`1`) or left it (`-1`).
    pub fn moved(&mut self, host: HostId, pod: &Pod, difference: i32) {
        let Some(counters) = self.by_namespace.get_mut(&pod.key.namespace) else { return };
        for (key, counter) in counters.iter_mut() {
            if key.counts(pod) {
                counter.add(host, difference);
            }
        }
    }

    /// Begins a new round and forgets counters that nobody asked for `idle` rounds.
    pub fn sweep(&mut self, idle: u64) {
        self.round += 1;
        let oldest = self.round.saturating_sub(idle);
        let namespaces: Vec<Name> = self.by_namespace.keys().cloned().collect();
        for namespace in namespaces {
            let Some(counters) = self.by_namespace.get_mut(&namespace) else { continue };
            counters.retain(|_, counter| counter.last_used.load(Ordering::Relaxed) >= oldest);
            if counters.is_empty() {
                self.by_namespace.remove(&namespace);
            }
        }
    }
}
