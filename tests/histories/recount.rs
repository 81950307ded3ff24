//! What the view keeps up to date step by step, counted afresh.

use std::collections::{BTreeSet, HashMap};

use berth::model::selector::Requirement;
use berth::model::{Name, Selector, Used};
use berth::view::{CounterKey, DomainId, HostDomain, Needs, View};

use super::model::Hosts;
use super::world::{GROUPS, group, takes};

fn label() -> Name {
    Name::from("v")
}

/// A selector, and which labels it matches, in plain words.
type Counted = (Requirement, fn(Option<u8>) -> bool);

fn counted() -> [Counted; 3] {
    let zero = || Box::new([Name::from("0")]);
    [
        (Requirement::Exists(label()), |label| label.is_some()),
        (Requirement::In(label(), zero()), |label| label == Some(0)),
        (Requirement::NotIn(label(), zero()), |label| label != Some(0)),
    ]
}

fn key(requirement: Requirement) -> CounterKey {
    let selector: Selector = [requirement].into_iter().collect();
    CounterKey { namespace: Name::from("default"), selector }
}

/// What decisions ask for.
pub fn needs() -> Needs {
    let counters: Vec<_> = counted().into_iter().map(|(requirement, _)| key(requirement)).collect();
    let sums = counters.iter().map(|key| (key.clone(), label())).collect();
    Needs { counters, topology_keys: vec![label()], sums }
}

/// Asserts that what is kept equals what is there.
pub fn compare(view: &View, hosts: &Hosts, when: &str) {
    compare_room(view, hosts, when);
    for (requirement, matches) in counted() {
        let key = key(requirement);
        let Some(counter) = view.counter(&key) else { continue };
        let mut total = 0;
        for (name, (_, pods)) in hosts {
            let id = view.host_id(name).expect("a host has a number");
            let expected = pods.iter().filter(|pod| !pod.leaving && matches(pod.label)).count();
            assert_eq!(counter.on(id) as usize, expected, "pods on {name} that match {key:?} {when}");
            total += expected;
        }
        let sum: u32 = counter.per_host().sum();
        assert_eq!(sum as usize, total, "no pod is counted on a host that is not there, {key:?} {when}");
    }
    for number in 0..GROUPS {
        let members = hosts.values().flat_map(|(_, pods)| pods);
        let members =
            members.filter(|pod| !pod.leaving && pod.label.is_some_and(|label| label % GROUPS == number));
        let expected: BTreeSet<&str> = members.map(|pod| &*pod.uid).collect();
        let key = group(number);
        let kept = view.placed_members(&key);
        assert_eq!(kept.len(), expected.len(), "members of group {number} {when}");
        assert_eq!(kept.map(|pod| &*pod.uid).collect::<BTreeSet<_>>(), expected, "group {number} {when}");
    }
    let Some(domains) = view.domains("v") else { return };
    let mut values: HashMap<DomainId, u8> = HashMap::new();
    for (name, (label, _)) in hosts {
        let id = view.host_id(name).expect("a host has a number");
        let domain = match domains.of(id) {
            HostDomain::In(domain) => Some(domain),
            HostDomain::MissingLabel | HostDomain::UnknownNode => None,
        };
        assert_eq!(domain.is_some(), label.is_some(), "{name} is in a domain if its node is labelled {when}");
        if let (Some(domain), Some(label)) = (domain, label) {
            let first = *values.entry(domain).or_insert(*label);
            assert_eq!(first, *label, "{name} shares a domain with another label {when}");
        }
    }
    for key in needs().counters {
        let Some(sums) = view.counter(&key).and_then(|counter| counter.per_domain("v", domains)) else {
            continue;
        };
        let mut expected = vec![0; domains.len()];
        for name in hosts.keys() {
            let id = view.host_id(name).expect("a host has a number");
            if let HostDomain::In(domain) = domains.of(id) {
                expected[domain.index()] += i64::from(view.counter(&key).expect("just seen").on(id));
            }
        }
        assert!(sums.iter().eq(&expected), "pods by domain that match {key:?} {when}: {sums:?} {expected:?}");
    }
    let mut labels: Vec<_> = hosts.values().filter_map(|(label, _)| *label).collect();
    labels.sort_unstable();
    labels.dedup();
    assert_eq!(values.len(), labels.len(), "as many domains as labels {when}");
}

/// Pods of which only the identity is known take nothing but a place.
fn compare_room(view: &View, hosts: &Hosts, when: &str) {
    for (name, (_, pods)) in hosts {
        let mut expected = Used::default();
        for pod in pods {
            expected.resources.add(&pod.label.map(takes).unwrap_or_default());
            expected.pods += 1;
        }
        let host = view.host(name).expect("a host that exists");
        assert_eq!(*host.used, expected, "what is used of {name} {when}");
    }
}
