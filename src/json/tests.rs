use super::{Slimmed, slim};
use crate::fixtures::group_object;
use crate::json::Interner;
use crate::model::group::Source;
use crate::model::{Kind, Object, PodConstraints};

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
fn failed_pods_are_of_no_interest_and_those_that_succeeded_are_known_as_such() {
    let of_phase = |phase: &str| {
        format!(r#"{{"metadata":{{"name":"p","namespace":"ns"}},"status":{{"phase":"{phase}"}}}}"#)
    };
    let failed = slim(Kind::Pod, &of_phase("Failed"), &Interner::default());
    assert!(matches!(&failed, Ok(Slimmed::Uninteresting(key)) if key.to_string() == "ns/p"), "{failed:?}");
    for (phase, expected) in [("Succeeded", true), ("Running", false)] {
        let Object::Pod(pod) = kept(Kind::Pod, &of_phase(phase)) else { panic!("not a pod") };
        assert_eq!(pod.finished, expected, "{phase}");
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
}

#[test]
fn sources_read_the_objects_behind_their_groups() {
    let read = |source: Source, spec: &str| {
        let labels = r#"{"jobset.sigs.k8s.io/job-key":"k"}"#;
        group_object(source, &format!(r#"{{"metadata":{{"name":"o","labels":{labels}}},{spec}}}"#))
    };
    for (source, spec, size) in [
        (Source::LeaderWorkerSet, r#""spec":{"leaderWorkerTemplate":{"size":4}}"#, Some(4)),
        (Source::LeaderWorkerSet, r#""spec":null"#, None),
        (Source::JobSet, r#""spec":{"parallelism":4}"#, Some(4)),
        (Source::JobSet, r#""spec":{"parallelism":4,"completions":5},"status":{"succeeded":3}"#, Some(2)),
        (Source::JobSet, r#""spec":{},"status":null"#, Some(1)),
        (Source::PodGroup, r#""spec":{"minMember":3}"#, Some(3)),
    ] {
        assert_eq!(read(source, spec).size, size, "{source:?} {spec}");
    }
    for (policy, together) in
        [(r#","restartPolicy":"None""#, false), (r#","restartPolicy":"RecreateGroupOnPodRestart""#, true)]
    {
        let spec = format!(r#""spec":{{"leaderWorkerTemplate":{{"size":4{policy}}}}}"#);
        assert_eq!(read(Source::LeaderWorkerSet, &spec).restarts_together, together);
    }
    let templates = r#""spec":{"leaderWorkerTemplate":{"size":2,"workerTemplate":{"metadata":{"labels":{"a":"b"}},
        "spec":{"containers":[{"name":"c","resources":{"requests":{"cpu":"0.1"}}}]}}}}"#;
    let set = read(Source::LeaderWorkerSet, templates);
    let (leader, worker) = (set.roles[0].template(0), set.roles[0].template(1));
    assert_eq!(leader, worker, "without a template of its own a leader is like its workers");
    assert_eq!(worker.map(|template| template.requests.milli_cpu), Some(100));
}

#[test]
fn objects_behind_groups_are_refused_or_passed_over_one_by_one() {
    let read = |source: Source, text: &str| {
        slim(source.kind().expect("a source with objects"), text, &Interner::default())
    };
    let job = read(Source::JobSet, r#"{"metadata":{"name":"o"},"spec":{"parallelism":"many"}}"#);
    assert!(matches!(job, Ok(Slimmed::Uninteresting(_))), "a Job that is of no JobSet");
    for (spec, path) in [
        (r#"{"leaderWorkerTemplate":{"size":-1}}"#, "spec.leaderWorkerTemplate.size"),
        (r#"{"leaderWorkerTemplate":[]}"#, "spec.leaderWorkerTemplate"),
        (
            r#"{"leaderWorkerTemplate":{"workerTemplate":{"spec":{"overhead":{"cpu":"x"}}}}}"#,
            "workerTemplate",
        ),
    ] {
        let text = format!(r#"{{"metadata":{{"name":"o"}},"spec":{spec}}}"#);
        let error = read(Source::LeaderWorkerSet, &text).expect_err(spec);
        assert_eq!(error.key.as_ref().map(ToString::to_string).as_deref(), Some("o"));
        assert!(error.to_string().contains(path), "{error}");
    }
}

fn requests(spec: &str, status: &str) -> [(i64, i64, i64); 2] {
    let text = format!(r#"{{"metadata":{{"name":"p"}},"spec":{spec},"status":{status}}}"#);
    let Object::Pod(pod) = kept(Kind::Pod, &text) else { panic!("not a pod") };
    [&pod.requests, &pod.allocated]
        .map(|amounts| (amounts.milli_cpu, amounts.memory, amounts.scalar("a.com/gpu")))
}

/// A container with requests; more fields may follow.
fn container(name: &str, requests: &str, more: &str) -> String {
    format!(r#"{{"name":"{name}","resources":{{"requests":{{{requests}}},"limits":{{"cpu":"99"}}}}{more}}}"#)
}

#[test]
fn a_pod_asks_for_what_all_its_containers_ask_for_together() {
    let spec = |containers: &[String], init: &[String], more: &str| {
        let (containers, init) = (containers.join(","), init.join(","));
        format!(r#"{{"containers":[{containers}],"initContainers":[{init}]{more}}}"#)
    };
    let one = container("a", r#""cpu":"1","memory":"1Ki","a.com/gpu":"2""#, "");
    let two = container("b", r#""cpu":"500m""#, "");
    let both = [one, two];
    let first = container("i", r#""cpu":"4""#, "");
    let sidecar = container("s", r#""cpu":"1""#, r#","restartPolicy":"Always""#);
    let as_a_whole = r#","resources":{"requests":{"cpu":"7","ephemeral-storage":"9"}}"#;
    for (name, spec, expected) in [
        ("nothing", "{}".to_owned(), (0, 0, 0)),
        ("sum", spec(&both, &[], ""), (1_500, 1_024, 2)),
        ("init container", spec(&both, std::slice::from_ref(&first), ""), (4_000, 1_024, 2)),
        ("sidecar", spec(&both, std::slice::from_ref(&sidecar), ""), (2_500, 1_024, 2)),
        ("sidecar first", spec(&both, &[sidecar.clone(), first.clone()], ""), (5_000, 1_024, 2)),
        ("sidecar last", spec(&both, &[first, sidecar], ""), (4_000, 1_024, 2)),
        ("overhead", spec(&both, &[], r#","overhead":{"cpu":"1m","a.com/gpu":1}"#), (1_501, 1_024, 3)),
        ("as a whole", spec(&both, &[], as_a_whole), (7_000, 1_024, 2)),
    ] {
        assert_eq!(requests(&spec, "null"), [expected; 2], "{name}");
    }
}

#[test]
fn a_pod_that_is_resized_takes_the_most_of_what_may_be_in_force() {
    let spec = format!(r#"{{"containers":[{}]}}"#, container("a", r#""cpu":"3","memory":"1""#, ""));
    let status = |conditions: &str| {
        format!(
            r#"{{"conditions":[{conditions}],"containerStatuses":[{{"name":"a",
                "resources":{{"requests":{{"cpu":"2","memory":"2"}}}},
                "allocatedResources":{{"cpu":"1","memory":"3"}}}}]}}"#
        )
    };
    assert_eq!(requests(&spec, &status("")), [(3_000, 1, 0), (3_000, 3, 0)]);
    let pending =
        |reason: &str| format!(r#"{{"type":"PodResizePending","status":"True","reason":"{reason}"}}"#);
    assert_eq!(requests(&spec, &status(&pending("Deferred"))), [(3_000, 1, 0), (3_000, 3, 0)]);
    assert_eq!(requests(&spec, &status(&pending("Infeasible"))), [(3_000, 1, 0), (2_000, 3, 0)]);

    let whole = r#"{"resources":{"requests":{"cpu":"1"}}}"#;
    let status = r#"{"resources":{"requests":{"cpu":"2"}},"allocatedResources":{"cpu":"3"}}"#;
    assert_eq!(requests(whole, status), [(1_000, 0, 0), (3_000, 0, 0)]);
}

#[test]
fn a_node_has_what_it_says_and_nothing_else() {
    let Object::Node(node) = kept(
        Kind::Node,
        r#"{"metadata":{"name":"n"},"status":{"capacity":{"cpu":"64"},"allocatable":{"cpu":"63900m",
            "memory":"1Gi","ephemeral-storage":"5G","pods":"250","a.com/gpu":"8","oddity":"1"}}}"#,
    ) else {
        panic!("not a node")
    };
    let allocatable = &node.allocatable;
    assert_eq!((allocatable.milli_cpu, allocatable.memory, node.allowed_pods), (63_900, 1 << 30, 250));
    assert_eq!((allocatable.ephemeral_storage, allocatable.scalars().count()), (5_000_000_000, 1));
}

#[test]
fn an_object_with_a_broken_quantity_is_broken() {
    for (kind, text) in [
        (Kind::Pod, r#"{"metadata":{"name":"o"},"spec":{"overhead":{"cpu":"one"}}}"#),
        (Kind::Node, r#"{"metadata":{"name":"o"},"status":{"allocatable":{"cpu":"1 "}}}"#),
    ] {
        let result = slim(kind, text, &Interner::default());
        let broken = result.err().and_then(|error| error.key).map(|key| key.to_string());
        assert_eq!(broken.as_deref(), (kind == Kind::Pod).then_some("o"), "{text}");
    }
}

#[test]
fn ports_claims_and_affinity_of_a_pod_are_kept_and_most_pods_have_none() {
    let read = |spec: &str| {
        let text = format!(r#"{{"metadata":{{"name":"p","namespace":"ns"}},"spec":{{{spec}}}}}"#);
        let Object::Pod(pod) = kept(Kind::Pod, &text) else { panic!("not a pod") };
        pod
    };
    let plain = r#""containers":[{"name":"c","ports":[{"containerPort":80}]}],
        "volumes":[{"name":"v","emptyDir":{}}]"#;
    assert_eq!(read(plain).constraints, None);

    let ports = read(
        r#""containers":[{"ports":[{"hostPort":80},{"hostPort":0},{"hostPort":53,"protocol":"UDP","hostIP":"10.0.0.1"}]}],
        "initContainers":[{"ports":[{"hostPort":1}]},{"restartPolicy":"Always","ports":[{"hostPort":2,"hostIP":"0.0.0.0"}]}]"#,
    );
    let ports: Vec<_> =
        ports.host_ports().iter().map(|port| (port.ip.as_deref(), &*port.protocol, port.number)).collect();
    assert_eq!(ports, [(None, "TCP", 2), (None, "TCP", 80), (Some("10.0.0.1"), "UDP", 53)]);

    let volumes = r#""volumes":[{"name":"data","persistentVolumeClaim":{"claimName":"data-p"}},
        {"name":"scratch","ephemeral":{"volumeClaimTemplate":{}}},{"name":"v","configMap":{}}]"#;
    assert_eq!(
        read(volumes).claims().iter().map(|name| &**name).collect::<Vec<_>>(),
        ["data-p", "p-scratch"]
    );

    let affinity = read(
        r#""affinity":{"podAffinity":{"requiredDuringSchedulingIgnoredDuringExecution":
        [{"topologyKey":"rack","labelSelector":{"matchLabels":{"app":"x"}}}]}}"#,
    );
    let terms = &affinity.constraints.as_ref().expect("some").affinity;
    assert_eq!((terms.len(), &*terms[0].topology_key, &*terms[0].namespaces[0]), (1, "rack", "ns"));
}

#[test]
fn a_template_has_the_ports_and_claims_that_its_pods_will_have() {
    let set = group_object(
        Source::LeaderWorkerSet,
        r#"{"metadata":{"name":"llm","namespace":"ns"},"spec":{"leaderWorkerTemplate":{"size":2,
            "volumeClaimTemplates":[{"metadata":{"name":"data"}}],
            "workerTemplate":{"spec":{"hostNetwork":true,"containers":[{"ports":[{"containerPort":9000}]}],
            "volumes":[{"name":"data","persistentVolumeClaim":{"claimName":"replaced"}},
              {"name":"model","persistentVolumeClaim":{"claimName":"model"}},
              {"name":"scratch","ephemeral":{}}]}}}}}"#,
    );
    let worker = set.roles[0].worker.as_ref().expect("a template");
    let ports = PodConstraints::host_ports(worker.constraints.as_ref());
    assert_eq!(ports.iter().map(|port| port.number).collect::<Vec<_>>(), [9000]);
    let names = |pod: Option<&str>| -> Vec<String> {
        let claims = worker.volumes.iter().filter_map(|volume| volume.claim.of_pod(pod));
        claims.map(|name| name.to_string()).collect()
    };
    assert_eq!(names(Some("llm-0-1")), ["model", "llm-0-1-scratch", "data-llm-0-1"]);
    assert_eq!(names(None), ["model"]);
}
