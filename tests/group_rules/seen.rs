//! What is owed to groups follows from what the watch shows of their members, whoever placed or deleted them.

use serde_json::{Value, json};

use crate::scene::{RACK, Scene, Stage, group, on, single, with_spec};

/// Rack a of four is full of a group of four; there is all the room in rack b.
fn complete() -> Stage {
    let mut scene = Scene::new().rack("a", 4).rack("b", 4);
    for (at, member) in group("g", 4).iter().enumerate() {
        scene = scene.running(member, &format!("a-{at}"));
    }
    scene.open()
}

fn finished(pod: &Value, node: &str) -> Value {
    let mut pod = on(pod, node);
    pod["status"]["phase"] = json!("Succeeded");
    pod
}

fn unlabelled(name: &str) -> Value {
    json!({"apiVersion": "v1", "kind": "Node", "metadata": {"name": name, "labels": {}},
        "status": {"allocatable": {"cpu": "1", "pods": "110"}}})
}

#[test]
fn the_room_of_a_member_that_is_gone_is_kept_before_its_successor_exists() {
    let stage = complete();
    stage.lose(&group("g", 4)[2]);
    assert_eq!(stage.passing(&single("thief")), ["b-0", "b-1", "b-2", "b-3"]);
    assert_eq!(stage.kept(), (1, 1));
    assert_eq!(stage.passing(&group("g", 4)[2]), ["a-2"]);
    let stage = complete();
    stage.lose(&group("g", 4)[2]);
    stage.filter(&single("thief"));
    stage.wait(60);
    assert_eq!(stage.passing(&single("late")).len(), 5, "for one time to live");
}

#[test]
fn members_that_another_berth_placed_are_owed_their_room_here_too() {
    let stage = Scene::new().rack("a", 4).open();
    stage.filter(&single("stray"));
    stage.see(&group("g", 4));
    // The other one binds the first member: all that is heard of it here comes from the watch.
    stage.see(&[on(&group("g", 4)[0], "a-0")]);
    assert!(stage.passing(&single("thief")).is_empty());
    assert_eq!(stage.kept(), (1, 3));
    // It binds the next ones, and hands back.
    stage.see(&[on(&group("g", 4)[1], "a-3"), on(&group("g", 4)[2], "a-2")]);
    assert!(stage.passing(&single("thief")).is_empty());
    assert_eq!(stage.kept(), (1, 1));
    assert_eq!(stage.passing(&group("g", 4)[3]), ["a-1"]);
}

#[test]
fn a_late_bind_does_not_tear_the_group_apart() {
    let stage = Scene::new().rack("a", 2).rack("b", 2).open();
    let members = group("g", 2);
    let chosen = stage.passing(&members[0]);
    // Nothing is heard of it for so long that it is given up, and the other goes elsewhere.
    stage.wait(600);
    let elsewhere = if chosen[0].starts_with('a') { "b-0" } else { "a-0" };
    stage.see(&[on(&members[1], elsewhere)]);
    assert!(stage.try_bind(&members[0], &chosen[0]).contains("declined"));
    assert_eq!(
        stage.place(&members[0]).map(|node| crate::scene::rack_of(&node)),
        Some(elsewhere[..1].to_owned())
    );
}

#[test]
fn members_whose_domain_nobody_can_tell_are_waited_for() {
    let members = group("g", 2);
    let unknown = "a member of the replica group runs on a node whose domain is not known";
    let stage = Scene::new().rack("a", 1).rack("b", 4).running(&members[0], "a-0").open();
    stage.see(&[unlabelled("a-0")]);
    assert!(stage.filter(&members[1])["Error"].to_string().contains(unknown));
    stage.lose(&unlabelled("a-0"));
    assert!(stage.filter(&members[1])["Error"].to_string().contains(unknown), "the node is gone");
    stage.lose(&members[0]);
    assert_eq!(stage.passing(&members[1]).len(), 4, "and now its pods are");
}

#[test]
fn members_that_have_finished_are_not_waited_for() {
    let members = group("g", 4);
    let scene = || Scene::new().rack("a", 2).running(&members[0], "a-0");
    assert!(scene().open().passing(&members[3]).is_empty(), "three are missing");
    let stage = scene().with(finished(&members[1], "a-1")).with(finished(&members[2], "a-1")).open();
    assert_eq!(stage.passing(&members[3]), ["a-1"]);
    stage.see(&[finished(&members[3], "a-1"), finished(&members[0], "a-0")]);
    assert_eq!(stage.passing(&single("s")).len(), 2, "nothing is kept for them");
    assert_eq!(stage.kept(), (0, 0));
}

#[test]
fn a_leader_is_not_let_in_on_evictions_that_its_workers_may_not_cause() {
    let priority = |pod: &Value, priority: i32| with_spec(pod.clone(), "priority", json!(priority));
    let members = group("g", 2);
    let (leader, worker) = (priority(&members[0], 100), priority(&members[1], 0));
    let in_the_way = priority(&single("x"), 50);
    let scene = || Scene::new().rack("a", 2).running(&in_the_way, "a-1");
    assert_eq!(scene().open().passing(&leader), ["a-0"], "if its worker ranks as high");
    let stage = scene().with(worker.clone()).open();
    assert!(stage.passing(&leader).is_empty());
    // Where both fit, room is kept for the worker as the worker's: whoever outranks it may have it.
    let stage = Scene::new().rack("a", 2).with(worker).open();
    stage.place(&leader).expect("a place");
    assert_eq!(stage.passing(&priority(&single("between"), 50)).len(), 1);
    assert!(stage.passing(&priority(&single("lesser"), 0)).is_empty());
}

#[test]
fn a_candidate_that_contradicts_the_cache_is_no_reason_to_give_up() {
    let stage = Scene::new().rack("a", 1).open();
    let members = group("g", 2);
    let answer = |nodes: &[&str]| stage.answer(&members[0], nodes);
    assert_eq!(answer(&["a-0"])["Error"], "", "too small, for certain");
    assert_ne!(answer(&["a-0", "new"])["Error"], "", "a node that is not known here yet");
    stage.see(&[on(&single("s"), "a-0")]);
    assert_ne!(answer(&["a-0"])["Error"], "", "kube-scheduler knows that the pod has left");
}

#[test]
fn the_room_of_a_member_is_not_given_away_before_it_is_seen_to_go() {
    // kube-scheduler asks about a node only if it sees room there: it knows already that somebody has left.
    let members = group("g", 2);
    let scene = || Scene::new().rack("a", 3).running(&members[0], "a-0").running(&members[1], "a-1");
    let stage = scene().running(&single("x"), "a-2").open();
    assert_ne!(stage.answer(&single("s"), &["a-1"])["Error"], "", "nobody can tell yet");
    let answer = stage.answer(&single("s"), &["a-1", "a-2"]);
    assert_eq!(answer["NodeNames"], json!(["a-2"]), "no member had that one");
    stage.lose(&members[1]);
    let answer = stage.answer(&single("s"), &["a-1"]);
    assert_eq!(
        (&answer["Error"], &answer["NodeNames"]),
        (&json!(""), &json!([])),
        "it is kept for the successor"
    );

    let important = with_spec(single("s"), "priority", json!(100));
    assert_eq!(
        scene().open().answer(&important, &["a-1"])["NodeNames"],
        json!(["a-1"]),
        "who may evict may come"
    );
}

#[test]
fn a_label_that_comes_later_makes_a_domain() {
    let stage = Scene::new().rack("a", 1).open();
    stage.see(&[unlabelled("a-1")]);
    assert!(stage.passing(&group("g", 2)[0]).is_empty());
    let mut node = unlabelled("a-1");
    node["metadata"]["labels"][RACK] = json!("a");
    stage.see(&[node]);
    assert_eq!(stage.answer(&group("g", 2)[0], &["a-0", "a-1"])["NodeNames"], json!(["a-0", "a-1"]));
}
