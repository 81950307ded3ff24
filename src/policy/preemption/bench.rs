//! What preempt costs: `cargo bench`, or `make bench`.
//!
//! As many candidates as kube-scheduler sends for 5,000 nodes, with every pod on them a victim, against parsing the same
//! body: over plain pods, and where all victims belong to one group of thousands.
#![allow(clippy::expect_used, missing_docs, dead_code, reason = "a benchmark fails by panicking")]

#[path = "../bench_cluster.rs"]
mod bench_cluster;

use std::hint::black_box;

use bench_cluster::{CALLS, NODES, ROUNDS, RULES, cluster, node_name, spread, time};
use berth::cluster::snapshot_file;
use berth::json::Interner;
use berth::verbs::{Verb, Verbs};
use berth::view::change::Change;
use berth::wire::PreemptArgs;
use serde_json::{Map, Value, json};

const PODS: usize = 15_000;
const CANDIDATES: usize = NODES / 10;

/// Ten pods of one group on every candidate, besides what runs there.
fn gather(verbs: &Verbs) {
    let pod = |at: usize| {
        json!({"apiVersion": "v1", "kind": "Pod", "spec": {"nodeName": node_name(at % CANDIDATES)},
            "metadata": {"name": format!("m-{at}"), "namespace": "shop", "uid": format!("m-{at}"),
                "annotations": {"berth.dev/group": "everybody"}}})
    };
    let items: Vec<Value> = (0..10 * CANDIDATES).map(pod).collect();
    let list = json!({"apiVersion": "v1", "kind": "List", "items": items}).to_string();
    let members = snapshot_file::parse(&list, &Interner::default()).expect("members");
    verbs.store.apply(members.objects.into_iter().map(Change::Upsert));
}

/// All pods on each candidate are its victims.
fn body(verbs: &Verbs) -> Vec<u8> {
    let view = verbs.store.view();
    let candidate = |at: usize| {
        let host = view.host(&node_name(at)).expect("a host");
        let pods: Vec<Value> = host.pods.iter().map(|pod| json!({"UID": &*pod.uid})).collect();
        (node_name(at), json!({"Pods": pods, "NumPDBViolations": 0}))
    };
    let candidates: Map<_, _> = (0..CANDIDATES).map(candidate).collect();
    let pod = json!({"metadata": {"name": "web-new", "namespace": "shop", "uid": "u", "labels": {"app": "web"}},
        "spec": {"priority": 1000}});
    json!({"Pod": pod, "NodeNameToMetaVictims": candidates}).to_string().into_bytes()
}

fn main() {
    println!("{CANDIDATES} candidates of {NODES} nodes, {ROUNDS} rounds of {CALLS} calls");
    let plain = cluster(RULES, PODS);
    let grouped = cluster(RULES, PODS);
    gather(&grouped);
    for (what, verbs) in [("plain pods", plain), ("one group of thousands", grouped)] {
        let body = body(&verbs);
        let (mut cost, mut took) = (Vec::new(), Vec::new());
        for _ in 0..ROUNDS {
            let parsing = time(|| drop(black_box(PreemptArgs::decode(black_box(&body)))));
            let call = time(|| drop(black_box(verbs.decide(Verb::Preempt, black_box(&body)))));
            cost.push(call.as_secs_f64() / parsing.as_secs_f64());
            took.push(call.as_secs_f64() * 1e3);
        }
        for (figure, (median, least, most)) in
            [("call against parsing", spread(cost)), ("milliseconds per call here", spread(took))]
        {
            println!("preempt    {what:<24} {figure:<28} {median:6.2}  ({least:.2} to {most:.2})");
        }
    }
}
