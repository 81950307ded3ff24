//! The objects that the API server would show, as JSON.

use serde_json::{Map, Value, json};

use berth::model::Kind as ObjectKind;

use crate::scenario::{BLOCK, Kind, Needs, NodeSpec, RACK, Scope, SetSpec};
use crate::storage::{Claim, Sharing, Site};
use crate::truth::{Pod, Truth};
use crate::watch::Event;

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

/// The classes that pods name.
pub fn priority_classes() -> impl Iterator<Item = Value> {
    [("low", -10), ("high", 10)].into_iter().map(|(name, value)| {
        json!({"apiVersion": "scheduling.k8s.io/v1", "kind": "PriorityClass", "metadata": {"name": name}, "value": value})
    })
}

/// Volumes are made where their first pod goes.
pub fn storage_class() -> Value {
    json!({"apiVersion": "storage.k8s.io/v1", "kind": "StorageClass", "metadata": {"name": "late"}, "provisioner": "x",
        "volumeBindingMode": "WaitForFirstConsumer"})
}

/// The object behind the groups of a set, if there is one.
pub fn set(set: &SetSpec) -> Option<Value> {
    let mut said = Map::new();
    topology(set, |key, value| said.insert(key.to_owned(), value.into()));
    let (shares, has_own) = match set.storage.map(|storage| storage.sharing) {
        None => (false, false),
        Some(Sharing::Shared(_)) => (true, false),
        Some(Sharing::OwnBefore(_) | Sharing::OwnAtFirstUse) => (false, true),
    };
    let template = |needs: Needs, index: usize| {
        let claim = set.claim_of(0, index).filter(|_| shares);
        let mut spec = spec(needs, &set.name, set.priority_of(index), claim.as_ref());
        // The API server looks it up when it creates a pod.
        spec["priority"] = Value::Null;
        json!({"metadata": {"labels": {TEAM: set.name}, "annotations": said}, "spec": spec})
    };
    let claims = if has_own { json!([{"metadata": {"name": "data"}}]) } else { Value::Null };
    let same = set.leader == set.worker
        && set.priority.leader == set.priority.worker
        && set.claim_of(0, 0).is_some() == set.claim_of(0, 1).is_some();
    let leader = if same { Value::Null } else { template(set.leader, 0) };
    (set.kind == Kind::LeaderWorker).then(|| {
        json!({"apiVersion": "leaderworkerset.x-k8s.io/v1", "kind": "LeaderWorkerSet",
            "metadata": {"namespace": set.namespace, "name": set.name, "annotations": said},
            "spec": {"leaderWorkerTemplate":
                {"size": set.size, "leaderTemplate": leader, "workerTemplate": template(set.worker, 1),
                 "volumeClaimTemplates": claims}}})
    })
}

/// A claim, and its volume if it has one.
pub fn claim(claim: &Claim) -> Vec<Event> {
    let volume = claim.site.as_ref().map(|site| {
        let (key, value) = match site {
            Site::Node(name) => ("kubernetes.io/hostname", name),
            Site::Rack(rack) => (RACK, rack),
        };
        let near = json!({"matchExpressions": [{"key": key, "operator": "In", "values": [value]}]});
        let affinity = json!({"required": {"nodeSelectorTerms": [near]}});
        let name = format!("pv-{}-{}", claim.namespace, claim.name);
        (
            name.clone(),
            json!({"apiVersion": "v1", "kind": "PersistentVolume", "metadata": {"name": name},
            "spec": {"nodeAffinity": affinity}}),
        )
    });
    let name = volume.as_ref().map(|(name, _)| name.clone());
    let object = json!({"apiVersion": "v1", "kind": "PersistentVolumeClaim",
        "metadata": {"namespace": claim.namespace, "name": claim.name},
        "spec": {"volumeName": name, "storageClassName": "late"}});
    let volume = volume.map(|(_, volume)| Event::Shown(ObjectKind::PersistentVolume, volume.to_string()));
    let claim = Event::Shown(ObjectKind::PersistentVolumeClaim, object.to_string());
    volume.into_iter().chain([claim]).collect()
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
                if let Some(subgroups) = set.subgroups {
                    let kind = if subgroups.leader_excluded { "LeaderExcluded" } else { "LeaderWorker" };
                    say(&format!("{LWS}/subgroup-size"), subgroups.size.to_string());
                    say(&format!("{LWS}/subgroup-policy-type"), kind.to_owned());
                    say(&format!("{LWS}/subgroup-exclusive-topology"), RACK.to_owned());
                }
            }
        }
        topology(set, say);
    }
    for mark in &pod.marks {
        let told = if mark.is_label { &mut labels } else { &mut annotations };
        told.insert(mark.key.clone(), json!(mark.value));
    }
    let mut metadata = json!({"namespace": pod.namespace, "name": pod.name, "uid": pod.uid,
        "labels": labels, "annotations": annotations});
    if pod.leaving {
        metadata["deletionTimestamp"] = json!("2026-01-01T00:00:00Z");
    }
    let mut spec = spec(pod.needs, &pod.team, pod.priority, pod.claim.as_ref());
    let mut status = json!({"phase": if pod.finished { "Succeeded" } else { "Pending" }});
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

fn spec(needs: Needs, team: &str, priority: i32, claim: Option<&String>) -> Value {
    let mut requests = json!({"cpu": needs.cpu.to_string()});
    if needs.gpus > 0 {
        requests[GPU] = json!(needs.gpus.to_string());
    }
    let mut spec =
        json!({"priority": priority, "containers": [{"name": "main", "resources": {"requests": requests}}]});
    // In templates this is all that is said about it.
    match priority {
        0 => {}
        ..0 => spec["priorityClassName"] = json!("low"),
        _ => spec["priorityClassName"] = json!("high"),
    }
    if let Some(claim) = claim {
        spec["volumes"] = json!([{"name": "data", "persistentVolumeClaim": {"claimName": claim}}]);
    }
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
