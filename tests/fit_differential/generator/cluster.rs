//! Nodes, with what they have.

use serde_json::{Value, json};

use super::amounts::{Taste, allocatable};
use crate::support::differential::nodes;
use crate::support::random::Rng;

pub fn nodes(rng: &mut Rng, taste: Taste) -> Vec<Value> {
    let mut nodes = nodes::nodes(rng);
    // The fewer, the fuller.
    nodes.truncate(rng.pick(&[3, 6, 12]));
    for node in &mut nodes {
        // Cordons are rare among nodes in general, and what is tolerated of them matters here.
        if rng.chance(10) {
            node["spec"]["unschedulable"] = true.into();
        }
        match rng.below(40) {
            0 => {}
            1 => node["status"] = json!({"capacity": allocatable(rng, taste)}),
            _ => node["status"] = json!({"allocatable": allocatable(rng, taste)}),
        }
    }
    nodes
}
