//! Grove: the pods of a gang together, where the gang says.

use serde_json::{Value, json};

use crate::scene::{RACK, Scene, labelled, single};

fn members(gang: &str, count: usize) -> Vec<Value> {
    (0..count).map(|at| labelled(single(&format!("{gang}-{at}")), "grove.io/podgang", gang)).collect()
}

fn gang(name: &str, constraint: &Value) -> Value {
    json!({"apiVersion": "scheduler.grove.io/v1alpha1", "kind": "PodGang",
        "metadata": {"name": name, "namespace": "default"},
        "spec": {"podgroups": [{"name": "prefill", "minReplicas": 1}, {"name": "decode", "minReplicas": 2}],
            "topologyConstraint": {"packConstraint": constraint}}})
}

#[test]
fn a_gang_goes_as_a_whole_or_waits() {
    let required = json!({"required": RACK});
    let scene = Scene::new().rack("a", 2).rack("b", 3).rack("c", 2);
    let stage = scene.with(gang("one", &required)).with(gang("two", &required)).open();
    // Its operator creates all pods before it lets any be scheduled.
    stage.see(&[members("one", 3), members("two", 3)].concat());
    assert_eq!(stage.place_all(&members("one", 3)), vec![Some("b".to_owned()); 3]);
    assert!(stage.racks(&members("two", 3)[0]).is_empty(), "no rack has room for three");
    assert_eq!(stage.kept(), (0, 0), "and nothing is kept for who waits");
}

#[test]
fn a_gang_that_prefers_a_rack_goes_elsewhere_if_it_must() {
    let stage = Scene::new().rack("a", 2).rack("b", 2).with(gang("one", &json!({"preferred": RACK}))).open();
    stage.see(&members("one", 3));
    assert!(stage.place_all(&members("one", 3)).iter().all(Option::is_some));
}
