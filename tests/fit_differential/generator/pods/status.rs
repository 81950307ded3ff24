//! What a kubelet reports of resources.

use serde_json::{Value, json};

use super::super::amounts::{Taste, requests};
use crate::support::random::Rng;

/// Adds reports on the containers, on the pod as a whole, and on a resize.
pub fn tell(rng: &mut Rng, taste: Taste, spec: &Value, status: &mut Value) {
    for (containers, statuses) in
        [("containers", "containerStatuses"), ("initContainers", "initContainerStatuses")]
    {
        let mut told = Vec::new();
        for container in spec[containers].as_array().into_iter().flatten() {
            // At times there are two, or one of somebody unknown.
            for _ in 0..rng.weighted(&[(15, 0), (82, 1), (3, 2)]) {
                told.push(container_status(rng, taste, container));
            }
        }
        if !told.is_empty() {
            status[statuses] = told.into();
        }
    }
    if rng.chance(40) {
        status["resources"] = in_force(rng, taste);
    }
    if rng.chance(40) {
        status["allocatedResources"] = requests(rng, taste);
    }
    let conditions: Vec<Value> =
        (0..rng.weighted(&[(40, 0), (50, 1), (10, 2)])).map(|_| condition(rng)).collect();
    if !conditions.is_empty() {
        status["conditions"] = conditions.into();
    }
}

fn container_status(rng: &mut Rng, taste: Taste, container: &Value) -> Value {
    let name = if rng.chance(4) { "unknown".into() } else { container["name"].clone() };
    let mut status = json!({"name": name, "image": "x", "imageID": "x", "ready": true, "restartCount": 0});
    if rng.chance(85) {
        status["resources"] = in_force(rng, taste);
    }
    if rng.chance(60) {
        status["allocatedResources"] = requests(rng, taste);
    }
    status
}

fn in_force(rng: &mut Rng, taste: Taste) -> Value {
    if rng.chance(10) { json!({}) } else { json!({"requests": requests(rng, taste)}) }
}

fn condition(rng: &mut Rng) -> Value {
    let kind = rng.weighted(&[(75, "PodResizePending"), (15, "PodResizeInProgress"), (10, "PodScheduled")]);
    let reason = rng.pick(&["Infeasible", "Infeasible", "Deferred"]);
    json!({"type": kind, "status": "True", "reason": reason})
}
