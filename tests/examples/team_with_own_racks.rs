//! `team-with-own-racks.yaml`.

use serde_json::{Value, json};

use crate::controllers::replica;
use crate::file::{object, without};
use crate::world::{Scheduler, World, hosts, racks};

const TEMPLATE: &str = "spec leaderWorkerTemplate workerTemplate";

fn set() -> Value {
    object("team-with-own-racks.yaml")
}

/// Every host has room for a whole group. `red-short` has too few hosts for one member each, `red-1` enough for two
/// groups; `open` belongs to nobody.
pub fn world(world: World) -> Scheduler {
    let has = json!({"cpu": "8", "memory": "64Gi"});
    let team = |team: &str| json!({"example.com/team": team});
    let (red, blue) = ("example.com/team=red", "example.com/team=blue");
    let world = world.rack("open", 4, &has, &json!({}), "").rack("blue", 4, &has, &team("blue"), blue);
    let world = world.rack("red-short", 3, &has, &team("red"), red);
    world.rack("red-1", 8, &has, &team("red"), red).rack("red-2", 9, &has, &team("red"), red).open()
}

/// Where the two replicas go.
fn both(set: &Value) -> [Vec<String>; 2] {
    let scheduler = world(World::new().with(set));
    [0, 1].map(|group| scheduler.place_all(&replica(set, group)))
}

#[test]
fn each_replica_has_a_rack_of_the_team_and_each_member_a_host() {
    let [first, second] = both(&set());
    assert_eq!((first.len(), racks(&first), hosts(&first)), (4, vec!["red-1"], 4));
    assert_eq!((second.len(), racks(&second), hosts(&second)), (4, vec!["red-2"], 4));
}

#[test]
fn each_line_is_needed() {
    let without = |path: &str| both(&without(set(), &format!("{TEMPLATE} {path}")));
    let [first, second] = without("metadata annotations berth.dev/exclusive");
    assert_eq!(
        (racks(&first), racks(&second)),
        (vec!["red-1"], vec!["red-1"]),
        "best fit: what is left of it"
    );

    let intolerant = without("spec tolerations");
    assert!(intolerant.iter().all(Vec::is_empty), "kept off by the taint: {intolerant:?}");

    let [first, _] = without("spec affinity nodeAffinity");
    assert_eq!(racks(&first), ["open"], "nobody's rack is the tightest");

    let [first, _] = without("spec affinity podAntiAffinity");
    assert_eq!((first.len(), racks(&first), hosts(&first)), (4, vec!["red-short"], 1), "all on one host");

    let [first, _] = without("metadata labels");
    assert_eq!(hosts(&first), 1, "anti-affinity with nobody");
}
