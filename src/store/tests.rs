#![allow(clippy::expect_used, reason = "a test fails by panicking")]

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use super::{Changes, Kinds, Store};
use crate::config::{self, Config};
use crate::fixtures::{node, pod};
use crate::metrics::Registry;
use crate::model::{Kind, Object, ObjectKey, Uid};
use crate::view::change::{Change, Offer};

const HOUR: Duration = Duration::from_hours(1);

fn store(config: Config) -> Store {
    let registry = Registry::new().expect("a registry");
    Store::new(config, &registry).expect("metrics")
}

fn upsert(builder: crate::fixtures::PodBuilder) -> Change {
    Change::Upsert(Object::Pod(Arc::new(builder.build())))
}

fn uids(names: &[&str]) -> Vec<Uid> {
    names.iter().map(|name| Uid::from(*name)).collect()
}

/// A configuration of which every part of a snapshot shows whether it was made from it.
fn with_rule(key: &str, mode: &str) -> Config {
    let text = format!(
        "apiVersion: config.berth.dev/v1alpha1\nkind: BerthConfiguration\npreemption: {{mode: {mode}}}\n\
         replicaGroups:\n  mode: {mode}\n  rules:\n  - {{label: {key}, topology: {{preferred: rack}}}}\n"
    );
    config::parse(&text).expect("a configuration")
}

#[test]
fn a_snapshot_never_mixes_two_configurations() {
    let configs = [with_rule("first", "Enforce"), with_rule("second", "Observe")];
    let store = store(configs[0].clone());
    let members = (0..20).map(|at| {
        upsert(pod(&format!("p{at}")).label("app", "web").label("first", "a").label("second", "b"))
    });
    store.apply(members);
    let done = AtomicBool::new(false);
    std::thread::scope(|scope| {
        for _ in 0..2 {
            scope.spawn(|| {
                while !done.load(Ordering::Relaxed) {
                    let snapshot = store.snapshot();
                    let of =
                        configs.iter().position(|config| config == snapshot.config()).expect("one of both");
                    let (engine, view) = (snapshot.engine(), snapshot.view());
                    assert_eq!(engine.modes().last(), Some(configs[of].replica_groups.mode));
                    assert_eq!(**view.recogniser(), configs[of].replica_groups.recogniser());
                    let value = ["a", "b"][of];
                    let recognised =
                        |uid: &str| view.pod(uid)?.group.as_ref().map(|m| m.group.set.name.clone());
                    assert!((0..20).all(|at| recognised(&format!("p{at}")).as_deref() == Some(value)));
                }
            });
        }
        // Writers that know nothing of settings must not bring old ones back.
        scope.spawn(|| {
            while !done.load(Ordering::Relaxed) {
                store.apply([upsert(pod("q"))]);
            }
        });
        for round in 1..=200 {
            let published = store.reconfigure(configs[round % 2].clone());
            assert!(*published.config() == configs[round % 2]);
        }
        done.store(true, Ordering::Relaxed);
    });
}

#[test]
fn a_reload_that_changes_no_group_keeps_the_recogniser_and_the_reservations() {
    let store = store(with_rule("first", "Enforce"));
    store.apply([upsert(pod("p").label("first", "a").label("second", "b").on("n"))]);
    let up_to_date = || {
        store.write(|view| {
            let groups: Vec<_> = view.outdated_groups().cloned().collect();
            view.mark_up_to_date(&groups);
            Vec::new()
        })
    };
    up_to_date();
    let before = store.view();
    let mut config = with_rule("first", "Enforce");
    config.preemption.mode = config::Mode::Observe;
    let same = store.reconfigure(config);
    assert!(Arc::ptr_eq(before.recogniser(), same.view().recogniser()));
    assert_eq!(same.view().outdated_groups().len(), 0);
    let other = store.reconfigure(with_rule("second", "Enforce"));
    assert_eq!(other.view().outdated_groups().len(), 1, "groups are other ones now");
}

#[tokio::test]
async fn changes_tell_kinds_pods_and_groups() {
    let store = store(Config::default());
    store.apply([upsert(pod("early"))]);
    let mut subscription = store.subscribe();
    let member = pod("member").annotation("berth.dev/group", "ring");
    let group = member.clone().build().group.expect("a member").group.clone();

    let kinds = |kinds: &[Kind]| kinds.iter().copied().collect::<Kinds>();
    let mut step = async |what: &str, expected: Changes, change: &dyn Fn(&Store)| {
        change(&store);
        // Something that is always told, so that nothing is waited for.
        store.apply([Change::Remove(Kind::Service, ObjectKey::new("default", "none"))]);
        let mut told = subscription.next().await.expect("a store");
        if expected.is_empty() {
            assert_eq!(told.kinds, kinds(&[Kind::Service]), "{what}");
        } else {
            assert_eq!(*told, expected, "{what}");
            told = subscription.next().await.expect("a store");
            assert_eq!(told.kinds, kinds(&[Kind::Service]), "{what}");
        }
    };
    let pods = |names: &[&str]| Changes { pods: uids(names), ..Changes::default() };
    let shown = |names: &[&str]| Changes { kinds: kinds(&[Kind::Pod]), ..pods(names) };
    let grouped = |changes: Changes| Changes { groups: vec![group.clone()], ..changes };

    let nodes = Changes { kinds: kinds(&[Kind::Node, Kind::Pod]), ..pods(&["a"]) };
    step("a node and a pod at once", nodes, &|store| {
        store.apply([Change::Upsert(Object::Node(Arc::new(node("n").build()))), upsert(pod("a"))]);
    })
    .await;
    step("a pod as it was", shown(&[]), &|store| store.apply([upsert(pod("a"))])).await;
    step("a member", grouped(shown(&["member"])), &|store| store.apply([upsert(member.clone())])).await;
    let offered = Arc::new(member.clone().build());
    step("an offer", grouped(pods(&["member"])), &|store| {
        store.write(|view| view.offer(&offered, Offer::Several, HOUR));
    })
    .await;
    step("a bind call", grouped(pods(&["member"])), &|store| {
        store.write(|view| {
            view.assume(&offered.uid, &offered.key, "n".into(), HOUR);
            Vec::new()
        });
    })
    .await;
    step("overdue, but nobody is under way", Changes::default(), &|store| {
        store.write(|view| {
            view.mark_overdue(&uids(&["a"]));
            Vec::new()
        });
    })
    .await;
    step("overdue", grouped(pods(&["member"])), &|store| {
        store.write(|view| {
            view.mark_overdue(&uids(&["member"]));
            Vec::new()
        });
    })
    .await;
    step("expiry", grouped(pods(&["member"])), &|store| {
        store.write(|view| view.advance(HOUR));
    })
    .await;
    step("a list without the member", grouped(shown(&["a", "early", "member"])), &|store| {
        store.apply([Change::Replace(Kind::Pod, Vec::new())]);
    })
    .await;
    step("settings", Changes { settings: true, ..Changes::default() }, &|store| {
        store.reconfigure(Config::default());
    })
    .await;
}

#[tokio::test]
async fn who_falls_behind_or_subscribes_in_the_middle_is_told_to_look_at_everything() {
    let store = store(Config::default());
    let mut late = store.subscribe();
    for at in 0..=super::BACKLOG {
        store.apply([upsert(pod(&format!("p{at}")))]);
    }
    assert!(late.next().await.expect("a store").is_incomplete);
    drop(late);

    let mut subscription = None;
    store.write(|view| {
        subscription = Some(store.subscribe());
        view.apply(upsert(pod("meanwhile")))
    });
    let mut subscription = subscription.expect("subscribed");
    let told = tokio::time::timeout(Duration::from_secs(10), subscription.next()).await;
    let told = told.expect("it is told").expect("a store");
    assert!(told.is_incomplete && told.concern(&uids(&["anybody"])));
}

#[test]
fn reservations_end_when_groups_are_only_observed_and_are_worked_out_anew_afterwards() {
    let mode = |mode| with_rule("gang", mode);
    let store = store(mode("Enforce"));
    store.apply([upsert(pod("p").label("gang", "a").on("n"))]);
    let reserve = || {
        store.write(|view| {
            let group = view.pod("p").and_then(|pod| pod.group.clone()).expect("a member").group.clone();
            let slot = crate::ledger::Slot::of(&pod("m").build(), &"n".into());
            let reservation = crate::ledger::Reservation {
                missing: 1,
                slots: vec![slot],
                ..crate::ledger::Reservation::nothing(group)
            };
            view.reserve(reservation, crate::ledger::Life::of(HOUR));
            let groups: Vec<_> = view.outdated_groups().cloned().collect();
            view.mark_up_to_date(&groups);
            Vec::new()
        });
    };
    reserve();
    for (next, name) in
        [("Observe", "nobody follows the plan"), ("Enforce", "what is owed follows from what runs")]
    {
        store.reconfigure(mode(next));
        let view = store.view();
        assert!(view.ledger().reservations().is_empty(), "{name}");
        assert_eq!(view.outdated_groups().len(), 1, "{name}");
        reserve();
    }
    store.reconfigure(mode("Enforce"));
    assert_eq!(store.view().ledger().reservations().len(), 1, "the same mode changes nothing");
}

#[test]
fn the_event_loop_goes_on_while_somebody_waits_to_become_the_writer() {
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(1)
        .enable_all()
        .build()
        .expect("a runtime");
    let store = Arc::new(store(Config::default()));
    let (held, is_held) = std::sync::mpsc::channel();
    let (goes_on, has_gone_on) = std::sync::mpsc::channel();
    let holder = std::thread::spawn({
        let store = store.clone();
        move || {
            store.write(|_| {
                held.send(()).expect("somebody listens");
                // As a long round would, until a probe has been answered.
                has_gone_on.recv_timeout(Duration::from_secs(30)).expect("the event loop stands still");
                Vec::new()
            });
        }
    });
    is_held.recv().expect("it is held");
    let waiting = runtime.spawn({
        let store = store.clone();
        async move { store.write(|_| Vec::new()) }
    });
    while store.waiting.load(std::sync::atomic::Ordering::Relaxed) == 0 {
        std::thread::yield_now();
    }
    runtime.spawn(async move { goes_on.send(()) });
    holder.join().expect("the event loop went on");
    runtime.block_on(waiting).expect("it has its turn");
    store.let_others_write();
}
