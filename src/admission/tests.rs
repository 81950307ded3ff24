//! Reviews from body to body.

mod services;

use std::sync::Arc;

use base64::Engine;
use base64::prelude::BASE64_STANDARD;
use serde_json::{Value, json};

use super::{Verdict, review};
use crate::config::{Config, ReplicaGroups, UniqueNodes};
use crate::fixtures::{object, pod};
use crate::json::Interner;
use crate::model::{Object, Pod};
use crate::view::View;
use crate::view::change::Change;

const KEY: &str = "example.com/node-group";
const LWS: &str = "leaderworkerset.sigs.k8s.io/";

/// A cluster, and what was said about a pod that came into it.
struct Cluster {
    config: Config,
    view: View,
}

#[derive(Debug)]
struct Answer {
    verdict: Verdict,
    /// The pod as it would be created.
    pod: Value,
    operations: Vec<Value>,
    message: String,
    warnings: usize,
}

impl Cluster {
    fn new(rules: Vec<UniqueNodes>, objects: Vec<Object>) -> Self {
        let replica_groups = ReplicaGroups { unique_nodes: rules, ..ReplicaGroups::default() };
        let mut view = View::default();
        view.set_recogniser(Arc::new(replica_groups.recogniser()));
        for object in objects {
            view.apply(Change::Upsert(object));
        }
        Self { config: Config { replica_groups, ..Config::default() }, view }
    }

    fn create(&self, pod: &Value) -> Answer {
        let body = json!({
            "apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview",
            "request": {
                "uid": "u-1", "operation": "CREATE", "namespace": "default", "dryRun": true,
                "kind": {"group": "", "version": "v1", "kind": "Pod"}, "object": pod,
            },
        });
        let body = body.to_string();
        let reviewed = review(body.as_bytes(), &Interner::default(), &self.view, &self.config);
        let reviewed = reviewed.expect("a sound review");
        let answer: Value = serde_json::from_slice(&reviewed.answer).expect("JSON");
        let response = &answer["response"];
        assert_eq!(response["uid"], "u-1");
        assert_eq!(response["allowed"], reviewed.verdict != Verdict::Refused);
        let patch = response["patch"].as_str().unwrap_or_default();
        let patch = BASE64_STANDARD.decode(patch).expect("base64");
        let operations: Vec<Value> =
            if patch.is_empty() { Vec::new() } else { serde_json::from_slice(&patch).expect("a patch") };
        Answer {
            verdict: reviewed.verdict,
            pod: patched(pod.clone(), &operations),
            operations,
            message: response["status"]["message"].as_str().unwrap_or_default().to_owned(),
            warnings: response["warnings"].as_array().map_or(0, Vec::len),
        }
    }
}

fn nothing() -> Cluster {
    Cluster::new(Vec::new(), Vec::new())
}

/// What a JSON patch makes of a document, as far as its operations add.
fn patched(mut document: Value, operations: &[Value]) -> Value {
    for operation in operations {
        assert_eq!(operation["op"], "add");
        let path = operation["path"].as_str().expect("a path");
        let (parent, last) = path.rsplit_once('/').expect("a step");
        let last = last.replace("~1", "/").replace("~0", "~");
        match document.pointer_mut(parent).unwrap_or_else(|| panic!("no {parent}")) {
            Value::Array(entries) if last == "-" => entries.push(operation["value"].clone()),
            Value::Array(entries) => {
                entries.insert(last.parse().expect("a number"), operation["value"].clone());
            }
            Value::Object(fields) => drop(fields.insert(last, operation["value"].clone())),
            other => panic!("cannot add to {other}"),
        }
    }
    document
}

fn annotations(prefix: &str) -> Value {
    json!({
        (format!("{prefix}replicaUniqueNodeSelector")): KEY,
        (format!("{prefix}replicaUniqueTolerationKey")): KEY,
        (format!("{prefix}replicaUniqueTolerationEffect")): "NoSchedule",
    })
}

/// A member of replica 3 of the set `llm`, as its controller and webhook make it.
fn member(worker: u32) -> Value {
    let name = if worker == 0 { "llm-3".to_owned() } else { format!("llm-3-{worker}") };
    json!({
        "apiVersion": "v1", "kind": "Pod",
        "metadata": {
            "name": name,
            "labels": {
                (format!("{LWS}name")): "llm", (format!("{LWS}group-index")): "3",
                (format!("{LWS}worker-index")): worker.to_string(),
            },
            "annotations": annotations(LWS),
        },
        "spec": {"containers": []},
    })
}

fn with(mut pod: Value, pointer: &str, key: &str, value: Value) -> Value {
    pod.pointer_mut(pointer).expect("a place")[key] = value;
    pod
}

fn toleration(value: &str) -> Value {
    json!({"key": KEY, "operator": "Equal", "value": value, "effect": "NoSchedule"})
}

#[test]
fn leader_and_workers_get_the_leaders_name_and_nothing_twice() {
    for (what, pod) in [("the leader", member(0)), ("a worker", member(2))] {
        let answer = nothing().create(&pod);
        assert_eq!(answer.verdict, Verdict::Changed, "{what}");
        assert_eq!(answer.pod["spec"]["nodeSelector"], json!({KEY: "llm-3"}), "{what}");
        assert_eq!(answer.pod["spec"]["tolerations"], json!([toleration("llm-3")]), "{what}");
        let again = nothing().create(&answer.pod);
        assert_eq!((again.verdict, again.operations.len()), (Verdict::Unchanged, 0), "{what} once more");
    }
}

#[test]
fn both_prefixes_are_understood_and_each_half_goes_alone() {
    let only = |keys: &[&str], prefix: &str| {
        let all = annotations(prefix);
        let wanted = all.as_object().expect("pairs").iter();
        let wanted = wanted.filter(|(key, _)| keys.iter().any(|part| key.contains(part)));
        let some: Value =
            wanted.map(|(key, value)| (key.clone(), value.clone())).collect::<serde_json::Map<_, _>>().into();
        with(member(1), "/metadata", "annotations", some)
    };
    for prefix in [LWS, "berth.dev/"] {
        let both = nothing().create(&only(&["Unique"], prefix));
        assert_eq!(both.operations.len(), 2, "{prefix}");
        let selector = nothing().create(&only(&["Selector"], prefix));
        assert_eq!(selector.pod["spec"]["nodeSelector"], json!({KEY: "llm-3"}), "{prefix}");
        assert_eq!(selector.operations.len(), 1, "{prefix}");
        let toleration = nothing().create(&only(&["Toleration"], prefix));
        assert_eq!(toleration.operations.len(), 1, "{prefix}");
        assert!(toleration.pod["spec"]["nodeSelector"].is_null(), "{prefix}");
    }
    let mixed =
        with(member(1), "/metadata/annotations", "berth.dev/replicaUniqueNodeSelector", json!("a.b/c"));
    assert_eq!(nothing().create(&mixed).pod["spec"]["nodeSelector"], json!({"a.b/c": "llm-3"}), "ours first");
}

#[test]
fn what_is_there_is_kept() {
    let own = json!([{"operator": "Exists"}, {"key": KEY, "operator": "Exists"}]);
    let pod = with(member(1), "/spec", "nodeSelector", json!({"gpu": "yes"}));
    let pod = with(pod, "/spec", "tolerations", own.clone());
    let answer = nothing().create(&pod);
    assert_eq!(answer.pod["spec"]["nodeSelector"], json!({"gpu": "yes", KEY: "llm-3"}));
    assert_eq!(answer.pod["spec"]["tolerations"], json!([own[0], own[1], toleration("llm-3")]));
    let every_effect = json!([{"key": KEY, "value": "llm-3"}]);
    let answer = nothing().create(&with(member(1), "/spec", "tolerations", every_effect.clone()));
    assert_eq!(answer.pod["spec"]["tolerations"], every_effect, "it tolerates the taint already");
    for absent in [json!(null), json!({})] {
        let answer = nothing().create(&with(member(1), "/spec", "nodeSelector", absent.clone()));
        assert_eq!(answer.pod["spec"]["nodeSelector"], json!({KEY: "llm-3"}), "{absent}");
    }
}

#[test]
fn what_cannot_be_is_refused_in_words_that_name_it() {
    let annotated = |key: &str, value: &str| {
        with(member(1), "/metadata/annotations", &format!("{LWS}{key}"), json!(value))
    };
    let long = "a".repeat(62);
    let labelled =
        |key: &str, value: &str| with(member(1), "/metadata/labels", &format!("{LWS}{key}"), json!(value));
    for (what, pod, parts) in [
        (
            "the selector has another value",
            with(member(1), "/spec", "nodeSelector", json!({KEY: "mine"})),
            &["spec.nodeSelector", "example.com/node-group=mine", "llm-3", "replicaUniqueNodeSelector"][..],
        ),
        (
            "so has a toleration",
            with(member(1), "/spec", "tolerations", json!([toleration("llm-2")])),
            &["spec.tolerations", "example.com/node-group=llm-2", "llm-3"],
        ),
        (
            "an effect that there is not",
            annotated("replicaUniqueTolerationEffect", "noschedule"),
            &[
                "leaderworkerset.sigs.k8s.io/replicaUniqueTolerationEffect",
                "NoSchedule, PreferNoSchedule, NoExecute",
                "noschedule",
            ],
        ),
        (
            "no effect",
            annotated("replicaUniqueTolerationEffect", ""),
            &["replicaUniqueTolerationKey", "replicaUniqueTolerationEffect, which is missing"],
        ),
        (
            "no key",
            annotated("replicaUniqueTolerationKey", ""),
            &["replicaUniqueTolerationEffect", "replicaUniqueTolerationKey, which is missing"],
        ),
        (
            "a selector that is no key",
            annotated("replicaUniqueNodeSelector", "a b"),
            &["replicaUniqueNodeSelector", "label key"],
        ),
        (
            "a taint that is none",
            annotated("replicaUniqueTolerationKey", "/"),
            &["replicaUniqueTolerationKey", "label key"],
        ),
        ("a leader with a long name", labelled("name", &long), &["63 characters", "aaa"]),
    ] {
        let answer = nothing().create(&pod);
        assert_eq!(answer.verdict, Verdict::Refused, "{what}");
        for part in parts {
            assert!(answer.message.contains(part), "{what}: no {part:?} in {}", answer.message);
        }
    }
}

#[test]
fn the_effects_of_taints_are_three() {
    for effect in ["NoSchedule", "PreferNoSchedule", "NoExecute"] {
        let key = format!("{LWS}replicaUniqueTolerationEffect");
        let answer = nothing().create(&with(member(0), "/metadata/annotations", &key, json!(effect)));
        assert_eq!(answer.pod["spec"]["tolerations"][0]["effect"], effect);
    }
}

/// A member of the group `g`, annotated to have nodes of its own.
fn annotated(name: Option<&str>, index: Option<u32>) -> Value {
    let mut pod = json!({"metadata": {"annotations": annotations("berth.dev/")}, "spec": {}});
    pod["metadata"]["annotations"]["berth.dev/group"] = json!("g");
    match name {
        Some(name) => pod["metadata"]["name"] = json!(name),
        None => pod["metadata"]["generateName"] = json!("made-up-"),
    }
    if let Some(index) = index {
        pod["metadata"]["annotations"]["berth.dev/group-index"] = json!(index.to_string());
    }
    pod
}

fn selected(answer: &Answer) -> &str {
    answer.pod["spec"]["nodeSelector"][KEY].as_str().unwrap_or("-")
}

#[test]
fn groups_without_a_leader_are_named_after_their_first_member_or_themselves() {
    let first: Pod =
        pod("first").annotation("berth.dev/group", "g").annotation("berth.dev/group-index", "0").build();
    let seen = || Cluster::new(Vec::new(), vec![Object::Pod(first.clone().into())]);
    assert_eq!(selected(&nothing().create(&annotated(Some("first"), Some(0)))), "first");
    assert_eq!(selected(&seen().create(&annotated(Some("second"), Some(1)))), "first");
    assert_eq!(selected(&seen().create(&annotated(None, Some(1)))), "first", "its own name does not matter");
    let unseen = nothing().create(&annotated(Some("second"), Some(1)));
    assert!(unseen.message.contains("create that one first"), "{}", unseen.message);
    let nameless = nothing().create(&annotated(None, Some(0)));
    assert!(nameless.message.contains("in place of generateName"), "{}", nameless.message);
    assert_eq!(selected(&nothing().create(&annotated(None, None))), "g", "nobody is first");

    let labelled = |labels: Value| json!({"metadata": {"generateName": "x-", "labels": labels, "annotations": annotations("berth.dev/")}, "spec": {}});
    for (what, labels, expected) in [
        ("Kueue", json!({"kueue.x-k8s.io/pod-group-name": "train"}), "train"),
        ("coscheduling", json!({"scheduling.x-k8s.io/pod-group": "train"}), "train"),
        ("Grove", json!({"grove.io/podgang": "serve-0"}), "serve-0"),
        (
            "KubeRay",
            json!({"ray.io/cluster": "ray", "ray.io/worker-group-replica-name": "tpu-x7", "ray.io/replica-host-index": "1"}),
            "ray-tpu-x7",
        ),
        (
            "JobSet",
            json!({"jobset.sigs.k8s.io/jobset-name": "js", "jobset.sigs.k8s.io/job-key": "f00",
                   "batch.kubernetes.io/job-name": "js-train-1", "batch.kubernetes.io/job-completion-index": "4"}),
            "js-train-1-0",
        ),
        (
            "a slice",
            json!({"disaggregatedset.x-k8s.io/name": "ds", "disaggregatedset.x-k8s.io/slice": "2"}),
            "ds-2",
        ),
    ] {
        assert_eq!(selected(&nothing().create(&labelled(labels))), expected, "{what}");
    }
}

#[test]
fn a_rule_of_the_configuration_asks_for_those_who_cannot() {
    let rule = |namespaces: &[&str], sets: &[&str]| UniqueNodes {
        namespaces: namespaces.iter().map(|name| (*name).to_owned()).collect(),
        sets: sets.iter().map(|name| (*name).to_owned()).collect(),
        replica_unique_node_selector: Some("ruled.example/nodes".to_owned()),
        replica_unique_toleration: None,
    };
    let silent = with(member(1), "/metadata", "annotations", json!({}));
    for (what, rules, expected) in [
        ("all", vec![rule(&[], &[])], Some("llm-3")),
        ("its namespace", vec![rule(&["default"], &[])], Some("llm-3")),
        ("its set", vec![rule(&["default"], &["other", "llm"])], Some("llm-3")),
        ("another namespace", vec![rule(&["elsewhere"], &[])], None),
        ("another set", vec![rule(&[], &["other"])], None),
        ("none", vec![], None),
    ] {
        let answer = Cluster::new(rules, Vec::new()).create(&silent);
        assert_eq!(answer.pod["spec"]["nodeSelector"]["ruled.example/nodes"].as_str(), expected, "{what}");
    }
    let answer = Cluster::new(vec![rule(&[], &[])], Vec::new()).create(&member(1));
    assert_eq!(answer.pod["spec"]["nodeSelector"], json!({KEY: "llm-3"}), "the pod's own word counts");
    let single = json!({"metadata": {"name": "p"}, "spec": {}});
    assert_eq!(Cluster::new(vec![rule(&[], &[])], Vec::new()).create(&single).verdict, Verdict::Unchanged);
}

#[test]
fn what_one_template_asks_for_counts_for_all_members() {
    let set = object(
        &json!({"apiVersion": "leaderworkerset.x-k8s.io/v1", "kind": "LeaderWorkerSet",
            "metadata": {"name": "llm", "namespace": "default"},
            "spec": {"leaderWorkerTemplate": {"size": 2, "workerTemplate": {"spec": {}},
                "leaderTemplate": {"metadata": {"annotations": annotations("berth.dev/")}, "spec": {}}}}})
        .to_string(),
    );
    let silent = with(member(1), "/metadata", "annotations", json!({}));
    assert_eq!(selected(&Cluster::new(Vec::new(), vec![set]).create(&silent)), "llm-3");
    assert_eq!(selected(&nothing().create(&silent)), "-");
}

#[test]
fn who_is_in_no_group_is_let_in_and_told() {
    let single = json!({"metadata": {"name": "p", "annotations": annotations("berth.dev/")}, "spec": {}});
    let answer = nothing().create(&single);
    assert_eq!((answer.verdict, answer.warnings), (Verdict::Unchanged, 1));
    // The webhook of its controller has not numbered it yet: it comes back.
    let mut early = member(0);
    early["metadata"]["labels"].as_object_mut().expect("labels").remove(&format!("{LWS}group-index"));
    let answer = nothing().create(&early);
    assert_eq!((answer.verdict, answer.warnings), (Verdict::Unchanged, 0));
}

#[test]
fn two_groups_do_not_get_the_same_nodes() {
    let other = |namespace: &str| {
        object(
            &json!({"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "llm-3", "namespace": namespace, "uid": "o",
                "labels": member(0)["metadata"]["labels"], "annotations": annotations(LWS)},
                "spec": {"nodeSelector": {KEY: "llm-3"}}})
            .to_string(),
        )
    };
    let answer = Cluster::new(Vec::new(), vec![other("elsewhere")]).create(&member(1));
    assert_eq!(answer.verdict, Verdict::Refused);
    assert!(answer.message.contains("namespace elsewhere already"), "{}", answer.message);
    let own = Cluster::new(Vec::new(), vec![other("default")]).create(&member(1));
    assert_eq!(own.verdict, Verdict::Changed, "that is its leader");
}

#[test]
fn a_pod_that_cannot_be_read_is_an_error_and_no_refusal() {
    let view = nothing();
    let body = |object: &str| {
        format!(
            r#"{{"apiVersion":"admission.k8s.io/v1","kind":"AdmissionReview","request":{{"uid":"u","operation":"CREATE",
            "kind":{{"group":"","version":"v1","kind":"Pod"}},"object":{object}}}}}"#
        )
    };
    for object in [
        "[]",
        "{}",
        r#"{"metadata":{"labels":[]}}"#,
        r#"{"metadata":{"name":"p"},"spec":{"nodeSelector":3}}"#,
    ] {
        let body = body(object);
        let answer = review(body.as_bytes(), &Interner::default(), &view.view, &view.config);
        assert!(answer.is_err_and(|error| error.to_string().contains("no pod")), "{object}");
    }
}
