//! `DisaggregatedSet`: all roles of a slice together, wherever the set says.

use serde_json::{Value, json};

use crate::scene::{Scene, annotated, labelled, pod};

const SET: &str = "disaggregatedset.x-k8s.io";
const LWS: &str = "leaderworkerset.sigs.k8s.io";

/// One pod of a role: prefill needs a CPU, decode also a GPU.
fn member(slice: usize, role: &str, replica: usize, worker: usize) -> Value {
    let asks =
        if role == "decode" { json!({"cpu": "1", "nvidia.com/gpu": "1"}) } else { json!({"cpu": "1"}) };
    let mut member = pod(&format!("llm-{slice}-{role}-{replica}-{worker}"), &asks);
    for (key, value) in [
        (format!("{SET}/name"), "llm"),
        (format!("{SET}/slice"), &slice.to_string()),
        (format!("{SET}/role"), role),
        (format!("{LWS}/name"), &format!("llm-{slice}-{role}")),
        (format!("{LWS}/group-index"), &replica.to_string()),
        (format!("{LWS}/worker-index"), &worker.to_string()),
    ] {
        member = labelled(member, &key, value);
    }
    annotated(member, &format!("{LWS}/size"), "2")
}

/// Two slices of one prefill replica and one decode replica, two pods each.
fn set(placement: &Value) -> Value {
    let role = |name: &str, asks: Value| {
        let template = json!({"spec": {"containers": [{"name": "main", "resources": {"requests": asks}}]}});
        json!({"name": name, "spec": {"replicas": 1, "leaderWorkerTemplate": {"size": 2, "workerTemplate": template}}})
    };
    let roles =
        [role("prefill", json!({"cpu": "1"})), role("decode", json!({"cpu": "1", "nvidia.com/gpu": "1"}))];
    json!({"apiVersion": "disaggregatedset.x-k8s.io/v1", "kind": "DisaggregatedSet",
        "metadata": {"name": "llm", "namespace": "default"},
        "spec": {"slices": 2, "roles": roles, "placementPolicy": placement}})
}

/// A rack with CPUs only, one with a single GPU, and two with enough of both for one slice or two.
fn racks() -> Scene {
    let gpus = |count: &str| json!({"cpu": "4", "nvidia.com/gpu": count});
    let scene = Scene::new().rack("plain", 8).rack_of("one", 1, &gpus("1"), &json!({}));
    scene.rack_of("large", 2, &gpus("2"), &json!({})).rack_of("small", 2, &gpus("1"), &json!({}))
}

#[test]
fn a_slice_goes_as_a_whole_where_roles_still_to_come_will_fit() {
    let policy = json!({"type": "ExclusiveSlice", "topology": "example.com/rack"});
    let stage = racks().with(set(&policy)).open();
    let slice = |number| {
        [("prefill", 0), ("prefill", 1), ("decode", 0), ("decode", 1)]
            .map(|(role, worker)| member(number, role, 0, worker))
    };
    let first = stage.place_all(&slice(0));
    assert_eq!(first, vec![Some("small".to_owned()); 4], "the tightest rack with two GPUs");
    assert_eq!(stage.place_all(&slice(1)), vec![Some("large".to_owned()); 4], "a rack of its own");
    assert!(stage.racks(&member(2, "prefill", 0, 0)).is_empty(), "no rack without a slice is left");
}

#[test]
fn what_the_set_asks_for_counts_from_when_it_is_seen_until_it_is_gone() {
    let policy = json!({"type": "ExclusiveTopology", "topology": "example.com/rack"});
    let waiting = member(0, "prefill", 0, 0);
    let stage = racks().with(waiting.clone()).open();
    assert_eq!(stage.passing(&waiting).len(), 13, "no topology asked for");
    stage.see(&[set(&policy)]);
    assert_eq!(stage.racks(&waiting), ["small"]);
    stage.see(&[set(&json!({"type": "None"}))]);
    assert_eq!(stage.passing(&waiting).len(), 13);
    stage.see(&[set(&policy)]);
    stage.lose(&set(&policy));
    assert_eq!(stage.passing(&waiting).len(), 13);
}
