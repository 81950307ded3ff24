//! Promise 10: no room is kept for members that the namespace's quota would not let be created.

use serde_json::{Value, json};

use crate::leader_worker_set::{gpu_worker, leader, set, worker};
use crate::scene::{Scene, Stage, group, on, single};

const TOO_SMALL: &str =
    "the namespace's ResourceQuota does not let all members of the replica group be created";

fn quota(hard: &Value, used: &Value) -> Value {
    json!({"apiVersion": "v1", "kind": "ResourceQuota", "metadata": {"name": "q", "namespace": "default"},
        "spec": {"hard": hard}, "status": {"hard": hard, "used": used}})
}

fn gpus(hard: u32, used: u32) -> Value {
    let amount = |amount: u32| json!({"requests.nvidia.com/gpu": amount.to_string()});
    quota(&amount(hard), &amount(used))
}

/// A rack for two groups of a leader without GPUs and three workers with eight each.
fn rack(worker: &Value) -> Scene {
    let node = json!({"cpu": "8", "nvidia.com/gpu": "8"});
    Scene::new().rack_of("a", 6, &node, &json!({})).with(set(worker))
}

fn reason(stage: &Stage, pod: &Value) -> Vec<String> {
    stage.reasons(pod).1
}

#[test]
fn a_leader_without_gpus_does_not_hold_those_that_its_workers_may_not_have() {
    let stage = rack(&gpu_worker()).with(gpus(23, 0)).open();
    assert_eq!(reason(&stage, &leader(0, "r")), [TOO_SMALL]);
    assert_eq!(stage.kept(), (0, 0));
    stage.see(&[gpus(24, 0)]);
    stage.place(&leader(0, "r")).expect("a place");
    assert_eq!(stage.kept(), (1, 3));
    let elsewhere = |mut quota: Value| {
        quota["metadata"]["namespace"] = json!("elsewhere");
        quota
    };
    assert_eq!(rack(&gpu_worker()).with(elsewhere(gpus(0, 0))).open().passing(&leader(0, "r")).len(), 6);
}

#[test]
fn what_others_of_the_namespace_will_use_is_not_left() {
    let stage = rack(&gpu_worker()).with(gpus(24, 0)).open();
    stage.place(&leader(0, "r")).expect("a place");
    assert_eq!(reason(&stage, &leader(1, "r")), [TOO_SMALL]);
    // Its workers come, and use what was left.
    for at in 1..4 {
        stage.see(&[worker(0, at, "r"), gpus(24, 8 * u32::try_from(at).expect("small"))]);
    }
    assert_eq!(reason(&stage, &leader(1, "r")), [TOO_SMALL]);
    stage.see(&[gpus(48, 24)]);
    stage.place(&leader(1, "r")).expect("a place");
}

#[test]
fn members_that_exist_have_passed_the_quota() {
    let stage = rack(&gpu_worker()).with(gpus(24, 24)).open();
    stage.see(&[leader(0, "r"), worker(0, 1, "r"), worker(0, 2, "r"), worker(0, 3, "r")]);
    let members = [leader(0, "r"), worker(0, 1, "r"), worker(0, 2, "r"), worker(0, 3, "r")];
    assert_eq!(stage.place_all(&members), vec![Some("a".to_owned()); 4]);
}

#[test]
fn a_quota_that_knows_of_members_before_the_watch_shows_them_does_not_count_them_twice() {
    let stage = rack(&gpu_worker()).with(gpus(24, 24)).open();
    assert_eq!(stage.passing(&leader(0, "r")).len(), 6);
}

#[test]
fn the_room_of_a_member_that_is_gone_is_kept_before_the_quota_knows() {
    let members = group("g", 3);
    let scene = members
        .iter()
        .enumerate()
        .fold(Scene::new().rack("a", 3), |scene, (at, member)| scene.running(member, &format!("a-{at}")));
    let stage = scene.with(quota(&json!({"pods": "3"}), &json!({"pods": "3"}))).open();
    stage.lose(&members[2]);
    assert!(stage.passing(&single("thief")).is_empty());
    assert_eq!(stage.kept(), (1, 1));
}

#[test]
fn a_quota_that_is_lowered_gives_room_back_and_one_that_is_raised_keeps_it_again() {
    let amount = |pods: u32| json!({"pods": pods.to_string()});
    let pods = |hard: u32, used: u32| quota(&amount(hard), &amount(used));
    let members = group("g", 3);
    let stage = Scene::new().rack("a", 3).running(&members[0], "a-0").with(pods(3, 1)).open();
    stage.filter(&single("s"));
    assert_eq!(stage.kept(), (1, 2));
    stage.see(&[pods(2, 1)]);
    assert_eq!(stage.passing(&single("s")), ["a-1", "a-2"]);
    assert_eq!(stage.kept(), (0, 0), "nothing for one of two");
    stage.see(&[pods(3, 1)]);
    assert!(stage.passing(&single("t")).is_empty());
    assert_eq!(stage.kept(), (1, 2));
    // Who exists is let in, whatever becomes of the others.
    stage.see(&[members[1].clone(), pods(2, 2)]);
    let node = stage.place(&members[1]).expect("a place");
    stage.see(&[on(&members[1], &node)]);
    assert_eq!(stage.passing(&single("s")).len(), 1);
}

#[test]
fn a_refused_group_gives_back_what_was_kept_for_it() {
    let stage = rack(&gpu_worker()).open();
    stage.see(&[leader(0, "r")]);
    stage.filter(&leader(0, "r"));
    assert_eq!(stage.kept(), (1, 4));
    stage.see(&[gpus(8, 0)]);
    assert_eq!(reason(&stage, &leader(0, "r")), [TOO_SMALL]);
    assert_eq!(stage.kept(), (0, 0));
}

#[test]
fn workers_that_do_not_say_what_a_quota_counts_are_not_created() {
    let silent = json!({"spec": {"containers": [{"name": "main"}]}});
    let cpu = |hard: &str| quota(&json!({"requests.cpu": hard}), &json!({"requests.cpu": "0"}));
    assert_eq!(reason(&rack(&silent).with(cpu("99")).open(), &leader(0, "r")), [TOO_SMALL]);
    let defaults = json!({"apiVersion": "v1", "kind": "LimitRange", "metadata": {"name": "l", "namespace": "default"},
        "spec": {"limits": [{"type": "Container", "defaultRequest": {"cpu": "2"}}]}});
    let stage = rack(&silent).with(defaults).with(cpu("6")).open();
    assert_eq!(stage.passing(&leader(0, "r")).len(), 6, "a limit range says it for them");
    stage.see(&[cpu("5")]);
    assert_eq!(reason(&stage, &leader(1, "r")), [TOO_SMALL]);
}
