#![allow(clippy::expect_used, reason = "a test fails by panicking")]

use std::collections::BTreeMap;
use std::sync::Arc;

use super::Clock;
use super::round::CatchingUp;
use crate::config::Config;
use crate::decision::Undecided;
use crate::fixtures::{node, object, pod};
use crate::model::{Name, Object, Pod, Resources};
use crate::policy::Allowance;
use crate::verbs::{Verb, Verbs};
use crate::view::View;
use crate::view::change::Change;

const RACK: &str = "rack";

/// One rack with room for everybody.
fn verbs() -> Verbs {
    let host = |at: usize| {
        let cpus = Resources::new(1_000_000, 0, 0, []);
        Object::Node(Arc::new(node(&format!("n{at}")).label(RACK, "r").allocatable(cpus).build()))
    };
    Verbs::in_memory(Config::default(), (0..2).map(host).collect()).expect("metrics")
}

/// One of two members, which has a place.
fn begun(namespace: &str, group: &str) -> Pod {
    let member = pod(&format!("{namespace}-{group}"))
        .namespace(namespace)
        .annotation("berth.dev/group", group)
        .annotation("berth.dev/group-size", "2")
        .annotation("berth.dev/required-topology", RACK)
        .requests(Resources::new(1_000, 0, 0, []));
    member.on("n0").build()
}

fn show(verbs: &Verbs, pods: impl IntoIterator<Item = Pod>) {
    verbs.store.apply(pods.into_iter().map(|pod| Change::Upsert(Object::Pod(Arc::new(pod)))));
}

fn many(namespace: &str, groups: usize) -> impl Iterator<Item = Pod> {
    (0..groups).map(move |at| begun(namespace, &format!("g{at:03}")))
}

fn volume(name: &str) -> Change {
    Change::Upsert(object(&format!(
        r#"{{"apiVersion":"v1","kind":"PersistentVolume","metadata":{{"name":"{name}"}},"spec":{{}}}}"#
    )))
}

/// How many groups of each namespace are not outdated any more.
fn looked_at(view: &View) -> BTreeMap<Name, usize> {
    let mut looked_at = BTreeMap::new();
    for (group, _) in view.placed_groups() {
        let done = usize::from(view.outdated_groups().all(|outdated| outdated != group));
        *looked_at.entry(group.set.namespace.clone()).or_default() += done;
    }
    looked_at
}

fn filter(verbs: &Verbs, name: &str) -> String {
    let body = format!(
        r#"{{"Pod":{{"metadata":{{"name":"{name}","namespace":"x","uid":"{name}"}},"spec":{{"containers":[]}}}},
        "NodeNames":["n0","n1"]}}"#
    );
    let answer = verbs.decide(Verb::Filter, body.as_bytes()).expect("a sound call").expect("an answer");
    String::from_utf8(answer).expect("text")
}

#[test]
fn a_round_is_small_and_every_namespace_has_its_turn() {
    let verbs = verbs();
    show(&verbs, many("flood", 100).chain(many("honest", 2)));
    let mut catching_up = CatchingUp::with_everything();
    let mut rounds = Vec::new();
    while catching_up.has_next(&verbs.store.view()) {
        verbs.look_at_some(&mut catching_up).expect("no panic");
        rounds.push(looked_at(&verbs.store.view())[&Name::from("flood")]);
        assert_eq!(looked_at(&verbs.store.view())[&Name::from("honest")], 2, "in the first round");
    }
    assert_eq!(rounds, [30, 62, 94, 100]);
    assert_eq!(verbs.store.view().ledger().reservations().len(), 102);
}

#[test]
fn a_namespace_that_has_used_up_its_share_holds_up_nobody() {
    let verbs = verbs();
    show(&verbs, many("flood", 100).chain(many("honest", 2)));
    // A look costs 500 at least.
    let mut catching_up = CatchingUp::paying_from(Allowance::of(5_000, 0));
    while catching_up.has_next(&verbs.store.view()) {
        verbs.look_at_some(&mut catching_up).expect("no panic");
    }
    let looked_at = looked_at(&verbs.store.view());
    assert_eq!(looked_at[&Name::from("honest")], 2);
    assert!((1..=10).contains(&looked_at[&Name::from("flood")]), "{looked_at:?}");
    assert!(verbs.store.view().has_groups_to_look_at(), "what is left over stays outdated");
    verbs.bring_reservations_up_to_date().expect("no panic");
    assert_eq!(verbs.store.view().ledger().reservations().len(), 102);
}

#[test]
fn what_a_volume_changes_is_looked_at_a_few_at_a_time_and_slots_stay_until_then() {
    let verbs = verbs();
    show(&verbs, many("flood", 100));
    verbs.bring_reservations_up_to_date().expect("no panic");
    verbs.store.apply([volume("v")]);
    let in_doubt = || verbs.store.view().doubtful_groups().count();
    assert_eq!((in_doubt(), verbs.store.view().outdated_groups().len()), (100, 0));
    for expected in [92, 84] {
        let decided_on = verbs.catch_up(verbs.store.snapshot(), &pod("asks").build(), &Clock::start());
        assert!(decided_on.is_ok());
        assert_eq!((in_doubt(), verbs.store.view().ledger().reservations().len()), (expected, 100));
    }
}

#[test]
fn the_group_of_the_pod_that_asks_is_looked_at_in_any_case() {
    let verbs = verbs();
    show(&verbs, many("flood", 100));
    verbs.bring_reservations_up_to_date().expect("no panic");
    verbs.store.apply([volume("v")]);
    let own = begun("flood", "g077").group.expect("a member").group.clone();
    let mut catching_up = CatchingUp::before_a_decision(Some(own.clone()), &verbs.store.view());
    verbs.look_at_some(&mut catching_up).expect("no panic");
    assert!(!verbs.store.view().is_to_be_looked_at(&own));
}

#[test]
fn the_service_begins_with_another_namespace_each_time() {
    let verbs = verbs();
    show(&verbs, ["a", "b", "c"].into_iter().flat_map(|namespace| many(namespace, 1)));
    let view = verbs.store.view();
    let mut last = None;
    let mut turns = Vec::new();
    for _ in 0..4 {
        last = CatchingUp::in_turn(last, &view).into_first_namespace();
        turns.extend(last.clone());
    }
    assert_eq!(turns, ["a", "b", "c", "a"].map(Name::from));
}

#[test]
fn nobody_decides_after_a_beginning_until_what_is_owed_is_known() {
    let verbs = verbs();
    assert!(!verbs.store.view().is_reckoned());
    assert!(verbs.reckoning.holds_up_decisions(false), "it has just begun");
    show(&verbs, many("ns", 1));
    assert!(filter(&verbs, "a").contains("n1"), "it took no time");
    assert!(verbs.store.view().is_reckoned() && !verbs.reckoning.holds_up_decisions(true));
    show(&verbs, many("ns", 2));
    assert!(verbs.store.view().is_reckoned(), "that some have changed is no beginning");
    verbs.store.write(|view| {
        view.forget_reservations();
        Vec::new()
    });
    assert!(!verbs.store.view().is_reckoned());
}

#[test]
fn a_source_that_a_reload_adds_has_room_kept_for_its_running_groups() {
    let mut without = Config::default();
    without.replica_groups.sources.clear();
    let verbs = verbs();
    verbs.store.reconfigure(without);
    show(&verbs, many("ns", 2));
    assert!(filter(&verbs, "a").contains("n1"));
    let reserved = || verbs.store.view().ledger().reservations().len();
    assert_eq!(reserved(), 0, "nobody is in a group");
    verbs.store.reconfigure(Config::default());
    assert!(filter(&verbs, "b").contains("n1"));
    assert_eq!(reserved(), 2, "before the next decision");
    verbs.store.reconfigure(Config::default());
    assert!(verbs.store.view().is_reckoned(), "nothing has changed");
}

#[test]
fn what_a_namespace_cannot_pay_for_holds_up_decisions_only_after_a_beginning() {
    let verbs = verbs();
    let asks = pod("asks").build();
    let ask = || verbs.catch_up(verbs.store.snapshot(), &asks, &Clock::start()).map(|_| ());
    // A look costs 500 at least, and there are two million.
    show(&verbs, many("flood", 4_100));
    assert_eq!(ask(), Err(Undecided::ReservationsNotReady));
    let left = verbs.store.view().outdated_groups().len();
    assert!((1..4_100).contains(&left), "{left}");
    assert_eq!(ask(), Ok(()), "the rest");
    show(&verbs, many("more", 4_100));
    assert_eq!(ask(), Ok(()), "nobody waits for all of them");
    assert!(verbs.store.view().outdated_groups().len() > 0);
}
