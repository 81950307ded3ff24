//! Pods: what they ask for, and what their status tells of it.

mod status;

use serde_json::{Value, json};

use super::amounts::{Taste, requests, short_requests};
use crate::support::differential::demands;
use crate::support::random::Rng;

/// The pod to place.
pub fn incoming(rng: &mut Rng, taste: Taste) -> Value {
    let mut spec = demands::spec(rng);
    if rng.chance(5) {
        spec["affinity"] = contradiction();
    }
    ask(rng, taste, &mut spec);
    let mut status = json!({"phase": "Pending"});
    // Nobody reports on containers that do not run, and nobody is to look.
    if rng.chance(5) {
        status::tell(rng, taste, &spec, &mut status);
    }
    pod("incoming", &spec, &status)
}

/// Those of the cluster. The incoming one may be among them, unbound.
pub fn others(rng: &mut Rng, taste: Taste, nodes: &[Value], incoming: &Value) -> Vec<Value> {
    let limit = rng.pick(&[1, 8, 16, 30]);
    let count = rng.below(limit);
    let mut pods: Vec<Value> = (0..count).map(|at| other(rng, taste, nodes, &format!("p{at}"))).collect();
    if rng.chance(50) {
        pods.insert(rng.below(pods.len() + 1), incoming.clone());
    }
    pods
}

fn other(rng: &mut Rng, taste: Taste, nodes: &[Value], name: &str) -> Value {
    let mut spec = json!({});
    ask(rng, taste, &mut spec);
    let phase = rng.weighted(&[(88, "Running"), (6, "Pending"), (3, "Succeeded"), (3, "Failed")]);
    let mut status = json!({"phase": phase});
    if !rng.chance(6) {
        // The first nodes are fuller.
        let at = rng.below(nodes.len()).min(rng.below(nodes.len()));
        let node = if rng.chance(4) { "gone".into() } else { nodes[at]["metadata"]["name"].clone() };
        spec["nodeName"] = node;
    }
    if rng.chance(taste.resizing) {
        status::tell(rng, taste, &spec, &mut status);
    }
    pod(name, &spec, &status)
}

fn pod(name: &str, spec: &Value, status: &Value) -> Value {
    let metadata = json!({"name": name, "namespace": "shop", "uid": format!("uid-{name}")});
    json!({"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": spec, "status": status})
}

/// To be on two nodes at once.
fn contradiction() -> Value {
    let on = |name: &str| json!({"key": "metadata.name", "operator": "In", "values": [name]});
    let terms = json!([{"matchFields": [on("n0"), on("n1")]}]);
    json!({"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": terms}}})
}

/// Adds containers and what else makes a difference to the requests.
fn ask(rng: &mut Rng, taste: Taste, spec: &mut Value) {
    let containers: Vec<Value> = (0..rng.weighted(&[(6, 0), (60, 1), (24, 2), (10, 3)]))
        .map(|at| container(rng, taste, "c", at))
        .collect();
    spec["containers"] = containers.into();
    if rng.chance(35) {
        let init = (0..=rng.below(3)).map(|at| {
            let mut container = container(rng, taste, "i", at);
            match rng.weighted(&[(50, ""), (44, "Always"), (6, "OnFailure")]) {
                "" => {}
                policy => container["restartPolicy"] = policy.into(),
            }
            container
        });
        spec["initContainers"] = init.collect::<Vec<_>>().into();
    }
    if rng.chance(15) {
        spec["overhead"] = requests(rng, taste);
    }
    if rng.chance(20) {
        let mut resources = json!({"limits": {"cpu": "64"}});
        if rng.chance(85) {
            let requests = if spec.get("overhead").is_some() { short_requests } else { requests };
            resources["requests"] = requests(rng, taste);
        }
        spec["resources"] = resources;
    }
}

fn container(rng: &mut Rng, taste: Taste, prefix: &str, at: usize) -> Value {
    // Two of a kind under one name are not admitted, but nothing hangs on that here.
    let name = if rng.chance(3) { "c0".to_owned() } else { format!("{prefix}{at}") };
    let mut container = json!({"name": name, "image": "x"});
    match rng.below(20) {
        0 => {}
        1 => container["resources"] = json!({}),
        2 => container["resources"] = json!({"requests": null, "limits": {"cpu": "1"}}),
        _ => container["resources"] = json!({"requests": requests(rng, taste), "limits": {"memory": "1Ti"}}),
    }
    if rng.chance(25) {
        let ports: Vec<Value> = (0..=rng.below(2)).map(|_| port(rng)).collect();
        container["ports"] = ports.into();
    }
    container
}

/// Few of each kind, so that they collide.
fn port(rng: &mut Rng) -> Value {
    let mut port = json!({"containerPort": 80});
    match rng.weighted(&[(15, -1), (10, 0), (50, 8080), (25, 9090)]) {
        -1 => {}
        number => port["hostPort"] = number.into(),
    }
    if rng.chance(50) {
        port["protocol"] = rng.pick(&["TCP", "TCP", "UDP", ""]).into();
    }
    if rng.chance(50) {
        port["hostIP"] = rng.pick(&["", "0.0.0.0", "10.0.0.1", "10.0.0.1", "10.0.0.2", "::"]).into();
    }
    port
}
