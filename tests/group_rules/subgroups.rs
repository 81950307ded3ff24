//! Subgroups of a `LeaderWorkerSet` replica: each in one domain of a topology of its own, whoever comes first.

use serde_json::{Value, json};

use crate::scene::{RACK, Scene, Stage, annotated, labelled, on, rack_of, single};

const PREFIX: &str = "leaderworkerset.sigs.k8s.io";

/// A member of a replica of four in subgroups of two: the leader and worker 1, workers 2 and 3.
fn member(at: usize) -> Value {
    let mut member = single(&format!("llm-0-{at}"));
    for (key, value) in [("name", "llm"), ("group-index", "0"), ("worker-index", &at.to_string())] {
        member = labelled(member, &format!("{PREFIX}/{key}"), value);
    }
    for (key, value) in [("size", "4"), ("subgroup-size", "2"), ("subgroup-exclusive-topology", RACK)] {
        member = annotated(member, &format!("{PREFIX}/{key}"), value);
    }
    member
}

/// Rack a is the tightest; all racks take a subgroup.
fn racks() -> Stage {
    Scene::new().rack("a", 3).rack("b", 4).rack("c", 6).open()
}

/// Pods of others make this rack the tightest.
fn tighten(stage: &Stage, rack: &str, pods: usize) {
    for at in 0..pods {
        stage.see(&[on(&single(&format!("{rack}-s{at}")), &format!("{rack}-{at}"))]);
    }
}

#[test]
fn a_member_goes_where_another_of_its_subgroup_is_on_its_way_to() {
    let stage = racks();
    assert_eq!(stage.racks(&member(0)), ["a"]);
    tighten(&stage, "b", 2);
    tighten(&stage, "c", 4);
    assert_eq!(stage.racks(&member(1)), ["a"]);
    let other = stage.racks(&member(2));
    assert!(other.len() == 1 && other[0] != "a", "another subgroup has a rack to itself: {other:?}");
    assert_eq!(stage.racks(&member(3)), other);
}

#[test]
fn a_member_waits_while_nobody_knows_where_another_of_its_subgroup_is_going() {
    let stage = racks();
    let offered = stage.passing(&member(0));
    // Nodes have changed racks since.
    let moved = json!({"apiVersion": "v1", "kind": "Node",
        "metadata": {"name": offered[0], "labels": {RACK: "c", "kubernetes.io/hostname": offered[0]}},
        "status": {"allocatable": {"cpu": "1", "pods": "110"}}});
    stage.see(&[moved]);
    let answer = stage.filter(&member(1));
    assert_ne!(answer["Error"], "", "{answer}");
    stage.bind(&member(0), &offered[1]);
    assert_eq!(stage.racks(&member(1)), ["a"]);
}

#[test]
fn a_subgroup_that_does_not_fit_where_one_is_on_its_way_to_waits_for_it_and_is_not_turned_away() {
    let stage = racks();
    assert_eq!(stage.passing(&member(0)).len(), 3);
    // Whoever it is, nobody asked about them here.
    tighten(&stage, "a", 3);
    let answer = stage.filter(&member(1));
    assert_ne!(answer["Error"], "", "{answer}");
}

#[test]
fn a_late_bind_does_not_tear_a_subgroup_apart() {
    let stage = racks();
    let late = stage.passing(&member(0)).remove(0);
    // Another Berth is asked meanwhile.
    stage.see(&[on(&member(1), "b-0")]);
    let answer = stage.try_bind(&member(0), &late);
    assert!(answer.contains("subgroup of the replica group is in another domain"), "{answer}");
    assert_eq!(stage.racks(&member(0)), ["b"]);
}

#[test]
fn the_first_of_a_subgroup_that_comes_late_begins_only_where_the_subgroup_fits() {
    for (taken, expected) in [(0, true), (2, false)] {
        let stage = racks();
        stage.see(&[on(&member(0), "a-0"), on(&member(1), "a-1")]);
        let late = stage.passing(&member(2)).remove(0);
        let rack = rack_of(&late);
        stage.wait(61);
        stage.wait(61);
        let others = stage.nodes.iter().filter(|node| rack_of(node) == rack && **node != late);
        let count = others.clone().count();
        for node in others.take(if taken == 0 { 0 } else { count }) {
            stage.bind(&single(&format!("s-{node}")), node);
        }
        let answer = stage.try_bind(&member(2), &late);
        assert_eq!(answer == r#"{"Error":""}"#, expected, "{answer}");
    }
}

#[test]
fn a_subgroup_whose_node_has_lost_its_label_is_waited_for() {
    let stage = racks();
    stage.see(&[on(&member(0), "a-0")]);
    let bare = json!({"apiVersion": "v1", "kind": "Node", "metadata": {"name": "a-0", "labels": {}},
        "status": {"allocatable": {"cpu": "1", "pods": "110"}}});
    stage.see(&[bare]);
    let answer = stage.filter(&member(1));
    assert_ne!(answer["Error"], "", "{answer}");
}

#[test]
fn a_leader_that_is_in_no_subgroup_keeps_no_other_group_out_of_its_rack() {
    let of_group = |group: &str, at: usize| {
        let mut member = member(at);
        for field in ["name", "uid"] {
            member["metadata"][field] = json!(format!("llm-{group}-{at}"));
        }
        let member = labelled(member, &format!("{PREFIX}/group-index"), group);
        let member = annotated(member, &format!("{PREFIX}/size"), "3");
        annotated(member, &format!("{PREFIX}/subgroup-policy-type"), "LeaderExcluded")
    };
    let stage = Scene::new().rack("a", 4).rack("b", 2).open();
    stage.see(&[on(&of_group("1", 0), "a-0"), on(&of_group("1", 1), "b-0"), on(&of_group("1", 2), "b-1")]);
    assert_eq!(stage.racks(&of_group("0", 1)), ["a"]);
}

#[test]
fn a_rack_to_which_a_subgroup_is_on_its_way_is_not_given_to_another_group() {
    let scene = Scene::new().settings("{reservationTtl: 5s}").rack("a", 2).rack("b", 3).rack("c", 4);
    let stage = scene.rack("d", 5).open();
    assert_eq!(stage.racks(&member(0)), ["a"]);
    stage.wait(6);
    assert_eq!(stage.kept(), (0, 0));
    let mut other = member(0);
    for field in ["name", "uid"] {
        other["metadata"][field] = json!("llm-1-0");
    }
    let other = labelled(other, &format!("{PREFIX}/group-index"), "1");
    assert_eq!(stage.racks(&other), ["b"]);
}
