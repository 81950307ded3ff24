//! `gpu-on-tainted-nodes.yaml`.

use serde_json::{Value, json};

use crate::controllers::replica;
use crate::file::{object, without};
use crate::world::{Scheduler, World, racks};

const TAINT: &str = "nvidia.com/gpu=present";
const LEADER: &str = "spec leaderWorkerTemplate leaderTemplate spec";
const WORKER: &str = "spec leaderWorkerTemplate workerTemplate spec";

fn set() -> Value {
    object("gpu-on-tainted-nodes.yaml")
}

/// The A100 rack is the tightest for four workers, `short` has one node too few, `plain` has no GPUs.
fn world(set: &Value) -> Scheduler {
    let product = |name: &str| json!({"nvidia.com/gpu.product": name});
    let (h100, a100) = (product("NVIDIA-H100-80GB-HBM3"), product("NVIDIA-A100-SXM4-80GB"));
    let large = json!({"cpu": "96", "memory": "1024Gi"});
    let mut gpus = large.clone();
    gpus["nvidia.com/gpu"] = json!("8");
    let world = World::new().with(set).rack("plain", 9, &large, &json!({}), "");
    let world = world.rack("a100", 4, &gpus, &a100, TAINT).rack("short", 3, &gpus, &h100, TAINT);
    world.rack("h100", 5, &gpus, &h100, TAINT).open()
}

/// Where the first replica goes.
fn first(set: &Value) -> Vec<String> {
    world(set).place_all(&replica(set, 0))
}

#[test]
fn five_pods_are_in_the_rack_with_the_right_gpus() {
    let places = first(&set());
    assert_eq!((places.len(), racks(&places)), (5, vec!["h100"]));
}

#[test]
fn a_second_replica_waits_as_a_whole_while_one_rack_is_all_there_is() {
    let set = set();
    let scheduler = world(&set);
    scheduler.place_all(&replica(&set, 0));
    assert!(scheduler.place_all(&replica(&set, 1)).is_empty());
}

#[test]
fn each_line_is_needed() {
    for path in [LEADER, WORKER] {
        let intolerant = without(set(), &format!("{path} tolerations"));
        assert!(first(&intolerant).is_empty(), "{path}: kept off by the taint, so nobody is placed");
    }
    let one_selector = without(set(), &format!("{WORKER} nodeSelector"));
    assert_eq!(racks(&first(&one_selector)), ["h100"], "the leader's selector still decides for all");
    let any_gpu = without(one_selector, &format!("{LEADER} nodeSelector"));
    assert_eq!(racks(&first(&any_gpu)), ["a100"], "the tightest rack with any GPUs");
}

#[test]
fn without_a_topology_they_are_anywhere() {
    let annotation = "metadata annotations berth.dev/required-topology";
    let template = |template: &str| format!("spec leaderWorkerTemplate {template} {annotation}");
    let set = without(without(set(), &template("leaderTemplate")), &template("workerTemplate"));
    assert_eq!(racks(&first(&set)), ["h100", "short"], "pod by pod");
}
