//! Members that say something else than those in place, and members that are gone for good.

use std::time::Duration;

use berth::model::ObjectKey;
use serde_json::{Value, json};

use crate::scene::{RACK, Scene, Stage, all_annotated, annotated, group, on, single, terminating, with_spec};

#[test]
fn a_waiting_member_that_asks_for_something_else_does_not_move_the_room_of_its_group() {
    let zone = "topology.kubernetes.io/zone";
    let labels = json!({zone: "z"});
    let (members, others) = (group("g", 3), group("others", 3));
    for (name, key, value) in [
        ("another topology", "berth.dev/required-topology", zone),
        ("none that makes sense", "berth.dev/required-topology", "no key!"),
        ("another size of no sense", "berth.dev/group-size", "many"),
    ] {
        let scene = ["a", "b"]
            .iter()
            .fold(Scene::new(), |scene, rack| scene.rack_of(rack, 3, &json!({"cpu": "1"}), &labels));
        let stage = scene.running(&members[0], "b-0").running(&others[0], "a-0").open();
        assert!(stage.passing(&single("thief")).is_empty(), "{name}");
        assert_eq!(stage.kept(), (2, 4), "{name}");
        let urgent = with_spec(annotated(members[1].clone(), key, value), "priority", json!(10));
        stage.see(&[urgent]);
        assert!(stage.passing(&single("thief")).is_empty(), "{name}");
        assert_eq!(stage.passing(&others[1]), ["a-1", "a-2"], "{name}");
    }
}

#[test]
fn a_finished_member_that_is_deleted_is_waited_for_again() {
    let members = group("g", 3);
    let mut finished = on(&members[0], "a-0");
    finished["status"]["phase"] = json!("Succeeded");
    let stage = Scene::new().rack("a", 2).with(finished.clone()).open();
    assert_eq!(stage.racks(&members[1]), ["a"], "the other two fit");
    let stage = Scene::new().rack("a", 2).with(terminating(&finished)).open();
    assert!(stage.racks(&members[1]).is_empty(), "all three do not");
}

#[test]
fn a_plan_of_which_nothing_came_does_not_stand_in_the_way_of_a_group_that_has_begun() {
    let (planned, begun) = (group("planned", 3), group("begun", 3));
    let stage = Scene::new().rack("a", 4).open();
    stage.see(&planned);
    stage.see(&begun);
    assert_eq!(stage.passing(&planned[0]).len(), 4);
    let mut failed = planned[0].clone();
    failed["status"]["conditions"] =
        json!([{"type": "PodScheduled", "status": "False", "reason": "Unschedulable", "message": "later"}]);
    stage.see(&[failed]);
    let free = stage.passing(&single("probe"));
    stage.passing_of(&single("probe"), &[]);
    assert_eq!((free.len(), stage.kept()), (1, (1, 3)));
    // Another Berth lets the first of another group in.
    stage.see(&[on(&begun[0], &free[0])]);
    assert!(stage.passing(&planned[0]).is_empty());
    assert_eq!(stage.passing(&begun[1]).len(), 3);
    assert_eq!(stage.kept(), (1, 2));
}

#[test]
fn a_group_whose_last_member_in_place_leaves_makes_way_for_one_that_has_begun() {
    let (first, second) = (group("first", 3), group("second", 3));
    let stage = Scene::new().rack("a", 4).running(&first[0], "a-0").running(&second[0], "a-1").open();
    stage.see(&[first[1].clone(), first[2].clone()]);
    assert!(stage.passing(&second[1]).is_empty());
    assert_eq!(stage.kept(), (1, 2));
    stage.see(&[terminating(&on(&first[0], "a-0"))]);
    assert_eq!((stage.passing(&second[1]).len(), stage.kept()), (2, (1, 2)));
}

#[test]
fn a_member_whose_attempt_failed_does_not_get_back_a_slot_that_is_taken() {
    let members = group("g", 2);
    let stage = Scene::new().rack("a", 2).running(&members[0], "a-0").open();
    stage.see(&members[1..]);
    assert_eq!(stage.passing(&members[1]), ["a-1"]);
    // While it is under way, another Berth lets a pod that matters more go there.
    stage.see(&[on(&with_spec(single("s"), "priority", json!(10)), "a-1")]);
    let mut failed = members[1].clone();
    failed["status"]["conditions"] =
        json!([{"type": "PodScheduled", "status": "False", "reason": "Unschedulable", "message": "later"}]);
    stage.see(&[failed]);
    stage.passing(&single("probe"));
    assert_eq!(stage.kept(), (0, 0));
}

#[test]
fn a_plan_whose_member_is_tried_again_comes_after_a_group_that_has_begun() {
    let (planned, begun) = (group("planned", 3), group("begun", 3));
    let stage = Scene::new().rack("a", 4).open();
    stage.see(&planned);
    stage.see(&begun[1..]);
    assert_eq!(stage.passing(&planned[0]).len(), 4);
    // While it is under way, somebody puts the first of another group onto a node.
    stage.see(&[on(&begun[0], "a-0")]);
    assert!(stage.passing(&begun[1]).is_empty());
    assert!(
        stage.passing(&planned[0]).is_empty(),
        "its last attempt is over, and the other group comes first"
    );
    assert_eq!(stage.passing(&begun[1]).len(), 3);
}

#[test]
fn offers_do_not_stand_against_what_another_berth_has_decided_since() {
    let (offered, begun) = (group("offered", 3), group("begun", 3));
    let stage = Scene::new().rack("a", 4).open();
    stage.see(&offered);
    stage.see(&begun);
    assert_eq!(stage.passing(&offered[0]).len(), 4);
    stage.see(&[on(&begun[0], "a-0")]);
    assert_eq!(stage.verbs.store.view().ledger().len(), 0);
    assert_eq!(stage.passing(&begun[1]).len(), 3, "it came through another Berth, which is asked by now");
    assert!(stage.passing(&offered[1]).is_empty());
}

#[test]
fn so_it_is_with_a_member_that_went_elsewhere_than_it_was_let_in_here() {
    let (offered, begun) = (group("offered", 2), group("begun", 2));
    let alone = |members| all_annotated(members, "berth.dev/exclusive", "Set");
    let (offered, begun) = (alone(offered), alone(begun));
    let (has, labels) = (json!({"cpu": "2"}), json!({}));
    let stage = Scene::new().rack_of("a", 1, &has, &labels).rack_of("b", 1, &has, &labels).open();
    stage.see(&offered);
    stage.see(&begun);
    let (first, second) = (stage.racks(&offered[0]), stage.racks(&begun[0]));
    let node = format!("{}-0", first[0]);
    // Nobody binds through this Berth so far, so that only the node tells.
    stage.see(&[on(&begun[0], &node)]);
    assert_ne!(first, second);
    assert_eq!(stage.verbs.store.view().ledger().len(), 0);
}

/// A binding goes to the API server, and no watch shows it yet.
fn send(stage: &Stage, pod: &Value, node: &str) {
    let text = |field: &str| pod["metadata"][field].as_str().expect("text");
    let key = ObjectKey::new(text("namespace"), text("name"));
    stage.verbs.store.write(|view| {
        view.assume(&text("uid").into(), &key, node.into(), Duration::from_mins(1));
        Vec::new()
    });
}

#[test]
fn a_member_that_was_bound_through_us_leaves_the_offers_to_others_alone() {
    let (offered, begun) = (group("offered", 2), group("begun", 2));
    for (name, asked_again) in [("shown at once", false), ("shown after it was tried again", true)] {
        let stage = Scene::new().rack("a", 8).open();
        stage.see(&offered);
        stage.see(&begun);
        assert_eq!(stage.passing(&begun[0]).len(), 8);
        send(&stage, &begun[0], "a-0");
        if asked_again {
            // Nobody knows what became of the binding.
            stage.passing(&begun[0]);
        }
        assert!(!stage.passing(&offered[0]).is_empty());
        stage.see(&[on(&begun[0], "a-0")]);
        assert_eq!(stage.verbs.store.view().ledger().len(), 1, "{name}: the other one is still expected");
    }
}

#[test]
fn single_pods_are_still_expected_when_another_berth_is_asked() {
    let begun = group("begun", 2);
    let stage = Scene::new().rack("a", 8).open();
    stage.see(&begun);
    stage.see(&[single("s")]);
    assert_eq!(stage.passing(&single("s")).len(), 8);
    stage.see(&[on(&begun[0], "a-0")]);
    assert_eq!(stage.verbs.store.view().ledger().len(), 1);
}

#[test]
fn the_slots_of_a_group_whose_first_member_is_under_way_follow_the_nodes() {
    let members = group("g", 3);
    let stage = Scene::new().rack("a", 4).open();
    stage.see(&members);
    assert_eq!(stage.passing_of(&members[0], &["a-0".to_owned()]), ["a-0"]);
    let slots = || -> Vec<String> {
        let view = stage.verbs.store.view();
        let kept = view.ledger().reservations().iter().flat_map(|kept| &kept.slots);
        kept.map(|slot| slot.host.to_string()).collect()
    };
    let moved = slots().into_iter().find(|host| host != "a-0").expect("a slot elsewhere");
    stage.see(&[json!({"apiVersion": "v1", "kind": "Node",
        "metadata": {"name": moved, "labels": {RACK: "b", "kubernetes.io/hostname": moved}},
        "status": {"allocatable": {"cpu": "1", "pods": "110"}}})]);
    assert_eq!(stage.passing(&single("thief")), [moved], "the rest of the rack is needed");
}

#[test]
fn a_pod_that_outranks_a_slot_does_not_outrank_the_member_that_is_on_its_way_there() {
    let members = group("g", 2);
    let stage = Scene::new().rack("a", 2).open();
    stage.see(&members);
    assert_eq!(stage.passing_of(&members[0], &["a-0".to_owned()]), ["a-0"]);
    let urgent = with_spec(single("urgent"), "priority", json!(10));
    assert_eq!(stage.passing(&urgent), ["a-1"]);
}

#[test]
fn groups_compete_also_where_nobody_asked_about_the_others_for_long() {
    // Of the two only one can become whole: the one that lacks less, whichever was seen first.
    let large = group("large", 4);
    let small = all_annotated(group("small", 2), "berth.dev/required-topology", "example.com/block");
    let block = json!({"example.com/block": "x"});
    let stage = Scene::new().rack_of("a", 5, &json!({"cpu": "1"}), &block).running(&large[0], "a-0").open();
    stage.see(&large[1..]);
    stage.passing(&single("probe"));
    assert_eq!(stage.kept(), (1, 3));
    // Domains have to be made anew when nodes change, those of racks as well.
    stage.see(&[json!({"apiVersion": "v1", "kind": "Node", "metadata": {"name": "new"}})]);
    stage.see(&[on(&small[0], "a-4"), small[1].clone()]);
    assert!(!stage.passing(&small[1]).is_empty());
    assert_eq!(stage.kept(), (1, 1));
}

#[test]
fn a_first_member_whose_bind_call_comes_late_begins_only_where_the_others_still_fit() {
    for (taken, expected) in [(0, true), (3, false)] {
        let stage = Scene::new().rack("a", 4).open();
        let members = group("g", 4);
        let node = stage.passing(&members[0]).pop().expect("a node");
        // Nobody remembers by then, and nothing is reserved any more.
        stage.wait(61);
        stage.wait(61);
        let others: Vec<_> =
            stage.nodes.iter().filter(|other| **other != node).take(taken).cloned().collect();
        for (at, place) in others.iter().enumerate() {
            stage.bind(&single(&format!("s{at}")), place);
        }
        let answer = stage.try_bind(&members[0], &node);
        assert_eq!(answer == r#"{"Error":""}"#, expected, "{taken} nodes are taken: {answer}");
        assert_eq!(answer.contains("would not be let in there"), !expected, "{answer}");
    }
}

#[test]
fn a_first_member_is_looked_at_again_if_only_the_room_for_the_others_has_been_given_up() {
    // How long each attempt goes before the next step; what is reserved is reserved at the first one, for 60 seconds by default.
    for (name, settings, attempts, last) in [
        ("room is kept for a shorter time than attempts are remembered", "{reservationTtl: 5s}", &[][..], 6),
        ("a second attempt does not make room be kept for longer", "{}", &[45], 16),
    ] {
        for (taken, expected) in [(0, true), (3, false)] {
            let stage = Scene::new().settings(settings).rack("a", 4).open();
            let members = group("g", 4);
            let mut node = stage.passing(&members[0]).pop().expect("a node");
            for seconds in attempts {
                stage.wait(*seconds);
                node = stage.passing(&members[0]).pop().expect("a node");
            }
            stage.wait(last);
            assert_eq!((stage.verbs.store.view().ledger().len(), stage.kept()), (1, (0, 0)), "{name}");
            let others = stage.nodes.iter().filter(|other| **other != node).take(taken);
            for (at, place) in others.enumerate() {
                stage.bind(&single(&format!("s{at}")), place);
            }
            let answer = stage.try_bind(&members[0], &node);
            assert_eq!(answer == r#"{"Error":""}"#, expected, "{name}, {taken} nodes are taken: {answer}");
            assert_eq!(answer.contains("would not be let in there"), !expected, "{name}: {answer}");
            assert_eq!(stage.kept(), if expected { (1, 3) } else { (0, 0) }, "{name}");
        }
    }
}

#[test]
fn a_member_that_nobody_is_to_follow_is_not_looked_at_again() {
    let stage = Scene::new().settings("{reservationTtl: 5s}").rack("a", 1).open();
    let only = group("g", 1).remove(0);
    let node = stage.passing(&only).pop().expect("a node");
    stage.wait(6);
    let view = stage.verbs.store.view();
    let entry = view.ledger().get("g-0").expect("it is remembered");
    assert_eq!(stage.kept(), (0, 0));
    assert!(!berth::policy::replica_group::begins_unforeseen(&entry.pod, &node, &view));
}

#[test]
fn a_first_member_is_not_bound_to_a_node_that_was_moved_where_the_others_do_not_fit() {
    let stage = Scene::new().rack("a", 3).open();
    let members = group("g", 3);
    let node = stage.passing(&members[0]).pop().expect("a node");
    let moved = json!({"apiVersion": "v1", "kind": "Node",
        "metadata": {"name": node, "labels": {crate::scene::RACK: "elsewhere"}},
        "status": {"allocatable": {"cpu": "1", "pods": "110"}}});
    stage.see(&[moved]);
    let answer = stage.try_bind(&members[0], &node);
    assert!(answer.contains("would not be let in there"), "{answer}");
}

#[test]
fn a_first_member_that_was_let_in_just_now_is_not_looked_at_again() {
    for size in [1, 2, 4] {
        let stage = Scene::new().rack("a", 4).open();
        let members = group("g", size);
        let unforeseen = |uid: &str, node: &str| {
            let view = stage.verbs.store.view();
            let entry = view.ledger().get(uid).expect("it is remembered");
            berth::policy::replica_group::begins_unforeseen(&entry.pod, node, &view)
        };
        let node = stage.passing(&members[0]).pop().expect("a node");
        assert!(!unforeseen("g-0", &node), "group of {size}");
    }
}

#[test]
fn a_first_member_that_comes_late_does_not_begin_elsewhere_than_another_is_on_its_way_to() {
    let stage = Scene::new().rack("a", 2).rack("b", 2).open();
    let members = group("g", 2);
    let late = stage.passing(&members[0]).pop().expect("a node");
    stage.wait(61);
    stage.wait(61);
    let rack = &late[..1];
    let neighbour =
        stage.nodes.iter().find(|node| node.starts_with(rack) && **node != late).expect("a neighbour");
    stage.bind(&single("s"), neighbour);
    let others = stage.passing(&members[1]);
    assert!(others.len() == 2 && !others[0].starts_with(rack), "{others:?}");
    let answer = stage.try_bind(&members[0], &late);
    assert!(answer.contains("would not be let in there"), "{answer}");
    assert_eq!(stage.place(&members[1]), Some(others[0].clone()));
}

#[test]
fn a_first_member_that_comes_late_and_still_fits_has_room_kept_for_the_others() {
    let stage = Scene::new().rack("a", 3).open();
    let members = group("g", 3);
    let late = stage.passing(&members[0]).pop().expect("a node");
    stage.wait(61);
    stage.wait(61);
    assert_eq!(stage.kept(), (0, 0), "it was given up");
    stage.bind(&members[0], &late);
    assert_eq!(stage.kept(), (1, 2));
    assert!(stage.passing(&single("thief")).is_empty());
}
