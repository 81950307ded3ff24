//! What a nominated node saves: `cargo bench`, or `make bench`.
//!
//! The same pod, with a nominated node in the middle of 5,000 candidates, is filtered with the preference on and off,
//! in turns. A ratio above 1 says how many times cheaper it is with the preference on.
#![allow(clippy::expect_used, missing_docs, dead_code, reason = "a benchmark fails by panicking")]

#[path = "../bench_cluster.rs"]
mod bench_cluster;

use std::hint::black_box;
use std::time::Duration;

use bench_cluster::{CALLS, NODES, ROUNDS, RULES, body, cluster, node_name, spread, time};
use berth::json;
use berth::policy::{Purpose, Question};
use berth::verbs::{Verb, Verbs};
use berth::wire::SchedulingArgs;
use serde_json::json;

const PODS: usize = 15_000;

/// The decision alone: no parsing, no writing, no ledger.
fn decision(verbs: &Verbs, args: &SchedulingArgs<'_>) -> Duration {
    let snapshot = verbs.store.snapshot();
    let (view, engine) = (snapshot.view(), snapshot.engine());
    let pod = json::pod(&args.pod, &verbs.interner);
    let candidates = &args.candidates.names;
    let question = Question::about(Purpose::Filter, &pod, candidates, view);
    time(|| drop(black_box(engine.prepare(black_box(question)).and_then(|asked| asked.filter()))))
}

fn main() {
    let body = body(&json!({"phase": "Pending", "nominatedNodeName": node_name(NODES / 2 + 1)}));
    let args = SchedulingArgs::decode(&body).expect("body");
    let on = cluster(RULES, PODS);
    let off = cluster(&format!("{RULES}nominatedNode: {{policy: Disabled}}\n"), PODS);
    for verbs in [&on, &off] {
        // Counters and domains are made by the first call.
        drop(verbs.decide(Verb::Filter, &body));
    }
    println!("{NODES} candidates, {PODS} pods, {ROUNDS} rounds of {CALLS} calls: off against on");
    let (mut decided, mut called, mut besides, mut micros) = (Vec::new(), Vec::new(), Vec::new(), Vec::new());
    for _ in 0..ROUNDS {
        let [with, without] = [&on, &off].map(|verbs| decision(verbs, &args).as_secs_f64());
        decided.push(without / with);
        micros.push(with * 1e6);
        let parsing = time(|| drop(black_box(SchedulingArgs::decode(black_box(&body))))).as_secs_f64();
        let call = |verbs: &Verbs| time(|| drop(black_box(verbs.decide(Verb::Filter, black_box(&body)))));
        let [with, without] = [&on, &off].map(|verbs| call(verbs).as_secs_f64());
        called.push(without / with);
        besides.push((without - parsing) / (with - parsing));
    }
    for (what, figures) in [
        ("decision", decided),
        ("call, parsing aside", besides),
        ("whole call", called),
        ("microseconds to decide, on", micros),
    ] {
        let (median, least, most) = spread(figures);
        println!("filter     {what:<28} {median:6.2}  ({least:.2} to {most:.2})");
    }
}
