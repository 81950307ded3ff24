//! Members still to come have the priority of their own class: evictions and slots are looked at with it.

use serde_json::{Value, json};

use crate::leader_worker_set::{leader, member, set};
use crate::scene::{Scene, on, single, with_spec};

fn class(name: &str, value: i32) -> Value {
    json!({"apiVersion": "scheduling.k8s.io/v1", "kind": "PriorityClass", "metadata": {"name": name}, "value": value})
}

fn with(mut object: Value, field: &str, value: Value) -> Value {
    object[field] = value;
    object
}

/// Workers of this class; of none, if it is empty.
fn workers(class: &str) -> Value {
    let containers = json!([{"name": "main", "resources": {"requests": {"cpu": "1"}}}]);
    let mut worker = json!({"spec": {"containers": containers}});
    if !class.is_empty() {
        worker["spec"]["priorityClassName"] = json!(class);
    }
    set(&worker)
}

fn important(pod: Value, class: &str, priority: i32) -> Value {
    with_spec(with_spec(pod, "priorityClassName", json!(class)), "priority", json!(priority))
}

fn high_leader() -> Value {
    important(leader(0, "r"), "high", 100)
}

fn of_priority(name: &str, priority: i32) -> Value {
    with_spec(single(name), "priority", json!(priority))
}

fn rack() -> Scene {
    Scene::new().rack("a", 4).with(class("high", 100)).with(class("low", 50))
}

#[test]
fn a_leader_is_let_in_on_evictions_that_its_workers_to_come_may_cause_and_no_others() {
    let usual = with(class("usual", 50), "globalDefault", json!(true));
    let meek = with(class("meek", 50), "preemptionPolicy", json!("Never"));
    for (name, template, in_the_way, expected) in [
        ("the workers outrank it", workers("low"), 20, 3),
        ("only the leader does", workers("low"), 70, 0),
        ("workers as important as the leader", workers("high"), 70, 3),
        ("workers of a class that waits", workers("meek"), 20, 0),
        ("workers of the default class", workers(""), 20, 3),
        ("that is less than the leader's", workers(""), 70, 0),
    ] {
        let in_the_way = of_priority("x", in_the_way);
        let scene = rack().with(usual.clone()).with(meek.clone()).with(template);
        let stage = scene.running(&in_the_way, "a-3").open();
        assert_eq!(stage.passing(&high_leader()).len(), expected, "{name}");
    }
    let stage = rack().with(workers("")).running(&of_priority("x", -1), "a-3").open();
    assert_eq!(stage.passing(&high_leader()).len(), 3, "of no class: 0");
    let stage = rack().with(workers("")).running(&of_priority("x", 0), "a-3").open();
    assert!(stage.passing(&high_leader()).is_empty(), "of no class: 0");
}

#[test]
fn slots_are_kept_at_the_priority_of_the_workers_to_come() {
    let stage = rack().with(workers("low")).open();
    stage.place(&high_leader()).expect("a place");
    assert_eq!(stage.kept(), (1, 3));
    assert!(stage.passing(&of_priority("as important", 50)).is_empty());
    assert_eq!(stage.passing(&of_priority("more important", 70)).len(), 3);
    // The class is made anew: members that come from now on will be more important.
    stage.wait(1);
    stage.see(&[class("low", 80)]);
    assert!(stage.passing(&of_priority("again", 70)).is_empty());
}

#[test]
fn quotas_of_the_class_that_workers_will_have_apply() {
    let quota = json!({"apiVersion": "v1", "kind": "ResourceQuota", "metadata": {"name": "q", "namespace": "default"},
        "spec": {"hard": {"pods": "2"}, "scopeSelector": {"matchExpressions":
            [{"scopeName": "PriorityClass", "operator": "In", "values": ["low", "usual"]}]}}});
    let usual = with(class("usual", 50), "globalDefault", json!(true));
    for (name, template, expected) in [("high", workers("high"), 4), ("low", workers("low"), 0)] {
        let stage = rack().with(quota.clone()).with(template).open();
        assert_eq!(stage.passing(&high_leader()).len(), expected, "{name}");
    }
    let scene = rack().with(quota).with(workers(""));
    assert_eq!(scene.clone().open().passing(&high_leader()).len(), 4, "of no class");
    assert!(scene.with(usual).open().passing(&high_leader()).is_empty(), "of the default class");
}

#[test]
fn the_successor_of_a_worker_has_the_priority_of_its_class() {
    let worker = |at: usize| important(member(0, at, "r", &json!({"cpu": "1"})), "low", 50);
    let mut scene = rack().with(workers("low")).running(&high_leader(), "a-0");
    for at in 1..4 {
        scene = scene.running(&worker(at), &format!("a-{at}"));
    }
    let stage = scene.open();
    stage.lose(&on(&worker(3), "a-3"));
    assert!(stage.passing(&of_priority("as important", 50)).is_empty());
    assert_eq!(stage.passing(&of_priority("more important", 70)), ["a-3"]);
}
