//! What default spreading costs: `cargo bench`, or `make bench`.
//!
//! Every figure is a ratio of two things measured in the same run, in turns, with its spread over the rounds:
//! - a call over 150,000 pods against the same call over 15,000 (should be about 1: the cost does not grow with pods);
//! - a call against parsing its body and echoing the names (the least an extender can do).
#![allow(clippy::expect_used, missing_docs, reason = "a benchmark fails by panicking")]

use std::hint::black_box;
use std::time::{Duration, Instant};

use berth::cluster::Interner;
use berth::cluster::snapshot_file;
use berth::config;
use berth::verbs::{Verb, Verbs};
use berth::view::change::Change;
use berth::wire::SchedulingArgs;
use serde_json::{Value, json};

const NODES: usize = 5_000;
const ROUNDS: usize = 15;
const CALLS: usize = 20;
const PIECE: usize = 1_000;

const RULES: &str = "apiVersion: config.berth.dev/v1alpha1
kind: BerthConfiguration
topologySpread:
  defaultingType: List
  defaultConstraints:
  - {maxSkew: 50, topologyKey: example.com/rack, whenUnsatisfiable: DoNotSchedule}
  - {maxSkew: 5, topologyKey: topology.kubernetes.io/zone, whenUnsatisfiable: ScheduleAnyway}
  - {maxSkew: 3, topologyKey: kubernetes.io/hostname, whenUnsatisfiable: ScheduleAnyway}
";

fn node_name(at: usize) -> String {
    format!("ip-10-0-{:03}-{:03}.compute.internal", at / 250, at % 250)
}

/// A cluster with so many pods, a tenth of them of the Service that is asked about. Fed in pieces, so that what is
/// resident afterwards is the cluster and not the text it came from.
fn cluster(pods: usize) -> Verbs {
    let verbs = Verbs::in_memory(config::parse(RULES).expect("rules"), Vec::new()).expect("verbs");
    let interner = Interner::default();
    let feed = |items: &[Value]| {
        let list = json!({"apiVersion": "v1", "kind": "List", "items": items}).to_string();
        let loaded = snapshot_file::parse(&list, &interner).expect("objects");
        verbs.store.apply(loaded.objects.into_iter().map(Change::Upsert));
    };
    feed(&[json!({"apiVersion": "v1", "kind": "Service", "metadata": {"name": "web", "namespace": "shop"},
        "spec": {"selector": {"app": "web"}}})]);
    for from in (0..NODES).step_by(PIECE) {
        feed(&(from..NODES.min(from + PIECE)).map(node).collect::<Vec<_>>());
    }
    for from in (0..pods).step_by(PIECE) {
        feed(&(from..pods.min(from + PIECE)).map(pod).collect::<Vec<_>>());
    }
    verbs
}

fn node(at: usize) -> Value {
    json!({"apiVersion": "v1", "kind": "Node", "metadata": {"name": node_name(at), "labels": {
        "kubernetes.io/hostname": node_name(at), "topology.kubernetes.io/zone": format!("zone-{}", at % 3),
        "example.com/rack": format!("rack-{}", at % 250)}}})
}

fn pod(at: usize) -> Value {
    let app = if at % 10 == 0 { "web".to_owned() } else { format!("app-{}", at % 200) };
    json!({"apiVersion": "v1", "kind": "Pod", "metadata": {"name": format!("{app}-{at:06}"),
        "namespace": "shop", "uid": format!("0f7e5a52-93a5-4f5e-9a53-{at:012}"),
        "labels": {"app": app, "pod-template-hash": format!("h{}", at % 400)}},
        "spec": {"nodeName": node_name(at % NODES)}})
}

/// What kube-scheduler sends: one pod and the names of all nodes.
fn body() -> Vec<u8> {
    let names: Vec<String> = (0..NODES).map(node_name).collect();
    let pod = json!({"metadata": {"name": "web-new", "namespace": "shop", "uid": "u", "labels": {"app": "web"}},
        "spec": {"containers": [{"name": "app", "image": "registry.example/web:1", "resources": {"requests": {"cpu": "1"}}}],
        "tolerations": [{"key": "node.kubernetes.io/not-ready", "operator": "Exists", "effect": "NoExecute"}]},
        "status": {"phase": "Pending"}});
    json!({"Pod": pod, "Nodes": null, "NodeNames": names}).to_string().into_bytes()
}

/// The least an extender can do: read the body, write the names back.
fn echo(body: &[u8]) -> Vec<u8> {
    let args = SchedulingArgs::decode(body).expect("body");
    serde_json::to_vec(&args.candidates.names).expect("names")
}

fn time(mut call: impl FnMut()) -> Duration {
    let began = Instant::now();
    for _ in 0..CALLS {
        call();
    }
    began.elapsed() / u32::try_from(CALLS).expect("few calls")
}

/// Median, least and most.
fn spread(mut values: Vec<f64>) -> (f64, f64, f64) {
    values.sort_by(f64::total_cmp);
    (values[values.len() / 2], values[0], values[values.len() - 1])
}

fn resident_mib() -> Option<f64> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find(|line| line.starts_with("VmRSS:"))?;
    Some(line.split_whitespace().nth(1)?.parse::<f64>().ok()? / 1024.0)
}

fn main() {
    let body = body();
    let many = cluster(150_000);
    if let Some(mib) = resident_mib() {
        println!("{NODES} nodes and 150,000 pods: {mib:.0} MiB resident in all");
    }
    let few = cluster(15_000);
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
