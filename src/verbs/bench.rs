//! What waiting for a bind call costs: `cargo bench`, or `make bench`.
//!
//! A filter call whose hard limit depends on a pod in flight decides, waits for that pod's bind call, and decides again.
//! What it costs in all, the wait itself left out, is compared with the same call that comes after that bind call.
#![allow(clippy::expect_used, missing_docs, dead_code, reason = "a benchmark fails by panicking")]

#[path = "../policy/bench_cluster.rs"]
mod bench_cluster;

use std::hint::black_box;
use std::pin::pin;
use std::task::{Context, Poll, Waker};
use std::time::{Duration, Instant};

use bench_cluster::{CALLS, NODES, ROUNDS, body, cluster, node_name, spread};
use berth::model::ObjectKey;
use berth::verbs::{Verb, Verbs};
use serde_json::json;

/// Tight enough for one pod in flight to matter everywhere.
const RULES: &str = "apiVersion: config.berth.dev/v1alpha1
kind: BerthConfiguration
topologySpread:
  defaultingType: List
  defaultConstraints:
  - {maxSkew: 1, topologyKey: example.com/rack, whenUnsatisfiable: DoNotSchedule}
";
const PODS: usize = 15_000;

/// A pod of the same workload that was offered all nodes.
fn in_flight(verbs: &Verbs) {
    let names: Vec<String> = (0..NODES).map(node_name).collect();
    let pod = json!({"metadata": {"name": "web-before", "namespace": "shop", "uid": "before", "labels": {"app": "web"}}});
    let body = json!({"Pod": pod, "Nodes": null, "NodeNames": names}).to_string();
    verbs.decide(Verb::Filter, body.as_bytes()).expect("a well-formed call");
}

fn forget(verbs: &Verbs) {
    verbs.store.write(|view| view.advance(Duration::from_hours(1)));
}

/// The time spent on a call that waits, until it waits and after it was woken.
fn waiting_call(verbs: &Verbs, body: &[u8]) -> Duration {
    forget(verbs);
    in_flight(verbs);
    let mut context = Context::from_waker(Waker::noop());
    let mut call = pin!(verbs.filter(body, Duration::from_hours(1)));
    let began = Instant::now();
    assert!(call.as_mut().poll(&mut context).is_pending(), "the call waits");
    let first = began.elapsed();
    bind_call(verbs);
    let began = Instant::now();
    let Poll::Ready(answer) = call.as_mut().poll(&mut context) else { unreachable!("the call was woken") };
    drop(black_box(answer));
    first + began.elapsed()
}

/// The pod in flight has gone to the first node.
fn bind_call(verbs: &Verbs) {
    verbs.store.write(|view| {
        let (node, minute) = (node_name(0).as_str().into(), Duration::from_mins(1));
        view.assume(&"before".into(), &ObjectKey::new("shop", "web-before"), node, minute);
        Vec::new()
    });
}

/// The time spent on the same call, with the same answer, if the bind call has come already.
fn plain_call(verbs: &Verbs, body: &[u8]) -> Duration {
    forget(verbs);
    in_flight(verbs);
    bind_call(verbs);
    let began = Instant::now();
    drop(black_box(verbs.decide(Verb::Filter, black_box(body))));
    began.elapsed()
}

fn main() {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build().expect("runtime");
    let _context = runtime.enter();
    let verbs = cluster(RULES, PODS);
    let body = body(&json!({"phase": "Pending"}));
    waiting_call(&verbs, &body);
    println!("{NODES} nodes, {PODS} pods, {ROUNDS} rounds of {CALLS} calls");
    let (mut ratios, mut took) = (Vec::new(), Vec::new());
    for _ in 0..ROUNDS {
        let plain: Duration = (0..CALLS).map(|_| plain_call(&verbs, &body)).sum();
        let waited: Duration = (0..CALLS).map(|_| waiting_call(&verbs, &body)).sum();
        ratios.push(waited.as_secs_f64() / plain.as_secs_f64());
        took.push(plain.as_secs_f64() * 1e3 / CALLS as f64);
    }
    for (what, figures) in [("waited against not", ratios), ("milliseconds, not waited", took)] {
        let (median, least, most) = spread(figures);
        println!("filter     {what:<28} {median:6.2}  ({least:.2} to {most:.2})");
    }
}
