//! The pods on the nodes.

use serde_json::{Map, Value, json};

use super::contest;
use super::vocabulary::{NAMESPACES, pod_key, pod_labels, pod_value};
use crate::support::random::Rng;

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
