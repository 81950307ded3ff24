//! Room is kept at the priority of the least member that is missing, and no longer at that of one that has its place.

use serde_json::{Value, json};

use crate::leader_worker_set::{member, set};
use crate::scene::{Scene, all_annotated, group, single, with_spec};

fn of_priority(pod: Value, priority: i32) -> Value {
    with_spec(pod, "priority", json!(priority))
}

#[test]
fn once_the_least_member_has_its_place_the_rest_is_kept_for_what_the_others_matter() {
    let mut members = group("g", 4);
    members[2] = of_priority(members[2].clone(), -10);
    let stage = members.iter().fold(Scene::new().rack("a", 4), |scene, pod| scene.with(pod.clone())).open();
    stage.place(&members[0]).expect("a place");
    let between = of_priority(single("between"), -5);
    assert_eq!(stage.passing(&between).len(), 3, "the least matters less");
    // It goes nowhere.
    stage.passing_of(&between, &[]);
    stage.place(&members[2]).expect("a place");
    assert!(stage.passing(&between).is_empty(), "nobody who is missing does");
}

#[test]
fn a_leader_that_matters_little_does_not_give_away_the_room_of_its_workers() {
    let asks = json!({"cpu": "1"});
    let template = json!({"spec": {"containers": [{"name": "main", "resources": {"requests": asks}}]}});
    let leader = with_spec(member(0, 0, "r", &asks), "priorityClassName", json!("low"));
    let stage = Scene::new().rack("a", 4).with(set(&template)).open();
    stage.place(&of_priority(leader, -10)).expect("a place");
    assert!(stage.passing(&single("as-much")).is_empty());
    assert_eq!(stage.passing(&of_priority(single("more"), 1)).len(), 3);
}

#[test]
fn a_late_bind_does_not_go_into_a_domain_that_another_group_has_to_itself() {
    let stage = Scene::new().rack("a", 4).open();
    let (late, alone) =
        (group("late", 2), all_annotated(group("alone", 2), "berth.dev/exclusive", "Namespace"));
    let chosen = stage.passing(&late[0]);
    stage.wait(600);
    stage.place(&alone[0]).expect("nobody else is in the rack");
    assert!(stage.try_bind(&late[0], &chosen[0]).contains("must not share the domain"));
    assert!(stage.place(&alone[1]).is_some());
}
