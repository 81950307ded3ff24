//! How many pods a selector matches on each host, kept up to date as pods come and go.
//!
//! A counter is made on first use by one count over all pods, and from then on costs a few steps per
//! change of a pod, so that asking it never depends on how many pods there are.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use imbl::Vector;

use super::HostId;
use super::domains::{Domains, HostDomain};
use crate::model::persistent::HashMap;
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

/// Matching pods per host, and per domain where that is asked for.
#[derive(Clone, Debug, Default)]
pub struct Counter {
    per_host: Vector<u32>,
    per_domain: HashMap<Name, Sums>,
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
        self.per_host.get(host.index()).copied().unwrap_or_default()
    }

    /// The counts of all domains of a topology key, by their number, if they are kept for these very domains.
    pub fn per_domain(&self, topology_key: &str, domains: &Arc<Domains>) -> Option<&Vector<i64>> {
        let sums = self.per_domain.get(topology_key)?;
        Arc::ptr_eq(&sums.domains, domains).then_some(&sums.pods)
    }

    fn add(&mut self, host: HostId, difference: i32) {
        while self.per_host.len() <= host.index() {
            self.per_host.push_back(0);
        }
        let count = self.on(host).saturating_add_signed(difference);
        self.per_host.set(host.index(), count);
        for (_, sums) in self.per_domain.iter_mut() {
            sums.add(host, i64::from(difference));
        }
    }
}

/// Matching pods per domain of a topology key. Out of date once the key has other domains, when it is made anew.
#[derive(Clone, Debug)]
struct Sums {
    domains: Arc<Domains>,
    pods: Vector<i64>,
}

impl Sums {
    fn count(counter: &Counter, domains: &Arc<Domains>) -> Self {
        let mut pods = vec![0; domains.len()];
        for (domain_of_host, matching) in domains.all().zip(counter.per_host()) {
            if let HostDomain::In(domain) = domain_of_host {
                pods[domain.index()] += i64::from(matching);
            }
        }
        Self { domains: domains.clone(), pods: pods.into_iter().collect() }
    }

    fn add(&mut self, host: HostId, difference: i64) {
        if let HostDomain::In(domain) = self.domains.of(host)
            && let Some(pods) = self.pods.get_mut(domain.index())
        {
            *pods += difference;
        }
    }
}

/// All counters, by namespace because a pod concerns those of its own only.
#[derive(Clone, Debug, Default)]
pub struct Counters {
    by_namespace: HashMap<Name, HashMap<Arc<CounterKey>, Counter>>,
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
        let last_used = Arc::new(AtomicU64::new(self.round));
        let mut counter = Counter { last_used, ..Counter::default() };
        for (host, _) in placed.filter(|(_, pod)| key.counts(pod)) {
            counter.add(host, 1);
        }
        self.by_namespace.entry(key.namespace.clone()).or_default().insert(Arc::new(key), counter);
    }

    /// Keeps the counts of a topology key's domains from now on.
    pub fn sum(&mut self, key: &CounterKey, topology_key: &Name, domains: &Arc<Domains>) {
        let counters = self.by_namespace.get_mut(&key.namespace);
        if let Some(counter) = counters.and_then(|counters| counters.get_mut(key)) {
            let sums = Sums::count(counter, domains);
            counter.per_domain.insert(topology_key.clone(), sums);
        }
    }

    /// A pod came to a host (`1`) or left it (`-1`).
    pub fn moved(&mut self, host: HostId, pod: &Pod, difference: i32) {
        let Some(counters) = self.by_namespace.get(&pod.key.namespace) else { return };
        // Found first and changed then: to change is to copy what is shared with the published view.
        let concerned: Vec<_> = counters.keys().filter(|key| key.counts(pod)).cloned().collect();
        for key in concerned {
            let counters = self.by_namespace.get_mut(&pod.key.namespace);
            if let Some(counter) = counters.and_then(|counters| counters.get_mut(&key)) {
                counter.add(host, difference);
            }
        }
    }

    /// Begins a new round and forgets counters that nobody asked for `idle` rounds.
    pub fn sweep(&mut self, idle: u64) {
        self.round += 1;
        let oldest = self.round.saturating_sub(idle);
        let is_idle = |counter: &Counter| counter.last_used.load(Ordering::Relaxed) < oldest;
        let all = self.by_namespace.values().flatten();
        let idle: Vec<_> = all.filter(|(_, counter)| is_idle(counter)).map(|(key, _)| key.clone()).collect();
        for key in idle {
            let Some(counters) = self.by_namespace.get_mut(&key.namespace) else { continue };
            counters.remove(&key);
            if counters.is_empty() {
                self.by_namespace.remove(&key.namespace);
            }
        }
    }
}
