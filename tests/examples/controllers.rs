//! Plays the controllers that make pods of a `LeaderWorkerSet` or a `StatefulSet`, and the API server that fills them in.

use serde_json::{Value, json};

const LWS: &str = "leaderworkerset.sigs.k8s.io";

/// The pods of one replica of a `LeaderWorkerSet`, the leader first.
pub fn replica(set: &Value, group: usize) -> Vec<Value> {
    let spec = &set["spec"]["leaderWorkerTemplate"];
    let workers = &spec["workerTemplate"];
    let leader = spec.get("leaderTemplate").unwrap_or(workers);
    let name = set["metadata"]["name"].as_str().expect("a name");
    let size = spec["size"].as_u64().expect("a size");
    let member = |at: u64| {
        let leads = at == 0;
        let name = if leads { format!("{name}-{group}") } else { format!("{name}-{group}-{at}") };
        let mut pod = pod(if leads { leader } else { workers }, &name, set);
        for (key, value) in [
            ("name", set["metadata"]["name"].as_str().unwrap_or_default()),
            ("group-index", &group.to_string()),
            ("worker-index", &at.to_string()),
            ("template-revision-hash", "5f7c9"),
            ("group-key", &format!("key-of-{group}")),
        ] {
            pod["metadata"]["labels"][format!("{LWS}/{key}")] = json!(value);
        }
        pod["metadata"]["annotations"][format!("{LWS}/size")] = json!(size.to_string());
        pod
    };
    (0..size).map(member).collect()
}

/// The pods of a `StatefulSet`.
pub fn stateful(set: &Value) -> Vec<Value> {
    let name = set["metadata"]["name"].as_str().expect("a name");
    let replicas = set["spec"]["replicas"].as_u64().expect("replicas");
    (0..replicas).map(|at| pod(&set["spec"]["template"], &format!("{name}-{at}"), set)).collect()
}

fn pod(template: &Value, name: &str, set: &Value) -> Value {
    let mut pod = json!({"apiVersion": "v1", "kind": "Pod", "status": {"phase": "Pending"},
        "metadata": {"name": name, "namespace": set["metadata"]["namespace"], "uid": format!("uid-of-{name}"),
            "labels": {}, "annotations": {}, "ownerReferences": [{"apiVersion": set["apiVersion"], "kind": set["kind"],
                "name": set["metadata"]["name"], "uid": "uid-of-the-set", "controller": true}]},
        "spec": template["spec"]});
    for field in ["labels", "annotations"] {
        if let Some(given) = template["metadata"].get(field) {
            pod["metadata"][field] = given.clone();
        }
    }
    for container in pod["spec"]["containers"].as_array_mut().expect("containers") {
        default_requests(container);
    }
    pod
}

/// What has a limit and no request gets the limit as a request.
fn default_requests(container: &mut Value) {
    let limits = container["resources"]["limits"].clone();
    for (name, limit) in limits.as_object().into_iter().flatten() {
        if container["resources"]["requests"].get(name).is_none() {
            container["resources"]["requests"][name] = limit.clone();
        }
    }
}
