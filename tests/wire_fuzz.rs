//! Random and mutated bytes on every verb, and as admission reviews: each input gets an answer of the right shape, and nothing panics.
//!
//! | variable           | meaning                                                              |
//! |--------------------|----------------------------------------------------------------------|
//! | `BERTH_WIRE_CASES` | how many runs of 2,000 inputs each per verb, instead of 20           |
//! | `BERTH_WIRE_SEED`  | the seed of the second half, instead of a fresh one                  |
//! | `BERTH_WIRE_CASE`  | only the run with this number                                        |
#![allow(clippy::expect_used, clippy::panic, reason = "a test fails by panicking")]

mod support;
mod wire_fuzz {
    pub mod bodies;
    pub mod oracle;
    pub mod tree;
}

use std::sync::Arc;

use base64::Engine;
use base64::prelude::BASE64_STANDARD;
use berth::config::Config;
use berth::logging::{LogMetrics, Throttle};
use berth::metrics::Registry;
use berth::model::{Node, Object};
use berth::server::admission_metrics::AdmissionMetrics;
use berth::server::admission_service::AdmissionService;
use berth::server::verbs_metrics::RequestMetrics;
use berth::server::verbs_service::VerbsService;
use berth::store::Store;
use berth::verbs::{Verb, Verbs};
use bytes::Bytes;
use http_body_util::{BodyExt, Full};
use hyper::Request;
use hyper::header::CONTENT_LENGTH;
use serde_json::Value;
use support::random::{Cases, Rng, Seeds, check};
use tokio::runtime::{Builder, Runtime};
use wire_fuzz::bodies::{self, Input};
use wire_fuzz::oracle;

/// Runs per verb; four times this in all.
const RUNS: u64 = 20;
/// Inputs of a run. Each run has a service of its own, so that what they bind does not pile up.
const INPUTS: usize = 2_000;

struct Served {
    service: VerbsService,
    registry: Registry,
    refused: usize,
}

impl Served {
    fn new() -> Self {
        let node = |name: &&str| Object::Node(Arc::new(Node::named(*name)));
        let nodes = bodies::NODES.iter().map(node).collect();
        let registry = Registry::new().expect("a registry");
        let verbs = Verbs::in_memory_measured(Config::default(), nodes, &registry).expect("in memory");
        let metrics = RequestMetrics::register(&registry).expect("metrics");
        let complaints = Throttle::new(LogMetrics::register(&registry).expect("metrics"));
        Self { service: VerbsService::new(Arc::new(verbs), metrics, complaints), registry, refused: 0 }
    }

    fn ask(&mut self, runtime: &Runtime, verb: Verb, input: &Input) -> Result<(), String> {
        let request = Request::post(format!("/{}", verb.label()))
            .body(Full::new(Bytes::copy_from_slice(&input.bytes)))
            .expect("request");
        let (head, body) = runtime.block_on(self.service.handle(request)).into_parts();
        let Ok(body) = runtime.block_on(body.collect());
        let body = body.to_bytes();
        let status = head.status.as_u16();
        let length = head.headers.get(CONTENT_LENGTH).and_then(|value| value.to_str().ok());
        if length != Some(body.len().to_string().as_str()) {
            return Err(format!("Content-Length {length:?} for {} bytes", body.len()));
        }
        match status {
            200 => oracle::judge(verb, &input.bytes, &body),
            _ if input.sound => Err(format!("sound input refused: {}", String::from_utf8_lossy(&body))),
            400..=499 => {
                self.refused += 1;
                oracle::judge_refusal(&body)
            }
            _ => Err(format!("status {status}")),
        }
    }

    /// No panic was counted, and every refusal was.
    fn close(&self) {
        let text = String::from_utf8(self.registry.render()).expect("text");
        let sum = |name: &str| -> f64 {
            let lines = text.lines().filter(|line| line.starts_with(&format!("{name}{{")));
            lines.filter_map(|line| line.rsplit(' ').next()?.parse::<f64>().ok()).sum()
        };
        assert!(sum("berth_panics_total").abs() < f64::EPSILON, "{text}");
        assert!((sum("berth_bad_requests_total") - self.refused as f64).abs() < f64::EPSILON, "{text}");
    }
}

/// Asks one after the other; returns how many were sound.
fn answers_all(runtime: &Runtime, verb: Verb, inputs: &[Input]) -> usize {
    let mut served = Served::new();
    for input in inputs {
        let answer = served.ask(runtime, verb, input);
        assert_eq!(answer, Ok(()), "{} of a {input:?}", verb.label());
    }
    served.close();
    inputs.iter().filter(|input| input.sound).count()
}

fn fuzz(verb: Verb) {
    let runtime = Builder::new_current_thread().enable_all().build().expect("runtime");
    let inputs = |rng: &mut Rng| -> Vec<Input> {
        // Other inputs for each verb.
        let rng = &mut Rng::of(rng.next(), verb as u64);
        (0..INPUTS).map(|_| bodies::any_input(verb, rng)).collect()
    };
    let cases = Cases::new("BERTH_WIRE", RUNS, Seeds::HalfFresh);
    let sound = check(&cases, inputs, |inputs| answers_all(&runtime, verb, inputs));
    let (sound, all) = (sound.iter().sum::<usize>(), sound.len() * INPUTS);
    assert!(sound > all / 20, "the generator must not miss the ground between sound and broken: {sound}");
}

/// Every review is answered by its uid, with a patch that can be read, or with 400.
fn judge_review(status: u16, input: &Input, body: &[u8]) -> Result<(), String> {
    let answer: Value = serde_json::from_slice(body).map_err(|error| format!("no JSON: {error}"))?;
    match status {
        200 => {
            let response = &answer["response"];
            let patch = response["patch"].as_str().unwrap_or_default();
            let patch = BASE64_STANDARD.decode(patch).map_err(|error| error.to_string())?;
            let operations: Vec<Value> = if patch.is_empty() {
                Vec::new()
            } else {
                serde_json::from_slice(&patch).map_err(|error| error.to_string())?
            };
            let allowed = response["allowed"].as_bool().ok_or("neither allowed nor refused")?;
            let is_told =
                allowed || response["status"]["message"].as_str().is_some_and(|text| !text.is_empty());
            let adds = operations.iter().all(|operation| operation["op"] == "add");
            let is_answer =
                response["uid"].is_string() && (allowed || operations.is_empty()) && adds && is_told;
            is_answer.then_some(()).ok_or_else(|| format!("no answer to a review: {answer}"))
        }
        _ if input.sound => Err(format!("sound review refused: {answer}")),
        400 if answer["error"].as_str().is_some_and(|text| !text.is_empty()) => Ok(()),
        _ => Err(format!("status {status}: {answer}")),
    }
}

/// Answers reviews one after the other; returns how many led to a change, a refusal of the pod, and an error.
fn reviews_all(runtime: &Runtime, inputs: &[Input]) -> [usize; 3] {
    let registry = Registry::new().expect("a registry");
    let store = Arc::new(Store::new(Config::default(), &registry).expect("a store"));
    let complaints = Throttle::new(LogMetrics::register(&registry).expect("metrics"));
    let metrics = AdmissionMetrics::register(&registry).expect("metrics");
    let service = AdmissionService::new(store, Arc::default(), metrics, complaints);
    for input in inputs {
        let body = Full::new(Bytes::copy_from_slice(&input.bytes));
        let request = Request::post("/mutate?timeout=5s").body(body).expect("request");
        let (head, body) = runtime.block_on(service.handle(request)).into_parts();
        let Ok(body) = runtime.block_on(body.collect());
        assert_eq!(judge_review(head.status.as_u16(), input, &body.to_bytes()), Ok(()), "a {input:?}");
    }
    let page = String::from_utf8(registry.render()).expect("text");
    let count = |result: &str| {
        let series = format!("berth_admission_reviews_total{{result=\"{result}\"}} ");
        let value = page.lines().find_map(|line| line.strip_prefix(&series)).expect("a series");
        value.parse::<usize>().expect("a number")
    };
    assert_eq!(count("failed"), 0, "{page}");
    ["changed", "refused", "bad_request"].map(count)
}

#[test]
fn reviews_survive_anything() {
    let runtime = Builder::new_current_thread().enable_all().build().expect("runtime");
    let inputs = |rng: &mut Rng| -> Vec<Input> { (0..INPUTS).map(|_| bodies::any_review(rng)).collect() };
    let cases = Cases::new("BERTH_WIRE", RUNS, Seeds::HalfFresh);
    let results = check(&cases, inputs, |inputs| reviews_all(&runtime, inputs));
    for (at, what) in ["changed", "refused", "malformed"].into_iter().enumerate() {
        let count: usize = results.iter().map(|run| run[at]).sum();
        assert!(count > results.len() * INPUTS / 100, "hardly any pod is {what}: {count}");
    }
}

#[test]
fn filter_survives_anything() {
    fuzz(Verb::Filter);
}

#[test]
fn prioritize_survives_anything() {
    fuzz(Verb::Prioritize);
}

#[test]
fn preempt_survives_anything() {
    fuzz(Verb::Preempt);
}

#[test]
fn bind_survives_anything() {
    fuzz(Verb::Bind);
}
