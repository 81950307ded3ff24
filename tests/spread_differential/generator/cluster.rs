//! Nodes, and the pods on them.

use serde_json::{Map, Value, json};

use super::vocabulary::{HOSTNAME, NAMESPACES, NODE_LABELS, RACK, ZONE, pod_labels};
use crate::rng::Rng;

pub fn nodes(rng: &mut Rng) -> Vec<Value> {
    let count = 1 + if rng.chance(22) { rng.below(3) } else { 3 + rng.below(9) };
    // Whole clusters lack a label more often than single nodes do.
    let missing = [rng.pick(&[0, 0, 0, 20, 50]), rng.pick(&[0, 0, 0, 20, 50]), rng.pick(&[0, 0, 0, 20])];
    let zones = 1 + rng.below(4);
    (0..count).map(|at| node(rng, at, zones, missing)).collect()
}

fn node(rng: &mut Rng, at: usize, zones: usize, [no_zone, no_rack, no_host]: [usize; 3]) -> Value {
    let name = format!("n{at}");
    let mut labels = Map::new();
    let mut label = |key: &str, value: String| labels.insert(key.to_owned(), value.into());
    if !rng.chance(no_zone) {
        let zone = if rng.chance(3) { String::new() } else { format!("z{}", rng.below(zones)) };
        label(ZONE, zone);
    }
    if !rng.chance(no_rack) {
        label(RACK, format!("r{}", rng.below(5)));
    }
    if !rng.chance(no_host) {
        // Two nodes may claim one host name.
        label(HOSTNAME, if rng.chance(4) { "n0".to_owned() } else { name.clone() });
    }
    for (key, values, frequency) in NODE_LABELS {
        if rng.chance(frequency) {
            label(key, rng.pick(&values).to_owned());
        }
    }
    let mut spec = Map::new();
    let mut taints = Vec::new();
    if rng.chance(30) {
        taints.extend((0..=rng.below(2)).map(|_| taint(rng)));
    }
    if rng.chance(8) {
        spec.insert("unschedulable".to_owned(), true.into());
        if rng.chance(50) {
            taints.push(json!({"key": "node.kubernetes.io/unschedulable", "effect": "NoSchedule"}));
        }
    }
    if !taints.is_empty() {
        spec.insert("taints".to_owned(), taints.into());
    }
    let mut metadata = json!({"name": name, "uid": format!("node-{at}")});
    if !labels.is_empty() {
        metadata["labels"] = labels.into();
    }
    json!({"apiVersion": "v1", "kind": "Node", "metadata": metadata, "spec": spec})
}

fn taint(rng: &mut Rng) -> Value {
    let effect = rng.pick(&["NoSchedule", "NoExecute", "PreferNoSchedule"]);
    let mut taint = json!({"key": rng.pick(&["dedicated", "gpu"]), "effect": effect});
    if rng.chance(70) {
        taint["value"] = rng.pick(&["", "a", "b", "5"]).into();
    }
    taint
}

/// Pods of all namespaces; many are akin to the incoming one, which may be among them, unbound.
pub fn pods(rng: &mut Rng, nodes: &[Value], incoming: &Value) -> Vec<Value> {
    let limit = rng.pick(&[1, 6, 16, 31, 41, 41]);
    let count = limit / 2 + rng.below(limit - limit / 2);
    let mut pods: Vec<Value> = (0..count).map(|at| pod(rng, at, nodes, incoming)).collect();
    if rng.chance(50) {
        pods.insert(rng.below(count + 1), incoming.clone());
    }
    pods
}

fn pod(rng: &mut Rng, at: usize, nodes: &[Value], incoming: &Value) -> Value {
    let namespace =
        if rng.chance(80) { incoming["metadata"]["namespace"].clone() } else { rng.pick(&NAMESPACES).into() };
    let mut metadata = json!({"name": format!("p{at}"), "namespace": namespace, "uid": format!("pod-{at}")});
    if rng.chance(75) {
        metadata["labels"] = incoming["metadata"]["labels"].clone();
        if rng.chance(15) {
            metadata["labels"]["track"] = "canary".into();
        }
    } else {
        metadata["labels"] = pod_labels(rng).into();
    }
    if rng.chance(8) {
        metadata["deletionTimestamp"] = "2026-01-01T00:00:00Z".into();
        metadata["deletionGracePeriodSeconds"] = 30.into();
    }
    let mut spec = json!({});
    if !rng.chance(5) {
        spec["nodeName"] = if rng.chance(4) {
            "gone".into()
        } else {
            // The first nodes are fuller: even spreads are dull.
            let at = rng.below(nodes.len()).min(rng.below(nodes.len()));
            nodes[at]["metadata"]["name"].clone()
        };
    }
    let phase = rng.weighted(&[(90, "Running"), (4, "Pending"), (3, "Succeeded"), (3, "Failed")]);
    let status = json!({"phase": phase});
    json!({"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": spec, "status": status})
}
