//! The cluster that benchmarks ask about, and how they measure. Not part of the library: each benchmark includes it.

use std::time::{Duration, Instant};

use berth::cluster::snapshot_file;
use berth::config;
use berth::verbs::Verbs;
use berth::view::change::Change;
use serde_json::{Value, json};

/// How many nodes there are.
pub const NODES: usize = 5_000;
/// How often everything is measured, in turns.
pub const ROUNDS: usize = 15;
/// Calls per measurement.
pub const CALLS: usize = 20;
const PIECE: usize = 1_000;

/// A hard limit over racks and preferences over zones and hosts.
pub const RULES: &str = "apiVersion: config.berth.dev/v1alpha1
kind: BerthConfiguration
topologySpread:
  defaultingType: List
  defaultConstraints:
  - {maxSkew: 50, topologyKey: example.com/rack, whenUnsatisfiable: DoNotSchedule}
  - {maxSkew: 5, topologyKey: topology.kubernetes.io/zone, whenUnsatisfiable: ScheduleAnyway}
  - {maxSkew: 3, topologyKey: kubernetes.io/hostname, whenUnsatisfiable: ScheduleAnyway}
";

/// The name of a node.
pub fn node_name(at: usize) -> String {
    format!("ip-10-0-{:03}-{:03}.compute.internal", at / 250, at % 250)
}

/// A cluster with so many pods, a tenth of them of the Service that is asked about. Fed in pieces, so that what is
/// resident afterwards is the cluster and not the text it came from.
pub fn cluster(rules: &str, pods: usize) -> Verbs {
    let verbs = Verbs::in_memory(config::parse(rules).expect("rules"), Vec::new()).expect("verbs");
    let feed = |items: &[Value]| feed(&verbs, items);
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

/// Adds objects to a cluster.
pub fn feed(verbs: &Verbs, items: &[Value]) {
    let list = json!({"apiVersion": "v1", "kind": "List", "items": items}).to_string();
    let loaded = snapshot_file::parse(&list, &verbs.interner).expect("objects");
    verbs.store.apply(loaded.objects.into_iter().map(Change::Upsert));
}

fn node(at: usize) -> Value {
    json!({"apiVersion": "v1", "kind": "Node", "metadata": {"name": node_name(at), "labels": {
        "kubernetes.io/hostname": node_name(at), "topology.kubernetes.io/zone": format!("zone-{}", at % 3),
        "example.com/rack": format!("rack-{}", at % 250)}},
        "status": {"allocatable": {"cpu": "64", "memory": "512Gi", "nvidia.com/gpu": "8", "pods": "110"}}})
}

fn pod(at: usize) -> Value {
    let app = if at.is_multiple_of(10) { "web".to_owned() } else { format!("app-{}", at % 200) };
    json!({"apiVersion": "v1", "kind": "Pod", "metadata": {"name": format!("{app}-{at:06}"),
        "namespace": "shop", "uid": format!("0f7e5a52-93a5-4f5e-9a53-{at:012}"),
        "labels": {"app": app, "pod-template-hash": format!("h{}", at % 400)}},
        "spec": {"nodeName": node_name(at % NODES)}})
}

/// What kube-scheduler sends: one pod, with its status, and the names of all nodes.
pub fn body(status: &Value) -> Vec<u8> {
    let names: Vec<String> = (0..NODES).map(node_name).collect();
    let pod = json!({"metadata": {"name": "web-new", "namespace": "shop", "uid": "u", "labels": {"app": "web"}},
        "spec": {"containers": [{"name": "app", "image": "registry.example/web:1", "resources": {"requests": {"cpu": "1"}}}],
        "tolerations": [{"key": "node.kubernetes.io/not-ready", "operator": "Exists", "effect": "NoExecute"}]},
        "status": status});
    json!({"Pod": pod, "Nodes": null, "NodeNames": names}).to_string().into_bytes()
}

/// How long one call takes.
pub fn time(mut call: impl FnMut()) -> Duration {
    let began = Instant::now();
    for _ in 0..CALLS {
        call();
    }
    began.elapsed() / u32::try_from(CALLS).expect("few calls")
}

/// Median, least and most.
pub fn spread(mut values: Vec<f64>) -> (f64, f64, f64) {
    values.sort_by(f64::total_cmp);
    (values[values.len() / 2], values[0], values[values.len() - 1])
}
