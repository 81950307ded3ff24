//! What random cases do not reach: calls under way, a cache that is behind, odd bodies, what is counted.

use std::sync::Arc;
use std::time::Duration;

use berth::cluster::{Freshness, snapshot_file};
use berth::json::Interner;
use berth::model::ObjectKey;
use berth::verbs::{Verb, Verbs};
use serde_json::{Value, json};

use crate::cluster::{NAMESPACE, Pod, surroundings};

const HARD: &str = "topologySpread: {defaultingType: List, defaultConstraints: [\
    {maxSkew: 1, topologyKey: zone, whenUnsatisfiable: DoNotSchedule}]}";

/// Zones 1 (n1 and n3) and 0 (n2 and n4); n0 has no zone.
fn berth(settings: &str, pods: &[Pod]) -> Verbs {
    let items: Vec<Value> = surroundings().into_iter().chain(pods.iter().map(Pod::object)).collect();
    let list = json!({"apiVersion": "v1", "kind": "List", "items": items}).to_string();
    let objects = snapshot_file::parse(&list, &Interner::default()).expect("a cluster").objects;
    let text = format!("apiVersion: config.berth.dev/v1alpha1\nkind: BerthConfiguration\n{settings}\n");
    Verbs::in_memory(berth::config::parse(&text).expect("settings"), objects).expect("verbs")
}

fn pod(number: usize, node: usize, web: bool) -> Pod {
    Pod { number, node, priority: 0, web, group: None, leaving: false }
}

fn web(name: &str) -> Value {
    json!({"metadata": {"namespace": NAMESPACE, "name": name, "uid": name, "labels": {"app": "web"}},
        "spec": {"priority": 100}})
}

fn answer(verbs: &Verbs, verb: Verb, body: &str) -> Value {
    let answer = verbs.decide(verb, body.as_bytes()).expect("a well-formed call").expect("an answer");
    serde_json::from_slice(&answer).expect("JSON")
}

/// The nodes that are left of these, each with one victim.
fn kept(verbs: &Verbs, candidates: &[(&str, &str)]) -> Vec<String> {
    let victims = |(node, uid): &(&str, &str)| {
        ((*node).to_owned(), json!({"Pods": [{"UID": uid}], "NumPDBViolations": 0}))
    };
    let map: serde_json::Map<_, _> = candidates.iter().map(victims).collect();
    let body = json!({"Pod": web("new"), "NodeNameToMetaVictims": map}).to_string();
    let answer = answer(verbs, Verb::Preempt, &body);
    answer["NodeNameToMetaVictims"].as_object().expect("a map").keys().cloned().collect()
}

fn filter(verbs: &Verbs, name: &str, nodes: &[&str]) -> Value {
    answer(verbs, Verb::Filter, &json!({"Pod": web(name), "NodeNames": nodes}).to_string())
}

fn counted(verbs: &Verbs, mode: &str, outcome: &str) -> u64 {
    verbs.metrics.preemption_candidates.with_label_values(&[mode, outcome]).get()
}

#[test]
fn a_refusal_that_hangs_on_a_pod_under_way_is_no_reason_to_drop() {
    // Zone 1 has a web pod and zone 0 none, so n1 is refused; unless "other" goes to zone 0, as it may.
    let pods = [pod(0, 1, true), pod(1, 1, false), pod(2, 2, false)];
    let verbs = berth(HARD, &pods);
    assert_eq!(kept(&verbs, &[("n1", "u1"), ("n2", "u2")]), ["n2"]);
    assert_eq!((counted(&verbs, "enforce", "refused"), counted(&verbs, "enforce", "kept")), (1, 1));

    assert_eq!(filter(&verbs, "other", &["n2", "n4"])["NodeNames"], json!(["n2", "n4"]));
    assert_eq!(kept(&verbs, &[("n1", "u1"), ("n2", "u2")]), ["n1", "n2"]);
    assert_eq!(counted(&verbs, "enforce", "undecided"), 1);
    assert_eq!(counted(&verbs, "enforce", "kept"), 2, "n2 will do wherever the other goes");
}

#[tokio::test]
async fn a_filter_call_that_depends_on_a_pod_under_way_waits_or_asks_to_be_tried_again() {
    let verbs = berth(HARD, &[pod(0, 1, true)]);
    filter(&verbs, "other", &["n2", "n4"]);
    let body = json!({"Pod": web("new"), "NodeNames": ["n1"]}).to_string();
    let patient = verbs.filter(body.as_bytes(), Duration::from_mins(1));
    let answered = tokio::time::timeout(Duration::from_millis(50), patient).await;
    assert!(answered.is_err(), "the bind call of the other would settle it");
    let error = filter(&verbs, "new", &["n1"])["Error"].to_string();
    assert!(error.contains("not known yet"), "no rejection, which could evict somebody: {error}");
}

#[test]
fn a_victim_whose_binding_is_under_way_is_known() {
    let verbs = berth(&format!("{HARD}\npreemption: {{decideUpTo: Nothing}}"), &[pod(0, 2, true)]);
    filter(&verbs, "fresh", &["n1", "n3"]);
    verbs.store.write(|view| {
        let key = ObjectKey::new(NAMESPACE, "fresh");
        view.assume(&"fresh".into(), &key, "n1".into(), Duration::from_mins(1));
        Vec::new()
    });
    assert!(verbs.store.view().pod("fresh").is_none(), "the watch does not show it yet");
    // One web pod in each zone: whichever of them goes, its zone can take another one, and only that.
    assert_eq!(kept(&verbs, &[("n1", "fresh"), ("n2", "u0")]), ["n1", "n2"]);
    assert_eq!(kept(&verbs, &[("n3", "fresh")]), ["n3"], "not there, as far as we know");
    assert_eq!((counted(&verbs, "enforce", "kept"), counted(&verbs, "enforce", "undecided")), (2, 1));
}

#[test]
fn while_the_cache_may_not_be_trusted_everything_passes() {
    let pods = [pod(0, 1, true), pod(1, 1, false), pod(2, 2, false)];
    let mut verbs = berth(HARD, &pods);
    verbs.freshness = Arc::new(Freshness::default());
    assert_eq!(kept(&verbs, &[("n1", "u1"), ("n2", "u2")]), ["n1", "n2"]);
    assert_eq!(counted(&verbs, "enforce", "undecided"), 2);
}

#[test]
fn observing_counts_what_would_have_been_dropped() {
    let pods = [pod(0, 1, true), pod(1, 1, false), pod(2, 2, false)];
    let verbs = berth(&format!("{HARD}\npreemption: {{mode: Observe}}"), &pods);
    assert_eq!(kept(&verbs, &[("n1", "u1"), ("n2", "u2")]), ["n1", "n2"]);
    assert_eq!((counted(&verbs, "observe", "refused"), counted(&verbs, "observe", "kept")), (1, 1));
    assert_eq!(counted(&verbs, "enforce", "refused"), 0);
}

#[test]
fn odd_bodies_are_answered_with_what_they_named() {
    let pods = [pod(0, 1, true), pod(1, 3, true), pod(2, 2, false)];
    let verbs = berth(HARD, &pods);
    let ask = |candidates: &str| {
        let body = format!(r#"{{"Pod":{},"NodeNameToMetaVictims":{{{candidates}}}}}"#, web("new"));
        let answer = verbs.decide(Verb::Preempt, body.as_bytes()).expect("a well-formed call");
        String::from_utf8(answer.expect("an answer")).expect("text")
    };
    let whole = |candidates: &str| format!(r#"{{"NodeNameToMetaVictims":{{{candidates}}}}}"#);
    // Taken twice, the one victim would leave zone 1 with no pod, and n1 would pass.
    let twice = r#""n1":{"Pods":[{"UID":"u0"},{"UID":"u0"}],"NumPDBViolations":0}"#;
    assert_eq!(ask(twice), whole(""), "a victim leaves once");
    let negative = r#""n2":{"Pods":[{"UID":"u2"}],"NumPDBViolations":-7}"#;
    assert_eq!(ask(negative), whole(negative));
    let repeated = r#""n2":{"Pods":[{"UID":"u2"}],"NumPDBViolations":0},"n2":{"Pods":[{"UID":"u2"}],"NumPDBViolations":1}"#;
    assert_eq!(ask(repeated), whole(r#""n2":{"Pods":[{"UID":"u2"}],"NumPDBViolations":0}"#));
}
