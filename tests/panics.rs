//! A policy that panics: caught, counted, answered with what does the least harm, and life goes on.
#![allow(clippy::expect_used, clippy::panic, reason = "a test fails by panicking, and so does this policy")]

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use berth::config::{Config, Mode};
use berth::decision::{Decision, Reason};
use berth::engine::{Engine, EngineMetrics, Policies};
use berth::logging::{LogMetrics, Throttle};
use berth::metrics::Registry;
use berth::model::{Node, Object, ObjectKey, Pod};
use berth::policy::{Policy, Prepared, Question};
use berth::server::verbs_metrics::RequestMetrics;
use berth::server::verbs_service::VerbsService;
use berth::store::Store;
use berth::verbs::Verbs;
use berth::view::change::Change;
use bytes::Bytes;
use http_body_util::{BodyExt, Full};
use hyper::Request;

/// Does half of its work and then fails, as long as it is told to.
#[derive(Clone)]
struct Faulty {
    fails: Arc<AtomicBool>,
    mode: Mode,
    fault: Fault,
}

#[derive(Clone, Copy, PartialEq)]
enum Fault {
    Panics,
    /// Uses up all the time that it has.
    TakesTooLong,
}

impl Faulty {
    fn fail(&self) {
        assert!(!self.fails.load(Ordering::Relaxed) || self.fault != Fault::Panics, "a bug in a policy");
    }

    fn dawdle(&self, question: &Question<'_>) {
        if self.fault == Fault::TakesTooLong {
            while question.budget.spend(1_000) {}
        }
    }
}

impl Policy for Faulty {
    fn name(&self) -> &'static str {
        "faulty"
    }

    fn mode(&self) -> Mode {
        self.mode
    }

    fn prepare<'a>(&'a self, _: &Question<'a>) -> Option<Box<dyn Prepared + 'a>> {
        Some(Box::new(self.clone()))
    }
}

impl Prepared for Faulty {
    fn filter(&self, question: &Question<'_>, decision: &mut Decision) {
        decision.reject(0, Reason::SkewExceeded);
        self.dawdle(question);
        self.fail();
    }

    fn prioritize(&self, _: &Question<'_>, scores: &mut [i64]) {
        scores.fill(99);
        self.fail();
    }
}

struct Served {
    service: VerbsService,
    store: Arc<Store>,
    metrics: EngineMetrics,
    faulty: Arc<AtomicBool>,
}

impl Served {
    fn new() -> Self {
        Self::with(Mode::Enforce, Fault::Panics, &Registry::new().expect("a registry")).expect("metrics")
    }

    fn with(mode: Mode, fault: Fault, registry: &Registry) -> Result<Self, prometheus::Error> {
        let metrics = EngineMetrics::register(registry)?;
        let faulty = Arc::new(AtomicBool::new(true));
        let policies: Policies = vec![Box::new(Faulty { fails: faulty.clone(), mode, fault })];
        let mut config = Config::default();
        if fault == Fault::TakesTooLong {
            config.server.timeouts.decision.0 = Duration::from_millis(2);
        }
        let engine = Engine::with_policies(policies, &config, metrics.clone());
        let store = Arc::new(Store::with_engine(config, engine, registry)?);
        let verbs = Verbs::over(store.clone(), registry)?;
        let complaints = Throttle::new(LogMetrics::register(registry)?);
        let service = VerbsService::new(Arc::new(verbs), RequestMetrics::register(registry)?, complaints);
        Ok(Self { service, store, metrics, faulty })
    }

    async fn ask(&self, path: &str, body: &str) -> String {
        let request = Request::post(path).body(Full::new(Bytes::copy_from_slice(body.as_bytes())));
        let answer = self.service.handle(request.expect("a request")).await;
        assert_eq!(answer.status(), 200, "{path}");
        let Ok(body) = answer.into_body().collect().await;
        String::from_utf8(body.to_bytes().to_vec()).expect("text")
    }

    fn panics(&self, verb: &str) -> u64 {
        self.metrics.panics.with_label_values(&[verb]).get()
    }
}

const NAMES: &str = r#"{"Pod":{"metadata":{"name":"p","namespace":"d","uid":"u"}},"NodeNames":["a","b"]}"#;
const VICTIMS: &str = r#"{"Pod":{"metadata":{"name":"p","namespace":"d","uid":"u"}},"NodeNameToMetaVictims":{"a":{"Pods":[{"UID":"v"}],"NumPDBViolations":0},"b":{"Pods":[],"NumPDBViolations":0}}}"#;
const KEPT: &str = r#"{"NodeNameToMetaVictims":{"a":{"Pods":[{"UID":"v"}],"NumPDBViolations":0},"b":{"Pods":[],"NumPDBViolations":0}}}"#;
const BOTH: &str = r#"[{"Host":"a","Score":0},{"Host":"b","Score":0}]"#;

#[tokio::test]
async fn a_panicking_policy_costs_one_decision_and_nothing_else() {
    let served = Served::new();
    for round in 1..=3 {
        let filtered: serde_json::Value =
            serde_json::from_str(&served.ask("/filter", NAMES).await).expect("JSON");
        assert_ne!(filtered["Error"], "", "filter says so, and kube-scheduler tries again");
        assert!(filtered["NodeNames"].is_null() && filtered["FailedNodes"].is_null(), "{filtered}");
        assert!(served.store.view().ledger().is_empty(), "nothing was offered");
        assert_eq!(served.ask("/prioritize", NAMES).await, BOTH, "no half-made scores");
        assert_eq!(served.ask("/preempt", VICTIMS).await, KEPT, "kube-scheduler's own candidates stand");
        for verb in ["filter", "prioritize", "preempt"] {
            assert_eq!(served.panics(verb), round, "{verb}");
        }
    }

    served.faulty.store(false, Ordering::Relaxed);
    assert_eq!(
        served.ask("/filter", NAMES).await,
        r#"{"Nodes":null,"NodeNames":["b"],"FailedNodes":{"a":"default topology spread: too much skew"},"FailedAndUnresolvableNodes":{},"Error":""}"#,
    );
    let rejected =
        served.metrics.nodes_rejected.with_label_values(&["topology_spread", "SkewExceeded"]).get();
    assert_eq!(rejected, 1, "only decisions that were answered count");
    assert_eq!(
        served.ask("/prioritize", NAMES).await,
        r#"[{"Host":"a","Score":10},{"Host":"b","Score":10}]"#,
        "kube-scheduler does not check the range, so we do"
    );
    let victim = Pod { node: Some("a".into()), ..Pod::identity_only("v".into(), ObjectKey::new("d", "v")) };
    let objects = [Object::Node(Arc::new(Node::named("a"))), Object::Pod(Arc::new(victim))];
    served.store.apply(objects.map(Change::Upsert));
    assert_eq!(
        served.ask("/preempt", VICTIMS).await,
        r#"{"NodeNameToMetaVictims":{"b":{"Pods":[],"NumPDBViolations":0}}}"#,
    );
    assert_eq!(served.panics("filter"), 3);
}

#[tokio::test]
async fn a_large_call_that_panics_off_the_event_loop_is_answered_too() {
    let served = Served::new();
    let padding = "x".repeat(1024 * 1024);
    let body = NAMES.replace("\"NodeNames\"", &format!("\"Padding\":\"{padding}\",\"NodeNames\""));
    assert!(served.ask("/filter", &body).await.contains(r#""Error":"berth: "#));
    assert_eq!(served.panics("filter"), 1);
    served.faulty.store(false, Ordering::Relaxed);
    assert!(served.ask("/filter", &body).await.contains(r#""NodeNames":["b"]"#));
}

#[tokio::test]
async fn a_policy_that_is_only_observed_holds_nobody_up() {
    for fault in [Fault::Panics, Fault::TakesTooLong] {
        let registry = Registry::new().expect("a registry");
        let served = Served::with(Mode::Observe, fault, &registry).expect("metrics");
        let filtered: serde_json::Value =
            serde_json::from_str(&served.ask("/filter", NAMES).await).expect("JSON");
        assert_eq!(filtered["Error"], "", "{filtered}");
        assert_eq!(filtered["NodeNames"], serde_json::json!(["a", "b"]));
        assert_eq!(served.ask("/prioritize", NAMES).await, BOTH);
        assert_eq!(served.ask("/preempt", VICTIMS).await, KEPT);
        // Of scores nothing is observed.
        let page = String::from_utf8(registry.render()).expect("text");
        assert!(page.contains(r#"berth_observed_undecided_total{policy="faulty"} 2"#), "{page}");
    }
}
