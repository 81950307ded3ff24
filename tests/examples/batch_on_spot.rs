//! `batch-on-spot.yaml`.

use serde_json::{Value, json};

use crate::controllers::replica;
use crate::file::{object, without};
use crate::world::{World, racks};

const AFFINITY: &str = "spec leaderWorkerTemplate workerTemplate spec affinity nodeAffinity";
const ANNOTATIONS: &str = "spec leaderWorkerTemplate workerTemplate metadata annotations";

fn set() -> Value {
    object("batch-on-spot.yaml")
}

/// Racks as (block, name, nodes, family, capacity), each node with room for one of the pods.
fn places(set: &Value, racks: &[(&str, &str, usize, &str, &str)]) -> Vec<String> {
    let has = json!({"cpu": "8", "memory": "16Gi"});
    let world = racks.iter().fold(World::new().with(set), |world, (block, rack, nodes, family, capacity)| {
        let labels = json!({"example.com/block": block, "example.com/instance-family": family,
            "example.com/capacity": capacity, "example.com/rack": rack.split('.').next()});
        world.rack(rack, *nodes, &has, &labels, "")
    });
    world.open().place_all(&replica(set, 0))
}

#[test]
fn one_rack_of_one_block_and_the_spot_nodes_of_it() {
    // Rack `b2` has two kinds of nodes; those on demand come first, and of equals the first is taken.
    let cluster = [
        ("a", "a1", 5, "c7", "spot"),
        ("a", "a2", 5, "c8", "spot"),
        ("a", "old", 9, "m4", "spot"),
        ("b", "b1", 3, "c7", "spot"),
        ("b", "b2.fixed", 6, "c8", "on-demand"),
        ("b", "b2.spot", 6, "c8", "spot"),
    ];
    let there = places(&set(), &cluster);
    assert_eq!((there.len(), racks(&there)), (6, vec!["b2.spot"]), "{there:?}");

    let indifferent = without(set(), &format!("{AFFINITY} preferredDuringSchedulingIgnoredDuringExecution"));
    assert_eq!(racks(&places(&indifferent, &cluster)), ["b2.fixed"]);
    let any_family = without(set(), &format!("{AFFINITY} requiredDuringSchedulingIgnoredDuringExecution"));
    assert_eq!(racks(&places(&any_family, &cluster)), ["old"], "a tighter rack, of old nodes");
    let any_rack = without(set(), &format!("{ANNOTATIONS} berth.dev/preferred-topology"));
    assert_eq!(racks(&places(&any_rack, &cluster)), ["a1", "a2"], "the tighter block");
}

#[test]
fn several_racks_if_need_be_but_never_two_blocks() {
    let split = [("a", "a1", 4, "c7", "spot"), ("a", "a2", 2, "c7", "spot"), ("b", "b1", 5, "c7", "spot")];
    let there = places(&set(), &split);
    assert_eq!((there.len(), racks(&there)), (6, vec!["a1", "a2"]), "{there:?}");

    let scattered = [("a", "a1", 4, "c7", "spot"), ("b", "b1", 5, "c7", "spot")];
    assert!(places(&set(), &scattered).is_empty());
    let anywhere = without(set(), &format!("{ANNOTATIONS} berth.dev/required-topology"));
    assert_eq!(
        places(&anywhere, &scattered).len(),
        6,
        "racks are only preferred, so the whole cluster will do"
    );
}
