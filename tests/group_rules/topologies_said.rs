//! Who may say where a group is to be: what any template of it asks for counts for all members, what is written into a
//! member that runs for none, and what does not count is said out loud.

use serde_json::{Value, json};

use crate::leader_worker_set::{member, set};
use crate::scene::{RACK, Scene, Stage, annotated, group, labelled, on, single};

const ZONE: &str = "topology.kubernetes.io/zone";
const REQUIRED: &str = "berth.dev/required-topology";
const EXCLUSIVE: &str = "berth.dev/exclusive";

/// A pod with these annotations and no other of Berth's.
fn saying(pod: Value, said: &Value) -> Value {
    let pod = [REQUIRED, EXCLUSIVE].iter().fold(pod, |pod, key| annotated(pod, key, ""));
    let said = said.as_object().into_iter().flatten();
    said.fold(pod, |pod, (key, value)| annotated(pod, key, value.as_str().expect("text")))
}

/// The set whose templates say this.
fn set_saying(leader: &Value, worker: &Value) -> Value {
    let containers = json!([{"name": "main", "resources": {"requests": {"cpu": "1"}}}]);
    let mut set = set(&json!({"metadata": {"annotations": worker}, "spec": {"containers": containers}}));
    set["spec"]["leaderWorkerTemplate"]["leaderTemplate"]["metadata"] = json!({"annotations": leader});
    set
}

/// A replica as the controller makes it from such templates.
fn replica(number: usize, leader: &Value, worker: &Value) -> Vec<Value> {
    let said = |at: usize| if at == 0 { leader } else { worker };
    (0..4).map(|at| saying(member(number, at, "r", &json!({"cpu": "1"})), said(at))).collect()
}

/// Racks of three and four nodes in one zone, and of four in another.
fn racks() -> Scene {
    let (cpu, zone) = (json!({"cpu": "1"}), |zone: &str| json!({ZONE: zone}));
    let scene = Scene::new().rack_of("a", 3, &cpu, &zone("z1")).rack_of("b", 4, &cpu, &zone("z1"));
    scene.rack_of("c", 4, &cpu, &zone("z2"))
}

fn said_once(why: &str) -> Vec<(String, u64)> {
    vec![(why.to_owned(), 1)]
}

/// Whether another group may be in rack `a`, in which others run.
fn may_join(scene: Scene) -> bool {
    let stage = scene.open();
    let mut racks = stage.racks(&group("other", 1)[0]);
    racks.retain(|rack| rack == "a");
    !racks.is_empty()
}

#[test]
fn what_the_leaders_template_asks_for_counts_for_its_workers() {
    let rack = json!({REQUIRED: RACK});
    for (name, leader, worker) in [("the leader's", &rack, &json!({})), ("the workers'", &json!({}), &rack)] {
        for first in [0, 3] {
            let stage = racks().with(set_saying(leader, worker)).open();
            let mut members = replica(0, leader, worker);
            members.rotate_left(first);
            stage.see(&members);
            let places = stage.place_all(&members);
            assert!(
                places[0].is_some() && places.iter().all(|place| *place == places[0]),
                "{name}: {places:?}"
            );
            assert!(stage.ignored().is_empty(), "{name}");
        }
    }
    let stage = racks().with(set_saying(&json!({}), &json!({}))).open();
    assert_eq!(stage.passing(&replica(0, &json!({}), &json!({}))[0]).len(), 11, "nobody asks for anything");
}

#[test]
fn where_templates_contradict_each_other_the_leaders_counts_and_that_is_said() {
    let (rack, zone) = (json!({REQUIRED: RACK}), json!({REQUIRED: ZONE}));
    let stage = racks().with(set_saying(&rack, &zone)).open();
    let members = replica(0, &rack, &zone);
    stage.see(&members);
    let places = stage.place_all(&members);
    assert!(places[0].is_some() && places.iter().all(|place| *place == places[0]), "{places:?}");
    assert_eq!(stage.ignored(), said_once("contradiction"), "once, whoever of the set asks and how often");
}

#[test]
fn a_template_that_changes_changes_what_those_that_wait_ask_for() {
    let (rack, nothing) = (json!({REQUIRED: RACK}), json!({}));
    let stage = racks().with(set_saying(&nothing, &nothing)).open();
    let worker = &replica(0, &nothing, &nothing)[1];
    stage.see(std::slice::from_ref(worker));
    assert_eq!(stage.passing(worker).len(), 11);
    stage.see(&[set_saying(&rack, &nothing)]);
    assert_eq!(stage.racks(worker).len(), 1);
}

#[test]
fn a_topology_on_a_pod_without_a_group_is_said_to_be_ignored() {
    let stage = racks().open();
    let pod = annotated(single("p"), REQUIRED, RACK);
    for _ in 0..3 {
        assert_eq!(stage.passing(&pod).len(), 11, "nobody is kept out for it");
    }
    assert_eq!(stage.ignored(), said_once("no_group"));
    let off = Scene::new().settings("{sources: []}").rack("a", 1).open();
    off.passing(&pod);
    assert!(off.ignored().is_empty(), "the operator wants no groups");
}

#[test]
fn a_domain_of_no_topology_cannot_be_had_alone() {
    let stage = racks().open();
    let pod = annotated(annotated(group("g", 1)[0].clone(), REQUIRED, ""), EXCLUSIVE, "Namespace");
    stage.passing(&pod);
    assert_eq!(stage.ignored(), said_once("exclusive_of_nothing"));
}

#[test]
fn what_is_written_into_a_running_member_keeps_nobody_out_after_a_restart() {
    let rack = json!({REQUIRED: RACK});
    let alone = json!({REQUIRED: RACK, EXCLUSIVE: "Namespace"});
    let alone_in_zone = json!({REQUIRED: ZONE, EXCLUSIVE: "Namespace"});
    // What the templates say, what the pods say that run, and whether others may be beside them.
    for (name, template, pods, expected) in [
        ("as it was made", [&rack, &rack], [&rack, &rack], true),
        ("alone from the beginning", [&alone, &alone], [&alone, &alone], false),
        ("by the leader's template", [&alone, &json!({})], [&alone, &json!({})], false),
        ("the leader was annotated", [&rack, &rack], [&alone, &rack], true),
        ("everybody was", [&rack, &rack], [&alone, &alone], true),
        ("everybody was, with a wider topology", [&alone, &alone], [&alone_in_zone, &alone_in_zone], true),
        ("the template was changed", [&alone, &alone], [&rack, &rack], true),
    ] {
        let mut scene = Scene::new().rack("a", 5).rack("b", 9).with(set_saying(template[0], template[1]));
        for (at, pod) in replica(0, pods[0], pods[1]).iter().enumerate() {
            scene = scene.running(pod, &format!("a-{at}"));
        }
        // A group of one fits best into the smallest rack.
        assert_eq!(may_join(scene), expected, "{name}");
    }
}

#[test]
fn one_of_several_annotated_pods_does_not_speak_for_the_others_after_a_restart() {
    let alone = |pod: &Value| annotated(pod.clone(), EXCLUSIVE, "Namespace");
    let members = group("g", 2);
    let running = |first: &Value, second: &Value| racks().running(first, "a-0").running(second, "a-1");
    assert!(may_join(running(&members[0], &members[1])));
    assert!(may_join(running(&alone(&members[0]), &members[1])));
    assert!(may_join(running(&members[0], &alone(&members[1]))));
    assert!(!may_join(running(&alone(&members[0]), &alone(&members[1]))), "all of them say so");
    let elsewhere = annotated(alone(&members[1]), REQUIRED, ZONE);
    assert!(may_join(running(&alone(&members[0]), &elsewhere)));
    // A member that waits does not widen it either.
    let members = group("g", 4);
    let stage = Scene::new().rack("a", 5).running(&members[0], "a-0").running(&members[1], "a-1").open();
    stage.bind(&alone(&members[2]), &stage.passing_of(&alone(&members[2]), &["a-2".to_owned()])[0]);
    assert_eq!(stage.kept(), (1, 1));
    assert_eq!(stage.passing(&group("other", 1)[0]).len(), 1);
}

#[test]
fn the_template_of_a_job_tells_what_its_pods_were_made_from() {
    let job = |said: &Value| {
        json!({"apiVersion": "batch/v1", "kind": "Job", "metadata": {"name": "j", "namespace": "default",
            "labels": {"jobset.sigs.k8s.io/job-key": "k"}}, "spec": {"parallelism": 2, "template":
            {"metadata": {"annotations": said}}}})
    };
    let key = "alpha.jobset.sigs.k8s.io/exclusive-topology";
    let pod = |at: usize, said: &Value| {
        let mut pod = saying(labelled(single(&format!("j-{at}")), "jobset.sigs.k8s.io/job-key", "k"), said);
        pod["metadata"]["ownerReferences"] =
            json!([{"apiVersion": "batch/v1", "kind": "Job", "name": "j", "controller": true}]);
        pod
    };
    let (alone, nothing) = (json!({key: RACK}), json!({}));
    for (name, template, pods, expected) in [
        ("alone from the beginning", &alone, &alone, false),
        ("annotated while they ran", &nothing, &alone, true),
        ("annotated otherwise", &nothing, &json!({REQUIRED: RACK, EXCLUSIVE: "Namespace"}), true),
    ] {
        let scene = (0..2)
            .fold(racks().with(job(template)), |scene, at| scene.running(&pod(at, pods), &format!("a-{at}")));
        assert_eq!(may_join(scene), expected, "{name}");
    }
}

#[test]
fn members_that_deviate_are_named() {
    let look = |stage: &Stage| {
        for _ in 0..3 {
            stage.verbs.group_events.look_for_dissenters(&stage.verbs.store.view());
        }
        stage.ignored()
    };
    let members = group("g", 2);
    let alone = annotated(members[1].clone(), EXCLUSIVE, "Namespace");
    let stage = racks().running(&members[0], "a-0").running(&members[1], "a-1").open();
    assert!(look(&stage).is_empty());
    stage.see(&[on(&alone, "a-1")]);
    assert_eq!(look(&stage), said_once("running_member"), "it was seen before");
    let stage = racks().running(&members[0], "a-0").running(&alone, "a-1").open();
    assert_eq!(look(&stage), said_once("disagreement"), "after a restart");
}
