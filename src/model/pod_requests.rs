//! What a pod requests, container by container, and what that makes for the pod.
//!
//! ```text
//!   the sum of containers and sidecars, but at least what the start needs:
//!                      each init container with the sidecars started before it
//!   CPU, memory and huge pages of the pod as a whole, if it names them, take the place of all that
//!   + overhead
//! ```

use std::borrow::Borrow;
use std::collections::BTreeMap;

use super::resources::is_scalar;
use super::{Name, Quantity, Resources};

/// Amounts by name.
pub type Amounts<K> = BTreeMap<K, Quantity>;

/// What the parts of a pod request. Names are borrowed while a pod is read, and kept where a template is.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PodRequests<K> {
    /// Containers that run side by side.
    pub containers: Vec<Amounts<K>>,
    /// Containers that are started before them, in their order.
    pub init_containers: Vec<InitContainer<K>>,
    /// What the pod as a whole names in their place.
    pub as_a_whole: Amounts<K>,
    /// What running the pod costs beside its containers.
    pub overhead: Amounts<K>,
}

/// A container that is started before the others.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct InitContainer<K> {
    /// Whether it goes on running beside those that follow.
    pub is_sidecar: bool,
    /// What it requests.
    pub requests: Amounts<K>,
}

/// What quotas want to know of a pod's requests beside amounts.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Named {
    /// Whether nothing requests CPU or memory.
    pub is_best_effort: bool,
    /// Whether every container says how much CPU it requests, or the pod as a whole does.
    pub cpu_by_all: bool,
    /// The same for memory.
    pub memory_by_all: bool,
}

impl<K: Ord + Clone + Borrow<str>> PodRequests<K> {
    /// What the pod requests.
    pub fn total(&self) -> Amounts<K> {
        let mut sum = Amounts::new();
        for container in &self.containers {
            add(&mut sum, container);
        }
        let (mut sidecars, mut start) = (Amounts::new(), Amounts::new());
        for InitContainer { is_sidecar, requests } in &self.init_containers {
            if *is_sidecar {
                add(&mut sum, requests);
                add(&mut sidecars, requests);
                raise(&mut start, &sidecars);
            } else {
                let mut needed = requests.clone();
                add(&mut needed, &sidecars);
                raise(&mut start, &needed);
            }
        }
        raise(&mut sum, &start);
        sum.extend(self.as_a_whole.iter().map(|(name, amount)| (name.clone(), *amount)));
        add(&mut sum, &self.overhead);
        sum
    }

    /// Every container requests what is named here and not by itself.
    pub fn fill_in(&mut self, defaults: &Amounts<K>) {
        let init = self.init_containers.iter_mut().map(|container| &mut container.requests);
        for requests in self.containers.iter_mut().chain(init) {
            for (name, amount) in defaults {
                requests.entry(name.clone()).or_insert(*amount);
            }
        }
    }

    /// What quotas want to know of it beside amounts.
    pub fn named(&self) -> Named {
        let containers = || {
            let init = self.init_containers.iter().map(|container| &container.requests);
            self.containers.iter().chain(init)
        };
        let is_something = |amounts: &Amounts<K>, name: &str| {
            amounts.get(name).is_some_and(|amount| amount.saturating_milli_value() > 0)
        };
        let requested =
            |amounts: &Amounts<K>| is_something(amounts, "cpu") || is_something(amounts, "memory");
        let by_all =
            |name: &str| !self.as_a_whole.is_empty() || containers().all(|one| one.contains_key(name));
        Named {
            is_best_effort: !containers().chain([&self.as_a_whole]).any(requested),
            cpu_by_all: by_all("cpu"),
            memory_by_all: by_all("memory"),
        }
    }

    /// The same, with names that are kept.
    pub fn with_names(&self, name: impl Fn(&K) -> Name) -> PodRequests<Name> {
        let named = |amounts: &Amounts<K>| amounts.iter().map(|(key, amount)| (name(key), *amount)).collect();
        let init = self.init_containers.iter().map(|InitContainer { is_sidecar, requests }| InitContainer {
            is_sidecar: *is_sidecar,
            requests: named(requests),
        });
        PodRequests {
            containers: self.containers.iter().map(named).collect(),
            init_containers: init.collect(),
            as_a_whole: named(&self.as_a_whole),
            overhead: named(&self.overhead),
        }
    }
}

impl PodRequests<Name> {
    /// What a pod that is to be placed requests, as kube-scheduler counts it.
    pub fn to_resources(&self) -> Resources {
        to_resources(&self.total(), Name::clone, |amount| amount.max(0))
    }
}

/// Amounts as kube-scheduler counts them.
pub fn to_resources<K: Ord + Borrow<str>>(
    amounts: &Amounts<K>,
    name_of: impl Fn(&K) -> Name,
    keep: impl Fn(i64) -> i64,
) -> Resources {
    let of = |name: &str| amounts.get(name).copied().unwrap_or(Quantity::ZERO);
    let scalars = amounts.iter().filter(|(name, _)| is_scalar((*name).borrow()));
    Resources::new(
        keep(of("cpu").milli_value()),
        keep(of("memory").value()),
        keep(of("ephemeral-storage").value()),
        scalars.map(|(name, amount)| (name_of(name), keep(amount.value()))),
    )
}

/// Adds amounts.
pub fn add<K: Ord + Clone>(to: &mut Amounts<K>, amounts: &Amounts<K>) {
    for (name, amount) in amounts {
        to.entry(name.clone()).and_modify(|sum| *sum = sum.plus(*amount)).or_insert(*amount);
    }
}

/// Raises amounts to at least these.
pub fn raise<K: Ord + Clone>(to: &mut Amounts<K>, amounts: &Amounts<K>) {
    for (name, amount) in amounts {
        to.entry(name.clone()).and_modify(|most| *most = most.max(*amount)).or_insert(*amount);
    }
}
