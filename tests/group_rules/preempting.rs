//! Promise 8: evictions only where the whole group will then fit, and dearest where they break a group that runs.

use serde_json::{Value, json};

use crate::scene::{RACK, Scene, group, on, pod, rack_of, single, with_spec};

fn urgent(pods: Vec<Value>) -> Vec<Value> {
    pods.into_iter().map(|pod| with_spec(pod, "priority", json!(100))).collect()
}

/// Rack `low` is full of pods that may be evicted, rack `high` has one such pod and others that may not.
fn full() -> Scene {
    full_but_for(0)
}

/// The same with so many free nodes in each rack.
fn full_but_for(free: usize) -> Scene {
    let mut scene = Scene::new().rack("low", 3 + free).rack("high", 3 + free);
    for at in 0..3 {
        scene = scene.running(&single(&format!("l{at}")), &format!("low-{at}"));
        let priority = if at == 0 { 0 } else { 1000 };
        scene = scene.running(
            &with_spec(single(&format!("h{at}")), "priority", json!(priority)),
            &format!("high-{at}"),
        );
    }
    scene
}

fn node_like(name: &str, rack: &str) -> Value {
    json!({"apiVersion": "v1", "kind": "Node",
        "metadata": {"name": name, "labels": {RACK: rack, "kubernetes.io/hostname": name}},
        "status": {"allocatable": {"cpu": "1", "pods": "110"}}})
}

#[test]
fn victims_only_where_the_whole_group_will_fit() {
    let (helped, others) =
        full_but_for(1).settings("{countOnPreemption: false}").open().reasons(&urgent(group("g", 4))[0]);
    assert_eq!(
        helped,
        ["replica group does not fit as a whole into the required domain unless lower-priority pods leave"]
    );
    assert_eq!(others, ["replica group does not fit as a whole into the required domain"]);
    let stage = full().open();
    let candidates: [(&str, &[&str]); 3] = [("high-0", &["h0"]), ("low-0", &["l0"]), ("low-2", &["l2"])];
    assert_eq!(stage.preempt(&urgent(group("g", 3))[0], &candidates), ["low-0", "low-2"]);
    assert!(stage.preempt(&urgent(group("g", 4))[0], &candidates).is_empty(), "four fit nowhere");
    let one = urgent(group("h", 1));
    assert_eq!(stage.preempt(&one[0], &candidates).len(), 3);
}

#[test]
fn a_group_evicts_in_the_rack_where_that_costs_least_whatever_it_is_called() {
    let alike = || {
        let mut scene = Scene::new().rack("a", 2).rack("b", 2);
        for node in ["a-0", "a-1", "b-0", "b-1"] {
            scene = scene.running(&single(&format!("on-{node}")), node);
        }
        scene.open()
    };
    let whole = group("whole", 2);
    let with_group = |rack: &str| {
        let other = if rack == "a" { "b" } else { "a" };
        let scene = Scene::new().rack("a", 2).rack("b", 2);
        let scene = (0..2).fold(scene, |scene, at| {
            let node = format!("{rack}-{at}");
            let member = with_spec(whole[at].clone(), "priority", json!(-1));
            scene
                .running(&member, &node)
                .running(&single(&format!("on-{other}-{at}")), &format!("{other}-{at}"))
        });
        scene.open()
    };
    for name in ["g", "h", "k", "m"] {
        let asking = &urgent(group(name, 2))[0];
        for (dear, cheap) in [("a", "b"), ("b", "a")] {
            let candidates = |racks: [&str; 2]| -> Vec<(String, String, i64)> {
                let node = |rack: &str, at: usize| (format!("{rack}-{at}"), format!("on-{rack}-{at}"));
                let all = racks.into_iter().flat_map(|rack| (0..2).map(move |at| (rack, at)));
                all.map(|(rack, at)| {
                    let (place, victim) = node(rack, at);
                    (place, victim, i64::from(rack == dear))
                })
                .collect()
            };
            let stage = alike();
            let named = candidates(["a", "b"]);
            let uids: Vec<[&str; 1]> = named.iter().map(|(_, victim, _)| [&**victim]).collect();
            let victims: Vec<(&str, &[&str], i64)> =
                named.iter().zip(&uids).map(|((node, _, count), uid)| (&**node, &uid[..], *count)).collect();
            let kept = stage.preempt_against_budgets(asking, &victims);
            assert_eq!(kept, [format!("{cheap}-0"), format!("{cheap}-1")], "{name}: budgets in {dear}");

            let stage = with_group(dear);
            let member = |at: usize| [format!("whole-{at}")];
            let single = |at: usize| [format!("on-{cheap}-{at}")];
            let kept = stage.preempt(
                asking,
                &[
                    (&format!("{dear}-0"), &[&member(0)[0]]),
                    (&format!("{dear}-1"), &[&member(1)[0]]),
                    (&format!("{cheap}-0"), &[&single(0)[0]]),
                    (&format!("{cheap}-1"), &[&single(1)[0]]),
                ],
            );
            assert_eq!(kept, [format!("{cheap}-0"), format!("{cheap}-1")], "{name}: a group runs in {dear}");
        }
    }
}

#[test]
fn a_group_with_members_in_place_evicts_in_its_domain_only() {
    let members = urgent(group("g", 2));
    let stage = full().rack("home", 2).running(&members[0], "home-0").running(&single("x"), "home-1").open();
    let candidates: [(&str, &[&str]); 2] = [("low-0", &["l0"]), ("home-1", &["x"])];
    assert_eq!(stage.preempt(&members[1], &candidates), ["home-1"]);
}

#[test]
fn a_small_leader_goes_ahead_where_lesser_pods_will_make_room_for_its_workers() {
    let mut members = urgent(group("g", 3));
    members[0]["spec"]["containers"][0]["resources"]["requests"] = json!({"cpu": "100m"});
    let scene = |settings: &str| {
        let mut scene =
            Scene::new().settings(settings).rack_of("low", 2, &json!({"cpu": "1100m"}), &json!({}));
        for at in 0..2 {
            scene = scene.running(&single(&format!("l{at}")), &format!("low-{at}"));
        }
        members[1..].iter().fold(scene, |scene, member| scene.with(member.clone()))
    };
    assert_eq!(scene("{}").open().passing(&members[0]).len(), 2);
    assert!(scene("{countOnPreemption: false}").open().passing(&members[0]).is_empty());
}

#[test]
fn a_group_that_is_broken_already_is_the_cheaper_victim() {
    let whole = group("whole", 2);
    let broken = group("broken", 2);
    let scene = Scene::new().rack("a", 2).rack("b", 2).running(&whole[0], "a-0").running(&whole[1], "a-1");
    let stage = scene.running(&broken[0], "b-0").open();
    let urgent = with_spec(pod("u", &json!({"cpu": "1"})), "priority", json!(100));
    let candidates: [(&str, &[&str]); 2] = [("a-0", &["whole-0"]), ("b-0", &["broken-0"])];
    assert_eq!(stage.preempt(&urgent, &candidates), ["b-0"]);
}

#[test]
fn room_that_is_kept_is_not_made_free_by_an_eviction_of_somebody_else() {
    let stage = Scene::new().rack("a", 3).open();
    stage.place(&group("g", 3)[0]).expect("a place");
    let held: Vec<_> = stage.nodes.iter().filter(|node| stage.passing(&single("s")).contains(node)).collect();
    assert!(held.is_empty());
    let taken = on(&with_spec(single("x"), "priority", json!(-1)), "a-1");
    stage.see(&[taken]);
    assert!(stage.preempt(&single("s"), &[("a-1", &["x"])]).is_empty());
}

#[test]
fn who_may_not_preempt_does_not_count_on_it() {
    let mut members = urgent(group("g", 3));
    members[0]["spec"]["containers"][0]["resources"]["requests"] = json!({"cpu": "100m"});
    members[2] = with_spec(members[2].clone(), "preemptionPolicy", json!("Never"));
    let mut scene = Scene::new().rack_of("low", 2, &json!({"cpu": "1100m"}), &json!({}));
    for at in 0..2 {
        scene = scene.running(&single(&format!("l{at}")), &format!("low-{at}"));
    }
    let stage = members[1..].iter().fold(scene, |scene, member| scene.with(member.clone())).open();
    assert!(stage.passing(&members[0]).is_empty());
}

#[test]
fn a_group_does_not_evict_its_own_members() {
    let mut members = group("g", 3);
    members[2] = with_spec(members[2].clone(), "priority", json!(100));
    let stage = Scene::new().rack("a", 2).running(&members[0], "a-0").running(&members[1], "a-1").open();
    assert!(stage.preempt(&members[2], &[("a-0", &["g-0"])]).is_empty());
}

#[test]
fn nobody_is_evicted_for_a_group_that_would_be_refused_all_the_same() {
    let candidates: [(&str, &[&str]); 2] = [("low-0", &["l0"]), ("low-2", &["l2"])];
    let members = urgent(group("g", 3));
    let meek = |pod: &Value| with_spec(pod.clone(), "preemptionPolicy", json!("Never"));
    let alone = |pod: &Value| {
        let mut pod = pod.clone();
        pod["metadata"]["ownerReferences"] = json!([]);
        pod
    };

    let stage = full().open();
    stage.see(&members);
    assert_eq!(stage.preempt(&members[0], &candidates).len(), 2, "the others may evict, too");

    let stage = full().open();
    stage.see(&[members[0].clone(), meek(&members[1]), meek(&members[2])]);
    assert!(stage.preempt(&members[0], &candidates).is_empty(), "the others may not");

    let stage = full().settings("{limits: {slotsPerNamespace: 2}}").open();
    stage.see(&members);
    assert!(stage.preempt(&members[0], &candidates).is_empty(), "as many slots are not kept");

    let stage = full().open();
    stage.see(&[alone(&members[0])]);
    assert!(stage.preempt(&alone(&members[0]), &candidates).is_empty(), "the others may never come");
}

#[test]
fn members_that_may_evict_nobody_need_room_that_is_there_once_the_victims_are_gone() {
    let members = urgent(group("g", 3));
    let meek = |pod: &Value| with_spec(pod.clone(), "preemptionPolicy", json!("Never"));
    let candidates: [(&str, &[&str]); 2] = [("low-0", &["l0"]), ("high-0", &["h0"])];
    let stage = full().with(node_like("low-3", "low")).with(node_like("low-4", "low")).open();
    stage.see(&[members[0].clone(), meek(&members[1]), meek(&members[2])]);
    assert_eq!(stage.preempt(&members[0], &candidates), ["low-0"]);
}

#[test]
fn all_members_of_a_group_evict_in_one_rack() {
    let members = urgent(group("g", 3));
    let mut scene = Scene::new().rack("a", 3).rack("b", 3);
    for (rack, at) in [("a", 0), ("a", 1), ("a", 2), ("b", 0), ("b", 1), ("b", 2)] {
        scene = scene.running(&single(&format!("{rack}{at}")), &format!("{rack}-{at}"));
    }
    let candidates: [(&str, &[&str]); 4] =
        [("a-0", &["a0"]), ("a-1", &["a1"]), ("b-0", &["b0"]), ("b-1", &["b1"])];
    let stage = scene.open();
    stage.see(&members);
    let racks = |pod: &Value| -> Vec<String> {
        let mut racks: Vec<_> = stage.preempt(pod, &candidates).iter().map(|node| rack_of(node)).collect();
        racks.dedup();
        racks
    };
    let first = racks(&members[0]);
    assert_eq!(first.len(), 1);
    assert_eq!(racks(&members[1]), first, "nothing tells where the first one evicts");
    // kube-scheduler took a node of the other rack before: everybody follows.
    let other = if first[0] == "a" { "b" } else { "a" };
    let mut nominated = members[0].clone();
    nominated["status"]["nominatedNodeName"] = json!(format!("{other}-0"));
    stage.see(&[nominated]);
    assert_eq!(racks(&members[1]), [other]);
}
