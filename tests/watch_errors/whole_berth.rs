//! All of Berth on the fake API server: readiness, filter's answers, and bindings.

use berth::app::Source;
use berth::model::Kind;
use berth::model::group;
use serde_json::json;

use super::fake_api::{FakeApi, List, node, pod};
use crate::support::running::Running;
use crate::support::small_cluster::CONFIG_HEAD;
use crate::support::waiting::until_true;

const FILTER: &str = r#"{"Pod":{"metadata":{"name":"p","namespace":"d","uid":"uid-p"}},"NodeNames":["a"]}"#;
const BIND: &str = r#"{"PodName":"p","PodNamespace":"d","PodUID":"uid-p","Node":"a"}"#;

fn start(api: &FakeApi, config: &str) -> Running {
    start_as(&json!({}), api, config)
}

/// With these credentials.
fn start_as(user: &serde_json::Value, api: &FakeApi, config: &str) -> Running {
    let directory = tempfile::tempdir().expect("a temporary directory");
    let kubeconfig = directory.path().join("kubeconfig");
    let content = json!({
        "apiVersion": "v1", "kind": "Config", "current-context": "c",
        "clusters": [{"name": "c", "cluster": {"server": api.url().to_string()}}],
        "users": [{"name": "u", "user": user}],
        "contexts": [{"name": "c", "context": {"cluster": "c", "user": "u"}}],
    });
    std::fs::write(&kubeconfig, content.to_string()).expect("written");
    let file = directory.path().join("berth.yaml");
    std::fs::write(&file, format!("{CONFIG_HEAD}{config}")).expect("written");
    Running::start_with(directory, file, Source::ApiServer(Some(kubeconfig)))
}

fn until_ready(berth: &Running) {
    until_true("ready", || berth.admin("/readyz").status == 200);
}

fn filter_error(berth: &Running) -> String {
    let answer = berth.post("/filter", FILTER);
    assert_eq!(answer.status, 200);
    let value: serde_json::Value = serde_json::from_str(&answer.body).expect("JSON");
    value["Error"].as_str().unwrap_or_default().to_owned()
}

#[test]
fn the_end_of_the_client_certificate_in_the_kubeconfig_is_shown() {
    let series = r#"berth_certificate_expiry_timestamp_seconds{certificate="kubeconfig"}"#;
    let api = FakeApi::start();
    let berth = start(&api, "");
    assert!(!berth.admin("/metrics").body.contains(series), "there is none");
    drop(berth);

    let (folder, key) = (tempfile::tempdir().expect("a folder"), rcgen::KeyPair::generate().expect("a key"));
    let mut params = rcgen::CertificateParams::default();
    params.not_after = rcgen::date_time_ymd(2100, 1, 1);
    let certificate = params.self_signed(&key).expect("a certificate");
    let file = |name: &str, content: String| {
        let path = folder.path().join(name);
        std::fs::write(&path, content).expect("written");
        path
    };
    let user = json!({
        "client-certificate": file("client.crt", certificate.pem()),
        "client-key": file("client.key", key.serialize_pem()),
    });
    let berth = start_as(&user, &api, "");
    assert_eq!(berth.count(series), 4_102_444_800);
}

#[test]
fn before_everything_is_synced_berth_is_not_ready_and_says_so() {
    let api = FakeApi::start();
    api.fail_lists(Kind::Service, 500, usize::from(u16::MAX));
    api.serve(Kind::Node, List::of([node("a")]));
    let berth = start(&api, "");
    until_true("the nodes are there", || berth.count(r#"berth_cache_objects{kind="Node"}"#) == 1);
    let readiness = berth.admin("/readyz");
    assert_eq!(readiness.status, 503);
    assert!(readiness.body.contains("[-] Service: not synced"), "{}", readiness.body);
    assert_eq!(berth.admin("/livez").status, 200, "that is no reason to be restarted");
    assert!(filter_error(&berth).contains("not synced"));
    assert_eq!(berth.count(r#"berth_ledger_entries{state="assumed"}"#), 0, "nothing was offered");

    api.fail_lists(Kind::Service, 500, 0);
    until_ready(&berth);
    assert_eq!(filter_error(&berth), "");
}

#[test]
fn a_forbidden_kind_costs_readiness_and_the_remedy_is_said() {
    let optional = group::Source::PodGroup.kind().expect("PodGroup objects");
    for (config, is_ready) in [("", false), ("replicaGroups: {sources: [JobSet]}\n", true)] {
        let api = FakeApi::start();
        api.install(optional, "v1alpha1");
        api.fail_lists(optional, 403, usize::from(u16::MAX));
        let berth = start(&api, config);
        if is_ready {
            until_ready(&berth);
            assert_eq!(berth.count("berth_ready"), 1);
            continue;
        }
        let series = r#"berth_watch_problem{kind="PodGroup",problem="forbidden"}"#;
        until_true("it shows", || berth.count(series) == 1);
        let readiness = berth.admin("/readyz?verbose");
        assert_eq!((readiness.status, berth.count("berth_ready")), (503, 0));
        let line = readiness.body.lines().find(|line| line.starts_with("[-] PodGroup: "));
        let line = line.expect("a line about it");
        for part in
            ["forbidden", "verbs: [\"list\", \"watch\"]", "leave PodGroup out of replicaGroups.sources"]
        {
            assert!(line.contains(part), "{line}");
        }
        assert!(filter_error(&berth).contains("not synced"));
        until_true("by code", || berth.count(r#"berth_api_requests_total{code="403",verb="list"}"#) > 0);

        api.fail_lists(optional, 403, 0);
        until_ready(&berth);
        assert_eq!((berth.count(series), berth.count("berth_ready")), (0, 1));
    }
}

/// The kinds for which it is not ready.
fn unready_kinds(berth: &Running) -> Vec<String> {
    let body = berth.admin("/readyz?verbose").body;
    let broken = body.lines().filter_map(|line| line.strip_prefix("[-] "));
    broken.map(|line| line.split(':').next().unwrap_or_default().to_owned()).collect()
}

/// A role that lets Berth list and not watch must not pass for ready for as long as `stalenessLimit`: a rolling update would have
/// replaced every good replica by then.
#[test]
fn a_kind_that_may_be_listed_and_not_watched_costs_readiness_from_the_start() {
    let optional = group::Source::PodGroup.kind().expect("PodGroup objects");
    for kind in [Kind::Pod, optional] {
        let api = FakeApi::start();
        api.install(optional, "v1alpha1");
        api.serve(Kind::Node, List::of([node("a")]));
        api.refuse_watches(kind, Some(403));
        let berth = start(&api, "");
        let label = kind.label();
        let series = format!("berth_watch_problem{{kind=\"{label}\",problem=\"forbidden\"}}");
        until_true("it shows", || berth.count(&series) == 1);
        assert_eq!(api.lists(kind), 1, "it was listed");
        until_true("all other kinds are followed", || unready_kinds(&berth) == [label]);
        let readiness = berth.admin("/readyz?verbose");
        assert_eq!((readiness.status, berth.count("berth_ready")), (503, 0), "{}", readiness.body);
        let expected = format!("[-] {label}: not synced: forbidden: Berth's account may not watch");
        assert!(readiness.body.contains(&expected), "{}", readiness.body);
        assert!(filter_error(&berth).contains("not synced"));

        api.refuse_watches(kind, None);
        until_ready(&berth);
        assert_eq!((berth.count(&series), filter_error(&berth)), (0, String::new()));
    }
}

/// What it has followed until now is no worse than after any other cut.
#[test]
fn a_right_that_is_taken_away_later_is_a_cut_like_any_other() {
    let api = FakeApi::start();
    api.serve(Kind::Node, List::of([node("a")]));
    let berth = start(&api, "");
    until_ready(&berth);
    api.refuse_watches(Kind::Pod, Some(403));
    api.end_watch(Kind::Pod);
    let series = r#"berth_watch_problem{kind="Pod",problem="forbidden"}"#;
    until_true("it shows", || berth.count(series) == 1);
    assert_eq!((berth.admin("/readyz").status, filter_error(&berth)), (200, String::new()));
}

#[test]
fn what_only_members_of_groups_demand_is_not_asked_for_without_groups() {
    let kinds: Vec<_> = Kind::ALL.into_iter().filter(|kind| kind.is_for_members()).collect();
    for (config, expected) in [("replicaGroups: {sources: []}\n", 0), ("", 1)] {
        let api = FakeApi::start();
        // Whoever needs no permission is not held up by having none.
        for kind in &kinds {
            api.fail_lists(*kind, 403, if expected == 0 { 99 } else { 0 });
        }
        let berth = start(&api, config);
        until_ready(&berth);
        let lists: Vec<_> = kinds.iter().map(|kind| api.lists(*kind)).collect();
        assert_eq!(lists, vec![expected; kinds.len()], "{config:?}");
    }
}

#[test]
fn a_cut_that_lasts_costs_readiness_until_it_is_over() {
    let api = FakeApi::start();
    api.serve(Kind::Node, List::of([node("a")]));
    let berth = start(&api, "server: {stalenessLimit: 300ms}\n");
    until_ready(&berth);
    assert_eq!(filter_error(&berth), "");

    api.vanish();
    until_true("not ready", || berth.admin("/readyz").status == 503);
    assert!(berth.admin("/readyz").body.contains("watch cut"), "and why");
    assert!(filter_error(&berth).contains("stale"), "filter says so too");
    let staleness = |berth: &Running| {
        let page = berth.admin("/metrics").body;
        crate::support::metrics_page::value(&page, r#"berth_cache_staleness_seconds{kind="Node"}"#)
    };
    // Another kind may have been the first to be cut for too long.
    until_true("stale nodes", || staleness(&berth).is_some_and(|seconds| seconds >= 0.3));

    api.come_back();
    until_ready(&berth);
    assert_eq!(filter_error(&berth), "");
    assert!(staleness(&berth).is_some_and(|seconds| seconds < 0.3), "{:?}", staleness(&berth));
}

#[test]
fn a_binding_is_created_refused_or_left_in_doubt() {
    let api = FakeApi::start();
    api.serve(Kind::Node, List::of([node("a")]));
    api.serve(Kind::Pod, List::of([pod("p", None)]));
    let berth = start(&api, "");
    until_ready(&berth);
    let assumed = || berth.count(r#"berth_ledger_entries{state="assumed"}"#);
    let bindings = |result: &str| berth.count(&format!("berth_bindings_total{{result=\"{result}\"}}"));

    api.answer_bindings_with(409);
    assert!(berth.post("/bind", BIND).body.contains("as told"), "the API server's own words");
    assert_eq!((assumed(), bindings("refused")), (0, 1), "the place is given back");

    api.answer_bindings_with(500);
    assert_ne!(berth.post("/bind", BIND).body, r#"{"Error":""}"#);
    assert_eq!((assumed(), bindings("unknown")), (1, 1), "it may have been stored: remembered");

    api.answer_bindings_with(201);
    assert_eq!(berth.post("/bind", BIND).body, r#"{"Error":""}"#);
    assert_eq!((assumed(), bindings("bound")), (1, 1));
    let binding = api.last_binding();
    assert_eq!(binding["target"]["name"], "a");
    assert_eq!(binding["target"]["kind"], "Node");
    assert_eq!(binding["metadata"]["uid"], "uid-p", "a recreated pod is not bound by mistake");

    until_true("watched", || api.is_watched(Kind::Pod));
    api.event(Kind::Pod, "MODIFIED", &pod("p", Some("a")));
    until_true("the watch confirms it", || assumed() == 0);
    assert_eq!(berth.count(r#"berth_ledger_dropped_total{cause="bind_refused"}"#), 1);
}

#[test]
fn a_topology_that_is_ignored_is_said_in_one_event() {
    let api = FakeApi::start();
    api.serve(Kind::Node, List::of([node("a")]));
    let berth = start(&api, "");
    until_ready(&berth);
    let annotations = json!({"berth.dev/required-topology": "rack"});
    let pod =
        json!({"metadata": {"name": "p", "namespace": "d", "uid": "uid-p", "annotations": annotations}});
    let body = json!({"Pod": pod, "NodeNames": ["a"]}).to_string();
    for _ in 0..3 {
        assert!(
            berth.post("/filter", &body).body.contains(r#""NodeNames":["a"]"#),
            "it is let in all the same"
        );
    }
    until_true("posted", || berth.count(r#"berth_events_total{result="posted"}"#) == 1);
    assert_eq!(berth.count(r#"berth_topology_ignored_total{why="no_group"}"#), 1);
    let events = api.events();
    let [event] = &events[..] else { panic!("{events:?}") };
    assert_eq!((&event["type"], &event["reason"]), (&json!("Warning"), &json!("TopologyIgnored")));
    assert_eq!(event["involvedObject"]["uid"], "uid-p");
}

#[test]
fn the_comparer_finds_what_differs() {
    let api = FakeApi::start();
    api.serve(Kind::Node, List::of([node("a"), node("b")]));
    let berth = start(&api, "");
    until_ready(&berth);
    let compared = || -> serde_json::Value {
        let answer = berth.admin("/debug/cache/compare");
        assert_eq!(answer.status, 200, "{}", answer.body);
        serde_json::from_str(&answer.body).expect("JSON")
    };
    assert_eq!(compared(), json!({"compared": 2, "differences": [], "ledger": 0}));

    // Changed behind the watch's back.
    let mut relabelled = node("b");
    relabelled["metadata"]["labels"] = json!({"rack": "1"});
    api.serve(Kind::Node, List::of([relabelled, node("c")]));
    let mut differences = compared()["differences"].as_array().cloned().unwrap_or_default();
    differences.sort_by_key(|difference| difference["object"].to_string());
    let expected = [("a", "extra"), ("b", "differs"), ("c", "missing")]
        .map(|(object, what)| json!({"kind": "Node", "object": object, "what": what}));
    assert_eq!(differences, expected);
}

/// A member runs, and the room of another one is kept until its time is up.
fn half_a_group() -> serde_json::Value {
    let mut member = pod("member", Some("a"));
    member["metadata"]["annotations"] = json!({"berth.dev/group": "g", "berth.dev/group-size": "2",
        "berth.dev/required-topology": "rack"});
    member["spec"]["containers"] = json!([{"name": "c", "resources": {"requests": {"cpu": "1"}}}]);
    member
}

#[test]
fn pods_that_were_turned_away_hear_of_room_that_is_given_up() {
    let rack = |name: &str| {
        json!({"metadata": {"name": name, "labels": {"rack": "r"}},
            "status": {"allocatable": {"cpu": "1", "pods": "9"}}})
    };
    for (conflict, expected) in [(false, 2), (true, 4)] {
        let api = FakeApi::start();
        api.serve(Kind::Node, List::of([rack("a"), rack("b")]));
        let mut waits = pod("waits", None);
        waits["spec"] = json!({"schedulerName": "s", "containers": half_a_group()["spec"]["containers"]});
        waits["status"] = json!({"conditions": [{"type": "PodScheduled", "status": "False"}]});
        api.serve(Kind::Pod, List::of([half_a_group(), waits.clone()]));
        if conflict {
            api.refuse_second_patch(409);
        }
        let berth = start(&api, "replicaGroups: {reservationTtl: 5s}\n");
        until_ready(&berth);
        until_true("room is kept", || berth.count("berth_reserved_slots") == 1);
        let answer = berth.post("/filter", json!({"Pod": waits, "NodeNames": ["b"]}).to_string());
        assert!(answer.body.contains("reserved"), "{}", answer.body);
        assert_eq!(api.patches(), [], "nothing is given up");

        until_true("it is announced", || berth.count(r#"berth_nominations_total{result="announced"}"#) == 1);
        let patches = api.patches();
        assert_eq!(patches.len(), expected, "{patches:?}");
        assert!(patches.iter().all(|(pod, patch)| pod == "waits" && patch["metadata"]["uid"] == "uid-waits"));
        let (first, last) = (&patches[0].1, &patches[expected - 1].1);
        assert_eq!(first["status"]["nominatedNodeName"], "b");
        assert_eq!(last["status"], json!({"nominatedNodeName": null}), "it is taken back");
        assert_eq!(
            last["metadata"]["resourceVersion"], "7",
            "unless somebody has nominated the pod meanwhile"
        );
    }
}
