#![allow(clippy::expect_used, reason = "a test fails by panicking")]

use std::sync::atomic::{AtomicUsize, Ordering::SeqCst};
use std::sync::{Arc, Mutex, OnceLock};
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use super::{Verb, Verbs};
use crate::config::{self, Config};
use crate::decision::{Decision, Reason, Undecided};
use crate::engine::{Engine, EngineMetrics};
use crate::fixtures::{node, pod};
use crate::ledger::{Life, Phase, Reservation, Slot};
use crate::metrics::Registry;
use crate::model::group::Source;
use crate::model::{GroupKey, Kind, Name, Object, ObjectKey, Pod};
use crate::policy::{Policy, Prepared, Question};
use crate::store::Store;
use crate::view::change::Change;

/// Long enough that no test waits for its end.
const LIMIT: Duration = Duration::from_mins(10);

/// Cannot decide about any pod while the pod `slow` is offered, and keeps count of being asked.
#[derive(Clone, Default)]
struct Hesitant {
    asked: Arc<AtomicUsize>,
    /// Where the pods that were asked about are in memory.
    addresses: Arc<Mutex<Vec<usize>>>,
}

impl Policy for Hesitant {
    fn name(&self) -> &'static str {
        "hesitant"
    }

    fn prepare<'a>(&'a self, _: &Question<'a>) -> Option<Box<dyn Prepared + 'a>> {
        Some(Box::new(self.clone()))
    }
}

impl Prepared for Hesitant {
    fn filter(&self, question: &Question<'_>, decision: &mut Decision) {
        self.asked.fetch_add(1, SeqCst);
        self.addresses.lock().expect("no panic").push(std::ptr::from_ref::<Pod>(question.pod).addr());
        let slow = question.view.ledger().get("slow");
        if let Some(entry) = slow.filter(|entry| entry.phase == Phase::Offered) {
            decision.reject_all(Reason::SkewUndecided);
            decision.await_placement_of([entry.pod.uid.clone()]);
        }
    }
}

impl Hesitant {
    fn verbs(&self) -> Arc<Verbs> {
        let registry = Registry::new().expect("a registry");
        let metrics = EngineMetrics::register(&registry).expect("metrics");
        let config = Config::default();
        let engine = Engine::with_policies(vec![Box::new(self.clone())], &config, metrics);
        let store = Store::with_engine(config, engine, &registry).expect("metrics");
        Arc::new(Verbs::over(Arc::new(store), &registry).expect("metrics"))
    }

    async fn until_asked(&self, times: usize) {
        let began = Instant::now();
        while self.asked.load(SeqCst) < times {
            assert!(began.elapsed() < Duration::from_secs(30), "asked {} times", self.asked.load(SeqCst));
            tokio::time::sleep(Duration::from_millis(1)).await;
        }
    }
}

fn call(pod: &str) -> Vec<u8> {
    json!({"Pod": {"metadata": {"name": pod, "namespace": "default", "uid": pod}}, "NodeNames": ["a", "b"]})
        .to_string()
        .into_bytes()
}

fn upsert(builder: crate::fixtures::PodBuilder) -> Change {
    Change::Upsert(Object::Pod(Arc::new(builder.build())))
}

async fn settle() {
    for _ in 0..50 {
        tokio::task::yield_now().await;
    }
    tokio::time::sleep(Duration::from_millis(20)).await;
}

#[tokio::test]
async fn a_filter_call_waits_for_the_pod_it_awaits_and_for_nothing_else() {
    let hesitant = Hesitant::default();
    let verbs = hesitant.verbs();
    verbs.decide(Verb::Filter, &call("slow")).expect("a sound call");
    hesitant.addresses.lock().expect("no panic").clear();
    let asking = tokio::spawn({
        let verbs = verbs.clone();
        async move { verbs.filter(&call("next"), LIMIT).await }
    });
    hesitant.until_asked(2).await;
    settle().await;

    for at in 0..20 {
        verbs.store.apply([upsert(pod(&format!("p{at}"))), upsert(pod("elsewhere").on(&format!("n{at}")))]);
        verbs.store.apply([Change::Upsert(Object::Node(Arc::new(node(&format!("n{at}")).build())))]);
        verbs.store.apply([upsert(pod("slow"))]);
        settle().await;
    }
    // The watch showed the awaited pod for the first time.
    assert_eq!(hesitant.asked.load(SeqCst), 3, "only the first word about the awaited pod concerns the call");
    assert!(!asking.is_finished());

    let bind =
        json!({"PodName": "slow", "PodNamespace": "default", "PodUID": "slow", "Node": "a"}).to_string();
    verbs.bind(bind.as_bytes()).await.expect("a sound call");
    let answer = asking.await.expect("no panic").expect("a sound call");
    let answer: Value = serde_json::from_slice(&answer).expect("JSON");
    assert_eq!(answer["NodeNames"], json!(["a", "b"]));
    assert_eq!(hesitant.asked.load(SeqCst), 4);
    assert_eq!(verbs.metrics.filter_wait.get_sample_count(), 1);
    let addresses = hesitant.addresses.lock().expect("no panic");
    assert_eq!(addresses.len(), 3);
    assert!(
        addresses.iter().all(|at| *at == addresses[0]),
        "one copy of the pod, decoded and recognised once"
    );
}

#[tokio::test]
async fn a_bind_between_the_attempt_and_the_subscription_is_not_missed() {
    let hesitant = Hesitant::default();
    let verbs = hesitant.verbs();
    verbs.decide(Verb::Filter, &call("slow")).expect("a sound call");
    let body = call("next");
    let decoded = verbs.scheduling_call(&body).expect("a sound call");
    let super::Attempt::Waits(awaited) = verbs.attempt(&decoded, super::Patience::Limits) else {
        unreachable!("it waits for the slow pod")
    };
    verbs.store.apply([upsert(pod("other"))]);
    assert!(!awaited.is_outdated(&verbs.store.snapshot()), "nothing that concerns the call");
    assert!(verbs.store.view().ledger().get("next").is_none(), "what waits is not recorded");
    let bind =
        json!({"PodName": "slow", "PodNamespace": "default", "PodUID": "slow", "Node": "a"}).to_string();
    verbs.bind(bind.as_bytes()).await.expect("a sound call");
    assert!(awaited.is_outdated(&verbs.store.snapshot()));
}

#[tokio::test]
async fn a_wait_that_ends_in_vain_is_answered_with_an_error_and_counted() {
    let hesitant = Hesitant::default();
    let verbs = hesitant.verbs();
    let undecided = |reason: Undecided| verbs.metrics.undecided.with_label_values(&[reason.code()]).get();
    verbs.decide(Verb::Filter, &call("slow")).expect("a sound call");
    let answer = verbs.filter(&call("next"), Duration::from_millis(30)).await.expect("a sound call");
    assert!(String::from_utf8_lossy(&answer).contains(r#""Error":"berth: "#));
    assert_eq!(undecided(Undecided::PlacementUnknown), 1);
    assert!(
        verbs.store.view().ledger().get("slow").is_some_and(|entry| entry.overdue),
        "it is not awaited again"
    );
    verbs.freshness.mark_cut(Kind::Pod);
    verbs.store.reconfigure(
        config::parse(
            "apiVersion: config.berth.dev/v1alpha1\nkind: BerthConfiguration\nserver: {stalenessLimit: 1ms}\n",
        )
        .expect("a configuration"),
    );
    tokio::time::sleep(Duration::from_millis(5)).await;
    for verb in [Verb::Filter, Verb::Prioritize] {
        verbs.decide(verb, &call("next")).expect("a sound call");
    }
    assert_eq!(undecided(Undecided::CacheStale), 2);
}

#[test]
fn a_call_follows_a_reload_that_changes_its_group() {
    let rule = |key: &str| {
        let text = format!(
            "apiVersion: config.berth.dev/v1alpha1\nkind: BerthConfiguration\nreplicaGroups:\n  rules:\n  \
             - {{label: {key}, topology: {{preferred: rack}}}}\n"
        );
        config::parse(&text).expect("a configuration")
    };
    let verbs = Verbs::in_memory(rule("first"), Vec::new()).expect("verbs");
    let labels = json!({"app": "web", "first": "a", "second": "b"});
    let body = json!({"Pod": {"metadata": {"name": "p", "namespace": "d", "uid": "u", "labels": labels}}, "NodeNames": []})
        .to_string();
    let decoded = verbs.scheduling_call(body.as_bytes()).expect("a sound call");
    let group = || {
        let pod = decoded.pod.seen_by(&verbs.store.view());
        pod.group.as_ref().map(|membership| membership.group.set.name.to_string())
    };
    assert_eq!(group().as_deref(), Some("a"));
    verbs.store.reconfigure(rule("second"));
    assert_eq!(group().as_deref(), Some("b"));
}

#[test]
fn explaining_has_no_effects() {
    let rules = "apiVersion: config.berth.dev/v1alpha1\nkind: BerthConfiguration\ntopologySpread:\n  \
        defaultingType: List\n  defaultConstraints: [{maxSkew: 1, topologyKey: rack, whenUnsatisfiable: DoNotSchedule}]\n";
    let rack = |name: &str, rack: &str| Object::Node(Arc::new(node(name).label("rack", rack).build()));
    let member = || pod("m").annotation("berth.dev/group", "ring").annotation("berth.dev/group-size", "2");
    let objects = vec![rack("a", "1"), rack("b", "2"), Object::Pod(Arc::new(member().build()))];
    let registry = Registry::new().expect("a registry");
    let config = config::parse(rules).expect("rules");
    let verbs = Verbs::in_memory_measured(config, objects, &registry).expect("verbs");
    // A pod under way must not lose its entry when it is asked about.
    verbs.decide(Verb::Filter, &call("web")).expect("a sound call");
    let (before, counted) = (verbs.store.snapshot(), registry.render());
    let names = ["a", "b", "unknown"].map(Into::into);
    for pod in [pod("web"), pod("new"), member().annotation("berth.dev/required-topology", "rack")] {
        verbs.explain(Arc::new(pod.build()), &names).expect("a decision");
    }
    assert!(
        Arc::ptr_eq(&before, &verbs.store.snapshot()),
        "nothing was published, so the ledger is as it was"
    );
    assert!(before.view().ledger().get("web").is_some());
    assert_eq!(
        String::from_utf8(counted),
        String::from_utf8(registry.render()),
        "nothing was counted or measured"
    );
}

/// Sees room being reserved for a group while it decides, some times.
#[derive(Clone, Default)]
struct Interrupted {
    store: Arc<OnceLock<Arc<Store>>>,
    left: Arc<AtomicUsize>,
    asked: Arc<AtomicUsize>,
}

impl Policy for Interrupted {
    fn name(&self) -> &'static str {
        "interrupted"
    }

    fn prepare<'a>(&'a self, _: &Question<'a>) -> Option<Box<dyn Prepared + 'a>> {
        Some(Box::new(self.clone()))
    }
}

impl Prepared for Interrupted {
    fn filter(&self, _: &Question<'_>, _: &mut Decision) {
        self.asked.fetch_add(1, SeqCst);
        if self.left.fetch_update(SeqCst, SeqCst, |left| left.checked_sub(1)).is_ok() {
            let name = format!("g{}", self.left.load(SeqCst));
            let group = Arc::new(GroupKey {
                source: Source::Annotation,
                set: ObjectKey::new("default", &*name),
                index: Name::from(""),
                revision: Name::from(""),
            });
            let slots = vec![Slot::of(&pod("m").build(), &Name::from("a"))];
            let planned = Reservation { missing: 1, slots, ..Reservation::nothing(group) };
            let store = self.store.get().expect("a store");
            store.write(|view| {
                view.reserve(planned, Life::of(LIMIT));
                Vec::new()
            });
        }
    }
}

#[test]
fn a_decision_that_does_not_know_of_room_reserved_meanwhile_is_made_anew() {
    for (times, asked, is_answered) in [(0, 1, true), (2, 3, true), (usize::MAX, 4, false)] {
        let interrupted = Interrupted::default();
        interrupted.left.store(times, SeqCst);
        let registry = Registry::new().expect("a registry");
        let metrics = EngineMetrics::register(&registry).expect("metrics");
        let config = Config::default();
        let engine = Engine::with_policies(vec![Box::new(interrupted.clone())], &config, metrics);
        let store = Arc::new(Store::with_engine(config, engine, &registry).expect("metrics"));
        assert!(interrupted.store.set(store.clone()).is_ok());
        let verbs = Verbs::over(store, &registry).expect("metrics");
        let answer = verbs.decide(Verb::Filter, &call("p")).expect("a sound call").expect("an answer");
        let answer: Value = serde_json::from_slice(&answer).expect("JSON");
        assert_eq!(answer["Error"] == "", is_answered, "{answer}");
        assert_eq!(interrupted.asked.load(SeqCst), asked);
        assert_eq!(
            verbs.store.view().ledger().get("p").is_some(),
            is_answered,
            "what is void is not recorded"
        );
    }
}

/// Takes longer than a decision may.
#[derive(Clone, Default)]
struct Slow {
    asked: Arc<AtomicUsize>,
}

impl Policy for Slow {
    fn name(&self) -> &'static str {
        "slow"
    }

    fn prepare<'a>(&'a self, _: &Question<'a>) -> Option<Box<dyn Prepared + 'a>> {
        Some(Box::new(self.clone()))
    }
}

impl Prepared for Slow {
    fn filter(&self, question: &Question<'_>, _: &mut Decision) {
        self.asked.fetch_add(1, SeqCst);
        while !question.budget.is_spent() {
            std::thread::sleep(Duration::from_millis(1));
            question.budget.spend(1);
        }
    }
}

#[test]
fn no_time_is_spent_on_a_group_for_a_while_after_its_decision_took_too_long() {
    let slow = Slow::default();
    let registry = Registry::new().expect("a registry");
    let metrics = EngineMetrics::register(&registry).expect("metrics");
    let mut config = Config::default();
    config.server.timeouts.decision.0 = Duration::from_millis(100);
    let engine = Engine::with_policies(vec![Box::new(slow.clone())], &config, metrics);
    let store = Store::with_engine(config, engine, &registry).expect("metrics");
    let verbs = Verbs::over(Arc::new(store), &registry).expect("metrics");
    let ask = |name: &str, group: Option<&str>| {
        let annotations = group.map(|group| {
            json!({"berth.dev/group": group, "berth.dev/group-size": "2", "berth.dev/required-topology": "rack"})
        });
        let meta = json!({"name": name, "namespace": "default", "uid": name, "annotations": annotations});
        let body = json!({"Pod": {"metadata": meta}, "NodeNames": ["a"]}).to_string();
        let answer = verbs.decide(Verb::Filter, body.as_bytes()).expect("a sound call").expect("an answer");
        assert!(String::from_utf8_lossy(&answer).contains("would have taken too long"), "{answer:?}");
        slow.asked.load(SeqCst)
    };
    assert_eq!(ask("g-0", Some("g")), 1);
    assert_eq!(ask("g-1", Some("g")), 1, "its group rests");
    assert_eq!(ask("h-0", Some("h")), 1, "and so does its namespace, for a little while");
    assert_eq!(ask("single", None), 2, "other pods do not");
    let preempt = |group: Value| {
        let meta = json!({"name": "g-0", "namespace": "default", "uid": "g-0", "annotations": group});
        let victims = json!({"a": {"Pods": [{"UID": "v"}]}});
        let body = json!({"Pod": {"metadata": meta}, "NodeNameToMetaVictims": victims}).to_string();
        let answer = verbs.decide(Verb::Preempt, body.as_bytes()).expect("a sound call").expect("an answer");
        String::from_utf8_lossy(&answer).contains(r#""UID":"v""#)
    };
    let group =
        json!({"berth.dev/group": "g", "berth.dev/group-size": "2", "berth.dev/required-topology": "rack"});
    assert!(!preempt(group), "nobody is evicted for it");
    assert!(preempt(Value::Null), "kube-scheduler's own choice is the fallback");
}
