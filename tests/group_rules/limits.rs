//! Promise 10: nobody pays for another's annotations.

use serde_json::{Value, json};

use crate::scene::{Scene, Stage, all_annotated, annotated, group, on, pod, single};

fn reason(stage: &Stage, pod: &Value) -> Vec<String> {
    stage.reasons(pod).1
}

fn elsewhere(pods: Vec<Value>) -> Vec<Value> {
    let moved = |mut pod: Value| {
        pod["metadata"]["namespace"] = json!("other");
        pod
    };
    pods.into_iter().map(moved).collect()
}

/// A member of a group that claims to be large, and asks for next to nothing.
fn claim(name: &str, size: usize) -> Value {
    let tiny = annotated(pod(name, &json!({"cpu": "1m"})), "berth.dev/group", name);
    let tiny = annotated(tiny, "berth.dev/group-size", &size.to_string());
    annotated(tiny, "berth.dev/required-topology", crate::scene::RACK)
}

#[test]
fn groups_larger_than_the_operator_allows_are_told_so() {
    let stage = Scene::new().rack("a", 4).open();
    let too_large = "replica group has more members than replicaGroups.limits.members allows";
    assert_eq!(reason(&stage, &claim("g", 1025)), [too_large]);
    let stage = Scene::new().settings("{limits: {members: 3}}").rack("a", 4).open();
    assert_eq!(reason(&stage, &group("g", 4)[0]), [too_large]);
    assert_eq!(stage.passing(&group("h", 3)[0]).len(), 4);
}

#[test]
fn a_namespace_gets_no_more_slots_than_the_operator_allows() {
    let stage = Scene::new().settings("{limits: {slotsPerNamespace: 50}}").rack("a", 4).open();
    // One node is as good as four, and says at once where each goes.
    let place = |pod: &Value| stage.place(pod).map(|_| ());
    assert_eq!(place(&claim("g0", 20)), Some(()));
    assert_eq!(place(&claim("g1", 31)), Some(()));
    let used_up =
        "as much room as replicaGroups.limits.slotsPerNamespace allows is kept in this namespace already";
    assert_eq!(reason(&stage, &claim("g2", 2)), [used_up]);
    assert_eq!(place(&elsewhere(vec![claim("g3", 21)])[0]), Some(()), "others have their own");
    let mut second = claim("g1", 31);
    second["metadata"]["name"] = json!("g1-second");
    second["metadata"]["uid"] = json!("g1-second");
    assert_eq!(place(&second), Some(()), "who has slots keeps them");
    // The same holds for what is owed to members in place. Now that it does not suffice, it goes to those that lack least, as
    // it would with a Berth that has only the cluster to go by.
    for at in 0..4 {
        stage.see(&[on(&claim(&format!("h{at}"), 20), "a-0")]);
    }
    stage.filter(&single("s"));
    assert_eq!(stage.kept().1, 4 * 2 + 19 + 20, "nobody describes the rest of the four");
}

#[test]
fn a_trickle_of_members_does_not_keep_room_for_ever() {
    let stage = Scene::new().settings("{limits: {longestReservation: 3m}}").rack("a", 40).open();
    let members = group("g", 40);
    for (at, member) in members[..4].iter().enumerate() {
        stage.place(member).expect("a place");
        assert_eq!(stage.kept(), (1, 39 - at), "{at}");
        stage.wait(45);
    }
    assert_eq!(stage.kept(), (0, 0));
    stage.place(&members[4]).expect("a place, for there is room");
    assert_eq!(stage.kept(), (0, 0), "it has had its time");
    assert_eq!(stage.passing(&single("s")).len(), 35);
}

#[test]
fn a_domain_is_kept_from_no_more_groups_than_the_operator_allows() {
    let greedy = |scene: Scene| {
        let members = all_annotated(group("g", 1), "berth.dev/exclusive", "Cluster");
        scene.rack("a", 4).running(&members[0], "a-0").open()
    };
    let others = elsewhere(group("h", 2));
    assert_eq!(greedy(Scene::new()).passing(&others[0]).len(), 3, "another namespace");
    assert!(greedy(Scene::new()).passing(&group("i", 2)[0]).is_empty(), "its own");
    let allowed = "{limits: {exclusiveByNamespace: [{namespaces: [default], widest: Cluster}]}}";
    assert!(greedy(Scene::new().settings(allowed)).passing(&others[0]).is_empty());
    let by_rule =
        "{sources: [], rules: [{label: gang, topology: {required: example.com/rack, exclusive: Cluster}}]}";
    let ruled = |name: &str| crate::scene::labelled(single(name), "gang", name);
    let stage = Scene::new().settings(by_rule).rack("a", 4).running(&ruled("g"), "a-0").open();
    assert!(stage.passing(&elsewhere(vec![ruled("h")])[0]).is_empty(), "the operator's word is no tenant's");
}

#[test]
fn what_is_written_into_a_running_member_changes_nothing() {
    let member = &group("g", 1)[0];
    let stage = Scene::new().rack("a", 4).running(member, "a-0").open();
    stage.see(&[on(&annotated(member.clone(), "berth.dev/exclusive", "Namespace"), "a-0")]);
    assert_eq!(stage.passing(&group("h", 2)[0]).len(), 3);
}

#[test]
fn whoever_asks_looks_again_at_a_few_of_the_groups_that_went_short_and_at_no_more() {
    let mut scene = Scene::new().rack_of("a", 1, &json!({"cpu": "100"}), &json!({}));
    for at in 0..40 {
        let claim = &group(&format!("g{at}"), 1000)[0];
        scene = scene.running(claim, "a-0");
    }
    let full = pod("full", &json!({"cpu": "60"}));
    let stage = scene.running(&full, "a-0").open();
    stage.passing_of(&single("probe"), &[]);
    let hopeful = || stage.verbs.store.view().doubtful_groups().count();
    assert_eq!((hopeful(), stage.kept()), (0, (0, 0)), "everybody went short");
    stage.lose(&on(&full, "a-0"));
    assert_eq!(hopeful(), 40);
    stage.passing_of(&single("probe"), &[]);
    assert!((1..=32).contains(&hopeful()), "{} are left to be looked at", hopeful());
}

#[test]
fn for_members_that_nobody_describes_no_more_room_is_kept_than_for_two_for_each_that_is_there() {
    let claims = group("g", 9);
    let running = |count: usize| {
        let scene = Scene::new().rack("a", 9);
        claims[..count]
            .iter()
            .enumerate()
            .fold(scene, |scene, (at, pod)| scene.running(pod, &format!("a-{at}")))
    };
    for (members, slots) in [(1, 2), (2, 4), (3, 6), (5, 4), (9, 0)] {
        let stage = running(members).open();
        stage.passing_of(&single("probe"), &[]);
        assert_eq!(stage.kept().1, slots, "{members} of 9 are there");
    }
}
