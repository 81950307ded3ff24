//! Random and mutated bytes on every verb: each input gets an answer of the right shape, and nothing panics.
//!
//! Half of the inputs come from a fixed seed, half from a fresh one; a failure names seed and body.
#![allow(clippy::expect_used, clippy::panic, reason = "a test fails by panicking")]

mod wire_fuzz {
    pub mod bodies;
    pub mod dice;
    pub mod oracle;
    pub mod tree;
}

use std::sync::Arc;
use std::time::{SystemTime, UNIX_EPOCH};

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
use tokio::runtime::{Builder, Runtime};
use wire_fuzz::bodies::{self, Input};
use wire_fuzz::dice::Dice;
use wire_fuzz::oracle;

/// Per verb; four times this in all.
const INPUTS: usize = 40_000;
/// A service is replaced after so many inputs, so that what they bind does not pile up.
const PER_SERVICE: usize = 2_000;
const FIXED_SEED: u64 = 0x005e_ed0f_be27;

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

fn fuzz(verb: Verb) {
    let runtime = Builder::new_current_thread().enable_all().build().expect("runtime");
    let now = SystemTime::now().duration_since(UNIX_EPOCH).expect("a clock after 1970");
    let fresh_seed = u64::try_from(now.as_nanos() & u128::from(u64::MAX)).expect("masked");
    let (mut answered, mut sound) = (0, 0);
    for seed in [FIXED_SEED, fresh_seed] {
        println!("{} with seed {seed:#x}", verb.label());
        let mut dice = Dice::new(seed ^ verb as u64);
        let mut served = Served::new();
        for at in 0..INPUTS / 2 {
            if at % PER_SERVICE == 0 {
                served.close();
                served = Served::new();
            }
            let input = bodies::any_input(verb, &mut dice);
            sound += usize::from(input.sound);
            if let Err(why) = served.ask(&runtime, verb, &input) {
                let body = String::from_utf8_lossy(&input.bytes);
                let body: String = body.chars().take(4_000).collect();
                panic!("{}, seed {seed:#x}, input {at}: {why}\nbody: {body}", verb.label());
            }
            answered += 1;
        }
        served.close();
    }
    assert_eq!(answered, INPUTS);
    assert!(sound > INPUTS / 20, "the generator must not miss the ground between sound and broken: {sound}");
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
