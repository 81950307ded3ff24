#![allow(clippy::expect_used, reason = "a test fails by panicking")]

use std::sync::{Arc, Mutex};
use std::time::Duration;

use super::line::Line;
use super::planning::Outstanding;
use super::{MOST_TRIES, Nominations};
use crate::cluster::nominator::{Nomination, Nominator};
use crate::config::{self, Config, Mode};
use crate::fixtures::{node, object, pod};
use crate::model::{GroupKey, Kind, Name, Object, Pod, Resources};
use crate::store::Subscription;
use crate::verbs::{Verb, Verbs};
use crate::view::View;
use crate::view::change::{Change, Offer};

const RACK: &str = "rack";
const HOUR: Duration = Duration::from_hours(1);

/// Berth with the two services taken step by step.
struct Bench {
    verbs: Verbs,
    line: Line,
    outstanding: Outstanding,
    changes: Subscription,
}

impl Bench {
    /// So many racks of two nodes of two CPUs. The scheduler has asked about somebody before.
    fn new(racks: usize) -> Self {
        let hosts = (0..2 * racks).map(|at| {
            let cpus = Resources::new(2_000, 0, 0, []);
            let host = node(&format!("n{at}")).label(RACK, &format!("r{}", at / 2)).allocatable(cpus);
            Object::Node(Arc::new(host.build()))
        });
        let mut verbs = Verbs::in_memory(Config::default(), hosts.collect()).expect("metrics");
        verbs.nominations = Nominations::new(Nominator::Kept(Arc::default()));
        verbs.nominations.asked_about(&member("other", 0, 1));
        let changes = verbs.store.subscribe();
        Self { verbs, line: Line::default(), outstanding: Outstanding::everything(), changes }
    }

    fn show(&self, pods: impl IntoIterator<Item = Pod>) {
        let pods = pods.into_iter().map(|pod| Change::Upsert(Object::Pod(Arc::new(pod))));
        self.verbs.store.apply(pods);
    }

    fn view(&self) -> Arc<View> {
        self.verbs.store.view()
    }

    /// Looks once, and tells what would be written then.
    fn step(&mut self) -> String {
        while let Some(changes) = self.changes.next_ready() {
            self.outstanding.add(&changes);
        }
        self.verbs.look(&mut self.line, &mut self.outstanding);
        self.written()
    }

    fn written(&self) -> String {
        let outbox = &self.verbs.nominations.outbox;
        let mut written: Vec<String> = Vec::new();
        while let Some(nomination) = outbox.take() {
            if self.verbs.nominations.is_still_due(&nomination, &self.verbs.store.snapshot()) {
                let Nomination { pod, node, .. } = &nomination;
                written.push(format!("{}:{}", pod.name, node.as_deref().unwrap_or("-")));
            }
            outbox.done(&nomination.uid);
        }
        written.join(" ")
    }
}

/// A member that asks for one CPU.
fn member(group: &str, at: usize, size: usize) -> Pod {
    let member = pod(&format!("{group}-{at}"))
        .annotation("berth.dev/group", group)
        .annotation("berth.dev/group-size", &size.to_string())
        .annotation("berth.dev/required-topology", RACK)
        .requests(Resources::new(1_000, 0, 0, []));
    Pod { scheduler: Some("default-scheduler".into()), ..member.build() }
}

fn nominated(pod: Pod, node: &str) -> Pod {
    Pod { nominated_node: Some(node.into()), ..pod }
}

fn key_of(pod: &Pod) -> Arc<GroupKey> {
    pod.group.as_ref().expect("a member").group.clone()
}

#[test]
fn a_group_is_written_once_it_has_come_and_once_only() {
    let mut bench = Bench::new(1);
    bench.show([member("g", 0, 3), member("g", 1, 3)]);
    assert_eq!(bench.step(), "", "one is missing");
    bench.show([member("g", 2, 3)]);
    assert_eq!(bench.step(), "g-0:n0 g-1:n0 g-2:n1");
    assert_eq!(bench.step(), "", "nothing has changed");
    bench.show([nominated(member("g", 0, 3), "n0")]);
    assert_eq!(bench.step(), "", "the watch shows it");
}

#[test]
fn groups_of_a_scheduler_that_has_never_asked_are_left_alone() {
    let mut bench = Bench::new(1);
    let foreign = || Pod { scheduler: Some("foreign".into()), ..member("g", 0, 1) };
    bench.show([foreign()]);
    assert_eq!(bench.step(), "");
    bench.verbs.nominations.asked_about(&foreign());
    assert_eq!(bench.step(), "g-0:n0", "it has asked");
}

#[test]
fn who_comes_first_is_planned_first_unless_others_matter_more() {
    let mut bench = Bench::new(2);
    let urgent = |at: usize| Pod { priority: 9, ..member("urgent", at, 4) };
    // Each group takes a rack, and there are two.
    for pods in [(0..4).map(|at| member("b", at, 4)).collect(), vec![member("a", 0, 4)], vec![urgent(0)]] {
        bench.show(pods);
        while let Some(changes) = bench.changes.next_ready() {
            bench.outstanding.add(&changes);
        }
        let view = bench.view();
        let groups: Vec<_> = view.waiting_groups().map(|(group, _)| group.clone()).collect();
        bench.line.look_at_all(groups, &view, |_| false);
    }
    bench.show((1..4).map(|at| member("a", at, 4)));
    bench.show((1..4).map(urgent));
    bench.step();
    let view = bench.view();
    let is_planned = |name: &str| {
        let group = key_of(&member(name, 0, 4));
        view.ledger().reservations().of(&group).is_some()
    };
    assert!(is_planned("urgent") && is_planned("b") && !is_planned("a"));
}

#[test]
fn what_is_not_planned_any_more_is_taken_back_if_it_was_ours() {
    let mut bench = Bench::new(1);
    bench.show([member("g", 0, 3), member("g", 1, 3), member("g", 2, 3)]);
    assert_eq!(bench.step(), "g-0:n0 g-1:n0 g-2:n1");
    // The last of them has not been seen by the watch yet.
    bench.show([nominated(member("g", 0, 3), "n0"), nominated(member("g", 1, 3), "n7")]);
    assert_eq!(bench.step(), "", "somebody else nominated one");
    bench.verbs.store.write(|view| {
        view.release(&key_of(&member("g", 0, 3)));
        Vec::new()
    });
    assert_eq!(bench.step(), "g-0:-");
    bench.show([nominated(member("g", 2, 3), "n1")]);
    assert_eq!(bench.step(), "g-2:-", "the watch was behind");
    bench.show([member("g", 2, 3)]);
    assert_eq!(bench.step(), "");
    bench.show([nominated(member("g", 2, 3), "n1")]);
    assert_eq!(bench.step(), "", "this one is not ours");
}

#[test]
fn a_nomination_that_a_failed_attempt_cleared_is_written_again_a_few_times() {
    let mut bench = Bench::new(1);
    let failed = |attempt: u64| Pod { failed_attempt: u32::try_from(attempt).ok(), ..member("g", 0, 1) };
    bench.show([member("g", 0, 1)]);
    assert_eq!(bench.step(), "g-0:n0");
    for attempt in 0..u64::from(MOST_TRIES) + 2 {
        bench.show([nominated(failed(attempt), "n0")]);
        assert_eq!(bench.step(), "");
        bench.show([failed(attempt)]);
        let expected = if attempt < u64::from(MOST_TRIES) { "g-0:n0" } else { "" };
        assert_eq!(bench.step(), expected, "attempt {attempt}");
    }
}

#[test]
fn members_outside_of_the_sample_do_not_all_get_the_same_slot() {
    let mut bench = Bench::new(1);
    // Planned when its first member asked: nobody has been nominated yet.
    let members = [0, 1, 2].map(|at| Pod { failed_attempt: Some(1), ..member("g", at, 3) });
    bench.show(members.clone());
    assert_eq!(bench.step(), "");
    let snapshot = bench.verbs.store.snapshot();
    let group = key_of(&members[0]);
    bench.verbs.store.write(|view| {
        let needs = snapshot.engine().plan_needs(view, &group).expect("no panic");
        view.provide(&needs);
        let plan = snapshot.engine().plan_ahead(view, &group).expect("no panic").expect("room");
        view.reserve(plan, crate::ledger::Life::of(HOUR));
        Vec::new()
    });
    for pod in &members {
        bench.verbs.nominations.ask_for(pod, &Name::from("n0"));
    }
    assert_eq!(bench.step(), "g-0:n0 g-1:n0 g-2:n1");
}

#[test]
fn what_waited_too_long_for_its_turn_is_not_written() {
    let mut bench = Bench::new(1);
    bench.show([member("g", 0, 2), member("g", 1, 2)]);
    bench.verbs.look(&mut bench.line, &mut bench.outstanding);
    bench.verbs.store.write(|view| view.offer(&Arc::new(member("g", 0, 2)), Offer::One("n1".into()), HOUR));
    assert_eq!(bench.written(), "g-1:n0", "the other is on its way");
    bench.verbs.store.write(|view| view.withdraw("g-0"));
    assert_eq!(bench.step(), "g-0:n1", "its attempt failed, and it has its slot back");
}

fn settings(nominate: bool, mode: Mode) -> Config {
    let mut config = Config::default();
    (config.replica_groups.nominate, config.replica_groups.mode) = (nominate, mode);
    config
}

#[test]
fn nominations_are_taken_back_when_they_are_switched_off() {
    for (name, off) in
        [("not nominated", settings(false, Mode::Enforce)), ("observed", settings(true, Mode::Observe))]
    {
        let mut bench = Bench::new(1);
        bench.show([member("g", 0, 3), member("g", 1, 3), member("g", 2, 3)]);
        assert_eq!(bench.step(), "g-0:n0 g-1:n0 g-2:n1");
        bench.show([nominated(member("g", 0, 3), "n0"), nominated(member("g", 1, 3), "n7")]);
        bench.verbs.store.reconfigure(off);
        assert_eq!(bench.step(), "g-0:-", "{name}: n7 is somebody else's, and of the last one nothing shows");
        bench.show([nominated(member("g", 2, 3), "n1")]);
        assert_eq!(bench.step(), "g-2:-", "{name}: the watch was behind");
        bench.show([member("g", 0, 3), member("g", 1, 3), member("g", 2, 3)]);
        bench.verbs.store.reconfigure(Config::default());
        assert_eq!(bench.step(), "g-0:n0 g-1:n0 g-2:n1", "{name}: and on again");
    }
}

#[test]
fn what_waits_to_be_written_is_not_once_nominations_are_switched_off() {
    let mut bench = Bench::new(1);
    let mut single = pod("single").build();
    single.scheduler = Some("default-scheduler".into());
    bench.show([member("g", 0, 2), member("g", 1, 2), single.clone()]);
    bench.verbs.look(&mut bench.line, &mut bench.outstanding);
    bench.verbs.nominations.ask_for(&single, &Name::from("n1"));
    bench.verbs.store.reconfigure(settings(false, Mode::Enforce));
    assert_eq!(bench.written(), "", "also before anybody has looked");
    bench.verbs.nominations.want(&member("g", 0, 2), &Name::from("n0"));
    bench.verbs.nominations.want(&single, &Name::from("n1"));
    assert_eq!(bench.step(), "");
}

#[test]
fn single_pods_may_be_nominated_while_groups_are_only_observed() {
    let mut bench = Bench::new(1);
    let mut single = pod("single").build();
    single.scheduler = Some("default-scheduler".into());
    bench.verbs.store.reconfigure(settings(true, Mode::Observe));
    bench.show([single.clone()]);
    bench.verbs.nominations.ask_for(&single, &Name::from("n1"));
    assert_eq!(bench.step(), "single:n1");
    bench.show([Pod { node: Some("n1".into()), ..single }]);
    bench.step();
    assert_eq!(bench.verbs.nominations.memos.len(), 0, "it waits no more");
}

#[test]
fn nothing_piles_up_while_nominations_are_switched_off() {
    let mut bench = Bench::new(1);
    bench.verbs.store.reconfigure(settings(false, Mode::Enforce));
    bench.step();
    for at in 0..3 {
        let group = format!("g{at}");
        bench.show([member(&group, 0, 1)]);
        bench.verbs.nominations.ask_for(&member(&group, 0, 1), &Name::from("n0"));
        bench.step();
        assert!(bench.outstanding.is_empty(), "round {at}");
        bench.verbs.store.apply([Change::Remove(Kind::Pod, member(&group, 0, 1).key)]);
        bench.step();
        assert!(bench.outstanding.is_empty() && bench.verbs.nominations.memos.is_empty(), "round {at}");
        assert!(bench.verbs.nominations.take_news().groups.is_empty(), "round {at}");
    }
}

#[test]
fn a_hard_limit_whose_only_nodes_are_outside_of_the_sample_nominates_one_and_asks_to_come_back() {
    let text = "apiVersion: config.berth.dev/v1alpha1\nkind: BerthConfiguration\ntopologySpread: {defaultingType: List, \
        defaultConstraints: [{maxSkew: 1, topologyKey: zone, whenUnsatisfiable: DoNotSchedule}]}\n";
    let zone = |at: usize| if at < 140 { "a" } else { "b" };
    let hosts = (0..150).map(|at| {
        let cpus = Resources::new(2_000, 0, 0, []);
        Object::Node(Arc::new(node(&format!("n{at}")).label("zone", zone(at)).allocatable(cpus).build()))
    });
    let service = object(
        r#"{"apiVersion":"v1","kind":"Service","metadata":{"name":"web","namespace":"default"},
        "spec":{"selector":{"app":"web"}}}"#,
    );
    let config = config::parse(text).expect("a configuration");
    let mut verbs = Verbs::in_memory(config, hosts.chain([service]).collect()).expect("metrics");
    verbs.nominations = Nominations::new(Nominator::Kept(Arc::default()));
    let web = |name: &str| pod(name).label("app", "web").requests(Resources::new(1_000, 0, 0, []));
    let mut waiting = web("waiting").build();
    waiting.scheduler = Some("default-scheduler".into());
    let bench = Bench {
        changes: verbs.store.subscribe(),
        verbs,
        line: Line::default(),
        outstanding: Outstanding::everything(),
    };
    bench.show([web("first").on("n0").build(), waiting]);
    let ask = |hosts: std::ops::Range<usize>| {
        let names: Vec<String> = hosts.map(|at| format!(r#""n{at}""#)).collect();
        let pod = r#"{"metadata":{"name":"waiting","namespace":"default","uid":"waiting","labels":{"app":"web"}},
            "spec":{"schedulerName":"default-scheduler","containers":[{"name":"c","resources":{"requests":{"cpu":"1"}}}]}}"#;
        let body = format!(r#"{{"Pod":{pod},"NodeNames":[{}]}}"#, names.join(","));
        let answer =
            bench.verbs.decide(Verb::Filter, body.as_bytes()).expect("a sound call").expect("an answer");
        String::from_utf8(answer).expect("text")
    };
    let answer = ask(0..120);
    let error = crate::wire::reply::filter_error(crate::decision::Undecided::PlacementUnknown);
    assert!(answer.contains(r#""Error":"berth: "#), "{answer} {}", String::from_utf8_lossy(&error));
    let written = bench.written();
    assert!((140..150).any(|at| written == format!("waiting:n{at}")), "{written}");
    assert!(ask(140..141).contains(r#""n140""#), "the next attempt begins there");
}

#[tokio::test]
async fn a_pod_outside_of_the_sample_is_written_without_any_change_in_the_cluster() {
    let kept = Arc::new(Mutex::new(Vec::new()));
    let mut bench = Bench::new(1);
    let mut single = pod("single").build();
    single.scheduler = Some("default-scheduler".into());
    bench.verbs.nominations = Nominations::new(Nominator::Kept(kept.clone()));
    bench.show([single.clone()]);
    let verbs = Arc::new(bench.verbs);
    let writer = tokio::spawn({
        let verbs = verbs.clone();
        async move { verbs.write_nominations().await }
    });
    tokio::task::yield_now().await;
    verbs.nominations.ask_for(&single, &Name::from("n1"));
    let began = std::time::Instant::now();
    while kept.lock().expect("no panic").is_empty() {
        assert!(began.elapsed() < Duration::from_secs(30), "nothing was written");
        tokio::task::yield_now().await;
    }
    let written = kept.lock().expect("no panic").clone();
    assert_eq!(written[0].node.as_deref(), Some("n1"));
    writer.abort();
}
