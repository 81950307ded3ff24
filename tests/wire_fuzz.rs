//! Random and mutated bytes on every verb: each input gets an answer of the right shape, and nothing panics.
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

use berth::config::Config;
use berth::logging::{LogMetrics, Throttle};
use berth::metrics::Registry;
use berth::model::{Node, Object};
use berth::server::verbs_metrics::RequestMetrics;
use berth::server::verbs_service::VerbsService;
use berth::verbs::{Verb, Verbs};
use bytes::Bytes;
use http_body_util::{BodyExt, Full};
use hyper::Request;
use hyper::header::CONTENT_LENGTH;
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
