//! Promises 4 and 5: required and preferred at once, groups of a set spread; and parts within a group.

use serde_json::{Value, json};

use crate::scene::{RACK, Scene, all_annotated, group, labelled, rack_of, single, with_spec};

const BLOCK: &str = "example.com/block";
const ZONE: &str = "topology.kubernetes.io/zone";

fn blocks(racks: &[(&str, &str, usize)]) -> Scene {
    racks.iter().fold(Scene::new(), |scene, (block, rack, nodes)| {
        scene.rack_of(rack, *nodes, &json!({"cpu": "1"}), &json!({BLOCK: block}))
    })
}

fn in_block(name: &str, size: usize) -> Vec<Value> {
    let pods = all_annotated(group(name, size), "berth.dev/required-topology", BLOCK);
    all_annotated(pods, "berth.dev/preferred-topology", "example.com/rack")
}

#[test]
fn one_rack_of_the_block_if_there_is_one() {
    let stage =
        blocks(&[("x", "x1", 3), ("x", "x2", 3), ("y", "y1", 5), ("y", "y2", 4), ("y", "y3", 1)]).open();
    assert_eq!(stage.place_all(&in_block("g", 4)), vec![Some("y2".to_owned()); 4], "the tightest such rack");
    assert_eq!(stage.place_all(&in_block("h", 4)), vec![Some("y1".to_owned()); 4], "the next");
}

#[test]
fn else_several_racks_of_one_block() {
    let stage = blocks(&[("x", "x1", 3), ("x", "x2", 3), ("y", "y1", 2), ("y", "y2", 1)]).open();
    let mut racks: Vec<_> = stage.place_all(&in_block("g", 5)).into_iter().flatten().collect();
    racks.sort();
    racks.dedup();
    assert_eq!(racks, ["x1", "x2"]);
    assert!(
        stage
            .reasons(&in_block("h", 4)[0])
            .1
            .contains(&"replica group does not fit as a whole into the required domain".to_owned())
    );
}

#[test]
fn a_rack_that_was_left_for_lack_of_room_is_not_left_further() {
    let stage = blocks(&[("x", "x1", 4), ("x", "x2", 4)]).open();
    let members = in_block("g", 4);
    let rack = stage.place(&members[0]).map(|node| rack_of(&node));
    // All but one place of that rack is taken by somebody who does not have to mind.
    let taken = rack.as_ref().expect("a place");
    for at in 0..4 {
        let node = format!("{taken}-{at}");
        stage.see(&[crate::scene::on(&single(&format!("s{at}")), &node)]);
    }
    let rest = stage.place_all(&members[1..]);
    assert!(rest.iter().all(|place| place.is_some() && *place != rack), "{rack:?} {rest:?}");
}

#[test]
fn preferred_alone_falls_back_to_the_cluster_and_still_goes_whole() {
    let preferring = |pods| {
        all_annotated(
            all_annotated(pods, "berth.dev/required-topology", ""),
            "berth.dev/preferred-topology",
            "example.com/rack",
        )
    };
    let stage = Scene::new().rack("a", 3).rack("b", 2).open();
    assert_eq!(stage.place_all(&preferring(group("g", 2))), vec![Some("b".to_owned()); 2]);
    let (_, reasons) = stage.reasons(&preferring(group("h", 4))[0]);
    assert_eq!(reasons, ["replica group does not fit as a whole into the cluster"]);
    let stage = Scene::new().rack("a", 3).rack("b", 2).open();
    assert_eq!(stage.place_all(&preferring(group("g", 5))).into_iter().flatten().count(), 5);
}

#[test]
fn groups_of_one_set_are_spread_over_zones_before_room_is_looked_at() {
    let cpu = json!({"cpu": "1"});
    let scene = || {
        let zones = [("x", "x1", 2), ("x", "x2", 2), ("y", "y1", 8), ("z", "z1", 9)];
        zones.iter().fold(Scene::new(), |scene, (zone, rack, nodes)| {
            scene.rack_of(rack, *nodes, &cpu, &json!({ZONE: zone}))
        })
    };
    let of_set = |name: &str| all_annotated(group(name, 2), "berth.dev/group-set", "s");
    let zones = |stage: crate::scene::Stage| {
        let places = ["a", "b", "c"]
            .map(|name| stage.place_all(&of_set(name))[0].clone().expect("a place")[..1].to_owned());
        places.join("")
    };
    assert_eq!(zones(scene().open()), "xyz");
    assert_eq!(zones(scene().settings("{spreadTopology: ''}").open()), "xxy", "switched off: best fit alone");
}

#[test]
fn each_part_of_a_group_has_a_rack_to_itself() {
    let member = |at: usize| {
        let pod = labelled(single(&format!("llm-0-{at}")), "leaderworkerset.sigs.k8s.io/name", "llm");
        let pod = labelled(pod, "leaderworkerset.sigs.k8s.io/group-index", "0");
        let pod = labelled(pod, "leaderworkerset.sigs.k8s.io/worker-index", &at.to_string());
        let pod = labelled(pod, "leaderworkerset.sigs.k8s.io/subgroup-index", &(at / 2).to_string());
        let mut pod = vec![pod];
        for (key, value) in
            [("size", "4"), ("subgroup-size", "2"), ("subgroup-exclusive-topology", "example.com/rack")]
        {
            pod = all_annotated(pod, &format!("leaderworkerset.sigs.k8s.io/{key}"), value);
        }
        all_annotated(pod, "berth.dev/required-topology", BLOCK).remove(0)
    };
    let members: Vec<_> = (0..4).map(member).collect();
    // In block x there is room enough, but not for two in each of two racks.
    let scene = blocks(&[("x", "x1", 4), ("x", "x2", 1), ("y", "y1", 2), ("y", "y2", 3)]);
    let stage = scene.open();
    let places = stage.place_all(&members);
    assert!(places[0] == places[1] && places[2] == places[3] && places[0] != places[2], "{places:?}");
    assert!(places.iter().flatten().all(|rack| rack.starts_with('y')), "{places:?}");
    let stage = blocks(&[("x", "x1", 4), ("x", "x2", 1)]).open();
    assert_eq!(stage.place_all(&members[..1]), [None]);
}

#[test]
fn groups_that_only_prefer_a_rack_are_spread_over_zones_too() {
    let cpu = json!({"cpu": "1"});
    let zones = [("x", "x1", 2), ("x", "x2", 2), ("y", "y1", 8)];
    let scene = zones.iter().fold(Scene::new(), |scene, (zone, rack, nodes)| {
        scene.rack_of(rack, *nodes, &cpu, &json!({ZONE: zone}))
    });
    let preferring = |name: &str| {
        let pods = all_annotated(group(name, 2), "berth.dev/required-topology", "");
        let pods = all_annotated(pods, "berth.dev/preferred-topology", "example.com/rack");
        all_annotated(pods, "berth.dev/group-set", "s")
    };
    let stage = scene.open();
    let places = ["a", "b"]
        .map(|name| stage.place_all(&preferring(name))[0].clone().expect("a place")[..1].to_owned());
    assert_eq!(places, ["x", "y"]);
}

#[test]
fn who_can_be_in_its_preferred_domain_chooses_before_those_who_cannot() {
    let prefers = |name| {
        let members = all_annotated(group(name, 2), "berth.dev/required-topology", "");
        all_annotated(members, "berth.dev/preferred-topology", RACK)
    };
    let (dispersed, together) = (prefers("dispersed"), prefers("together"));
    // Seen at once, as after a restart.
    let stage = Scene::new()
        .rack("a", 2)
        .rack("b", 1)
        .rack("c", 1)
        .running(&dispersed[0], "b-0")
        .running(&together[0], "a-0")
        .open();
    stage.see(&[dispersed[1].clone(), together[1].clone()]);
    assert_eq!(stage.passing(&dispersed[1]), ["c-0"]);
    assert_eq!(stage.passing(&together[1]), ["a-1"]);
}

#[test]
fn who_matters_more_chooses_first_wherever_it_prefers_to_be() {
    let ranked = |pods: Vec<Value>, priority: i32| -> Vec<Value> {
        pods.into_iter().map(|pod| with_spec(pod, "priority", json!(priority))).collect()
    };
    let free = |name| all_annotated(group(name, 2), "berth.dev/required-topology", "");
    let high = ranked(all_annotated(free("high"), "berth.dev/preferred-topology", RACK), 10);
    let low = ranked(all_annotated(free("low"), "berth.dev/preferred-topology", "kubernetes.io/os"), 0);
    // Seen at once, as after a restart. The first cannot be in one rack, so that any place will do for it.
    let os = json!({"kubernetes.io/os": "linux"});
    let mut scene = Scene::new();
    for rack in ["b", "c", "d", "e"] {
        scene = scene.rack_of(rack, 1, &json!({"cpu": "1"}), &os);
    }
    let stage = scene.running(&high[0], "b-0").running(&low[0], "e-0").open();
    stage.see(&[high[1].clone(), low[1].clone()]);
    stage.passing(&single("probe"));
    let view = stage.verbs.store.view();
    let mut hosts: Vec<_> = view.ledger().reservations().hosts().map(ToString::to_string).collect();
    hosts.sort();
    assert_eq!(hosts, ["c-0", "d-0"], "each has a place of its own");
}
