//! Promises 1, 2, 6 and 9: together, whole or not at all, best fit, and said out loud.

use serde_json::json;

use crate::scene::{Scene, all_annotated, annotated, group, on, pod, single, with_spec};

const TOO_SMALL: &str = "replica group does not fit as a whole into the required domain";

#[test]
fn a_group_goes_where_least_is_left_over() {
    let stage = Scene::new().rack("r1", 1).rack("r3", 3).rack("r4", 4).rack("r9", 9).open();
    let places: Vec<_> = ["a", "b", "c"].iter().map(|name| stage.place_all(&group(name, 4))).collect();
    let all_in = |rack: &str| vec![Some(rack.to_owned()); 4];
    assert_eq!(places, [all_in("r4"), all_in("r9"), all_in("r9")]);
    assert_eq!(stage.kept(), (0, 0), "everybody has come");
}

#[test]
fn a_group_that_fits_nowhere_as_a_whole_is_let_in_nowhere() {
    let stage = Scene::new().rack("a", 3).rack("b", 3).loose_node("loose").open();
    let (helped, others) = stage.reasons(&group("g", 4)[0]);
    let unlabelled = "node lacks the label of the replica group's required topology";
    assert_eq!((helped, others), (vec![], vec![unlabelled.to_owned(), TOO_SMALL.to_owned()]));
    assert_eq!(stage.kept(), (0, 0));
    assert_eq!(stage.racks(&group("h", 3)[0]).len(), 1, "of two that are alike, one, and always the same");
    assert_eq!(stage.racks(&group("h", 3)[0]), stage.racks(&group("h", 3)[1]));
}

#[test]
fn leader_and_workers_are_counted_each_with_what_they_ask_for() {
    let gpus = |cpu: &str, gpus: &str| json!({"cpu": cpu, "nvidia.com/gpu": gpus});
    // In the first rack the leader fits, and so does any one worker.
    let scene = Scene::new().rack_of("few", 3, &gpus("8", "8"), &json!({}));
    let stage = scene.rack_of("many", 4, &gpus("8", "8"), &json!({})).open();
    let mut members = group("g", 5);
    members[0]["spec"]["containers"][0]["resources"]["requests"] = json!({"cpu": "1"});
    for worker in &mut members[1..] {
        worker["spec"]["containers"][0]["resources"]["requests"] = json!({"cpu": "1", "nvidia.com/gpu": "8"});
    }
    stage.see(&members);
    assert_eq!(stage.place_all(&members), vec![Some("many".to_owned()); 5]);
}

#[test]
fn a_member_that_is_not_seen_yet_is_taken_to_be_like_the_one_that_asks() {
    let stage = Scene::new().rack("a", 3).rack("b", 4).open();
    assert_eq!(stage.racks(&group("g", 4)[2]), ["b"]);
    // Without a size, those that are there are the group.
    let small = all_annotated(group("h", 3), "berth.dev/group-size", "");
    stage.see(&small);
    assert_eq!(stage.racks(&small[0]), ["a"]);
}

#[test]
fn members_go_to_nodes_that_kube_scheduler_offers_and_the_others_anywhere_in_the_domain() {
    let stage = Scene::new().rack("a", 2).rack("b", 4).open();
    let offered = ["a-0", "a-1", "b-3"].map(String::from);
    assert_eq!(stage.passing_of(&group("g", 4)[0], &offered), ["b-3"]);
    assert_eq!(stage.kept(), (1, 3), "and the one that was offered a single node is as good as there");
}

#[test]
fn taints_selectors_and_affinity_of_each_member_count() {
    let labels = json!({"pool": "gpu"});
    let scene = Scene::new().rack("plain", 4).rack_of("pool", 4, &json!({"cpu": "1"}), &labels);
    let mut members = group("g", 4);
    members[3] = with_spec(members[3].clone(), "nodeSelector", labels);
    let stage = scene.open();
    stage.see(&members);
    assert_eq!(stage.racks(&members[0]), ["pool"], "for the sake of the last one");

    let required = json!({"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": [
        {"matchExpressions": [{"key": "pool", "operator": "DoesNotExist"}]}]}}});
    let mut members = group("h", 4);
    members[3] = with_spec(members[3].clone(), "affinity", required);
    stage.see(&members);
    stage.wait(61);
    assert_eq!(stage.racks(&members[0]), ["plain"]);
}

#[test]
fn one_member_per_host_needs_as_many_hosts() {
    let large = json!({"cpu": "8"});
    let scene = Scene::new().rack_of("few", 3, &large, &json!({})).rack_of("many", 4, &large, &json!({}));
    let alone = json!({"podAntiAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [
        {"topologyKey": "kubernetes.io/hostname", "labelSelector": {"matchLabels": {"app": "g"}}}]}});
    let apart = |name: &str| {
        let pods = group(name, 4).into_iter();
        let pods =
            pods.map(|pod| with_spec(crate::scene::labelled(pod, "app", "g"), "affinity", alone.clone()));
        pods.collect::<Vec<_>>()
    };
    let stage = scene.clone().open();
    let nodes: Vec<_> = apart("g").iter().map(|pod| stage.place(pod)).collect();
    let mut names: Vec<_> = nodes.into_iter().map(|node| node.expect("a place")).collect();
    names.sort();
    assert_eq!(names, ["many-0", "many-1", "many-2", "many-3"]);
    let (_, reasons) = stage.reasons(&apart("h")[0]);
    assert_eq!(reasons, [TOO_SMALL], "those of the first group keep others away as well");
}

#[test]
fn the_number_of_pods_a_node_may_have_counts() {
    let mut scene = Scene::new();
    for (rack, pods) in [("tight", "2"), ("wide", "3")] {
        scene = scene
            .with(json!({"apiVersion": "v1", "kind": "Node", "metadata": {"name": format!("{rack}-0"),
            "labels": {"example.com/rack": rack}}, "status": {"allocatable": {"cpu": "64", "pods": pods}}}));
    }
    let mut stage = scene.open();
    stage.nodes = ["tight-0", "wide-0"].map(String::from).to_vec();
    assert_eq!(stage.passing(&group("g", 3)[0]), ["wide-0"]);
}

#[test]
fn annotations_that_make_no_sense_are_said_out_loud() {
    let stage = Scene::new().rack("a", 4).open();
    for (key, value, words) in [
        ("berth.dev/group", "two\nlines", "control characters"),
        ("berth.dev/group-size", "four", "no number from 1 to 10000"),
        ("berth.dev/group-index", "x", "no number"),
        ("berth.dev/exclusive", "All", "none of Set, Namespace, Cluster"),
        ("berth.dev/required-topology", "a rack", "no label key"),
    ] {
        let (_, reasons) = stage.reasons(&annotated(group("g", 2)[0].clone(), key, value));
        assert!(reasons.len() == 1 && reasons[0].contains(words), "{key}: {reasons:?}");
    }
    assert_eq!(
        stage.passing(&annotated(single("s"), "berth.dev/group-size", "four")).len(),
        4,
        "no group, no matter"
    );
}

#[test]
fn a_group_without_a_topology_is_placed_one_by_one() {
    let stage = Scene::new().rack("a", 1).rack("b", 1).open();
    let members = all_annotated(group("g", 4), "berth.dev/required-topology", "");
    assert_eq!(stage.passing(&members[0]).len(), 2);
    assert_eq!(stage.kept(), (0, 0));
    let huge = pod("huge", &json!({"cpu": "64"}));
    assert_eq!(
        stage.passing_of(&huge, &stage.nodes).len(),
        2,
        "whether a single pod fits is kube-scheduler's to say"
    );
}

#[test]
fn a_size_that_nobody_could_mean_costs_no_memory_and_is_said_out_loud() {
    let stage = Scene::new().rack("a", 4).open();
    let (_, reasons) =
        stage.reasons(&annotated(group("g", 2)[0].clone(), "berth.dev/group-size", "4294967295"));
    assert!(reasons[0].contains("no number from 1 to 10000"), "{reasons:?}");
    let kueue = crate::scene::labelled(single("k"), "kueue.x-k8s.io/pod-group-name", "k");
    let kueue = annotated(kueue, "kueue.x-k8s.io/pod-group-total-count", "4294967295");
    let kueue = annotated(kueue, "kueue.x-k8s.io/podset-required-topology", "example.com/rack");
    assert!(stage.reasons(&kueue).1[0].contains("more members than replicaGroups.limits.members"));
}

#[test]
fn members_that_differ_only_in_a_label_by_which_they_keep_apart_are_not_alike() {
    let apart = json!({"podAntiAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [
        {"topologyKey": "kubernetes.io/hostname", "labelSelector": {"matchLabels": {"role": "worker"}}}]}});
    let large = json!({"cpu": "8"});
    let scene = Scene::new().rack_of("few", 2, &large, &json!({})).rack_of("many", 4, &large, &json!({}));
    let role = |(at, pod)| {
        let pod = crate::scene::labelled(pod, "role", if at == 0 { "leader" } else { "worker" });
        with_spec(pod, "affinity", apart.clone())
    };
    let members: Vec<_> = group("g", 4).into_iter().enumerate().map(role).collect();
    let stage = scene.open();
    stage.see(&members);
    assert_eq!(stage.racks(&members[0]), ["many"]);
}

#[test]
fn a_group_does_not_begin_while_a_member_is_held_back_by_a_gate() {
    let members = group("g", 3);
    let gated = with_spec(members[2].clone(), "schedulingGates", json!([{"name": "example.com/quota"}]));
    let stage = Scene::new().rack("a", 4).open();
    stage.see(&[members[0].clone(), members[1].clone(), gated.clone()]);
    let answer = stage.filter(&members[0]);
    assert_eq!(answer["Error"], "berth: a member of the replica group is held back by a scheduling gate");
    assert_eq!(stage.kept(), (0, 0));
    stage.see(&members[2..]);
    assert_eq!(stage.passing(&members[0]).len(), 4);
    // Whoever has begun goes on, and room is kept for the one that is held back.
    stage.see(&[on(&members[0], "a-0"), gated]);
    assert_eq!((stage.passing(&members[1]).len(), stage.kept()), (3, (1, 2)));
}

#[test]
fn a_gate_on_a_pod_that_the_group_is_whole_without_holds_nobody_up() {
    let (members, surplus) = (group("g", 2), group("g", 3).remove(2));
    let surplus = annotated(surplus, "berth.dev/group-size", "2");
    let stage = Scene::new().rack("a", 4).open();
    stage.see(&members);
    stage.see(&[with_spec(surplus, "schedulingGates", json!([{"name": "example.com/quota"}]))]);
    assert!(!stage.passing(&members[0]).is_empty());
}
