//! `stateful-set.yaml`.

use serde_json::{Value, json};

use crate::controllers::stateful;
use crate::file::{object, without};
use crate::world::{World, racks};

/// Racks as (zone, name, nodes), each node with room for one pod.
fn places(set: &Value, racks: &[(&str, &str, usize)]) -> Vec<String> {
    let has = json!({"cpu": "4", "memory": "8Gi"});
    let world = racks.iter().fold(World::new().with(set), |world, (zone, rack, nodes)| {
        world.rack(rack, *nodes, &has, &json!({"topology.kubernetes.io/zone": zone}), "")
    });
    world.open().place_all(&stateful(set))
}

#[test]
fn three_pods_are_in_one_zone_and_in_one_rack_if_there_is_one() {
    let set = object("stateful-set.yaml");
    let scattered = [("x", "x1", 2), ("y", "y1", 2), ("y", "y2", 1)];
    let there = places(&set, &scattered);
    assert_eq!((there.len(), racks(&there)), (3, vec!["y1", "y2"]));
    assert_eq!(
        racks(&places(&set, &[("x", "x1", 2), ("x", "x2", 2), ("y", "y1", 9), ("y", "y2", 3)])),
        ["y2"]
    );
    assert!(places(&set, &[("x", "x1", 2), ("y", "y1", 1)]).is_empty(), "whole or not at all");
}

#[test]
fn each_annotation_is_needed() {
    let without = |annotation: &str| {
        without(
            object("stateful-set.yaml"),
            &format!("spec template metadata annotations berth.dev/{annotation}"),
        )
    };
    let scattered = [("x", "x1", 2), ("y", "y1", 1)];
    assert_eq!(places(&without("group"), &scattered).len(), 3, "three single pods");
    assert_eq!(places(&without("required-topology"), &scattered).len(), 3, "two zones");
    assert_eq!(places(&without("group-size"), &scattered).len(), 1, "nobody knows that more are to come");
    let racks_of_a_zone = [("x", "x1", 2), ("x", "x2", 4)];
    assert_eq!(racks(&places(&object("stateful-set.yaml"), &racks_of_a_zone)), ["x2"]);
    assert_ne!(racks(&places(&without("preferred-topology"), &racks_of_a_zone)), ["x2"]);
}
