//! Services and controllers, from which the selector is deduced.

use serde_json::{Value, json};

use super::incoming::OWNERS;
use super::selectors::{any, label_selector, some_of};
use super::vocabulary::NAMESPACES;
use crate::support::random::Rng;

pub fn services(rng: &mut Rng, pod: &Value) -> Vec<Value> {
    let count = rng.weighted(&[(16, 0), (44, 1), (24, 2), (11, 3), (5, 4)]);
    (0..count)
        .map(|at| {
            let namespace = if rng.chance(85) { namespace_of(pod) } else { rng.pick(&NAMESPACES) };
            let mut spec = json!({"type": rng.weighted(&[(90, "ClusterIP"), (10, "ExternalName")])});
            match rng.weighted(&[(70, "matching"), (14, "any"), (8, "empty"), (8, "none")]) {
                "matching" => spec["selector"] = some_of(rng, pod).into(),
                "any" => spec["selector"] = any(rng).into(),
                "empty" => spec["selector"] = json!({}),
                _ => {}
            }
            object("v1", "Service", namespace, &format!("s{at}"), &spec)
        })
        .collect()
}

pub fn replication_controllers(rng: &mut Rng, pod: &Value) -> Vec<Value> {
    let mut make = |rng: &mut Rng, namespace: &str, name: &str| {
        let mut spec = json!({"replicas": 3});
        match rng.weighted(&[(64, "matching"), (28, "any"), (4, "empty"), (4, "none")]) {
            "matching" => spec["selector"] = some_of(rng, pod).into(),
            "any" => spec["selector"] = any(rng).into(),
            "empty" => spec["selector"] = json!({}),
            _ => {}
        }
        object("v1", "ReplicationController", namespace, name, &spec)
    };
    owners(rng, pod, &mut make)
}

/// `ReplicaSets` or `StatefulSets`.
pub fn sets(rng: &mut Rng, pod: &Value, kind: &str) -> Vec<Value> {
    let mut make = |rng: &mut Rng, namespace: &str, name: &str| {
        let mut spec = json!({"replicas": 3});
        if let Some(selector) = label_selector(rng, pod) {
            spec["selector"] = selector;
        }
        object("apps/v1", kind, namespace, name, &spec)
    };
    owners(rng, pod, &mut make)
}

/// Controllers by the names that pods refer to, in this namespace and in another one.
fn owners(rng: &mut Rng, pod: &Value, make: &mut dyn FnMut(&mut Rng, &str, &str) -> Value) -> Vec<Value> {
    let mut owners = Vec::new();
    for (namespace, frequency) in [(namespace_of(pod), [92, 50]), (NAMESPACES[2], [20, 10])] {
        for (name, frequency) in OWNERS.into_iter().zip(frequency) {
            if rng.chance(frequency) {
                owners.push(make(rng, namespace, name));
            }
        }
    }
    owners
}

fn namespace_of(pod: &Value) -> &str {
    pod["metadata"]["namespace"].as_str().expect("a pod has a namespace")
}

fn object(api_version: &str, kind: &str, namespace: &str, name: &str, spec: &Value) -> Value {
    let metadata = json!({"namespace": namespace, "name": name, "uid": format!("{kind}-{namespace}-{name}")});
    json!({"apiVersion": api_version, "kind": kind, "metadata": metadata, "spec": spec})
}
