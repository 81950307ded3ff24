//! Promise 2, for what few members ask for: volumes, host ports, pods to be near, and what is added when pods are made.

use serde_json::{Value, json};

use crate::leader_worker_set::{leader, member, set};
use crate::scene::{RACK, Scene, group, labelled, on, pod, single, with_spec};

/// Two racks, of which the first is the tighter one: whoever has no other reason goes there.
fn racks(tight: usize, wide: usize) -> Scene {
    let large = json!({"cpu": "8"});
    let zone = |zone: &str| json!({"topology.kubernetes.io/zone": zone});
    let scene = Scene::new().rack_of("tight", tight, &large, &zone("z1"));
    scene.rack_of("wide", wide, &large, &zone("z2"))
}

fn volume_in(name: &str, rack: &str) -> Value {
    json!({"apiVersion": "v1", "kind": "PersistentVolume", "metadata": {"name": name}, "spec": {"nodeAffinity":
        {"required": {"nodeSelectorTerms": [{"matchExpressions": [{"key": RACK, "operator": "In", "values": [rack]}]}]}}}})
}

fn claim(name: &str, spec: &Value) -> Value {
    json!({"apiVersion": "v1", "kind": "PersistentVolumeClaim",
        "metadata": {"name": name, "namespace": "default"}, "spec": spec})
}

fn bound(name: &str, volume: &str) -> Value {
    claim(name, &json!({"volumeName": volume}))
}

fn using(pod: Value, claim: &str) -> Value {
    with_spec(pod, "volumes", json!([{"name": "data", "persistentVolumeClaim": {"claimName": claim}}]))
}

fn wanting_port(mut pod: Value, port: u32) -> Value {
    pod["spec"]["containers"][0]["ports"] = json!([{"containerPort": port, "hostPort": port}]);
    pod
}

fn near(pod: Value, key: &str, labels: &Value) -> Value {
    let required = json!([{"topologyKey": key, "labelSelector": {"matchLabels": labels}}]);
    let affinity = json!({"podAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": required}});
    with_spec(pod, "affinity", affinity)
}

/// A set of four whose workers look like this.
fn set_of(worker_spec: &Value, more: &Value) -> Value {
    let mut set = set(&json!({"spec": worker_spec}));
    for (field, value) in more.as_object().into_iter().flatten() {
        set["spec"]["leaderWorkerTemplate"][field] = value.clone();
    }
    set
}

fn containers(requests: &Value) -> Value {
    json!({"containers": [{"name": "main", "resources": {"requests": requests}}]})
}

#[test]
fn a_group_goes_where_the_volume_of_its_last_member_is() {
    let mut members = group("g", 4);
    members[3] = using(members[3].clone(), "data-3");
    let stage = racks(4, 9).with(volume_in("v", "wide")).with(bound("data-3", "v")).open();
    assert_eq!(stage.racks(&group("other", 4)[0]), ["tight"], "nothing else draws anybody there");
    stage.wait(61);
    stage.see(&members);
    assert_eq!(stage.place_all(&members), vec![Some("wide".to_owned()); 4]);
}

#[test]
fn members_whose_volumes_are_in_different_racks_fit_nowhere_together() {
    let mut members = group("g", 3);
    members[1] = using(members[1].clone(), "one");
    members[2] = using(members[2].clone(), "two");
    let scene = racks(4, 9).with(volume_in("v", "wide")).with(volume_in("w", "tight"));
    let stage = scene.with(bound("one", "v")).with(bound("two", "w")).open();
    stage.see(&members);
    assert!(stage.racks(&members[0]).is_empty());
}

#[test]
fn volumes_that_are_still_to_be_made_count_where_that_is_limited() {
    let class = |mode: &str| {
        json!({"apiVersion": "storage.k8s.io/v1", "kind": "StorageClass", "metadata": {"name": "fast"},
            "provisioner": "x", "volumeBindingMode": mode,
            "allowedTopologies": [{"matchLabelExpressions": [{"key": RACK, "values": ["wide"]}]}]})
    };
    let mut members = group("g", 4);
    members[3] = using(members[3].clone(), "data");
    let unbound = claim("data", &json!({"storageClassName": "fast"}));
    let stage = racks(4, 9).with(class("WaitForFirstConsumer")).with(unbound.clone()).open();
    stage.see(&members);
    assert_eq!(stage.racks(&members[0]), ["wide"]);
}

#[test]
fn a_group_begins_once_it_is_known_where_the_volumes_of_its_members_are() {
    let class = json!({"apiVersion": "storage.k8s.io/v1", "kind": "StorageClass", "metadata": {"name": "fast"},
        "provisioner": "x", "volumeBindingMode": "Immediate"});
    let unbound = claim("data", &json!({"storageClassName": "fast"}));
    let mut members = group("g", 4);
    members[3] = using(members[3].clone(), "data");
    for (name, scene) in [
        ("no claim", racks(4, 9)),
        ("a claim that is bound whoever uses it, and is not yet", racks(4, 9).with(class).with(unbound)),
        ("a volume that is not there", racks(4, 9).with(bound("data", "v"))),
    ] {
        let stage = scene.open();
        stage.see(&members);
        let error = "berth: the volume of a member of the replica group is not known yet";
        assert_eq!(stage.filter(&members[0])["Error"], error, "{name}");
        let low: [(&str, &[&str]); 1] = [("wide-0", &["x"])];
        stage.see(&[on(&single("x"), "wide-0")]);
        assert!(
            stage.preempt(&with_spec(members[0].clone(), "priority", json!(100)), &low).is_empty(),
            "{name}"
        );
        stage.see(&[volume_in("v", "wide"), bound("data", "v")]);
        assert_eq!(stage.racks(&members[0]), ["wide"], "{name}");
    }
}

#[test]
fn a_volume_of_old_says_by_labels_where_it_is() {
    let volume = json!({"apiVersion": "v1", "kind": "PersistentVolume",
        "metadata": {"name": "v", "labels": {"topology.kubernetes.io/zone": "z0__z2"}}, "spec": {}});
    let mut members = group("g", 4);
    members[3] = using(members[3].clone(), "data");
    let stage = racks(4, 9).with(volume).with(bound("data", "v")).open();
    stage.see(&members);
    assert_eq!(stage.racks(&members[0]), ["wide"]);
}

#[test]
fn claims_of_workers_to_come_are_known_by_their_names() {
    let one_cpu = containers(&json!({"cpu": "1"}));
    let templates = json!({"volumeClaimTemplates": [{"metadata": {"name": "data"}}]});
    let mut ephemeral = one_cpu.clone();
    ephemeral["volumes"] = json!([{"name": "scratch", "ephemeral": {"volumeClaimTemplate": {}}}]);
    let mut shared = one_cpu.clone();
    shared["volumes"] = json!([{"name": "model", "persistentVolumeClaim": {"claimName": "model"}}]);
    for (name, set, claim) in [
        ("a template of claims", set_of(&one_cpu, &templates), "data-llm-0-2"),
        ("an ephemeral volume", set_of(&ephemeral, &json!({})), "llm-0-3-scratch"),
        ("one for all of them", set_of(&shared, &json!({})), "model"),
    ] {
        let scene = racks(4, 9).with(set).with(volume_in("v", "wide"));
        assert_eq!(scene.clone().open().racks(&leader(0, "r")), ["tight"], "{name}: not there yet");
        let stage = scene.with(bound(claim, "v")).open();
        assert_eq!(stage.racks(&leader(0, "r")), ["wide"], "{name}");
    }
}

#[test]
fn a_slot_near_a_volume_is_kept_for_the_member_that_uses_it() {
    let mut members = group("g", 2);
    members[1] = using(members[1].clone(), "data");
    let scene = racks(4, 9).with(volume_in("v", "wide")).with(bound("data", "v"));
    let stage = scene.open();
    stage.see(&members);
    assert_eq!(stage.racks(&members[0]), ["wide"]);
    let node = stage.place(&members[0]).expect("a node");
    assert_eq!(stage.kept(), (1, 1));
    stage.see(&[on(&members[0], &node)]);
    assert_eq!(stage.racks(&members[1]), ["wide"]);
}

#[test]
fn members_that_want_a_port_of_their_host_need_a_host_each() {
    let port = |pods: Vec<Value>| pods.into_iter().map(|pod| wanting_port(pod, 9000)).collect::<Vec<_>>();
    let stage = racks(3, 4).open();
    assert_eq!(stage.racks(&group("plain", 4)[0]), ["tight"]);
    stage.wait(61);
    let members = port(group("g", 4));
    assert_eq!(stage.place_all(&members), vec![Some("wide".to_owned()); 4]);
    assert!(stage.racks(&port(group("h", 4))[0]).is_empty(), "the ports are taken");
    assert_eq!(stage.racks(&port(group("h", 3))[0]), ["tight"]);
}

#[test]
fn ports_of_pods_in_place_and_of_slots_are_taken() {
    let daemon = wanting_port(pod("daemon", &json!({})), 9000);
    let mut members = group("g", 3);
    members[2] = wanting_port(members[2].clone(), 9000);
    let one = |rack: &str| Scene::new().rack_of(rack, 1, &json!({"cpu": "8"}), &json!({}));
    let stage = one("a").running(&daemon, "a-0").open();
    stage.see(&members);
    assert!(stage.racks(&members[0]).is_empty(), "for the sake of the last one");
    // The last one has a slot on the only host: its port is not given away.
    let stage = one("a").open();
    stage.see(&members);
    assert_eq!(stage.passing(&members[0]), ["a-0"]);
    assert!(stage.passing(&wanting_port(single("p"), 9000)).is_empty());
    assert_eq!(stage.passing(&wanting_port(single("p"), 9001)), ["a-0"]);
    let mut others = group("h", 2);
    others[1] = wanting_port(others[1].clone(), 9000);
    stage.see(&others);
    assert!(stage.passing(&others[0]).is_empty());
}

#[test]
fn on_the_network_of_the_host_every_port_of_workers_to_come_is_one_of_the_host() {
    let mut worker = containers(&json!({"cpu": "1"}));
    worker["containers"][0]["ports"] = json!([{"containerPort": 9000}]);
    let scene = racks(2, 3);
    assert_eq!(scene.clone().with(set_of(&worker, &json!({}))).open().racks(&leader(0, "r")), ["tight"]);
    worker["hostNetwork"] = json!(true);
    assert_eq!(scene.with(set_of(&worker, &json!({}))).open().racks(&leader(0, "r")), ["wide"]);
}

#[test]
fn workers_to_come_request_what_limit_ranges_add() {
    let range = |namespace: &str| {
        json!({"apiVersion": "v1", "kind": "LimitRange", "metadata": {"name": "defaults", "namespace": namespace},
            "spec": {"limits": [{"type": "Container", "default": {"cpu": "8"}, "defaultRequest": {"cpu": "6"}}]}})
    };
    let worker = json!({"containers": [{"name": "main"}]});
    let scene = racks(2, 3).with(set_of(&worker, &json!({})));
    assert_eq!(scene.clone().open().racks(&leader(0, "r")), ["tight"]);
    assert_eq!(scene.clone().with(range("elsewhere")).open().racks(&leader(0, "r")), ["tight"]);
    let stage = scene.with(range("default")).open();
    assert_eq!(stage.racks(&leader(0, "r")), ["wide"]);
    stage.wait(61);
    stage.lose(&range("default"));
    assert_eq!(stage.racks(&leader(0, "r")), ["tight"]);
}

#[test]
fn room_is_kept_for_what_a_limit_range_adds_while_workers_are_awaited() {
    let range = json!({"apiVersion": "v1", "kind": "LimitRange", "metadata": {"name": "defaults", "namespace": "default"},
        "spec": {"limits": [{"type": "Container", "defaultRequest": {"cpu": "6"}}]}});
    let workers = set_of(&json!({"containers": [{"name": "main"}]}), &json!({}));
    let begun = || racks(2, 3).with(workers.clone()).running(&leader(0, "r"), "wide-0").open();
    let big = pod("big", &json!({"cpu": "3"}));
    let stage = begun();
    assert_eq!(stage.racks(&big), ["tight", "wide"], "workers ask for nothing");
    let stage = begun();
    stage.passing_of(&single("probe"), &[]);
    assert_eq!(stage.kept(), (1, 3));
    stage.see(&[range]);
    assert_eq!(stage.racks(&big), ["tight"]);
}

#[test]
fn workers_to_come_request_what_was_added_to_those_that_run() {
    let set = set_of(&containers(&json!({"cpu": "1"})), &json!({}));
    let injected = |revision: &str| member(1, 2, revision, &json!({"cpu": "7"}));
    let scene = racks(2, 9).with(set);
    assert_eq!(scene.clone().open().racks(&leader(0, "r")), ["tight"]);
    let another = scene.clone().running(&injected("other"), "wide-0").open();
    assert_eq!(another.racks(&leader(0, "r")), ["tight"], "a worker of another revision");
    assert_eq!(scene.running(&injected("r"), "wide-0").open().racks(&leader(0, "r")), ["wide"]);
}

#[test]
fn a_group_goes_where_the_pods_are_that_its_last_member_has_to_be_near() {
    let cache = labelled(single("cache"), "app", "cache");
    let mut members = group("g", 4);
    members[3] = near(members[3].clone(), RACK, &json!({"app": "cache"}));
    let stage = racks(4, 9).running(&cache, "wide-0").open();
    stage.see(&members);
    assert_eq!(stage.place_all(&members), vec![Some("wide".to_owned()); 4]);
    let stage = racks(4, 9).open();
    stage.see(&members);
    assert!(stage.racks(&members[0]).is_empty(), "there is no such pod");
}

#[test]
fn workers_that_have_to_be_near_their_leader_find_room_there() {
    let worker = |key: &str| {
        let label = json!({"leaderworkerset.sigs.k8s.io/worker-index": "0"});
        let pod = near(json!({"spec": containers(&json!({"cpu": "2"}))}), key, &label);
        set_of(&pod["spec"], &json!({}))
    };
    // A leader of one CPU and three workers of two: they share a rack anywhere, and a host only where it is empty.
    let full = |at: usize| pod(&format!("x{at}"), &json!({"cpu": "2"}));
    let scene = racks(2, 3).running(&full(0), "tight-0").running(&full(1), "tight-1");
    assert_eq!(scene.clone().with(worker(RACK)).open().racks(&leader(0, "r")), ["tight"]);
    let stage = scene.with(worker("kubernetes.io/hostname")).open();
    let passing = stage.passing(&leader(0, "r"));
    assert_eq!(passing.len(), 1, "where its workers have their slots: {passing:?}");
    assert!(passing[0].starts_with("wide"), "{passing:?}");
}

#[test]
fn members_that_have_to_be_near_each_other_begin_anywhere() {
    let members: Vec<_> = group("g", 4)
        .into_iter()
        .map(|pod| near(labelled(pod, "gang", "g"), "topology.kubernetes.io/zone", &json!({"gang": "g"})))
        .collect();
    let stage = racks(4, 9).open();
    assert_eq!(stage.place_all(&members), vec![Some("tight".to_owned()); 4]);
}
