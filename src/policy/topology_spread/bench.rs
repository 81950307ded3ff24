//! What default spreading costs: `cargo bench`, or `make bench`.
//!
//! Every figure is a ratio of two things measured in the same run, in turns, with its spread over the rounds:
//! - a call over 150,000 pods against the same call over 15,000 (should be about 1: the cost does not grow with pods);
//! - a call against parsing its body and echoing the names (the least an extender can do).
#![allow(clippy::expect_used, missing_docs, reason = "a benchmark fails by panicking")]

#[path = "../bench_cluster.rs"]
mod bench_cluster;

use std::hint::black_box;

use bench_cluster::{CALLS, NODES, ROUNDS, RULES, body, cluster, spread, time};
use berth::verbs::Verb;
use berth::wire::SchedulingArgs;
use serde_json::json;

/// The least an extender can do: read the body, write the names back.
fn echo(body: &[u8]) -> Vec<u8> {
    let args = SchedulingArgs::decode(body).expect("body");
    serde_json::to_vec(&args.candidates.names).expect("names")
}

fn resident_mib() -> Option<f64> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find(|line| line.starts_with("VmRSS:"))?;
    Some(line.split_whitespace().nth(1)?.parse::<f64>().ok()? / 1024.0)
}

fn main() {
    let body = body(&json!({"phase": "Pending"}));
    let many = cluster(RULES, 150_000);
    if let Some(mib) = resident_mib() {
        println!("{NODES} nodes and 150,000 pods: {mib:.0} MiB resident in all");
    }
    let few = cluster(RULES, 15_000);
    println!("{NODES} nodes, body of {} bytes, {ROUNDS} rounds of {CALLS} calls", body.len());
    for verb in [Verb::Filter, Verb::Prioritize] {
        let mut growth = Vec::new();
        let mut cost = Vec::new();
        let mut took = Vec::new();
        for _ in 0..ROUNDS {
            let parsing = time(|| drop(black_box(echo(black_box(&body)))));
            let with_few = time(|| drop(black_box(few.decide(verb, black_box(&body)))));
            let with_many = time(|| drop(black_box(many.decide(verb, black_box(&body)))));
            growth.push(with_many.as_secs_f64() / with_few.as_secs_f64());
            cost.push(with_many.as_secs_f64() / parsing.as_secs_f64());
            took.push(with_many.as_secs_f64() * 1e3);
        }
        for (what, (median, least, most)) in [
            ("150,000 pods against 15,000", spread(growth)),
            ("call against parse and echo", spread(cost)),
            ("milliseconds per call here", spread(took)),
        ] {
            println!("{:<10} {what:<28} {median:6.2}  ({least:.2} to {most:.2})", verb.label());
        }
    }
}
