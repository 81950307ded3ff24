//! The metrics page: what is on it before anything happens, and what tenants cannot put there.

use berth::app::Source;
use serde_json::{Value, json};

use crate::support::metrics_page;
use crate::support::running::Running;
use crate::support::small_cluster::CONFIG_HEAD;
use crate::support::waiting::until_true;

fn page(berth: &Running) -> String {
    berth.admin("/metrics").body
}

#[test]
fn what_can_be_named_is_there_from_the_start() {
    let berth = Running::start("");
    let page = page(&berth);
    for series in [
        r#"berth_request_duration_seconds_count{code="503",verb="filter"} 0"#,
        r#"berth_request_duration_seconds_count{code="400",verb="bind"} 0"#,
        r#"berth_api_requests_total{code="error",verb="bind"} 0"#,
        r#"berth_watch_problem{kind="Pod",problem="forbidden"} 0"#,
        r#"berth_connections_total{listener="verbs"} 0"#,
        r#"berth_domains{room="full",topology="topology.kubernetes.io/zone"} 0"#,
        "berth_bind_api_duration_seconds_count 0",
        "berth_groups_oldest_waiting_seconds 0",
        "berth_reservations 0",
        "berth_reserved_slots 0",
        "berth_ready 1",
    ] {
        assert!(page.lines().any(|line| line == series), "no {series} in\n{page}");
    }
    let build = page.lines().find(|line| line.starts_with("berth_build_info{")).unwrap_or_default();
    for label in ["version=\"", "commit=\"", "rust=\"1.", "kubernetes=\"1.36\""] {
        assert!(build.contains(label), "no {label} in {build}");
    }
    for name in ["process_resident_memory_bytes", "process_start_time_seconds", "process_open_fds"] {
        assert!(metrics_page::value(&page, name).is_some_and(|value| value > 0.0), "{name}");
    }
    let is_fine = |line: &str| {
        line.starts_with("berth_decision_duration_seconds_bucket{") && line.contains(r#"le="0.000001""#)
    };
    assert!(page.lines().any(is_fine), "decisions are resolved to the microsecond");
}

fn member(name: &str, topology: Option<&str>) -> Value {
    let mut annotations = json!({"berth.dev/group": name, "berth.dev/group-size": "1"});
    if let Some(topology) = topology {
        annotations["berth.dev/required-topology"] = topology.into();
    }
    json!({"apiVersion": "v1", "kind": "Pod",
        "metadata": {"name": name, "namespace": "d", "uid": name, "annotations": annotations},
        "spec": {"containers": [{"name": "c", "resources": {"requests": {"cpu": "9"}}}]}})
}

#[test]
fn topologies_that_only_pods_name_have_no_label_of_their_own() {
    let node = |name: &str, rack: &str| {
        json!({"apiVersion": "v1", "kind": "Node", "metadata": {"name": name,
            "labels": {"example.com/rack": rack, "tenant.example/secret": name}},
            "status": {"allocatable": {"cpu": "1", "pods": "9"}}})
    };
    let pods = [member("named", None), member("unnamed", Some("tenant.example/secret"))];
    let nodes = [node("a", "1"), node("b", "1"), node("c", "2")];
    let items: Vec<_> = nodes.iter().chain(&pods).collect();
    let snapshot = json!({"apiVersion": "v1", "kind": "List", "items": items}).to_string();
    let directory = tempfile::tempdir().expect("a temporary directory");
    let file = directory.path().join("berth.yaml");
    let config = "replicaGroups: {defaultTopologies: [{topology: {required: example.com/rack}}]}\n";
    std::fs::write(&file, format!("{CONFIG_HEAD}{config}")).expect("written");
    let berth = Running::start_with(directory, file, Source::SnapshotText(snapshot));
    for pod in &pods {
        let call = json!({"Pod": pod, "NodeNames": ["a", "b", "c"]});
        assert_eq!(berth.post("/filter", call.to_string()).status, 200);
    }
    let page = page(&berth);
    let domains = |topology: &str| {
        metrics_page::count(&page, &format!(r#"berth_domains{{room="empty",topology="{topology}"}}"#))
    };
    assert_eq!((domains("example.com/rack"), domains("other")), (2, 3), "{page}");
    assert!(!page.contains("secret"), "a tenant's key is on the page");
    until_true("two groups wait", || {
        let page = berth.admin("/metrics").body;
        metrics_page::value(&page, "berth_groups_oldest_waiting_seconds").is_some_and(|seconds| seconds > 0.0)
    });
}
