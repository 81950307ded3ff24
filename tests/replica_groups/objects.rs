//! The objects that the API server would show, as JSON.

use serde_json::{Map, Value, json};

use crate::scenario::{BLOCK, Kind, Needs, NodeSpec, RACK, Scope, SetSpec};
use crate::truth::{Pod, Truth};

const GPU: &str = "example.com/gpu";
const TEAM: &str = "team";
const LWS: &str = "leaderworkerset.sigs.k8s.io";

pub fn node(node: &NodeSpec) -> Value {
    let mut labels = json!({"kubernetes.io/hostname": node.name, "topology.kubernetes.io/zone": node.block,
        BLOCK: node.block, "disk": if node.ssd { "ssd" } else { "hdd" }});
    if let Some(rack) = &node.rack {
        labels[RACK] = json!(rack);
    }
    let taints = if node.tainted {
        json!([{"key": "dedicated", "value": "x", "effect": "NoSchedule"}])
    } else {
        Value::Null
    };
    json!({"apiVersion": "v1", "kind": "Node", "metadata": {"name": node.name, "labels": labels},
        "spec": {"taints": taints},
        "status": {"allocatable":
            {"cpu": node.cpu.to_string(), GPU: node.gpus.to_string(), "pods": node.places.to_string()}}})
}

/// The object behind the groups of a set, if there is one.
pub fn set(set: &SetSpec) -> Option<Value> {
    let mut said = Map::new();
    topology(set, |key, value| said.insert(key.to_owned(), value.into()));
    let template = |needs: Needs| json!({"metadata": {"labels": {TEAM: set.name}, "annotations": said}, "spec": spec(needs, &set.name, set.priority)});
    let leader = if set.leader == set.worker { Value::Null } else { template(set.leader) };
    (set.kind == Kind::LeaderWorker).then(|| {
        json!({"apiVersion": "leaderworkerset.x-k8s.io/v1", "kind": "LeaderWorkerSet",
            "metadata": {"namespace": set.namespace, "name": set.name, "annotations": said},
            "spec": {"leaderWorkerTemplate":
                {"size": set.size, "leaderTemplate": leader, "workerTemplate": template(set.worker)}}})
    })
}

pub fn pod(pod: &Pod, truth: &Truth) -> Value {
    let mut labels = Map::from_iter([(TEAM.to_owned(), json!(pod.team))]);
    let mut annotations = Map::new();
    if let Some(part) = &pod.part {
        let (group, set) = (&truth.groups[part.group], truth.set_of(part.group));
        let mut say = |key: &str, value: String| annotations.insert(key.to_owned(), value.into());
        match set.kind {
            Kind::Annotated => {
                say("berth.dev/group", format!("{}-{}", set.name, group.number));
                say("berth.dev/group-set", set.name.clone());
                say("berth.dev/group-size", part.size.to_string());
                say("berth.dev/group-index", part.index.to_string());
            }
            Kind::LeaderWorker => {
                say(&format!("{LWS}/size"), part.size.to_string());
                let mut label =
                    |key: &str, value: String| labels.insert(format!("{LWS}/{key}"), value.into());
                label("name", set.name.clone());
                label("group-index", group.number.to_string());
                label("group-key", format!("{}-{}", set.name, group.number));
                label("worker-index", part.index.to_string());
                label("template-revision-hash", format!("rev{}", part.revision));
            }
        }
        topology(set, say);
    }
    let mut metadata = json!({"namespace": pod.namespace, "name": pod.name, "uid": pod.uid,
        "labels": labels, "annotations": annotations});
    if pod.leaving {
        metadata["deletionTimestamp"] = json!("2026-01-01T00:00:00Z");
    }
    let mut spec = spec(pod.needs, &pod.team, pod.priority);
    let mut status = json!({"phase": "Pending"});
    if let Some(node) = &pod.node {
        spec["nodeName"] = json!(node);
    } else if pod.failures > 0 {
        status["conditions"] = json!([{"type": "PodScheduled", "status": "False", "reason": "Unschedulable",
            "message": format!("attempt {}", pod.failures)}]);
    }
    json!({"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": spec, "status": status})
}

fn topology(set: &SetSpec, mut say: impl FnMut(&str, String) -> Option<Value>) {
    if set.native_exclusive
        && let Some(level) = set.required
    {
        say(&format!("{LWS}/exclusive-topology"), level.key().to_owned());
        return;
    }
    if let Some(level) = set.required {
        say("berth.dev/required-topology", level.key().to_owned());
    }
    if let Some(level) = set.preferred {
        say("berth.dev/preferred-topology", level.key().to_owned());
    }
    if let Some(scope) = set.exclusive {
        let name = match scope {
            Scope::Set => "Set",
            Scope::Namespace => "Namespace",
            Scope::Cluster => "Cluster",
        };
        say("berth.dev/exclusive", name.to_owned());
    }
}

fn spec(needs: Needs, team: &str, priority: i32) -> Value {
    let mut requests = json!({"cpu": needs.cpu.to_string()});
    if needs.gpus > 0 {
        requests[GPU] = json!(needs.gpus.to_string());
    }
    let mut spec =
        json!({"priority": priority, "containers": [{"name": "main", "resources": {"requests": requests}}]});
    if needs.ssd {
        spec["nodeSelector"] = json!({"disk": "ssd"});
    }
    if needs.tolerates {
        spec["tolerations"] = json!([{"key": "dedicated", "operator": "Exists"}]);
    }
    if let Some(port) = needs.port {
        spec["containers"][0]["ports"] = json!([{"containerPort": 80, "hostPort": 9000 + u32::from(port)}]);
    }
    if needs.apart {
        spec["affinity"] = json!({"podAntiAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [
            {"topologyKey": "kubernetes.io/hostname", "labelSelector": {"matchLabels": {TEAM: team}}}]}});
    }
    spec
}
