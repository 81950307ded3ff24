//! `LeaderWorkerSet`: workers that do not exist yet, revisions, rules and switches.

use serde_json::{Value, json};

use crate::scene::{Scene, Stage, annotated, labelled, on, pod, single, terminating, with_spec};

const PREFIX: &str = "leaderworkerset.sigs.k8s.io";

pub fn member(group: usize, at: usize, revision: &str, asks: &Value) -> Value {
    let mut member = pod(&format!("llm-{group}-{at}-{revision}"), asks);
    for (key, value) in [
        ("name", "llm"),
        ("group-index", &group.to_string()),
        ("worker-index", &at.to_string()),
        ("template-revision-hash", revision),
    ] {
        member = labelled(member, &format!("{PREFIX}/{key}"), value);
    }
    let member = annotated(member, &format!("{PREFIX}/size"), "4");
    annotated(member, "berth.dev/required-topology", "example.com/rack")
}

pub fn leader(group: usize, revision: &str) -> Value {
    member(group, 0, revision, &json!({"cpu": "1"}))
}

pub fn worker(group: usize, at: usize, revision: &str) -> Value {
    member(group, at, revision, &json!({"cpu": "1", "nvidia.com/gpu": "8"}))
}

/// The set: small leaders, large workers that tolerate the pool's taint.
pub fn set(worker: &Value) -> Value {
    let template =
        |asks: Value| json!({"spec": {"containers": [{"name": "main", "resources": {"requests": asks}}]}});
    json!({"apiVersion": "leaderworkerset.x-k8s.io/v1", "kind": "LeaderWorkerSet",
        "metadata": {"name": "llm", "namespace": "default"},
        "spec": {"leaderWorkerTemplate": {"size": 4, "leaderTemplate": template(json!({"cpu": "1"})),
            "workerTemplate": worker}}})
}

pub fn gpu_worker() -> Value {
    json!({"spec": {"containers": [{"name": "main", "resources": {"requests": {"cpu": "1", "nvidia.com/gpu": "8"}}}]}})
}

fn gpu_racks(worker: &Value) -> Stage {
    let (plain, gpus) = (json!({"cpu": "8"}), json!({"cpu": "8", "nvidia.com/gpu": "8"}));
    let scene = Scene::new().rack_of("plain", 4, &plain, &json!({})).rack_of("two", 2, &gpus, &json!({}));
    scene.rack_of("three", 3, &gpus, &json!({})).with(set(worker)).open()
}

#[test]
fn a_leader_alone_goes_where_its_workers_will_fit() {
    let stage = gpu_racks(&gpu_worker());
    assert_eq!(stage.racks(&leader(0, "r")), ["three"]);
    let members: Vec<_> =
        std::iter::once(leader(0, "r")).chain((1..4).map(|at| worker(0, at, "r"))).collect();
    assert_eq!(stage.place_all(&members), vec![Some("three".to_owned()); 4]);
    assert!(stage.racks(&leader(1, "r")).is_empty(), "no GPUs are left for its workers");
}

#[test]
fn what_the_template_says_of_nodes_counts_for_workers_to_come() {
    let mut picky = gpu_worker();
    picky["spec"]["nodeSelector"] = json!({"example.com/rack": "two"});
    let stage = gpu_racks(&picky);
    assert!(stage.racks(&leader(0, "r")).is_empty(), "three workers, two hosts");
    let mut alone = gpu_worker();
    alone["metadata"] = json!({"labels": {"role": "worker"}});
    alone["spec"]["containers"][0]["resources"]["requests"]["nvidia.com/gpu"] = json!("1");
    let stage = gpu_racks(&alone);
    assert_eq!(stage.racks(&leader(0, "r")), ["two"], "workers share hosts");
    alone["spec"]["affinity"] = json!({"podAntiAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [
        {"topologyKey": "kubernetes.io/hostname", "labelSelector": {"matchLabels": {"role": "worker"}}}]}});
    let stage = gpu_racks(&alone);
    assert_eq!(stage.racks(&leader(0, "r")), ["three"], "workers do not share hosts");
}

#[test]
fn the_old_and_the_new_revision_are_two_groups() {
    let cpu = |at| member(0, at, "old", &json!({"cpu": "1"}));
    let new = |at| member(0, at, "new", &json!({"cpu": "1"}));
    let mut scene = Scene::new().rack("a", 5).rack("b", 4);
    for at in 0..4 {
        scene = scene.running(&cpu(at), &format!("a-{at}"));
    }
    let stage = scene.open();
    assert_eq!(stage.place_all(&[new(0), new(1), new(2), new(3)]), vec![Some("b".to_owned()); 4]);
    // Leftovers of the last incarnation take room until they are gone, and are no members.
    let mut scene = Scene::new().rack("a", 5).rack("b", 4);
    for at in 0..4 {
        scene = scene.running(&terminating(&new(at)), &format!("a-{at}"));
    }
    let reborn = |at: usize| {
        let mut pod = new(at);
        pod["metadata"]["uid"] = json!(format!("again-{at}"));
        pod["metadata"]["name"] = json!(format!("again-{at}"));
        pod
    };
    let stage = scene.open();
    assert_eq!(stage.racks(&reborn(0)), ["b"]);
}

#[test]
fn a_source_can_be_switched_off_and_others_given_a_topology_by_rule() {
    let plain =
        |at: usize| annotated(member(0, at, "r", &json!({"cpu": "1"})), "berth.dev/required-topology", "");
    let scene = Scene::new().rack("a", 3).rack("b", 4);
    assert_eq!(scene.clone().open().passing(&plain(0)).len(), 7, "no topology asked for");
    let rule = "{defaultTopologies: [{sources: [LeaderWorkerSet], topology: {required: example.com/rack}}]}";
    assert_eq!(scene.clone().settings(rule).open().racks(&plain(0)), ["b"]);
    let off = "{sources: [Annotation], defaultTopologies: [{topology: {required: example.com/rack}}]}";
    assert_eq!(scene.clone().settings(off).open().passing(&plain(0)).len(), 7);
    let rule = "{rules: [{label: gang, size: {number: 4}, topology: {required: example.com/rack}}]}";
    let stage = scene.settings(rule).open();
    stage.see(&(0..4).map(|at| labelled(single(&format!("p{at}")), "gang", "g")).collect::<Vec<_>>());
    assert_eq!(stage.racks(&labelled(single("p0"), "gang", "g")), ["b"]);
}

#[test]
fn a_set_that_grows_grows_in_its_domain() {
    let grown =
        |at| annotated(member(0, at, "r", &json!({"cpu": "1"})), "leaderworkerset.sigs.k8s.io/size", "5");
    let mut scene = Scene::new().rack("a", 5).rack("b", 9);
    for at in 0..4 {
        scene = scene.with(on(&grown(at), &format!("a-{at}")));
    }
    assert_eq!(scene.open().passing(&grown(4)), ["a-4"]);
}

#[test]
fn groups_that_kube_scheduler_places_itself_are_left_to_it() {
    let scene = Scene::new().rack("a", 3);
    let own = member(0, 0, "r", &json!({"cpu": "1"}));
    assert!(scene.clone().open().passing(&own).is_empty(), "four do not fit");
    let theirs = with_spec(own, "schedulingGroup", json!({"podGroupName": "g"}));
    let stage = scene.open();
    assert_eq!((stage.passing(&theirs).len(), stage.kept()), (3, (0, 0)));
}

#[test]
fn a_template_that_names_only_limits_asks_for_them() {
    let limits = json!({"spec": {"containers": [{"name": "main",
        "resources": {"requests": {"cpu": "1"}, "limits": {"nvidia.com/gpu": "8", "cpu": "4"}}}]}});
    assert_eq!(gpu_racks(&limits).racks(&leader(0, "r")), ["three"]);
}
