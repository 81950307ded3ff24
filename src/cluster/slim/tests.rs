use super::{Slimmed, slim};
use crate::cluster::Interner;
use crate::model::{Kind, Object};

fn kept(kind: Kind, text: &str) -> Object {
    match slim(kind, text, &Interner::default()) {
        Ok(Slimmed::Kept(object)) => object,
        other => panic!("expected an object, got {other:?}"),
    }
}

#[test]
fn a_pod_is_read_with_everything_that_matters() {
    let Object::Pod(pod) = kept(
        Kind::Pod,
        r#"{"metadata":{"name":"p","namespace":"ns","uid":"u","labels":{"app":"web"},
            "creationTimestamp":null,"deletionTimestamp":"2026-01-01T00:00:00Z",
            "ownerReferences":[{"apiVersion":"v1","kind":"X","name":"other","uid":"1"},
              {"apiVersion":"apps/v1","kind":"ReplicaSet","name":"rs","uid":"2","controller":true}]},
            "spec":{"nodeName":"n","priority":7,"containers":[{"name":"c"}],
              "topologySpreadConstraints":[{"maxSkew":1}]},
            "status":{"phase":"Pending","nominatedNodeName":"m"}}"#,
    ) else {
        panic!("not a pod")
    };
    assert_eq!((&*pod.uid, pod.key.to_string().as_str()), ("u", "ns/p"));
    assert_eq!(pod.labels.get("app").map(|v| &**v), Some("web"));
    assert_eq!(pod.node.as_deref(), Some("n"));
    assert_eq!(pod.nominated_node.as_deref(), Some("m"));
    assert!(pod.terminating && pod.has_spread_constraints);
    assert_eq!(pod.priority, 7);
    assert_eq!(pod.controller.as_ref().map(|c| &*c.name), Some("rs"));
}

#[test]
fn nulls_are_as_good_as_nothing() {
    let Object::Pod(pod) = kept(
        Kind::Pod,
        r#"{"metadata":{"name":"p","namespace":null,"uid":null,"labels":null,"ownerReferences":null,
            "deletionTimestamp":null},"spec":{"nodeName":"","priority":null,
            "topologySpreadConstraints":null},"status":null}"#,
    ) else {
        panic!("not a pod")
    };
    assert_eq!(pod.node, None);
    assert!(!pod.terminating && !pod.has_spread_constraints && pod.controller.is_none());
}

#[test]
fn finished_pods_are_of_no_interest() {
    for phase in ["Succeeded", "Failed"] {
        let text =
            format!(r#"{{"metadata":{{"name":"p","namespace":"ns"}},"status":{{"phase":"{phase}"}}}}"#);
        let result = slim(Kind::Pod, &text, &Interner::default());
        assert!(
            matches!(&result, Ok(Slimmed::Uninteresting(key)) if key.to_string() == "ns/p"),
            "{phase}: {result:?}"
        );
    }
}

#[test]
fn the_failed_attempt_mark_changes_with_the_condition() {
    let mark = |condition: &str| {
        let text = format!(r#"{{"metadata":{{"name":"p"}},"status":{{"conditions":[{condition}]}}}}"#);
        let Object::Pod(pod) = kept(Kind::Pod, &text) else { panic!("not a pod") };
        pod.failed_attempt
    };
    let first = mark(r#"{"type":"PodScheduled","status":"False","message":"0/1 nodes"}"#);
    let second = mark(r#"{"type":"PodScheduled","status":"False","message":"0/2 nodes"}"#);
    assert!(first.is_some() && first != second);
    assert_eq!(mark(r#"{"type":"PodScheduled","status":"True"}"#), None);
    assert_eq!(mark(r#"{"type":"Ready","status":"False"}"#), None);
}

#[test]
fn a_broken_object_is_named_as_far_as_possible() {
    for (text, key) in [
        (r#"{"metadata":{"name":"n"},"spec":{"taints":"none"}}"#, Some("n")),
        (r#"{"metadata":{"name":7}}"#, None),
        ("[]", None),
    ] {
        let error = slim(Kind::Node, text, &Interner::default()).expect_err(text);
        assert_eq!(error.key.as_ref().map(ToString::to_string).as_deref(), key, "{text}");
    }
}

#[test]
fn selectors_of_every_owner_kind_are_read() {
    let Object::Workload(Kind::ReplicaSet, set) = kept(
        Kind::ReplicaSet,
        r#"{"metadata":{"name":"rs","namespace":"ns"},"spec":{"selector":{"matchLabels":{"a":"b"},
            "matchExpressions":[{"key":"c","operator":"NotIn","values":["d"]}]}}}"#,
    ) else {
        panic!("not a replica set")
    };
    let labels = |pairs: &[(&str, &str)]| Interner::default().labels(pairs.iter().copied());
    assert!(set.selector.matches(&labels(&[("a", "b")])));
    assert!(!set.selector.matches(&labels(&[("a", "b"), ("c", "d")])));

    let unknown = r#"{"metadata":{"name":"rs"},"spec":{"selector":{"matchExpressions":[
        {"key":"c","operator":"Near"}]}}}"#;
    assert!(slim(Kind::ReplicaSet, unknown, &Interner::default()).is_err());

    let Object::Group(Kind::LeaderWorkerSet, set) = kept(
        Kind::LeaderWorkerSet,
        r#"{"metadata":{"name":"lws","namespace":"ns"},"spec":{"leaderWorkerTemplate":{"size":4}}}"#,
    ) else {
        panic!("not a group")
    };
    assert_eq!(set.size, Some(4));
}
