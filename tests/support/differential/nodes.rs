//! Nodes with labels and taints, any of which may be missing.

use serde_json::{Map, Value, json};

use crate::support::random::Rng;

pub const HOSTNAME: &str = "kubernetes.io/hostname";
pub const ZONE: &str = "topology.kubernetes.io/zone";
pub const RACK: &str = "example.com/rack";

/// Labels of nodes beside the topology: key, values, how often a node has it.
pub const NODE_LABELS: [(&str, [&str; 5], usize); 2] =
    [("disk", ["ssd", "ssd", "hdd", "tape", ""], 70), ("cores", ["4", "8", "16", "007", "many"], 90)];

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
