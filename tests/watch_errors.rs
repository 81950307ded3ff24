//! Watches that meet everything that can go wrong, played by an API server of a few lines.
#![allow(clippy::expect_used, reason = "a test fails by panicking")]

mod support;
mod watch_errors {
    pub mod fake_api;
    pub mod following;
    mod whole_berth;
}

use berth::cluster::Problem;
use berth::model::group::Source;
use berth::model::{Kind, ObjectKey};
use serde_json::json;
use support::waiting::{until, until_true};
use watch_errors::fake_api::{FakeApi, List, node, pod};
use watch_errors::following::Following;

fn pod_groups() -> Kind {
    Source::PodGroup.kind().expect("PodGroup objects")
}

fn leader_worker_sets() -> Kind {
    Source::LeaderWorkerSet.kind().expect("LeaderWorkerSet objects")
}

#[test]
fn an_undecodable_object_of_a_list_is_skipped_and_counted() {
    let api = FakeApi::start();
    api.serve(Kind::Node, List::of([node("a"), json!({"metadata": {"name": 7}}), node("c")]));
    let berth = Following::start(&api, &[Kind::Node]);
    berth.until_synced(Kind::Node);
    assert_eq!(berth.nodes(), ["a", "c"], "the rest of the list is there");
    assert_eq!(berth.undecodable(Kind::Node), 1);

    // It was readable once; the next list says it is there, but not in words we know.
    api.serve(Kind::Node, List::of([json!({"metadata": {"name": "a"}, "spec": {"taints": 1}}), node("c")]));
    api.expire(Kind::Node);
    until_true("the stale copy is evicted", || berth.nodes() == ["c"]);
    assert_eq!(berth.undecodable(Kind::Node), 2);
}

#[test]
fn an_undecodable_object_of_a_watch_takes_its_stale_copy_with_it() {
    let broken = [
        ("in its spec", json!({"metadata": {"name": "p", "namespace": "d", "uid": "u"}, "spec": 1})),
        (
            "in its labels",
            json!({"metadata": {"name": "p", "namespace": "d", "uid": "u", "labels": {"a": 1}}}),
        ),
        ("in its owners", json!({"metadata": {"name": "p", "namespace": "d", "ownerReferences": [{}]}})),
    ];
    for (place, object) in broken {
        let api = FakeApi::start();
        api.serve(Kind::Pod, List::of([pod("p", Some("a")), pod("q", Some("a"))]));
        let berth = Following::start(&api, &[Kind::Pod]);
        berth.until_watching(&api, Kind::Pod);
        assert_eq!(berth.view().count(Kind::Pod), 2);

        api.event(Kind::Pod, "MODIFIED", &object);
        until_true(&format!("broken {place}: the stale copy is evicted"), || {
            berth.view().pod_named(&ObjectKey::new("d", "p")).is_none()
        });
        assert_eq!(berth.undecodable(Kind::Pod), 1, "{place}");
        api.event(Kind::Pod, "ADDED", &pod("r", None));
        until_true("the watch goes on", || berth.view().count(Kind::Pod) == 2);
        assert_eq!(api.lists(Kind::Pod), 1, "{place}: and needed no new list");
    }
}

#[test]
fn objects_come_change_and_go_with_the_watch() {
    let api = FakeApi::start();
    api.serve(Kind::Pod, List::of([]));
    let berth = Following::start(&api, &[Kind::Pod]);
    berth.until_watching(&api, Kind::Pod);
    api.event(Kind::Pod, "ADDED", &pod("p", None));
    until_true("the pod is there", || berth.view().pod("uid-p").is_some_and(|pod| pod.node.is_none()));
    api.event(Kind::Pod, "MODIFIED", &pod("p", Some("a")));
    until_true("the pod is placed", || berth.view().place_of("uid-p").is_some_and(|node| **node == *"a"));
    api.event(
        Kind::Pod,
        "BOOKMARK",
        &json!({"kind": "Pod", "apiVersion": "v1", "metadata": {"resourceVersion": "77"}}),
    );
    let mut finished = pod("p", Some("a"));
    finished["status"] = json!({"phase": "Succeeded"});
    api.event(Kind::Pod, "MODIFIED", &finished);
    until_true("a finished pod occupies nothing", || berth.view().host("a").is_none());
    api.event(Kind::Pod, "ADDED", &pod("q", Some("a")));
    api.event(Kind::Pod, "DELETED", &pod("q", Some("a")));
    api.event(Kind::Pod, "ADDED", &pod("last", None));
    until_true("all is taken in, in order", || berth.view().pod("uid-last").is_some());
    assert_eq!(berth.view().count(Kind::Pod), 1);
}

#[test]
fn a_version_too_old_leads_to_a_list_that_is_swapped_in_as_one() {
    let api = FakeApi::start();
    let many = |from: usize| List::of((from..from + 200).map(|n| node(&format!("n{n:04}"))));
    api.serve(Kind::Node, many(0));
    let berth = Following::start(&api, &[Kind::Node]);
    berth.until_watching(&api, Kind::Node);

    // Every view on the way holds exactly one of the two lists: 200 nodes, from n0000 or from n0100 on.
    let store = berth.store.clone();
    let looking = std::thread::spawn(move || {
        let mut views = 0u64;
        loop {
            let view = store.view();
            let (old, new) = (view.node("n0000").is_some(), view.node("n0299").is_some());
            assert_eq!(view.count(Kind::Node), 200, "a list half swapped in");
            assert_ne!(old, new, "old and new at once, or neither");
            views += 1;
            if new {
                return views;
            }
        }
    });
    api.serve(Kind::Node, many(100));
    api.expire(Kind::Node);
    assert!(looking.join().expect("every view was whole") > 1);
    assert_eq!(api.lists(Kind::Node), 2);
    assert_eq!(berth.count("berth_relists_total", Kind::Node), 2);
}

#[test]
fn a_watch_refused_with_410_leads_to_a_list_too() {
    let api = FakeApi::start();
    api.serve(Kind::Node, List::of([node("a")]));
    let berth = Following::start(&api, &[Kind::Node]);
    berth.until_watching(&api, Kind::Node);
    api.serve(Kind::Node, List::of([node("b")]));
    api.refuse_next_watch(Kind::Node, 410);
    api.end_watch(Kind::Node);
    until_true("listed again", || berth.nodes() == ["b"]);
}

#[test]
fn a_watch_that_ends_in_order_goes_on_without_a_list() {
    let api = FakeApi::start();
    api.serve(Kind::Node, List::of([node("a")]));
    let berth = Following::start(&api, &[Kind::Node]);
    berth.until_watching(&api, Kind::Node);
    let mut b = node("b");
    b["metadata"]["resourceVersion"] = json!("4711");
    api.event(Kind::Node, "ADDED", &b);
    until_true("b is there", || berth.nodes() == ["a", "b"]);
    api.end_watch(Kind::Node);
    until_true("watched again from where it ended", || {
        api.watched_from(Kind::Node).as_deref() == Some("4711")
    });
    assert_eq!(api.lists(Kind::Node), 1);
    assert_eq!(berth.count("berth_watch_failures_total", Kind::Node), 0, "that is no failure");
}

#[test]
fn staleness_grows_while_the_connection_is_cut_and_goes_when_it_is_back() {
    let api = FakeApi::start();
    api.serve(Kind::Node, List::of([node("a")]));
    let berth = Following::start(&api, &[Kind::Node]);
    berth.until_watching(&api, Kind::Node);
    until_true("fresh", || berth.staleness(Kind::Node).is_zero());

    api.vanish();
    until_true("staleness is noticed", || !berth.staleness(Kind::Node).is_zero());
    let early = berth.staleness(Kind::Node);
    until_true("staleness grows", || berth.staleness(Kind::Node) > early + early / 2);
    assert!(berth.distrusted_when_limit_is(early), "readiness goes");
    assert_eq!(berth.nodes(), ["a"], "what was known is kept");
    until_true("failures are counted", || berth.count("berth_watch_failures_total", Kind::Node) > 0);

    api.serve(Kind::Node, List::of([node("a"), node("b")]));
    api.come_back();
    until_true("fresh again", || berth.staleness(Kind::Node).is_zero());
    api.event(Kind::Node, "ADDED", &node("c"));
    until_true("and told of what happens", || berth.view().node("c").is_some());
}

#[test]
fn a_failing_list_is_tried_again() {
    let api = FakeApi::start();
    api.fail_lists(Kind::Service, 500, 2);
    api.serve(Kind::Service, List::of([json!({"metadata": {"name": "s", "namespace": "d"}})]));
    let berth = Following::start(&api, &[Kind::Service]);
    berth.until_synced(Kind::Service);
    assert_eq!(berth.view().count(Kind::Service), 1);
    assert_eq!(berth.count("berth_watch_failures_total", Kind::Service), 2);
}

#[test]
fn an_optional_kind_that_is_not_installed_is_complete_as_it_is() {
    let api = FakeApi::start();
    let berth = Following::start(&api, &[pod_groups(), leader_worker_sets()]);
    for kind in [pod_groups(), leader_worker_sets()] {
        berth.until_synced(kind);
        until_true("and fresh", || berth.staleness(kind).is_zero());
        assert_eq!(berth.count("berth_watch_failures_total", kind), 0);
    }
}

#[test]
fn a_kind_that_we_may_not_list_is_never_taken_for_one_that_is_not_installed() {
    for kind in [pod_groups(), Kind::Service] {
        let api = FakeApi::start();
        api.install(pod_groups(), "v1alpha1");
        api.serve(kind, List::of([json!({"metadata": {"name": "o", "namespace": "d"}})]));
        api.fail_lists(kind, 403, usize::from(u16::MAX));
        let berth = Following::start(&api, &[kind]);
        until_true("it is noticed", || berth.freshness.problem(kind).is_some());
        let problem = berth.freshness.problem(kind).expect("a problem");
        assert_eq!(problem.problem, Problem::Forbidden);
        let plural = kind.plural();
        assert!(problem.text.contains(&format!("resources: [\"{plural}\"]")), "{}", problem.text);
        assert!(!berth.freshness.is_synced(kind), "nobody knows what is in it");
        assert!(berth.count("berth_watch_failures_total", kind) > 0);

        api.fail_lists(kind, 403, 0);
        berth.until_synced(kind);
        until_true("no problem any more", || berth.freshness.problem(kind).is_none());
        assert_eq!(berth.view().count(kind), 1);
    }
}

#[test]
fn a_watch_that_is_forbidden_is_named_too() {
    let api = FakeApi::start();
    api.serve(Kind::Node, List::of([node("a")]));
    api.refuse_next_watch(Kind::Node, 403);
    let berth = Following::start(&api, &[Kind::Node]);
    let problem = until("it is noticed", || berth.freshness.problem(Kind::Node));
    assert!(problem.text.contains("may not watch nodes"), "{}", problem.text);
}

#[test]
fn an_api_server_that_is_away_is_named_with_its_url_and_the_cause() {
    let api = FakeApi::start();
    let url = api.url().to_string();
    api.vanish();
    let berth = Following::start(&api, &[Kind::Node]);
    let problem = until("it is noticed", || berth.freshness.problem(Kind::Node));
    assert_eq!(problem.problem, Problem::Unreachable);
    for part in [url.as_str(), "Connection refused"] {
        assert!(problem.text.contains(part), "{}", problem.text);
    }
    assert_eq!(problem.text.matches("Connection refused").count(), 1, "once: {}", problem.text);
}

#[test]
fn an_optional_kind_that_is_installed_is_read_in_its_preferred_version() {
    let api = FakeApi::start();
    api.install(pod_groups(), "v1alpha1");
    api.serve(pod_groups(), List::of([json!({"metadata": {"name": "j", "namespace": "d"}})]));
    let berth = Following::start(&api, &[pod_groups()]);
    berth.until_synced(pod_groups());
    assert_eq!(berth.view().count(pod_groups()), 1);
}

#[test]
fn a_missing_built_in_kind_is_never_taken_for_an_empty_one() {
    let api = FakeApi::start();
    api.fail_lists(Kind::Pod, 404, 3);
    api.serve(Kind::Pod, List::of([pod("p", None)]));
    let berth = Following::start(&api, &[Kind::Pod]);
    until_true("it failed", || berth.count("berth_watch_failures_total", Kind::Pod) > 0);
    assert!(!berth.freshness.is_synced(Kind::Pod), "a 404 for pods is an error");
    berth.until_synced(Kind::Pod);
    assert_eq!(berth.view().count(Kind::Pod), 1);
}

#[test]
fn a_list_of_several_pages_is_one_list() {
    let api = FakeApi::start();
    api.serve(Kind::Node, List::of([node("a"), node("b"), node("c")]).in_pages_of(2));
    let berth = Following::start(&api, &[Kind::Node]);
    berth.until_synced(Kind::Node);
    assert_eq!(berth.nodes(), ["a", "b", "c"]);
    assert_eq!(api.lists(Kind::Node), 2, "two pages were asked for");
    assert_eq!(berth.count("berth_relists_total", Kind::Node), 1, "and taken as one list");
}

#[test]
fn watches_that_end_at_once_are_not_reopened_in_a_frenzy() {
    let too_old = r#"{"type":"ERROR","object":{"kind":"Status","metadata":{},"status":"Failure","message":"too old","reason":"Expired","code":410}}"#;
    for (how, last_words) in [("in order", ""), ("as too old", too_old)] {
        let api = FakeApi::start();
        api.serve(Kind::Node, List::of([node("a")]));
        api.end_watches_at_once(Kind::Node, last_words);
        let began = std::time::Instant::now();
        let berth = Following::start(&api, &[Kind::Node]);
        until_true("tried a few times", || api.watches(Kind::Node) >= 4);
        assert!(began.elapsed().as_millis() >= 500, "{how}: 4 watches within {:?}", began.elapsed());
        assert_eq!(berth.nodes(), ["a"], "{how}");
    }
}

#[test]
fn a_watch_that_told_something_is_reopened_at_once() {
    let event =
        r#"{"type":"MODIFIED","object":{"metadata":{"name":"a","resourceVersion":"9","labels":{"k":"v"}}}}"#;
    let api = FakeApi::start();
    api.serve(Kind::Node, List::of([node("a")]));
    api.end_watches_at_once(Kind::Node, event);
    let _berth = Following::start(&api, &[Kind::Node]);
    // With the pauses between fruitless watches, so many would take a minute.
    until_true("resumed again and again", || api.watches(Kind::Node) >= 25);
}
