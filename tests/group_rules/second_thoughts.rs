//! Members that say something else than those in place, and members that are gone for good.

use serde_json::json;

use crate::scene::{Scene, annotated, group, on, single, terminating, with_spec};

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
