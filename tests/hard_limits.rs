//! A hard spreading limit holds in the order of Berth's decisions, whatever bind calls are under way, late or lost.
#![allow(clippy::expect_used, clippy::panic, reason = "a test fails by panicking")]

use std::collections::BTreeMap;
use std::time::{SystemTime, UNIX_EPOCH};

use berth::cluster::snapshot_file;
use berth::config;
use berth::json::Interner;
use berth::verbs::{Verb, Verbs};
use serde_json::{Value, json};

const RACKS: usize = 4;
const NODES: usize = 12;

fn verbs(max_skew: i64) -> Verbs {
    let mut items = vec![json!({"apiVersion": "v1", "kind": "Service",
        "metadata": {"name": "web", "namespace": "shop"}, "spec": {"selector": {"app": "web"}}})];
    items.extend((0..NODES).map(|at| {
        json!({"apiVersion": "v1", "kind": "Node",
            "metadata": {"name": format!("n{at}"), "labels": {"example.com/rack": format!("r{}", at % RACKS)}}})
    }));
    let list = json!({"apiVersion": "v1", "kind": "List", "items": items}).to_string();
    let objects = snapshot_file::parse(&list, &Interner::default()).expect("cluster").objects;
    let rules = format!(
        "apiVersion: config.berth.dev/v1alpha1\nkind: BerthConfiguration\ntopologySpread:\n  defaultingType: List\n  \
         defaultConstraints: [{{maxSkew: {max_skew}, topologyKey: example.com/rack, whenUnsatisfiable: DoNotSchedule}}]\n"
    );
    Verbs::in_memory(config::parse(&rules).expect("rules"), objects).expect("verbs")
}

struct Dice(u64);

impl Dice {
    fn below(&mut self, bound: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        usize::try_from(self.0 % bound as u64).expect("small")
    }
}

/// What filter answered: nodes, or an error.
fn filter(verbs: &Verbs, pod: &str, nodes: &[String]) -> Result<Vec<String>, String> {
    let body = json!({"Pod": {"metadata": {"name": pod, "namespace": "shop", "uid": pod, "labels": {"app": "web"}}},
        "NodeNames": nodes});
    let answer = verbs.decide(Verb::Filter, body.to_string().as_bytes()).expect("sound").expect("an answer");
    let answer: Value = serde_json::from_slice(&answer).expect("JSON");
    let error = answer["Error"].as_str().expect("error");
    if error.is_empty() {
        Ok(serde_json::from_value(answer["NodeNames"].clone()).expect("names"))
    } else {
        Err(error.to_owned())
    }
}

async fn bind(verbs: &Verbs, pod: &str, node: &str) {
    let body = json!({"PodName": pod, "PodNamespace": "shop", "PodUID": pod, "Node": node}).to_string();
    let answer = verbs.bind(body.as_bytes()).await.expect("sound");
    assert_eq!(String::from_utf8_lossy(&answer), r#"{"Error":""}"#);
}

fn all_nodes() -> Vec<String> {
    (0..NODES).map(|at| format!("n{at}")).collect()
}

fn rack(node: &str) -> usize {
    node[1..].parse::<usize>().expect("a number") % RACKS
}

/// Pods are filtered one after the other; bind calls come at once, late, or never.
async fn history(seed: u64) {
    let mut dice = Dice(seed | 1);
    let max_skew = 1 + i64::try_from(dice.below(3)).expect("small");
    let verbs = verbs(max_skew);
    // In the order of decisions: the pod and where it went; `None` while that is open, or if it never bound.
    let mut decided: Vec<(String, Option<String>)> = Vec::new();
    let mut open: Vec<(usize, String)> = Vec::new();
    let mut undecided = 0;
    for at in 0..60 {
        let pod = format!("p{at}");
        let mut candidates = all_nodes();
        candidates.retain(|_| dice.below(8) > 0);
        match filter(&verbs, &pod, &candidates) {
            Ok(nodes) if !nodes.is_empty() => {
                let node = nodes[dice.below(nodes.len())].clone();
                decided.push((pod, None));
                open.push((decided.len() - 1, node));
            }
            Ok(_) => {}
            Err(_) => undecided += 1,
        }
        while !open.is_empty() && (open.len() > 3 || dice.below(3) > 0) {
            let (index, node) = open.swap_remove(dice.below(open.len()));
            if dice.below(10) > 0 {
                bind(&verbs, &decided[index].0, &node).await;
                decided[index].1 = Some(node);
            }
        }
    }
    for (index, node) in open {
        bind(&verbs, &decided[index].0, &node).await;
        decided[index].1 = Some(node);
    }
    let mut pods = [0_i64; RACKS];
    for (pod, node) in &decided {
        let Some(node) = node else { continue };
        pods[rack(node)] += 1;
        let skew = pods[rack(node)] - pods.iter().min().copied().unwrap_or(0);
        assert!(
            skew <= max_skew,
            "seed {seed}: {pod} on {node} makes the skew {skew} of {max_skew}: {pods:?}"
        );
    }
    assert!(decided.len() + undecided > 10, "seed {seed}: hardly anything was decided");
}

#[tokio::test]
async fn the_limit_holds_in_the_order_of_decisions() {
    let fresh = SystemTime::now().duration_since(UNIX_EPOCH).expect("after 1970").as_nanos();
    let fresh = u64::try_from(fresh % u128::from(u64::MAX)).expect("fits");
    println!("fresh seed {fresh}");
    for round in 0..500 {
        history(0x5eed + round * 7919).await;
        history(fresh.wrapping_add(round * 7919)).await;
    }
}

#[tokio::test]
async fn a_placement_that_stays_open_leads_to_another_try_and_never_to_a_rejection() {
    let verbs = verbs(1);
    let nodes = all_nodes();
    assert_eq!(filter(&verbs, "slow", &nodes).expect("free").len(), NODES);
    for attempt in 0..3 {
        // A rejection would let kube-scheduler evict pods for a place that may be free.
        assert!(filter(&verbs, "next", &nodes).is_err(), "attempt {attempt}");
    }
    assert!(filter(&verbs, "other", &nodes).is_err(), "also for the pods after it");
    bind(&verbs, "slow", "n0").await;
    let racks: BTreeMap<_, usize> =
        filter(&verbs, "next", &nodes).expect("decided").iter().fold(BTreeMap::new(), |mut racks, node| {
            *racks.entry(rack(node)).or_default() += 1;
            racks
        });
    assert_eq!(racks.keys().copied().collect::<Vec<_>>(), [1, 2, 3], "every rack but that of the slow pod");
}

#[tokio::test]
async fn a_node_that_is_not_known_yet_is_no_reason_to_give_up() {
    let verbs = verbs(1);
    let error = filter(&verbs, "p", &["brand-new".to_owned()]).expect_err("not known");
    assert!(error.starts_with("berth: "), "{error}");
    let nodes = filter(&verbs, "p", &["brand-new".to_owned(), "n1".to_owned()]).expect("n1 will do");
    assert_eq!(nodes, ["n1"]);
}
