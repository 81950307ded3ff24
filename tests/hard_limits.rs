//! A hard spreading limit holds in the order of Berth's decisions, whatever bind calls are under way, late or lost.
//!
//! | variable             | meaning                                             |
//! |----------------------|-----------------------------------------------------|
//! | `BERTH_LIMITS_CASES` | how many histories, instead of 1,000                |
//! | `BERTH_LIMITS_SEED`  | the seed of the second half, instead of a fresh one |
//! | `BERTH_LIMITS_CASE`  | only the one with this number                       |
#![allow(clippy::expect_used, clippy::panic, reason = "a test fails by panicking")]

mod support;

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::{Duration, Instant};

use berth::cluster::snapshot_file;
use berth::config::{self, Config};
use berth::json::Interner;
use berth::logging::{LogMetrics, Throttle};
use berth::metrics::Registry;
use berth::model::Object;
use berth::server::verbs_metrics::RequestMetrics;
use berth::server::verbs_service::VerbsService;
use berth::verbs::{Verb, Verbs};
use bytes::Bytes;
use http_body_util::{BodyExt, Full};
use hyper::Request;
use serde_json::{Value, json};
use support::random::shrink::without_pieces;
use support::random::{Cases, Rng, Seeds, Shrink, check};
use tokio::runtime::Builder;

const RACKS: usize = 4;
const NODES: usize = 12;
/// Pods of a history, and how many of them may be under way at most.
const PODS: usize = 60;
const OPEN: usize = 3;

fn verbs(max_skew: i64) -> Verbs {
    let (config, objects) = cluster(max_skew, "");
    Verbs::in_memory(config, objects).expect("verbs")
}

/// A cluster with a hard limit over racks, and more settings.
fn cluster(max_skew: i64, settings: &str) -> (Config, Vec<Object>) {
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
         defaultConstraints: [{{maxSkew: {max_skew}, topologyKey: example.com/rack, whenUnsatisfiable: DoNotSchedule}}]\n{settings}"
    );
    (config::parse(&rules).expect("rules"), objects)
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
#[derive(Clone, Debug)]
struct History {
    max_skew: i64,
    steps: Vec<Step>,
}

#[derive(Clone, Debug)]
enum Step {
    /// A new pod, what other filters left of the nodes, and which of those that Berth leaves is taken.
    Filter { candidates: Vec<usize>, choice: usize },
    /// One of the placements that are open is bound, or given up.
    Settle { which: usize, bound: bool },
}

fn any_history(rng: &mut Rng) -> History {
    let mut steps = Vec::new();
    let mut open = 0;
    for _ in 0..PODS {
        let candidates = (0..NODES).filter(|_| !rng.one_in(8)).collect();
        steps.push(Step::Filter { candidates, choice: rng.below(NODES) });
        open += 1;
        while open > 0 && (open > OPEN || !rng.one_in(3)) {
            steps.push(Step::Settle { which: rng.below(OPEN + 1), bound: !rng.one_in(10) });
            open -= 1;
        }
    }
    History { max_skew: rng.pick(&[1, 2, 3]), steps }
}

impl Shrink for History {
    fn smaller(&self) -> impl Iterator<Item = Self> {
        self.steps.smaller().map(|steps| Self { steps, ..self.clone() })
    }
}

impl Shrink for Step {
    fn smaller(&self) -> impl Iterator<Item = Self> {
        let mut steps = Vec::new();
        match self {
            Step::Filter { candidates, choice } => {
                let fewer = without_pieces(candidates).filter(|candidates| !candidates.is_empty());
                steps.extend(fewer.map(|candidates| Step::Filter { candidates, choice: *choice }));
                let choices = choice.smaller();
                steps.extend(choices.map(|choice| Step::Filter { candidates: candidates.clone(), choice }));
            }
            Step::Settle { which, bound } => {
                steps.extend(which.smaller().map(|which| Step::Settle { which, bound: *bound }));
            }
        }
        steps.into_iter()
    }
}

/// In the order of decisions: the pod and where it went; `None` while that is open, or if it never bound.
#[derive(Default)]
struct Decided {
    pods: Vec<(String, Option<String>)>,
    open: Vec<(usize, String)>,
}

impl Decided {
    async fn settle(&mut self, verbs: &Verbs, which: usize, bound: bool) {
        let Some(at) = which.checked_rem(self.open.len()) else { return };
        let (index, node) = self.open.swap_remove(at);
        if bound {
            let (pod, place) = &mut self.pods[index];
            bind(verbs, pod, &node).await;
            *place = Some(node);
        }
    }
}

/// Whether the limit held all the time; returns how many pods were decided about, or put off.
async fn the_limit_holds(history: &History) -> usize {
    let verbs = verbs(history.max_skew);
    let mut decided = Decided::default();
    let mut undecided = 0;
    for (at, step) in history.steps.iter().enumerate() {
        match step {
            Step::Filter { candidates, choice } => {
                let pod = format!("p{at}");
                let candidates: Vec<String> = candidates.iter().map(|at| format!("n{at}")).collect();
                match filter(&verbs, &pod, &candidates) {
                    Ok(nodes) if !nodes.is_empty() => {
                        decided.open.push((decided.pods.len(), nodes[choice % nodes.len()].clone()));
                        decided.pods.push((pod, None));
                    }
                    Ok(_) => {}
                    Err(_) => undecided += 1,
                }
            }
            Step::Settle { which, bound } => decided.settle(&verbs, *which, *bound).await,
        }
    }
    while !decided.open.is_empty() {
        decided.settle(&verbs, 0, true).await;
    }
    let mut pods = [0_i64; RACKS];
    for (pod, node) in &decided.pods {
        let Some(node) = node else { continue };
        pods[rack(node)] += 1;
        let skew = pods[rack(node)] - pods.iter().min().copied().unwrap_or(0);
        let most = history.max_skew;
        assert!(skew <= most, "{pod} on {node} makes the skew {skew} of {most}: {pods:?}");
    }
    decided.pods.len() + undecided
}

#[test]
fn the_limit_holds_in_the_order_of_decisions() {
    let runtime = Builder::new_current_thread().build().expect("runtime");
    let cases = Cases::new("BERTH_LIMITS", 1_000, Seeds::HalfFresh);
    let decided = check(&cases, any_history, |history| runtime.block_on(the_limit_holds(history)));
    for (origin, decided) in cases.each().zip(decided) {
        assert!(decided > 10, "{}: hardly anything was decided", cases.name(origin));
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

#[tokio::test]
async fn a_large_call_waits_off_the_event_loop_until_the_bind_call_comes() {
    let registry = Registry::new().expect("a registry");
    let requests = RequestMetrics::register(&registry).expect("metrics");
    let complaints = Throttle::new(LogMetrics::register(&registry).expect("metrics"));
    let (config, objects) = cluster(1, "server: {timeouts: {placement: 1m}}\n");
    let verbs = Arc::new(Verbs::in_memory_measured(config, objects, &registry).expect("verbs"));
    let service = VerbsService::new(verbs.clone(), requests, complaints);
    filter(&verbs, "slow", &all_nodes()).expect("free");
    let pod =
        json!({"metadata": {"name": "next", "namespace": "shop", "uid": "next", "labels": {"app": "web"}}});
    let body = json!({"Pod": pod, "NodeNames": all_nodes(), "Padding": "x".repeat(1024 * 1024)}).to_string();
    let request = Request::post("/filter").body(Full::new(Bytes::from(body))).expect("a request");
    let binding = async {
        tokio::time::sleep(Duration::from_millis(100)).await;
        bind(&verbs, "slow", "n0").await;
    };
    let began = Instant::now();
    let (answer, ()) = tokio::join!(service.handle(request), binding);
    assert!(began.elapsed() < Duration::from_secs(30), "it was woken by the bind call");
    let Ok(answer) = answer.into_body().collect().await;
    let answer: Value = serde_json::from_slice(&answer.to_bytes()).expect("JSON");
    let nodes: Vec<String> = serde_json::from_value(answer["NodeNames"].clone()).expect("names");
    assert!(!nodes.is_empty() && nodes.iter().all(|node| rack(node) != 0), "{answer}");
    let page = String::from_utf8(registry.render()).expect("text");
    assert!(page.contains("berth_filter_wait_seconds_count 1\n"), "the call waited");
}
