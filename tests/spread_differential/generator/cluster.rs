//! Nodes, and the pods on them.

use serde_json::{Map, Value, json};

use super::contest;
use super::vocabulary::{HOSTNAME, NAMESPACES, NODE_LABELS, RACK, ZONE, pod_key, pod_labels, pod_value};
use crate::rng::Rng;

pub fn nodes(rng: &mut Rng) -> Vec<Value> {
    let count = 1 + if rng.chance(22) { rng.below(3) } else { 3 + rng.below(9) };
    // Whole clusters lack a label more often than single nodes do.
    let missing = [rng.pick(&[0, 0, 0, 20, 50]), rng.pick(&[0, 0, 0, 20, 50]), rng.pick(&[0, 0, 0, 20])];
    let tainted = rng.pick(&[0, 25, 50, 70]);
    let zones = 1 + rng.below(4);
    (0..count).map(|at| node(rng, at, zones, missing, tainted)).collect()
}

fn node(rng: &mut Rng, at: usize, zones: usize, missing: [usize; 3], tainted: usize) -> Value {
    let [no_zone, no_rack, no_host] = missing;
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
    if rng.chance(tainted) {
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
    // The labels of most: the incoming pod's, unless it has been relabelled since.
    let mut kin = incoming["metadata"]["labels"].as_object().cloned().unwrap_or_default();
    if rng.chance(15) {
        relabel(rng, &mut kin);
    }
    let crowd = Crowd { kin, incoming, terminating: rng.pick(&[4, 8, 8, 55]) };
    let mut pods: Vec<Value> = (0..count).map(|at| pod(rng, at, nodes, &crowd)).collect();
    let goals = contest::goals(rng, nodes);
    for at in count..count + rng.pick(&[0, 3, 8, 14]) {
        let mut rival = pod(rng, at, nodes, &crowd);
        contest::nominate(rng, &goals, incoming, &mut rival);
        pods.insert(rng.below(pods.len() + 1), rival);
    }
    if rng.chance(50) {
        pods.insert(rng.below(pods.len() + 1), incoming.clone());
    }
    pods
}

fn relabel(rng: &mut Rng, labels: &mut Map<String, Value>) {
    let key = pod_key(rng);
    labels.insert(key.to_owned(), pod_value(rng, key).into());
}

/// What the pods of a cluster have in common.
struct Crowd<'a> {
    kin: Map<String, Value>,
    incoming: &'a Value,
    /// How many of a hundred are being deleted.
    terminating: usize,
}

fn pod(rng: &mut Rng, at: usize, nodes: &[Value], crowd: &Crowd<'_>) -> Value {
    let home = &crowd.incoming["metadata"]["namespace"];
    let namespace = if rng.chance(80) { home.clone() } else { rng.pick(&NAMESPACES).into() };
    let mut metadata = json!({"name": format!("p{at}"), "namespace": namespace, "uid": format!("pod-{at}")});
    let mut labels = if rng.chance(80) { crowd.kin.clone() } else { pod_labels(rng) };
    if rng.chance(15) {
        relabel(rng, &mut labels);
    }
    metadata["labels"] = labels.into();
    if rng.chance(crowd.terminating) {
        metadata["deletionTimestamp"] = "2026-01-01T00:00:00Z".into();
        metadata["deletionGracePeriodSeconds"] = 30.into();
    }
    let mut spec = json!({});
    contest::stand_by(rng, &mut spec);
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
