//! Random cases: small clusters in which everything that spreading looks at goes wrong at times.

mod cluster;
mod constraints;
mod contest;
mod incoming;
mod selectors;
mod vocabulary;
mod workloads;

use serde_json::{Value, json};

use crate::case::Case;
use crate::support::differential::nodes;
use crate::support::random::{Origin, Rng};

/// The case of this origin, always the same.
pub fn generate(origin: Origin) -> Case {
    let rng = &mut origin.rng();
    let nodes = nodes::nodes(rng);
    let mut pod = incoming::pod(rng);
    contest::enter(rng, &nodes, &mut pod);
    let pods = cluster::pods(rng, &nodes, &pod);
    let candidates = candidates(rng, &nodes);
    Case(json!({
        "id": origin.number,
        "args": constraints::args(rng),
        "victims": contest::victims(rng, &pod, &pods, &candidates),
        "candidates": candidates,
        "services": workloads::services(rng, &pod),
        "replicationControllers": workloads::replication_controllers(rng, &pod),
        "replicaSets": workloads::sets(rng, &pod, "ReplicaSet"),
        "statefulSets": workloads::sets(rng, &pod, "StatefulSet"),
        "nodes": nodes,
        "pods": pods,
        "pod": pod,
    }))
}

/// Some of the nodes, at least one, in any order: what other filters have left.
fn candidates(rng: &mut Rng, nodes: &[Value]) -> Vec<Value> {
    let mut names: Vec<Value> = nodes.iter().map(|node| node["metadata"]["name"].clone()).collect();
    rng.shuffle(&mut names);
    if rng.chance(40) {
        names.truncate(1 + rng.below(names.len()));
    }
    names
}
