//! Random cases: small clusters that are nearly full, of pods whose requests come in every shape.

mod amounts;
mod cluster;
mod pods;
mod quantities;

use serde_json::{Value, json};

use self::amounts::Taste;
use crate::case::Case;
use crate::support::random::{Origin, Rng};

/// The case of this origin, always the same.
pub fn generate(origin: Origin) -> Case {
    let rng = &mut origin.rng();
    let taste = Taste::any(rng);
    let nodes = cluster::nodes(rng, taste);
    let pod = pods::incoming(rng, taste);
    let quantities: Vec<Value> = (0..10).map(|_| quantities::any(rng).into()).collect();
    Case(json!({
        "id": origin.number,
        "candidates": candidates(rng, &nodes),
        "pods": pods::others(rng, taste, &nodes, &pod),
        "nodes": nodes,
        "pod": pod,
        "quantities": quantities,
    }))
}

/// All nodes, in any order.
fn candidates(rng: &mut Rng, nodes: &[Value]) -> Vec<Value> {
    let mut names: Vec<Value> = nodes.iter().map(|node| node["metadata"]["name"].clone()).collect();
    rng.shuffle(&mut names);
    names
}
