//! Promise 2: room is kept for members to come, for a while, from those that matter no more.

use serde_json::json;

use crate::scene::{Scene, Stage, group, on, single, terminating, with_spec};

/// One rack of six; the first of a group of four is let in.
fn begun() -> Stage {
    let stage = Scene::new().rack("a", 6).open();
    stage.place(&group("g", 4)[0]).expect("a place");
    assert_eq!(stage.kept(), (1, 3));
    stage
}

#[test]
fn single_pods_do_not_take_the_room_of_members_to_come() {
    let stage = begun();
    let places: Vec<_> = (0..5).map(|at| stage.place(&single(&format!("s{at}")))).collect();
    assert_eq!(places.iter().flatten().count(), 2, "{places:?}");
    let answer = stage.filter(&single("late"));
    assert!(answer["FailedNodes"].to_string().contains("room is reserved for a replica group"), "{answer}");
    let members = &group("g", 4)[1..];
    assert_eq!(stage.place_all(members), vec![Some("a".to_owned()); 3]);
}

#[test]
fn another_group_sees_reserved_room_as_taken_and_says_so() {
    let stage = begun();
    let (_, reasons) = stage.reasons(&group("h", 3)[0]);
    let words =
        "replica group does not fit as a whole into the required domain, room is reserved for another";
    assert_eq!(reasons, [words]);
    assert_eq!(stage.place_all(&group("i", 2)), vec![Some("a".to_owned()); 2], "what is left over is free");
}

#[test]
fn who_matters_more_does_not_have_to_mind_but_takes_other_room_first() {
    let stage = begun();
    let urgent = |name: &str| with_spec(single(name), "priority", json!(10));
    let slots = || -> Vec<_> {
        let view = stage.verbs.store.view();
        view.ledger()
            .reservations()
            .iter()
            .flat_map(|kept| &kept.slots)
            .map(|slot| slot.host.to_string())
            .collect()
    };
    for name in ["u1", "u2"] {
        let node = stage.place(&urgent(name)).expect("a place");
        assert!(!slots().contains(&node), "{node}");
    }
    assert_eq!(stage.passing(&urgent("u")).len(), 3, "now it has no choice");
    let stage = begun();
    let urgent_group = |name: &str, size: usize| -> Vec<_> {
        group(name, size).into_iter().map(|pod| with_spec(pod, "priority", json!(10))).collect()
    };
    assert_eq!(stage.passing(&urgent_group("h", 2)[0]).len(), 2);
    assert_eq!(begun().passing(&urgent_group("i", 5)[0]).len(), 5);
}

#[test]
fn room_is_given_up_when_nobody_comes() {
    let stage = begun();
    stage.wait(59);
    assert_eq!(stage.kept(), (1, 3));
    stage.place(&group("g", 4)[1]).expect("a place");
    stage.wait(59);
    assert_eq!(stage.kept(), (1, 2), "a member came, so time began anew");
    stage.filter(&group("g", 4)[2]);
    stage.wait(1);
    assert_eq!(stage.kept(), (0, 0), "asking is not coming");
    assert_eq!(stage.place_all(&[single("s")]), [Some("a".to_owned())]);
}

#[test]
fn room_is_given_up_when_the_group_shrinks_to_those_that_are_there() {
    let stage = begun();
    let node = stage.passing(&group("g", 4)[0])[0].clone();
    stage.see(&[on(&group("g", 1)[0], &node)]);
    stage.filter(&single("s"));
    assert_eq!(stage.kept(), (0, 0));
}

#[test]
fn the_time_to_live_is_a_setting() {
    let stage = Scene::new().settings("{reservationTtl: 5s}").rack("a", 4).open();
    stage.place(&group("g", 3)[0]).expect("a place");
    stage.wait(5);
    assert_eq!(stage.kept(), (0, 0));
}

#[test]
fn room_is_given_up_at_once_when_nobody_of_the_group_is_left() {
    let stage = begun();
    let leader = &group("g", 4)[0];
    stage.see(&[terminating(&crate::scene::on(leader, "a-0"))]);
    assert_eq!(stage.kept(), (0, 0));
    let stage = begun();
    stage.lose(leader);
    assert_eq!(stage.kept(), (0, 0));
}

#[test]
fn what_is_kept_is_worked_out_anew_after_a_restart() {
    let members = group("g", 4);
    let scene = Scene::new().rack("a", 6).rack("b", 6).running(&members[0], "a-2").with(members[1].clone());
    let stage = scene.open();
    // The first call of whoever it is.
    let places: Vec<_> = (0..8).filter_map(|at| stage.place(&single(&format!("s{at}")))).collect();
    assert_eq!(places.iter().filter(|node| node.starts_with("a-")).count(), 2, "{places:?}");
    assert_eq!(stage.kept(), (1, 3));
    assert_eq!(stage.place_all(&members[1..]), vec![Some("a".to_owned()); 3]);
}

#[test]
fn an_attempt_that_failed_after_filter_keeps_its_slot() {
    let stage = Scene::new().rack("a", 4).open();
    let members = group("g", 4);
    for _ in 0..3 {
        assert_eq!(stage.passing(&members[0]).len(), 4);
        assert_eq!(stage.kept(), (1, 4));
    }
    assert_eq!(stage.passing_of(&members[0], &["a-1".to_owned()]), ["a-1"]);
    assert_eq!(stage.kept(), (1, 3));
    assert_eq!(stage.passing_of(&members[0], &stage.nodes).len(), 4);
    assert_eq!(stage.kept(), (1, 4));
}

#[test]
fn a_pod_whose_place_is_open_counts_wherever_it_may_go() {
    let stage = Scene::new().rack("a", 4).open();
    assert_eq!(stage.passing(&single("s")).len(), 4);
    let answer = stage.filter(&group("g", 4)[0]);
    assert_ne!(answer["Error"], "", "no rejection, for it may fit after all: {answer}");
    assert_eq!(stage.kept(), (0, 0));
    assert_eq!(stage.passing(&group("h", 3)[0]).len(), 4, "three fit wherever it goes");
}

#[test]
fn a_group_that_does_not_fit_any_more_keeps_no_room() {
    let stage = Scene::new().rack("a", 4).open();
    let members = group("g", 4);
    assert_eq!(stage.passing(&members[0]).len(), 4);
    assert_eq!(stage.kept(), (1, 4));
    stage.lose(&json!({"apiVersion": "v1", "kind": "Node", "metadata": {"name": "a-3"}}));
    let (_, reasons) = stage.reasons(&members[0]);
    assert!(!reasons.is_empty());
    assert_eq!(stage.kept(), (0, 0));
}

#[test]
fn the_last_member_has_its_slot_until_it_is_really_there() {
    let stage = Scene::new().rack("a", 3).open();
    let members = group("g", 3);
    stage.place_all(&members[..2]);
    let last = stage.passing(&members[2]);
    assert_eq!(last.len(), 1, "as good as there");
    assert!(
        stage.passing(&single("s")).is_empty(),
        "kube-scheduler may know already that the attempt failed"
    );
    let stage_of = |pod: &serde_json::Value| {
        let mut failed = pod.clone();
        failed["status"] =
            json!({"conditions": [{"type": "PodScheduled", "status": "False", "message": "x"}]});
        failed
    };
    stage.see(&[members[2].clone()]);
    stage.see(&[stage_of(&members[2])]);
    assert!(stage.passing(&single("s")).is_empty());
    assert_eq!(stage.passing(&members[2]), last);
}

#[test]
fn a_pod_under_way_to_a_host_with_slots_counts_there_for_the_next() {
    // Two places are free beside the slot; the first single pod may be on its way to one of them.
    let stage = Scene::new().rack_of("a", 1, &json!({"cpu": "4"}), &json!({})).rack("b", 1).open();
    let members = group("g", 2);
    assert_eq!(stage.place(&members[0]), Some("a-0".to_owned()));
    for name in ["s", "t"] {
        assert_eq!(stage.passing_of(&single(name), &["a-0", "b-0"].map(String::from)).len(), 2, "{name}");
    }
    assert_eq!(stage.passing_of(&single("u"), &["a-0", "b-0"].map(String::from)), ["b-0"]);
}

#[test]
fn slots_keep_others_away_that_their_members_will_not_be_beside() {
    let alone = json!({"podAntiAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [
        {"topologyKey": "kubernetes.io/hostname", "labelSelector": {"matchLabels": {"app": "x"}}}]}});
    let picky = |pod| with_spec(crate::scene::labelled(pod, "app", "x"), "affinity", alone.clone());
    let stage = Scene::new().rack_of("a", 3, &json!({"cpu": "8"}), &json!({})).open();
    let members: Vec<_> = group("g", 2).into_iter().map(picky).collect();
    stage.place(&members[0]).expect("a place");
    let others: Vec<_> = group("h", 2).into_iter().map(picky).collect();
    assert!(stage.passing(&others[0]).is_empty(), "one host is left, and two are needed");
    let single = crate::scene::labelled(single("s"), "app", "x");
    let free = stage.passing(&single);
    assert_eq!(
        free.len(),
        2,
        "the host in use is for kube-scheduler to refuse, the one that is kept is not: {free:?}"
    );
}

#[test]
fn members_stay_with_one_that_is_on_its_way() {
    let stage = Scene::new().rack("a", 2).rack("b", 2).open();
    let members = group("g", 2);
    let racks = stage.racks(&members[0]);
    let other: Vec<String> =
        stage.nodes.iter().filter(|node| !node.starts_with(&racks[0])).cloned().collect();
    let answer = stage.answer(&members[1], &other.iter().map(String::as_str).collect::<Vec<_>>());
    assert!(answer["Error"].as_str().is_some_and(|error| error.contains("not known yet")), "{answer}");
}
