//! What the verbs and the admin endpoints say when all is well.

use crate::support::raw_http::{get, post};
use crate::support::running::Running;
use crate::support::small_cluster::{bind_call, names_call};

const PREEMPTED: &str = r#"{"NodeNameToMetaVictims":{"node-b":{"Pods":[{"UID":"v1"},{"UID":"v2"}],"NumPDBViolations":1},"node-a":{"Pods":[],"NumPDBViolations":0}}}"#;

#[test]
fn every_verb_answers_in_gos_words_to_the_byte() {
    let berth = Running::start("");
    let pod = r#""Pod":{"metadata":{"name":"p","namespace":"default","uid":"u"}}"#;
    let node_b = r#"{"metadata":{"name":"node-b","annotations":{"x":"\u00e9 \/ é"}},"spec":{},"n":1.50}"#;
    let cases = [
        (
            "filter, names",
            "/filter",
            format!(r#"{{{pod},"Nodes":null,"NodeNames":["node-b","node-a"]}}"#),
            r#"{"Nodes":null,"NodeNames":["node-b","node-a"],"FailedNodes":{},"FailedAndUnresolvableNodes":{},"Error":""}"#.to_owned(),
        ),
        (
            "filter, whole nodes come back as they came",
            "/filter",
            format!(r#"{{{pod},"Nodes":{{"metadata":{{}},"items":[{node_b}]}},"NodeNames":null}}"#),
            format!(r#"{{"Nodes":{{"metadata":{{}},"items":[{node_b}]}},"NodeNames":null,"FailedNodes":{{}},"FailedAndUnresolvableNodes":{{}},"Error":""}}"#),
        ),
        (
            "filter, no nodes",
            "/filter",
            format!(r#"{{{pod},"NodeNames":[]}}"#),
            r#"{"Nodes":null,"NodeNames":[],"FailedNodes":{},"FailedAndUnresolvableNodes":{},"Error":""}"#.to_owned(),
        ),
        (
            "prioritize, names in lower case",
            "/prioritize",
            format!(r#"{{{},"nodenames":["node-b","node-a"]}}"#, pod.replace("Pod", "pod")),
            r#"[{"Host":"node-b","Score":0},{"Host":"node-a","Score":0}]"#.to_owned(),
        ),
        (
            "prioritize, whole nodes",
            "/prioritize",
            format!(r#"{{{pod},"Nodes":{{"items":[{node_b}]}}}}"#),
            r#"[{"Host":"node-b","Score":0}]"#.to_owned(),
        ),
        (
            "preempt, meta victims",
            "/preempt",
            format!(
                r#"{{{pod},"NodeNameToVictims":null,"NodeNameToMetaVictims":{{"node-b":{{"Pods":[{{"UID":"v1"}},{{"UID":"v2"}}],"NumPDBViolations":1}},"node-a":{{"Pods":[],"NumPDBViolations":0}}}}}}"#
            ),
            PREEMPTED.to_owned(),
        ),
        (
            "preempt, whole victims",
            "/preempt",
            format!(
                r#"{{{pod},"NodeNameToVictims":{{"node-b":{{"Pods":[{{"metadata":{{"uid":"v1"}}}},{{"metadata":{{"uid":"v2"}}}}],"NumPDBViolations":1}},"node-a":{{"Pods":[]}}}}}}"#
            ),
            PREEMPTED.to_owned(),
        ),
        ("bind", "/bind", bind_call("waits", "node-b"), r#"{"Error":""}"#.to_owned()),
    ];
    for (name, path, body, expected) in cases {
        let answer = berth.post(path, &body);
        assert_eq!((answer.status, answer.body.as_str()), (200, expected.as_str()), "{name}");
        assert_eq!(answer.header("content-type"), Some("application/json"), "{name}");
        assert_eq!(answer.header("transfer-encoding"), None, "{name}: the connection could not be kept");
    }
}

#[test]
fn a_pod_is_offered_bound_and_then_seen() {
    let berth = Running::start("");
    let pods = r#"berth_cache_objects{kind="Pod"}"#;
    let ledger = |state: &str| berth.count(&format!("berth_ledger_entries{{state=\"{state}\"}}"));
    assert_eq!(berth.count(pods), 2);

    berth.post("/filter", names_call("new", &["node-a", "node-b"]));
    assert_eq!((ledger("offered"), ledger("assumed")), (1, 0), "several nodes: only offered");
    berth.post("/filter", names_call("new", &["node-b"]));
    assert_eq!((ledger("offered"), ledger("assumed")), (0, 1), "one node: as good as taken");
    assert_eq!(berth.count(r#"berth_ledger_dropped_total{cause="refiltered"}"#), 1);

    assert_eq!(berth.post("/bind", bind_call("new", "node-b")).body, r#"{"Error":""}"#);
    assert_eq!((ledger("offered"), ledger("assumed")), (0, 0), "confirmed");
    assert_eq!(berth.count(pods), 3, "the file did not know the pod, and now it is there");

    let again = berth.post("/bind", bind_call("new", "node-a"));
    assert_eq!(again.status, 200);
    assert_ne!(again.body, r#"{"Error":""}"#, "a pod is bound once");
    assert_eq!(berth.count(r#"berth_bindings_total{result="bound"}"#), 1);
    assert_eq!(berth.count(r#"berth_bindings_total{result="refused"}"#), 1);
    assert_eq!((ledger("offered"), ledger("assumed")), (0, 0), "the refused call left nothing behind");
}

#[test]
fn one_connection_serves_hundreds_of_requests() {
    let berth = Running::start("");
    let mut connection = berth.connect();
    for round in 0..50 {
        for (path, body, status) in [
            ("/filter", names_call("p", &["node-a", "node-b"]), 200),
            ("/prioritize", names_call("p", &["node-a", "node-b"]), 200),
            ("/filter", "not json".to_owned(), 400),
            ("/bind", bind_call(&format!("p{round}"), "node-a"), 200),
        ] {
            let answer = connection.ask(post(path, body)).expect("the connection is kept");
            assert_eq!(answer.status, status, "{path} {}", answer.body);
        }
    }
    assert_eq!(berth.count(r#"berth_connections_total{listener="verbs"}"#), 1);
    assert_eq!(berth.count(r#"berth_request_duration_seconds_count{code="200",verb="bind"}"#), 50);
    assert_eq!(berth.count(r#"berth_request_duration_seconds_count{code="400",verb="filter"}"#), 50);
    assert_eq!(berth.count(r#"berth_inflight_requests{verb="filter"}"#), 0);
}

#[test]
fn pods_without_a_uid_are_pods_of_their_own() {
    // YAML written by hand has none.
    let directory = tempfile::tempdir().expect("a temporary directory");
    let config = directory.path().join("berth.yaml");
    std::fs::write(&config, crate::support::small_cluster::CONFIG_HEAD).expect("written");
    let pod = |name: &str| {
        format!(
            "---\napiVersion: v1\nkind: Pod\nmetadata: {{name: {name}, namespace: default}}\nspec: {{nodeName: a}}\n"
        )
    };
    let yaml = pod("one") + &pod("two") + &pod("three");
    let berth = Running::start_with(directory, config, berth::app::Source::SnapshotText(yaml));
    assert_eq!(berth.count(r#"berth_cache_objects{kind="Pod"}"#), 3);
}

#[test]
fn bind_calls_without_a_uid_go_by_the_name() {
    let berth = Running::start("");
    let call =
        |pod: &str| format!(r#"{{"PodName":"{pod}","PodNamespace":"default","PodUID":"","Node":"node-b"}}"#);
    assert_eq!(berth.post("/bind", call("waits")).body, r#"{"Error":""}"#);
    assert_eq!(berth.count(r#"berth_cache_objects{kind="Pod"}"#), 2, "it is the pod of the file");
    assert_ne!(berth.post("/bind", call("waits")).body, r#"{"Error":""}"#, "it is bound already");
    assert_ne!(berth.post("/bind", call("runs")).body, r#"{"Error":""}"#, "it is bound already");
    assert_eq!(berth.post("/bind", call("new-1")).body, r#"{"Error":""}"#);
    assert_eq!(berth.post("/bind", call("new-2")).body, r#"{"Error":""}"#, "not the pod bound before");
    assert_eq!(berth.count(r#"berth_cache_objects{kind="Pod"}"#), 4);
}

#[test]
fn the_admin_port_tells_what_is_inside() {
    let berth = Running::start("");
    for (path, status, says) in [
        ("/livez", 200, "ok"),
        ("/readyz", 200, "ok"),
        ("/readyz?verbose", 200, "[+] Node"),
        ("/metrics", 200, "berth_build_info{commit="),
        ("/configz", 200, r#""kind":"BerthConfiguration""#),
        ("/debug/cache/compare", 404, "file"),
        ("/nonsense", 404, "error"),
        ("/", 200, "/metrics"),
    ] {
        let answer = berth.admin(path);
        assert_eq!(answer.status, status, "{path}");
        assert!(answer.body.contains(says), "{path}: {}", answer.body);
    }
    let mut connection = crate::support::raw_http::Connection::open(berth.admin).expect("a connection");
    let wrong = connection.ask(post("/metrics", "")).expect("an answer");
    assert_eq!((wrong.status, wrong.header("allow")), (405, Some("GET, HEAD")));
    assert_eq!(connection.ask(get("/livez")).expect("the connection is kept").status, 200);
}

#[test]
fn every_metric_of_the_contract_is_on_the_page() {
    let berth = Running::start("");
    berth.post("/filter", names_call("p", &["node-a"]));
    let page = berth.admin("/metrics").body;
    for metric in [
        "berth_request_duration_seconds",
        "berth_cache_objects",
        "berth_cache_staleness_seconds",
        "berth_ledger_entries",
        "berth_ledger_dropped_total",
        "berth_groups",
        "berth_config_reloads_total",
        "berth_inflight_requests",
        "berth_build_info",
    ] {
        assert!(page.contains(&format!("# TYPE {metric} ")), "{metric} is missing:\n{page}");
    }
    assert!(!page.contains("node-a"), "no names of the cluster in labels");
}
