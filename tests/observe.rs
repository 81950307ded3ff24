//! Policies in mode Observe decide and count, and let everybody pass.
#![allow(clippy::expect_used, reason = "a test fails by panicking")]

use berth::cluster::snapshot_file;
use berth::config;
use berth::json::Interner;
use berth::metrics::Registry;
use berth::verbs::{Verb, Verbs};
use serde_json::{Value, json};

const NODES: [&str; 4] = ["a", "b", "c", "d"];

/// Nodes a to d with one CPU each, in racks of their own; a Service that selects `app: web`; a pod of it on a, b and c.
fn berth(settings: &str, registry: &Registry) -> Verbs {
    let mut items = vec![json!({"apiVersion": "v1", "kind": "Service",
        "metadata": {"name": "web", "namespace": "shop"}, "spec": {"selector": {"app": "web"}}})];
    items.extend(NODES.map(|name| {
        json!({"apiVersion": "v1", "kind": "Node", "metadata": {"name": name, "labels": {"rack": name}},
            "status": {"allocatable": {"cpu": "1", "pods": "110"}}})
    }));
    items.extend(["a", "b", "c"].map(|node| {
        let mut pod = pod(&format!("on-{node}"));
        pod["spec"]["nodeName"] = json!(node);
        pod
    }));
    items.push(member("sibling"));
    let list = json!({"apiVersion": "v1", "kind": "List", "items": items}).to_string();
    let objects = snapshot_file::parse(&list, &Interner::default()).expect("a cluster").objects;
    let text = format!("apiVersion: config.berth.dev/v1alpha1\nkind: BerthConfiguration\n{settings}\n");
    Verbs::in_memory_measured(config::parse(&text).expect("settings"), objects, registry).expect("verbs")
}

fn pod(name: &str) -> Value {
    json!({"apiVersion": "v1", "kind": "Pod", "spec": {}, "status": {},
        "metadata": {"name": name, "namespace": "shop", "uid": name, "labels": {"app": "web"}}})
}

/// A member of a group of two, which no rack can take as a whole.
fn member(name: &str) -> Value {
    let mut pod = pod(name);
    pod["metadata"]["annotations"] = json!({"berth.dev/group": "g", "berth.dev/group-size": "2",
        "berth.dev/required-topology": "rack"});
    pod["spec"] = json!({"containers": [{"name": "c", "resources": {"requests": {"cpu": "1"}}}]});
    pod
}

fn nominated() -> Value {
    let mut pod = pod("nominated");
    pod["status"]["nominatedNodeName"] = json!("d");
    pod
}

fn ask(verbs: &Verbs, verb: Verb, pod: &Value) -> Value {
    let body = json!({"Pod": pod, "NodeNames": NODES}).to_string();
    let answer = verbs.decide(verb, body.as_bytes()).expect("a well-formed call").expect("an answer");
    serde_json::from_slice(&answer).expect("JSON")
}

#[test]
fn what_is_only_observed_is_counted_and_not_followed() {
    let spread = |mode: &str| {
        format!(
            "topologySpread: {{mode: {mode}, defaultingType: List, defaultConstraints: [\
             {{maxSkew: 1, topologyKey: rack, whenUnsatisfiable: DoNotSchedule}}]}}"
        )
    };
    let groups =
        |mode: &str| format!("replicaGroups: {{mode: {mode}}}\ntopologySpread: {{defaultingType: List}}");
    let nominated_node =
        |mode: &str| format!("nominatedNode: {{mode: {mode}}}\ntopologySpread: {{defaultingType: List}}");
    let rejections = "berth_observed_rejections_total{policy=";
    for (name, settings, pod, enforced, counted) in [
        (
            "spreading",
            &spread as &dyn Fn(&str) -> String,
            pod("new"),
            json!(["d"]),
            format!(r#"{rejections}"topology_spread",reason="SkewExceeded"}} 3"#),
        ),
        (
            "groups",
            &groups,
            member("member"),
            json!([]),
            format!(r#"{rejections}"replica_group",reason="DomainTooSmall"}} 4"#),
        ),
        (
            "nominated nodes",
            &nominated_node,
            nominated(),
            json!(["d"]),
            r#"berth_nominated_node_total{result="observed_kept"} 1"#.to_owned(),
        ),
    ] {
        for (mode, expected) in [("Enforce", enforced), ("Observe", json!(NODES))] {
            let registry = Registry::new().expect("a registry");
            let verbs = berth(&settings(mode), &registry);
            let answer = ask(&verbs, Verb::Filter, &pod);
            let passing = if answer["NodeNames"].is_null() { json!([]) } else { answer["NodeNames"].clone() };
            assert_eq!((&answer["Error"], &passing), (&json!(""), &expected), "{name}, {mode}: {answer}");
            let page = String::from_utf8(registry.render()).expect("text");
            assert_eq!(page.contains(&counted), mode == "Observe", "{name}, {mode}: {counted}");
            if mode == "Observe" {
                let scores = ask(&verbs, Verb::Prioritize, &pod);
                let none: Vec<_> = NODES.map(|node| json!({"Host": node, "Score": 0})).into();
                assert_eq!(scores, json!(none), "{name}");
                assert_eq!(verbs.store.view().ledger().reservations().iter().count(), 0, "{name}");
            }
        }
    }
}
