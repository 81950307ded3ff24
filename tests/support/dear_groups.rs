//! A cluster of thousands of nodes, and what tenants can write into their pods to make a decision dear.

use serde_json::{Value, json};

pub const ZONE: &str = "topology.kubernetes.io/zone";
pub const RACK: &str = "example.com/rack";
pub const HOST: &str = "kubernetes.io/hostname";
/// A label with another value on every node, which is not the one that everybody knows to be like that.
pub const UNIT: &str = "example.com/unit";
const LWS: &str = "leaderworkerset.sigs.k8s.io";

pub fn node_name(at: usize) -> String {
    format!("node-{at:05}")
}

/// A node of eight CPUs, in one of three zones and a rack of twenty.
pub fn node(at: usize) -> Value {
    let name = node_name(at);
    json!({"apiVersion": "v1", "kind": "Node", "metadata": {"name": name, "labels": {HOST: name,
        ZONE: format!("zone-{}", at % 3), RACK: format!("rack-{}", at / 60 * 3 + at % 3), UNIT: format!("unit-{at}")}},
        "status": {"allocatable": {"cpu": "8", "memory": "64Gi", "pods": "110"}}})
}

/// A pod that requests so many thousandths of a CPU.
pub fn pod(name: &str, milli_cpu: usize) -> Value {
    json!({"apiVersion": "v1", "kind": "Pod", "metadata": {"name": name, "namespace": "tenant", "uid": name,
        "labels": {}, "annotations": {}}, "spec": {"containers": [{"name": "main",
        "resources": {"requests": {"cpu": format!("{milli_cpu}m")}}}]}})
}

/// A member of a group of so many, which asks for no topology yet.
pub fn member(group: &str, at: usize, size: usize, milli_cpu: usize) -> Value {
    let mut pod = pod(&format!("{group}-{at}"), milli_cpu);
    pod["metadata"]["labels"]["group"] = json!(group);
    pod["metadata"]["ownerReferences"] = json!([{"apiVersion": "apps/v1", "kind": "ReplicaSet", "name": group,
        "uid": group, "controller": true}]);
    annotate(pod, &[("berth.dev/group", group), ("berth.dev/group-size", &size.to_string())])
}

/// A worker of a `LeaderWorkerSet`'s replica of so many, in subgroups of so many, a rack for each.
pub fn worker(set: &str, size: usize, subgroup_size: usize, milli_cpu: usize) -> Value {
    let mut pod = pod(&format!("{set}-0-1"), milli_cpu);
    for (key, value) in [("name", set), ("group-index", "0"), ("worker-index", "1")] {
        pod["metadata"]["labels"][format!("{LWS}/{key}")] = json!(value);
    }
    let said = [("size", size.to_string()), ("subgroup-size", subgroup_size.to_string())];
    for (key, value) in said {
        pod["metadata"]["annotations"][format!("{LWS}/{key}")] = json!(value);
    }
    annotate(pod, &[(&format!("{LWS}/subgroup-exclusive-topology"), RACK)])
}

/// What tells of members that do not exist yet: the controllers of these pods, and the sets that they are replicas of.
pub fn behind(pods: &[Value]) -> Vec<Value> {
    let mut objects: Vec<Value> = Vec::new();
    for pod in pods {
        let meta = &pod["metadata"];
        let object = if let Some(controller) = meta["ownerReferences"][0]["name"].as_str() {
            json!({"apiVersion": "apps/v1", "kind": "ReplicaSet", "metadata": {"namespace": "tenant", "name": controller},
                "spec": {"replicas": 10_000}})
        } else if let Some(set) = meta["labels"][format!("{LWS}/name")].as_str() {
            let size: u32 = meta["annotations"][format!("{LWS}/size")]
                .as_str()
                .and_then(|size| size.parse().ok())
                .expect("a size");
            json!({"apiVersion": "leaderworkerset.x-k8s.io/v1", "kind": "LeaderWorkerSet",
                "metadata": {"namespace": "tenant", "name": set},
                "spec": {"leaderWorkerTemplate": {"size": size, "workerTemplate": {"spec": pod["spec"]}}}})
        } else {
            continue;
        };
        if objects.last() != Some(&object) {
            objects.push(object);
        }
    }
    objects
}

pub fn annotate(mut pod: Value, annotations: &[(&str, &str)]) -> Value {
    for (key, value) in annotations {
        pod["metadata"]["annotations"][*key] = json!(value);
    }
    pod
}

/// All in one domain of a key.
pub fn requiring(key: &str, pod: Value) -> Value {
    annotate(pod, &[("berth.dev/required-topology", key)])
}

/// Not two of a group in one domain of any of these keys.
pub fn apart(keys: &[&str], mut pod: Value) -> Value {
    let group = pod["metadata"]["labels"]["group"].clone();
    let term = |key: &&str| json!({"topologyKey": key, "labelSelector": {"matchLabels": {"group": group}}});
    let terms: Vec<Value> = keys.iter().map(term).collect();
    pod["spec"]["affinity"] =
        json!({"podAntiAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": terms}});
    pod
}

/// Each near others of its group, in one domain of each of these keys.
pub fn near(keys: &[&str], mut pod: Value) -> Value {
    let group = pod["metadata"]["labels"]["group"].clone();
    let term = |key: &&str| json!({"topologyKey": key, "labelSelector": {"matchLabels": {"group": group}}});
    let terms: Vec<Value> = keys.iter().map(term).collect();
    pod["spec"]["affinity"]["podAffinity"] = json!({"requiredDuringSchedulingIgnoredDuringExecution": terms});
    pod
}

pub fn with_port(port: usize, mut pod: Value) -> Value {
    pod["spec"]["containers"][0]["ports"] = json!([{"containerPort": port, "hostPort": port}]);
    pod
}

/// With one of the [`volumes`].
pub fn with_claim(claim: &str, mut pod: Value) -> Value {
    pod["spec"]["volumes"] = json!([{"name": "data", "persistentVolumeClaim": {"claimName": claim}}]);
    pod
}

pub fn evicting_nobody(mut pod: Value) -> Value {
    pod["spec"]["preemptionPolicy"] = json!("Never");
    pod
}

/// Claims `zone-0` to `zone-2`, bound to a volume in that zone each.
pub fn volumes() -> Vec<Value> {
    let of_zone = |at: usize| {
        let name = format!("zone-{at}");
        let zone = json!({"key": ZONE, "operator": "In", "values": [name]});
        [
            json!({"apiVersion": "v1", "kind": "PersistentVolume", "metadata": {"name": name}, "spec": {
                "nodeAffinity": {"required": {"nodeSelectorTerms": [{"matchExpressions": [zone]}]}}}}),
            json!({"apiVersion": "v1", "kind": "PersistentVolumeClaim", "spec": {"volumeName": name},
                "metadata": {"name": name, "namespace": "tenant", "annotations": {"pv.kubernetes.io/bind-completed": "yes"}}}),
        ]
    };
    (0..3).flat_map(of_zone).collect()
}

pub fn with_priority(priority: i32, mut pod: Value) -> Value {
    pod["spec"]["priority"] = json!(priority);
    pod
}

pub fn on(node: usize, mut pod: Value) -> Value {
    pod["spec"]["nodeName"] = json!(node_name(node));
    pod
}

/// A filter or prioritize call about these many nodes.
pub fn call(pod: &Value, nodes: usize) -> String {
    let names: Vec<String> = (0..nodes).map(node_name).collect();
    json!({"Pod": pod, "Nodes": null, "NodeNames": names}).to_string()
}

/// A preempt call: on each of these nodes one pod would have to leave.
pub fn preempt_call(pod: &Value, victims: &[(usize, String)]) -> String {
    let victims = victims
        .iter()
        .map(|(node, uid)| (node_name(*node), json!({"Pods": [{"UID": uid}], "NumPDBViolations": 0})));
    let victims: serde_json::Map<String, Value> = victims.collect();
    json!({"Pod": pod, "NodeNameToMetaVictims": victims}).to_string()
}

/// Objects as a file has them.
pub fn list(items: &[Value]) -> String {
    json!({"apiVersion": "v1", "kind": "List", "items": items}).to_string()
}
