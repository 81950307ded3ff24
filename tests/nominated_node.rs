//! The node that preemption made room on comes first, and its room is not given to others.
#![allow(clippy::expect_used, reason = "a test fails by panicking")]

use berth::cluster::snapshot_file;
use berth::config;
use berth::json::Interner;
use berth::metrics::Registry;
use berth::verbs::{Verb, Verbs};
use serde_json::{Value, json};

const HARD: &str = "topologySpread: {defaultingType: List, defaultConstraints: [\
    {maxSkew: 1, topologyKey: rack, whenUnsatisfiable: DoNotSchedule}]}";
const NO_LONGER: &str = "nominated node no longer fits: default topology spread: too much skew";

/// Nodes a to d in racks of their own, and a Service that selects `app: web`.
fn berth(settings: &str, pods: &[Value]) -> Verbs {
    measured(settings, pods, &Registry::new().expect("a registry"))
}

fn measured(settings: &str, pods: &[Value], registry: &Registry) -> Verbs {
    let mut items = vec![json!({"apiVersion": "v1", "kind": "Service",
        "metadata": {"name": "web", "namespace": "shop"}, "spec": {"selector": {"app": "web"}}})];
    items.extend(["a", "b", "c", "d"].map(|name| {
        json!({"apiVersion": "v1", "kind": "Node", "metadata": {"name": name, "labels": {"rack": name}}})
    }));
    items.extend_from_slice(pods);
    let list = json!({"apiVersion": "v1", "kind": "List", "items": items}).to_string();
    let objects = snapshot_file::parse(&list, &Interner::default()).expect("a cluster").objects;
    let text = format!("apiVersion: config.berth.dev/v1alpha1\nkind: BerthConfiguration\n{settings}\n");
    let config = config::parse(&text).expect("settings");
    Verbs::in_memory_measured(config, objects, registry).expect("verbs")
}

fn pod(name: &str, priority: i32) -> Value {
    json!({"apiVersion": "v1", "kind": "Pod", "spec": {"priority": priority}, "status": {},
        "metadata": {"name": name, "namespace": "shop", "uid": name, "labels": {"app": "web"}}})
}

fn running(name: &str, node: &str) -> Value {
    let mut pod = pod(name, 0);
    pod["spec"]["nodeName"] = json!(node);
    pod
}

fn nominated(name: &str, priority: i32, node: &str) -> Value {
    let mut pod = pod(name, priority);
    pod["status"]["nominatedNodeName"] = json!(node);
    pod
}

fn ask(verbs: &Verbs, pod: &Value, nodes: &Value) -> Value {
    let mut body = json!({"Pod": pod});
    body[if nodes.is_array() { "NodeNames" } else { "Nodes" }] = nodes.clone();
    let answer = verbs.decide(Verb::Filter, body.to_string().as_bytes()).expect("a well-formed call");
    serde_json::from_slice(&answer.expect("an answer")).expect("JSON")
}

fn passing(verbs: &Verbs, pod: &Value, nodes: &[&str]) -> Vec<String> {
    let answer = ask(verbs, pod, &json!(nodes));
    assert_eq!(answer["Error"], "", "{answer}");
    serde_json::from_value(answer["NodeNames"].clone()).expect("names")
}

#[test]
fn a_nominated_node_that_fits_is_the_whole_answer() {
    for settings in ["", HARD] {
        let verbs = berth(settings, &[]);
        assert_eq!(passing(&verbs, &nominated("new", 9, "b"), &["a", "b", "c"]), ["b"], "{settings}");
        let nodes = json!({"items": [{"metadata": {"name": "a"}}, {"metadata": {"name": "b"}, "spec": {}}]});
        let answer = ask(&verbs, &nominated("new", 9, "b"), &nodes);
        assert_eq!(answer["Nodes"]["items"], json!([{"metadata": {"name": "b"}, "spec": {}}]));
        assert!(answer["NodeNames"].is_null());
    }
}

#[test]
fn a_nominated_node_that_is_no_candidate_changes_nothing() {
    let verbs = berth(HARD, &[running("old", "a")]);
    for elsewhere in ["d", "gone", ""] {
        let pod = nominated("new", 9, elsewhere);
        assert_eq!(passing(&verbs, &pod, &["a", "b", "c"]), ["b", "c"], "{elsewhere}");
    }
    // kube-scheduler still offers a node that our watch saw go, or sees it before we do.
    let verbs = berth("", &[running("old", "gone")]);
    assert_eq!(passing(&verbs, &nominated("new", 9, "gone"), &["a", "gone"]), ["a", "gone"]);
}

#[test]
fn a_nominated_node_that_does_not_fit_any_more_says_so() {
    let registry = Registry::new().expect("a registry");
    let verbs = measured(HARD, &[running("one", "a"), running("two", "b")], &registry);
    let answer = ask(&verbs, &nominated("new", 9, "b"), &json!(["a", "b", "c"]));
    assert_eq!(answer["NodeNames"], json!(["c"]), "the others are looked at as usual");
    let reasons = json!({"a": "default topology spread: too much skew", "b": NO_LONGER});
    assert_eq!(answer["FailedNodes"], reasons);
    // kube-scheduler asks about the nominated node alone at first.
    let answer = ask(&verbs, &nominated("new", 9, "b"), &json!(["b"]));
    assert_eq!((&answer["NodeNames"], &answer["FailedNodes"]), (&json!([]), &json!({"b": NO_LONGER})));
    let page = String::from_utf8(registry.render()).expect("text");
    for series in
        ["berth_nominated_node_total{result=\"kept\"} 0", "berth_nominated_node_total{result=\"refused\"} 2"]
    {
        assert!(page.contains(series), "{series} is missing:\n{page}");
    }
}

#[test]
fn switched_off_it_is_a_node_like_any_other() {
    let off = format!("nominatedNode: {{policy: Disabled}}\n{HARD}");
    let verbs = berth(&off, &[running("one", "a")]);
    let answer = ask(&verbs, &nominated("new", 9, "a"), &json!(["a", "b", "c"]));
    assert_eq!(answer["NodeNames"], json!(["b", "c"]));
    assert_eq!(answer["FailedNodes"], json!({"a": "default topology spread: too much skew"}));
    assert_eq!(passing(&verbs, &nominated("new", 9, "b"), &["b", "c"]), ["b", "c"]);
}

#[test]
fn room_made_for_a_pod_is_kept_from_those_that_rank_no_higher() {
    for (priority, expected) in
        [(4, vec!["b", "c", "d"]), (5, vec!["b", "c", "d"]), (6, vec!["a", "b", "c", "d"])]
    {
        let verbs = berth(HARD, &[nominated("waiting", 5, "a")]);
        let found = passing(&verbs, &pod("new", priority), &["a", "b", "c", "d"]);
        assert_eq!(found, expected, "priority {priority}");
    }
    let verbs = berth(HARD, &[nominated("waiting", 5, "a")]);
    let own = passing(&verbs, &pod("waiting", 5), &["a", "b", "c", "d"]);
    assert_eq!(own.len(), 4, "a pod does not stand in its own way");
}

#[tokio::test]
async fn a_pod_that_has_found_its_place_holds_no_other() {
    let verbs = berth(HARD, &[nominated("waiting", 5, "a")]);
    let body =
        json!({"PodName": "waiting", "PodNamespace": "shop", "PodUID": "waiting", "Node": "b"}).to_string();
    verbs.bind(body.as_bytes()).await.expect("a well-formed call");
    assert_eq!(passing(&verbs, &pod("new", 0), &["a", "b"]), ["a"]);
}

#[test]
fn a_pod_that_was_offered_other_nodes_counts_once() {
    let verbs = berth(&HARD.replace("maxSkew: 1", "maxSkew: 2"), &[nominated("waiting", 5, "a")]);
    assert_eq!(passing(&verbs, &nominated("waiting", 5, "a"), &["b", "c"]), ["b", "c"], "a had no room");
    // At worst "waiting" is on a too, which makes two.
    assert_eq!(passing(&verbs, &pod("new", 5), &["a"]), ["a"]);
}
