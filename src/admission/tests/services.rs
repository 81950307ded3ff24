//! Members of groups that have a Service of their own.

use serde_json::{Value, json};

use super::{Answer, Cluster, LWS, with};
use crate::admission::Verdict;
use crate::fixtures::object;
use crate::model::Object;

fn cluster(enabled: bool, objects: Vec<Object>) -> Cluster {
    let mut cluster = Cluster::new(Vec::new(), objects);
    cluster.config.replica_groups.services.enabled = enabled;
    cluster
}

fn on() -> Cluster {
    cluster(true, Vec::new())
}

/// A worker of replica 3 as its controller makes it, and its webhook has completed it, or has not been asked yet.
fn worker(is_completed: bool) -> Value {
    let env = |more: Value| {
        let own = json!({"name": "OWN", "value": "$(LWS_LEADER_ADDRESS)"});
        if is_completed { json!([more, own]) } else { json!([own]) }
    };
    let address = || json!({"name": "LWS_LEADER_ADDRESS", "value": "llm-3.llm.default"});
    json!({
        "apiVersion": "v1", "kind": "Pod",
        "metadata": {
            "name": "llm-3-1",
            "labels": {
                (format!("{LWS}name")): "llm", (format!("{LWS}group-index")): "3", (format!("{LWS}worker-index")): "1",
            },
            "annotations": {"berth.dev/service-per-group": "true"},
        },
        "spec": {
            "hostname": "llm-3-1", "subdomain": "llm",
            "initContainers": [{"name": "first", "env": env(address())}],
            "containers": [{"name": "a", "env": env(address())}, {"name": "b"}],
        },
    })
}

/// The value of a variable in every container; `-` where there is none.
fn values(answer: &Answer, variable: &str) -> Vec<String> {
    let spec = &answer.pod["spec"];
    let lists =
        ["initContainers", "containers"].map(|list| spec[list].as_array().cloned().unwrap_or_default());
    let value = |container: &Value| {
        let env = container["env"].as_array().cloned().unwrap_or_default();
        let found = env.iter().find(|entry| entry["name"] == variable);
        found.map_or("-".to_owned(), |entry| entry["value"].as_str().unwrap_or("other").to_owned())
    };
    lists.iter().flatten().map(value).collect()
}

#[test]
fn members_find_each_other_through_their_own_service() {
    for (what, pod) in [("before its webhook", worker(false)), ("after it", worker(true))] {
        let answer = on().create(&pod);
        assert_eq!(answer.verdict, Verdict::Changed, "{what}");
        assert_eq!(answer.pod["spec"]["subdomain"], "llm-3", "{what}");
        assert_eq!(answer.pod["metadata"]["annotations"]["berth.dev/service-name"], "llm-3", "{what}");
        assert_eq!(values(&answer, "LWS_LEADER_ADDRESS"), ["llm-3.llm-3.default"; 3], "{what}");
        let first = &answer.pod["spec"]["containers"][0]["env"][0]["name"];
        assert_eq!(first, "LWS_LEADER_ADDRESS", "{what}: what others are made from comes first");
        assert_eq!(values(&answer, "OWN"), ["$(LWS_LEADER_ADDRESS)", "$(LWS_LEADER_ADDRESS)", "-"], "{what}");
        let again = on().create(&answer.pod);
        assert_eq!((again.verdict, again.operations.len()), (Verdict::Unchanged, 0), "{what} once more");
    }
}

#[test]
fn what_somebody_chose_is_left_alone() {
    let own = with(worker(true), "/spec", "subdomain", json!("mine"));
    let answer = on().create(&own);
    assert_eq!((answer.verdict, answer.warnings), (Verdict::Unchanged, 1), "their subdomain");
    let address = json!([{"name": "LWS_LEADER_ADDRESS", "value": "elsewhere"}]);
    let own = with(worker(true), "/spec/containers/0", "env", address);
    let answer = on().create(&own);
    let ours = "llm-3.llm-3.default";
    assert_eq!(values(&answer, "LWS_LEADER_ADDRESS"), [ours, "elsewhere", ours], "their address");
    let from =
        json!([{"name": "LWS_LEADER_ADDRESS", "valueFrom": {"fieldRef": {"fieldPath": "status.podIP"}}}]);
    let answer = on().create(&with(worker(true), "/spec/containers/0", "env", from));
    assert_eq!(values(&answer, "LWS_LEADER_ADDRESS"), [ours, "other", ours], "one from a field");
}

#[test]
fn who_has_no_service_is_left_alone() {
    let silent = with(worker(true), "/metadata", "annotations", json!({}));
    let unique =
        json!({"berth.dev/service-per-group": "true", (format!("{LWS}subdomainPolicy")): "UniquePerReplica"});
    for (what, cluster, pod) in [
        ("switched off", cluster(false, Vec::new()), worker(true)),
        ("nobody asks", on(), silent),
        ("its controller does it", on(), with(worker(true), "/metadata", "annotations", unique)),
        ("no member", on(), json!({"metadata": {"name": "p"}, "spec": {}})),
    ] {
        assert_eq!(cluster.create(&pod).verdict, Verdict::Unchanged, "{what}");
    }
}

#[test]
fn the_name_is_the_one_that_the_service_will_have() {
    let taken =
        object(r#"{"apiVersion":"v1","kind":"Service","metadata":{"namespace":"default","name":"llm-3"}}"#);
    let answer = cluster(true, vec![taken]).create(&worker(true));
    let subdomain = answer.pod["spec"]["subdomain"].as_str().expect("a text").to_owned();
    assert!(subdomain.starts_with("llm-3-"), "{subdomain}");
    assert_eq!(values(&answer, "LWS_LEADER_ADDRESS"), vec![format!("llm-3.{subdomain}.default"); 3]);
}

#[test]
fn groups_of_others_have_a_variable_that_the_operator_names() {
    let job = json!({
        "metadata": {
            "generateName": "js-train-1-",
            "labels": {
                "jobset.sigs.k8s.io/jobset-name": "js", "jobset.sigs.k8s.io/job-key": "f00",
                "batch.kubernetes.io/job-completion-index": "4",
            },
            "annotations": {"berth.dev/service-per-group": "true"},
            "ownerReferences": [{"apiVersion": "batch/v1", "kind": "Job", "name": "js-train-1", "uid": "u", "controller": true}],
        },
        "spec": {"containers": [{"name": "a"}]},
    });
    let answer = on().create(&job);
    assert_eq!(answer.pod["spec"]["subdomain"], "js-train-1");
    assert_eq!(values(&answer, "BERTH_LEADER_ADDRESS"), ["js-train-1-0.js-train-1.default"]);
    let mut none = on();
    none.config.replica_groups.services.leader_address_variable = String::new();
    assert_eq!(values(&none.create(&job), "BERTH_LEADER_ADDRESS"), ["-"]);
    let chosen = with(job, "/spec", "subdomain", json!("js"));
    assert_eq!(
        on().create(&chosen).verdict,
        Verdict::Unchanged,
        "a subdomain of its controller's, which others use"
    );
    let kueue = json!({"metadata": {"name": "p", "labels": {"kueue.x-k8s.io/pod-group-name": "k"},
        "annotations": {"berth.dev/service-per-group": "true"}}, "spec": {"containers": [{"name": "a"}]}});
    let answer = on().create(&kueue);
    assert_eq!(answer.pod["spec"]["subdomain"], "k");
    assert_eq!(values(&answer, "BERTH_LEADER_ADDRESS"), ["-"], "nobody knows who is first");
}
