//! Promise 7: what is lost comes back where the group is.

use serde_json::{Value, json};

use crate::scene::{RACK, Scene, Stage, group, on, single, terminating};

fn node(name: &str) -> Value {
    json!({"apiVersion": "v1", "kind": "Node", "metadata": {"name": name}})
}

/// Three of four run in rack a, one of them was lost with its node; there is all the room in rack b.
fn bereft(room_in_a: usize) -> Stage {
    let members = group("g", 4);
    let mut scene = Scene::new().rack("a", 3 + room_in_a).rack("b", 9);
    for (at, member) in members[..3].iter().enumerate() {
        scene = scene.running(member, &format!("a-{at}"));
    }
    scene.open()
}

#[test]
fn a_member_comes_back_into_its_domain_or_waits() {
    assert_eq!(bereft(1).passing(&group("g", 4)[3]), ["a-3"]);
    let elsewhere = "replica group is in another domain of its required topology";
    assert_eq!(bereft(0).reasons(&group("g", 4)[3]).1, [elsewhere]);
    let (_, reasons) = bereft(1).reasons(&group("g", 5)[3]);
    assert_eq!(reasons, [elsewhere, "replica group's own domain has no room for its missing members"]);
    let stage = bereft(0);
    stage.see(&[on(&single("s"), "b-0")]);
    stage.lose(&group("g", 4)[1]);
    assert_eq!(stage.passing(&group("g", 4)[3]).len(), 0, "both who are missing have to fit");
}

#[test]
fn a_group_is_called_wedged_while_no_candidate_is_in_its_domain() {
    let (stage, last) = (bereft(0), &group("g", 4)[3]);
    assert_eq!(stage.states(), ["partial"], "nobody has asked yet");
    assert!(stage.passing(last).is_empty());
    assert_eq!(stage.states(), ["wedged"]);
    // Room comes free in its rack.
    stage.see(&[
        json!({"apiVersion": "v1", "kind": "Node", "metadata": {"name": "a-3", "labels": {RACK: "a"}},
        "status": {"allocatable": {"cpu": "1", "pods": "110"}}}),
    ]);
    assert_eq!(stage.answer(last, &["a-3", "b-0"])["NodeNames"], json!(["a-3"]));
    assert_eq!(stage.states(), ["complete"], "it can go nowhere else");
}

#[test]
fn a_domain_is_left_when_nobody_runs_there_any_more() {
    let stage = bereft(0);
    for member in &group("g", 4)[..3] {
        stage.lose(member);
    }
    assert_eq!(stage.racks(&group("g", 4)[3]), ["b"]);
    let stage = bereft(0);
    for (at, member) in group("g", 4)[..3].iter().enumerate() {
        stage.see(&[terminating(&on(member, &format!("a-{at}")))]);
    }
    assert_eq!(stage.racks(&group("g", 4)[3]), ["b"], "who is about to go holds nobody");
}

#[test]
fn a_node_that_is_lost_takes_its_slot_with_it() {
    let stage = Scene::new().rack("a", 5).open();
    let members = group("g", 4);
    let first = stage.place(&members[0]).expect("a place");
    let lost = stage.nodes.iter().find(|node| **node != first).expect("another").clone();
    stage.lose(&node(&lost));
    assert_eq!(stage.place_all(&members[1..]), vec![Some("a".to_owned()); 3]);
}

#[test]
fn members_that_a_relabelled_node_tore_apart_gather_where_most_are() {
    let stage = bereft(1);
    // A node of the group changes its rack.
    let labels = json!({RACK: "b", "kubernetes.io/hostname": "a-0"});
    stage.see(&[json!({"apiVersion": "v1", "kind": "Node", "metadata": {"name": "a-0", "labels": labels},
        "status": {"allocatable": {"cpu": "1", "pods": "110"}}})]);
    assert_eq!(stage.passing(&group("g", 4)[3]), ["a-3"]);
}

#[test]
fn members_of_a_job_that_have_finished_are_not_waited_for() {
    let member = |at: usize| {
        let mut pod = crate::scene::labelled(single(&format!("j-{at}")), "jobset.sigs.k8s.io/job-key", "k");
        pod["metadata"]["ownerReferences"] = json!([{"apiVersion": "batch/v1", "kind": "Job", "name": "j",
            "uid": "j", "controller": true}]);
        crate::scene::annotated(pod, "berth.dev/required-topology", RACK)
    };
    let job = |succeeded: u32| {
        json!({"apiVersion": "batch/v1", "kind": "Job", "metadata": {"name": "j",
        "namespace": "default", "labels": {"jobset.sigs.k8s.io/job-key": "k"}},
        "spec": {"parallelism": 4, "completions": 4}, "status": {"succeeded": succeeded}})
    };
    let scene = |succeeded| Scene::new().rack("a", 2).with(job(succeeded)).running(&member(3), "a-0");
    assert!(scene(0).open().passing(&member(2)).is_empty());
    assert_eq!(scene(2).open().passing(&member(2)), ["a-1"]);
}

#[test]
fn room_for_members_whose_node_is_gone_is_kept_before_anybody_deletes_them() {
    let members = group("g", 3);
    let scene = Scene::new().rack("a", 4).running(&members[0], "a-0").running(&members[1], "a-1");
    let stage = scene.running(&members[2], "a-2").open();
    stage.passing_of(&single("probe"), &[]);
    assert_eq!(stage.kept(), (0, 0), "nobody is missing");
    stage.lose(&node("a-2"));
    assert!(stage.passing_of(&single("thief"), &["a-3".to_owned()]).is_empty());
    assert_eq!(stage.kept(), (1, 1));
    // Its controller deletes the member, and makes another.
    stage.lose(&on(&members[2], "a-2"));
    stage.passing_of(&single("probe"), &[]);
    assert_eq!(stage.kept(), (1, 1));
    let mut successor = members[2].clone();
    successor["metadata"]["uid"] = json!("g-2-again");
    assert_eq!(stage.passing_of(&successor, &["a-3".to_owned()]), ["a-3"]);
}

#[test]
fn groups_that_become_whole_are_counted_also_when_all_are_decided_about_before_one_is_bound() {
    let members = group("g", 3);
    for at_once in [false, true] {
        let stage = Scene::new().rack("a", 3).open();
        let nodes: Vec<String> = (0..3).map(|at| format!("a-{at}")).collect();
        let decide = |member: &Value, node: &String| {
            assert_eq!(stage.passing_of(member, std::slice::from_ref(node)).len(), 1);
        };
        if at_once {
            members.iter().zip(&nodes).for_each(|(member, node)| decide(member, node));
        }
        for (member, node) in members.iter().zip(&nodes) {
            if !at_once {
                decide(member, node);
            }
            stage.bind(member, node);
        }
        assert_eq!(stage.assembled(), 1, "all decided first: {at_once}");
        // One that comes back to the others is no new group.
        for (member, node) in members.iter().zip(&nodes) {
            stage.see(&[on(member, node)]);
        }
        stage.lose(&members[2]);
        let mut successor = members[2].clone();
        successor["metadata"]["uid"] = json!("again");
        decide(&successor, &nodes[2]);
        stage.bind(&successor, &nodes[2]);
        assert_eq!(stage.assembled(), 1);
    }
}
