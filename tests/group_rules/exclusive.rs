//! Promise 3: a domain to itself, among the groups of the set, the namespace or the cluster.

use serde_json::{Value, json};

use crate::scene::{Scene, Stage, all_annotated, annotated, group, labelled, single};

fn of_set(name: &str, set: &str, exclusive: &str) -> Vec<Value> {
    let pods = all_annotated(group(name, 2), "berth.dev/group-set", set);
    all_annotated(pods, "berth.dev/exclusive", exclusive)
}

fn elsewhere(pods: Vec<Value>, namespace: &str) -> Vec<Value> {
    pods.into_iter()
        .map(|mut pod| {
            pod["metadata"]["namespace"] = json!(namespace);
            pod
        })
        .collect()
}

fn lone_rack() -> Stage {
    Scene::new().settings("{limits: {widestExclusive: Cluster}}").rack("a", 8).open()
}

#[test]
fn others_in_the_scope_stay_out_whoever_asks_for_it() {
    let exclusive = "required domain is exclusive to another replica group";
    for (scope, sibling, neighbour, stranger) in [
        ("Set", false, true, true),
        ("Namespace", false, false, true),
        ("Cluster", false, false, false),
        ("", true, true, true),
    ] {
        let first = of_set("first", "s", scope);
        let others = [
            (of_set("other", "s", ""), sibling),
            (of_set("other", "t", ""), neighbour),
            (elsewhere(of_set("other", "s", ""), "far"), stranger),
        ];
        for (other, welcome) in others {
            // Whichever of the two came first, and whether it is all there or only its room is kept.
            for complete in [1, 2] {
                let stage = lone_rack();
                stage.place_all(&first[..complete]);
                assert_eq!(
                    !stage.passing(&other[0]).is_empty(),
                    welcome,
                    "{scope}: {}",
                    other[0]["metadata"]
                );
                if !welcome {
                    assert_eq!(stage.reasons(&other[0]).1, [exclusive]);
                }
                let stage = lone_rack();
                stage.place_all(&other[..complete]);
                assert_eq!(
                    !stage.passing(&first[0]).is_empty(),
                    welcome,
                    "{scope}: {}",
                    other[0]["metadata"]
                );
            }
        }
        let stage = lone_rack();
        stage.place_all(&first);
        assert_eq!(stage.passing(&single("s")).len(), 6, "single pods are no group");
    }
}

#[test]
fn the_group_itself_is_no_stranger_in_its_domain() {
    let stage = lone_rack();
    assert_eq!(stage.place_all(&of_set("g", "s", "Cluster")), vec![Some("a".to_owned()); 2]);
}

#[test]
fn a_wider_domain_that_is_closed_closes_the_racks_in_it() {
    let block = |name: &str| json!({"example.com/block": name});
    let cpu = json!({"cpu": "1"});
    let scene = Scene::new().rack_of("a1", 2, &cpu, &block("a")).rack_of("a2", 2, &cpu, &block("a"));
    let stage = scene.rack_of("b1", 2, &cpu, &block("b")).open();
    let alone =
        all_annotated(of_set("g", "s", "Cluster"), "berth.dev/required-topology", "example.com/block");
    stage.place(&alone[0]).expect("a place");
    let closed = stage.racks(&alone[1]);
    let other = stage.racks(&group("h", 2)[0]);
    assert!(!closed.iter().any(|rack| other[0].starts_with(&rack[..1])), "{closed:?} {other:?}");
}

#[test]
fn leader_worker_sets_and_job_sets_ask_for_it_with_annotations_of_their_own() {
    let lws = |index: &str, at: usize| {
        let pod = labelled(single(&format!("llm-{index}-{at}")), "leaderworkerset.sigs.k8s.io/name", "llm");
        let pod = labelled(pod, "leaderworkerset.sigs.k8s.io/group-index", index);
        let pod = labelled(pod, "leaderworkerset.sigs.k8s.io/worker-index", &at.to_string());
        let pod = annotated(pod, "leaderworkerset.sigs.k8s.io/size", "2");
        annotated(pod, "leaderworkerset.sigs.k8s.io/exclusive-topology", "example.com/rack")
    };
    let job = |key: &str, at: usize| {
        let pod = labelled(single(&format!("{key}-{at}")), "jobset.sigs.k8s.io/job-key", key);
        annotated(pod, "alpha.jobset.sigs.k8s.io/exclusive-topology", "example.com/rack")
    };
    let stage = Scene::new().rack("a", 8).rack("b", 8).open();
    let first = stage.place_all(&[lws("0", 0), lws("0", 1)]);
    let second = stage.place_all(&[lws("1", 0), lws("1", 1)]);
    assert!(first[0] == first[1] && second[0] == second[1] && first[0] != second[0], "{first:?} {second:?}");
    assert!(stage.place(&job("k", 0)).is_none(), "a job of a set wants to be alone in the whole cluster");
}

#[test]
fn a_group_without_a_topology_stays_out_as_well() {
    let stage = Scene::new().rack("a", 4).rack("b", 4).open();
    let alone = of_set("g", "s", "Cluster");
    let taken = stage.place_all(&alone)[0].clone().expect("a place");
    let plain = all_annotated(group("h", 2), "berth.dev/required-topology", "");
    let racks = stage.racks(&plain[0]);
    assert!(racks.len() == 1 && racks[0] != taken, "{racks:?}");
}
