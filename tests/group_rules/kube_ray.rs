//! `KubeRay`: the hosts of one replica of a worker group together.

use serde_json::{Value, json};

use crate::scene::{RACK, Scene, annotated, labelled, single};

fn host(replica: &str, at: usize) -> Value {
    let mut host = single(&format!("{replica}-{at}"));
    for (key, value) in [
        ("ray.io/cluster", "ray"),
        ("ray.io/group", "tpu"),
        ("ray.io/worker-group-replica-name", replica),
        ("ray.io/replica-host-index", &at.to_string()),
    ] {
        host = labelled(host, key, value);
    }
    host
}

fn cluster() -> Value {
    let template =
        json!({"spec": {"containers": [{"name": "main", "resources": {"requests": {"cpu": "1"}}}]}});
    json!({"apiVersion": "ray.io/v1", "kind": "RayCluster",
        "metadata": {"name": "ray", "namespace": "default"},
        "spec": {"workerGroupSpecs": [{"groupName": "tpu", "replicas": 2, "numOfHosts": 3, "template": template}]}})
}

#[test]
fn the_hosts_of_a_replica_go_into_one_rack_or_wait() {
    let rule = "{defaultTopologies: [{sources: [KubeRay], topology: {required: example.com/rack}}]}";
    let stage = Scene::new().settings(rule).rack("a", 2).rack("b", 4).with(cluster()).open();
    let hosts = |replica: &str| [host(replica, 0), host(replica, 1), host(replica, 2)];
    assert_eq!(stage.place(&hosts("one")[0]).as_deref().map(|node| &node[..1]), Some("b"));
    assert_eq!(stage.kept(), (1, 2), "room is kept for the two that nobody has seen");
    assert!(stage.racks(&host("two", 0)).is_empty(), "no rack has room for three more");
    assert_eq!(stage.place_all(&hosts("one")[1..]), vec![Some("b".to_owned()); 2]);
}

#[test]
fn annotations_say_where_too() {
    let stage = Scene::new().rack("a", 2).rack("b", 4).with(cluster()).open();
    assert_eq!(stage.passing(&host("one", 0)).len(), 6, "no topology asked for");
    assert_eq!(stage.racks(&annotated(host("one", 0), "berth.dev/required-topology", RACK)), ["b"]);
}
