//! What it costs to find a domain for a group: `cargo bench`, or `make bench`.
//!
//! A group of 16 in a cluster of 5,000 nodes in 250 racks, with all nodes as candidates: cold, when every rack is looked
//! at, and anchored, when members are running already. Both as a ratio of what filter costs for a pod that only default
//! spreading concerns, on the same cluster, in turns.
#![allow(clippy::expect_used, missing_docs, dead_code, reason = "a benchmark fails by panicking")]

#[path = "../bench_cluster.rs"]
mod bench_cluster;

use std::hint::black_box;
use std::time::Duration;

use bench_cluster::{CALLS, NODES, ROUNDS, RULES, body, cluster, feed, node_name, spread, time};
use berth::json;
use berth::policy::{Purpose, Question};
use berth::verbs::{Verb, Verbs};
use berth::wire::SchedulingArgs;
use serde_json::{Value, json};

const PODS: usize = 15_000;
const SIZE: usize = 16;

fn member(group: &str, at: usize) -> Value {
    json!({"apiVersion": "v1", "kind": "Pod", "metadata": {"name": format!("{group}-{at}"), "namespace": "shop",
        "uid": format!("{group}-{at}"), "annotations": {"berth.dev/group": group, "berth.dev/group-size": SIZE.to_string(),
        "berth.dev/required-topology": "example.com/rack"}},
        "spec": {"containers": [{"name": "main", "resources": {"requests": {"cpu": "4", "nvidia.com/gpu": "8"}}}]}})
}

fn asking(pod: &Value) -> Vec<u8> {
    let names: Vec<String> = (0..NODES).map(node_name).collect();
    json!({"Pod": pod, "Nodes": null, "NodeNames": names}).to_string().into_bytes()
}

/// The decision alone: no parsing, no writing, no ledger.
fn decision(verbs: &Verbs, args: &SchedulingArgs<'_>) -> Duration {
    let snapshot = verbs.store.snapshot();
    let (view, engine) = (snapshot.view(), snapshot.engine());
    let mut pod = json::pod(&args.pod, &verbs.interner).into();
    view.recognise_group(&mut pod);
    let candidates = &args.candidates.names;
    let question = Question::about(Purpose::Filter, &pod, candidates, view);
    time(|| drop(black_box(engine.prepare(black_box(question)).and_then(|asked| asked.filter()))))
}

fn main() {
    let verbs = cluster(RULES, PODS);
    // Half of a group in rack 7.
    let running = (0..SIZE / 2).map(|at| {
        let mut pod = member("anchored", at);
        pod["spec"]["nodeName"] = json!(node_name(7 + 250 * at));
        pod
    });
    feed(&verbs, &running.collect::<Vec<_>>());
    // All of another wait: a group whose members are not known does not begin.
    feed(&verbs, &(0..SIZE).map(|at| member("cold", at)).collect::<Vec<_>>());
    let single = body(&json!({"phase": "Pending"}));
    let [cold, anchored] = ["cold", "anchored"].map(|group| asking(&member(group, SIZE - 1)));
    let bodies = [&single, &cold, &anchored];
    let call = |body: &[u8]| drop(black_box(verbs.decide(Verb::Filter, black_box(body))));
    // Nothing is kept and nobody is under way when a measurement begins.
    let forget = || drop(verbs.store.write(|view| view.advance(Duration::from_hours(1))));
    for body in bodies {
        call(body);
    }
    forget();
    println!("{NODES} nodes in 250 racks, {PODS} pods, a group of {SIZE}, {ROUNDS} rounds of {CALLS} calls");
    let mut figures: [Vec<f64>; 6] = Default::default();
    let mut micros: [Vec<f64>; 3] = Default::default();
    for _ in 0..ROUNDS {
        let args = bodies.map(|body| SchedulingArgs::decode(body).expect("body"));
        let decided = args.each_ref().map(|args| decision(&verbs, args).as_secs_f64());
        let called = bodies.map(|body| {
            let spent = time(|| {
                call(body);
                forget();
            });
            spent.as_secs_f64()
        });
        for (at, of) in [(0, 1), (1, 2)] {
            figures[at].push(decided[of] / decided[0]);
            figures[at + 2].push(called[of] / called[0]);
        }
        for (micros, decided) in micros.iter_mut().zip(decided) {
            micros.push(decided * 1e6);
        }
    }
    let [cold, anchored, cold_call, anchored_call, ..] = figures;
    let [spreading, cold_micros, anchored_micros] = micros;
    for (what, figures) in [
        ("cold, decision against spreading's", cold),
        ("anchored, decision against spreading's", anchored),
        ("cold, whole call against spreading's", cold_call),
        ("anchored, whole call against spreading's", anchored_call),
        ("microseconds to decide, spreading", spreading),
        ("microseconds to decide, cold", cold_micros),
        ("microseconds to decide, anchored", anchored_micros),
    ] {
        let (median, least, most) = spread(figures);
        println!("filter     {what:<42} {median:8.2}  ({least:.2} to {most:.2})");
    }
}
