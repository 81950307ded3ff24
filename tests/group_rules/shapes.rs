//! How members are put on the hosts of their domain, and what default spreading makes of them.

use serde_json::json;

use crate::scene::{Scene, group, labelled, single};

#[test]
fn members_share_as_few_hosts_as_they_can_or_as_many_as_there_are() {
    let scene = || Scene::new().rack_of("a", 4, &json!({"cpu": "2"}), &json!({}));
    let hosts = |settings: &str| {
        let stage = scene().settings(settings).open();
        let mut used = std::collections::BTreeSet::new();
        for member in &group("g", 4) {
            let passing = stage.passing(member);
            let scores = stage.scores(member);
            let best = passing.iter().max_by_key(|name| {
                scores[stage.nodes.iter().position(|node| node == *name).expect("a candidate")]
            });
            let best = best.expect("a place").clone();
            stage.bind(member, &best);
            used.insert(best);
        }
        used.len()
    };
    assert_eq!(hosts("{}"), 2);
    assert_eq!(hosts("{packing: MostHosts}"), 4);
}

#[test]
fn wherever_members_go_the_others_still_fit() {
    // The last host that passes is as good as the first, also for members of different sizes.
    let stage = Scene::new().rack_of("a", 3, &json!({"cpu": "3"}), &json!({})).open();
    let mut members = group("g", 5);
    for (member, cpu) in members.iter_mut().zip(["1", "2", "1", "2", "3"]) {
        member["spec"]["containers"][0]["resources"]["requests"] = json!({"cpu": cpu});
    }
    stage.see(&members);
    for member in &members {
        let last = stage.passing(member).pop().expect("a place");
        stage.bind(member, &last);
    }
}

#[test]
fn members_are_not_spread_by_default_but_groups_are() {
    let service = json!({"apiVersion": "v1", "kind": "Service", "metadata": {"name": "web", "namespace": "default"},
        "spec": {"selector": {"app": "web"}}});
    let members: Vec<_> = group("g", 4).into_iter().map(|pod| labelled(pod, "app", "web")).collect();
    let other = labelled(single("o"), "app", "web");
    let stage = Scene::new()
        .rack_of("a", 2, &json!({"cpu": "4"}), &json!({}))
        .with(service)
        .running(&other, "a-0")
        .open();
    stage.place(&members[0]).expect("a place");
    let scores = stage.scores(&members[1]);
    let single = stage.scores(&labelled(crate::scene::single("s"), "app", "web"));
    assert_ne!(single, scores, "a single pod of the Service is spread");
    assert!(scores.contains(&10));
}

#[test]
fn a_service_per_group_is_not_what_its_members_are_spread_by() {
    let group_of = |name: &str, group: &str| {
        let pod = labelled(single(name), "leaderworkerset.sigs.k8s.io/name", "llm");
        labelled(pod, "leaderworkerset.sigs.k8s.io/group-index", group)
    };
    let service = json!({"apiVersion": "v1", "kind": "Service", "metadata": {"name": "llm-0", "namespace": "default"},
        "spec": {"selector": {"leaderworkerset.sigs.k8s.io/group-index": "0", "leaderworkerset.sigs.k8s.io/name": "llm"}}});
    let scene = Scene::new().rack_of("a", 2, &json!({"cpu": "4"}), &json!({}));
    let stage = scene.with(service).running(&group_of("p0", "0"), "a-0").open();
    assert_eq!(stage.scores(&group_of("p1", "0")), [0, 0]);
}
