//! `berth.yaml`: groups whose authors have said nothing.

use serde_json::{Value, json};

use crate::controllers::replica;
use crate::file::{object, text, without};
use crate::team_with_own_racks::world;
use crate::world::{World, racks};

fn silent(file: &str) -> Value {
    without(object(file), "spec leaderWorkerTemplate workerTemplate metadata annotations")
}

#[test]
fn a_team_gets_a_rack_per_group_without_asking() {
    let set = silent("team-with-own-racks.yaml");
    let scheduler = world(World::new().settings(text("berth.yaml")).with(&set));
    let [first, second] = [0, 1].map(|group| scheduler.place_all(&replica(&set, group)));
    assert_eq!((first.len(), racks(&first)), (4, vec!["red-1"]));
    assert_eq!((second.len(), racks(&second)), (4, vec!["red-2"]));
}

#[test]
fn everybody_else_stays_in_a_block() {
    let set = silent("batch-on-spot.yaml");
    let labels = |block: &str| json!({"example.com/block": block, "example.com/instance-family": "c7"});
    let has = json!({"cpu": "8", "memory": "16Gi"});
    let world = || {
        World::new().with(&set).rack("a1", 5, &has, &labels("a"), "").rack("b1", 3, &has, &labels("b"), "")
    };
    let scheduler = world().settings(text("berth.yaml")).open();
    assert!(scheduler.place_all(&replica(&set, 0)).is_empty(), "no block has room for six");
    let scheduler = world().settings(text("berth.yaml")).rack("b2", 3, &has, &labels("b"), "").open();
    assert_eq!(racks(&scheduler.place_all(&replica(&set, 0))), ["b1", "b2"]);
    assert_eq!(world().open().place_all(&replica(&set, 0)).len(), 6, "without the file, pod by pod");
}
