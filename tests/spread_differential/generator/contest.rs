//! Who may take whose place: priorities, nominated pods and victims.

use serde_json::{Map, Value};

use crate::case::{is_terminating, priority};
use crate::support::random::Rng;

/// Few priorities, so that many are the same. The incoming pod has a high one more often: it is to find victims.
const INCOMING: [(usize, Option<i32>); 6] =
    [(18, None), (10, Some(0)), (4, Some(-10)), (34, Some(10)), (32, Some(20)), (2, Some(i32::MIN))];
const OTHERS: [(usize, Option<i32>); 6] =
    [(34, None), (14, Some(0)), (12, Some(-10)), (24, Some(10)), (14, Some(20)), (2, Some(2_000_001_000))];

/// Gives the incoming pod a priority, and at times the name of the node it waits for.
pub fn enter(rng: &mut Rng, nodes: &[Value], pod: &mut Value) {
    set_priority(&mut pod["spec"], rng.weighted(&INCOMING));
    if rng.chance(8) {
        let at = rng.below(nodes.len());
        pod["status"]["nominatedNodeName"] = nodes[at]["metadata"]["name"].clone();
    }
}

/// Gives a priority to a pod that is there.
pub fn stand_by(rng: &mut Rng, spec: &mut Value) {
    set_priority(spec, rng.weighted(&OTHERS));
}

fn set_priority(spec: &mut Value, priority: Option<i32>) {
    match priority {
        Some(priority) => spec["priority"] = priority.into(),
        None => drop(spec.as_object_mut().expect("a spec").remove("priority")),
    }
}

/// The few nodes that preemptions have chosen: where one pod waits, others do.
pub fn goals(rng: &mut Rng, nodes: &[Value]) -> Vec<Value> {
    let mut names: Vec<Value> = nodes.iter().map(|node| node["metadata"]["name"].clone()).collect();
    rng.shuffle(&mut names);
    names.truncate(1 + rng.below(3));
    names
}

/// Makes a pod wait for a node, with a priority near the incoming pod's, where it matters.
pub fn nominate(rng: &mut Rng, goals: &[Value], incoming: &Value, pod: &mut Value) {
    let own = i32::try_from(priority(incoming)).expect("a priority");
    let near = [(40, Some(own)), (20, own.checked_add(1)), (30, own.checked_sub(1)), (10, None)];
    set_priority(&mut pod["spec"], rng.weighted(&near));
    let goal = &goals[rng.below(goals.len())];
    pod["status"]["nominatedNodeName"] = if rng.chance(6) { "gone".into() } else { goal.clone() };
    // Some have been placed since, there or elsewhere.
    if !rng.chance(10) {
        pod["spec"].as_object_mut().expect("a spec").remove("nodeName");
    }
}

/// What would be evicted on some of the candidates: UIDs by node.
pub fn victims(rng: &mut Rng, incoming: &Value, pods: &[Value], candidates: &[Value]) -> Map<String, Value> {
    let mut victims = Map::new();
    if rng.chance(25) {
        return victims;
    }
    for node in candidates {
        let mut evictable: Vec<&Value> =
            pods.iter().filter(|pod| pod["spec"]["nodeName"] == *node && is_below(pod, incoming)).collect();
        rng.shuffle(&mut evictable);
        // All of them, some, or only those that are on their way out already.
        match rng.below(3) {
            0 => {}
            1 if !evictable.is_empty() => evictable.truncate(1 + rng.below(evictable.len())),
            _ => evictable.retain(|pod| is_terminating(pod)),
        }
        if !evictable.is_empty() {
            let uids: Vec<Value> = evictable.iter().map(|pod| pod["metadata"]["uid"].clone()).collect();
            let node = node.as_str().expect("a name");
            victims.insert(node.to_owned(), uids.into());
        }
    }
    victims
}

/// Finished pods run nowhere, whatever node they name.
fn is_below(pod: &Value, incoming: &Value) -> bool {
    let finished = pod["status"]["phase"] == "Succeeded" || pod["status"]["phase"] == "Failed";
    !finished && priority(pod) < priority(incoming)
}
