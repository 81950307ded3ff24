//! Members that do not exist yet, where nobody tells what they will ask for.

use serde_json::{Value, json};

use crate::scene::{RACK, Scene, Stage, annotated, group, labelled, on, single, with_spec};

/// Two racks: in the first, three small members fit, but no large one.
fn stage() -> Stage {
    Scene::new().rack("a", 3).rack_of("b", 3, &json!({"cpu": "4"}), &json!({})).open()
}

/// Members that nobody controls, or a controller that Berth does not know.
fn bare(members: Vec<Value>) -> Vec<Value> {
    let own = |mut pod: Value| {
        pod["metadata"]["ownerReferences"] = json!([{"apiVersion": "example.com/v1", "kind": "Trainer", "name": "t",
            "uid": "t", "controller": true}]);
        pod
    };
    members.into_iter().map(own).collect()
}

fn large(pod: Value) -> Value {
    with_spec(pod, "containers", json!([{"name": "main", "resources": {"requests": {"cpu": "4"}}}]))
}

fn error(stage: &Stage, pod: &Value) -> String {
    stage.filter(pod)["Error"].as_str().expect("text").to_owned()
}

const NOT_CREATED: &str = "berth: members of the replica group have not been created yet";

#[test]
fn a_group_begins_when_all_members_have_been_seen() {
    let stage = stage();
    let mut members = bare(group("g", 3));
    members[2] = large(members[2].clone());
    assert_eq!(error(&stage, &members[0]), NOT_CREATED);
    stage.see(&members[..2]);
    assert_eq!(error(&stage, &members[0]), NOT_CREATED, "one is still to come");
    assert_eq!(stage.kept(), (0, 0), "nothing is kept for who has not begun");
    stage.see(&members[2..]);
    assert_eq!(stage.place_all(&members), vec![Some("b".to_owned()); 3], "not where only the first two fit");
}

#[test]
fn a_stateful_set_tells_what_its_other_pods_ask_for() {
    // The next one is created when the last one is ready: to wait for it would be in vain.
    let stage = stage();
    assert_eq!(stage.place_all(&group("g", 3)), vec![Some("a".to_owned()); 3]);
}

#[test]
fn a_stateful_set_tells_of_no_more_pods_than_it_has() {
    let stage = stage();
    let members = group("g", 3);
    let set = json!({"apiVersion": "apps/v1", "kind": "StatefulSet",
        "metadata": {"name": "h", "namespace": "default"}, "spec": {"replicas": 2}});
    let of_set = |pod: &Value| {
        let mut pod = pod.clone();
        pod["metadata"]["ownerReferences"] = json!([{"apiVersion": "apps/v1", "kind": "ReplicaSet", "name": "h", "uid": "h", "controller": true}]);
        pod
    };
    stage.see(&[set.clone(), {
        let mut set = set;
        set["kind"] = json!("ReplicaSet");
        set
    }]);
    assert_eq!(error(&stage, &of_set(&members[0])), NOT_CREATED, "two of three are described");
    let last = large(bare(members.clone()).remove(2));
    stage.see(&[last]);
    let racks = stage.racks(&of_set(&members[0]));
    assert_eq!(racks, ["b"], "the third one is there, and large");
}

#[test]
fn a_group_that_has_begun_is_not_held_up() {
    let stage = stage();
    let members = bare(group("g", 3));
    stage.see(&members);
    assert!(stage.place(&members[0]).is_some() && stage.place(&members[1]).is_some());
    stage.lose(&members[2]);
    stage.lose(&members[1]);
    assert!(stage.place(&members[1]).is_some(), "the third one is to come back");
}

#[test]
fn members_of_a_set_that_is_not_known_yet_are_not_guessed() {
    let mut leader = labelled(crate::leader_worker_set::leader(0, "r"), "x", "y");
    leader["metadata"]["annotations"]["leaderworkerset.sigs.k8s.io/size"] = json!("4");
    let scene = Scene::new().rack("a", 4).open();
    let body = json!({"Pod": leader, "NodeNames": ["a-0"]}).to_string();
    let answer = scene.verbs.decide(berth::verbs::Verb::Filter, body.as_bytes()).expect("well-formed");
    let answer: Value = serde_json::from_slice(&answer.expect("an answer")).expect("JSON");
    assert_eq!(answer["Error"], NOT_CREATED);
}

#[test]
fn what_is_kept_for_a_member_that_went_does_not_depend_on_who_was_placed_when() {
    let mut members = bare(group("g", 3));
    members[1] = large(members[1].clone());
    let racks = || Scene::new().rack_of("b", 3, &json!({"cpu": "4"}), &json!({}));
    let kept = |stage: &Stage| -> Vec<_> {
        stage.passing(&single("probe"));
        let view = stage.verbs.store.view();
        let kept = view.ledger().reservations().iter().flat_map(|kept| kept.slots.clone());
        kept.map(|slot| slot.requests.milli_cpu).collect()
    };
    // The second is let in while the first is in place and the third is gone.
    let stage = racks().running(&members[0], "b-0").open();
    stage.see(&members[1..2]);
    stage.passing(&members[1]);
    stage.bind(&members[1], "b-1");
    stage.see(&[on(&members[1], "b-1")]);
    // Another Berth sees the outcome alone.
    let newcomer = racks().running(&members[0], "b-0").running(&members[1], "b-1").open();
    assert_eq!(kept(&stage), kept(&newcomer));
    assert_eq!(kept(&stage).len(), 1);
}

/// A pod of a Job that runs as many as it likes; only the Job tells how many.
fn of_job(at: usize) -> Value {
    let mut pod = labelled(single(&format!("j-{at}")), "jobset.sigs.k8s.io/job-key", "k");
    pod["metadata"]["ownerReferences"] =
        json!([{"apiVersion": "batch/v1", "kind": "Job", "name": "j", "uid": "j", "controller": true}]);
    annotated(pod, "berth.dev/required-topology", RACK)
}

fn job(parallelism: u32) -> Value {
    json!({"apiVersion": "batch/v1", "kind": "Job", "metadata": {"name": "j", "namespace": "default",
        "labels": {"jobset.sigs.k8s.io/job-key": "k"}}, "spec": {"parallelism": parallelism}})
}

#[test]
fn a_group_begins_when_the_object_that_tells_its_size_has_been_seen() {
    // The watch of Jobs may be behind that of pods: a group of four must not begin in a rack for three.
    let stage = Scene::new().rack("a", 3).rack("b", 4).open();
    let members: Vec<_> = (0..4).map(of_job).collect();
    assert_eq!(
        error(&stage, &members[0]),
        "berth: the object that tells the replica group's size is not known yet"
    );
    stage.see(&members[..2]);
    assert_eq!(
        error(&stage, &members[0]),
        "berth: the object that tells the replica group's size is not known yet"
    );
    assert_eq!(stage.kept(), (0, 0), "nothing is kept for who has not begun");
    stage.see(&[job(4)]);
    assert_eq!(stage.place_all(&members), vec![Some("b".to_owned()); 4]);
}

#[test]
fn a_group_that_has_begun_goes_on_without_the_object_that_tells_its_size() {
    let stage = Scene::new().rack("a", 3).running(&of_job(0), "a-0").open();
    assert_eq!(stage.racks(&of_job(1)), ["a"]);
}
