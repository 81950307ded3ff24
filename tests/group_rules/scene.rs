//! A small cluster to ask about: `Scene::new().rack("a", 4)`, pods by name, answers as lists of nodes.

use berth::cluster::snapshot_file;
use berth::config;
use berth::json::Interner;
use berth::metrics::Registry;
use berth::model::group::Source;
use berth::model::{Object, ObjectKey};
use berth::policy::fit::{Demand, Verdict};
use berth::verbs::{Verb, Verbs};
use berth::view::change::Change;
use serde_json::{Value, json};

/// The label of a rack.
pub const RACK: &str = "example.com/rack";

/// Nodes and pods, before Berth sees them.
#[derive(Clone, Default)]
pub struct Scene {
    settings: String,
    objects: Vec<Value>,
    nodes: Vec<String>,
}

impl Scene {
    pub fn new() -> Self {
        Self::default()
    }

    /// Settings below `replicaGroups`, as YAML in braces.
    pub fn settings(mut self, replica_groups: &str) -> Self {
        self.settings = format!("replicaGroups: {replica_groups}\n");
        self
    }

    /// A rack of nodes `RACK-0`, `RACK-1`, ... with one CPU each.
    pub fn rack(self, rack: &str, nodes: usize) -> Self {
        self.rack_of(rack, nodes, &json!({"cpu": "1"}), &json!({}))
    }

    /// A rack of nodes that have this to give, and more labels.
    pub fn rack_of(mut self, rack: &str, nodes: usize, has: &Value, labels: &Value) -> Self {
        for at in 0..nodes {
            let name = format!("{rack}-{at}");
            let mut has = has.clone();
            has["pods"] = json!("110");
            let mut all = json!({RACK: rack, "kubernetes.io/hostname": name});
            for (key, value) in labels.as_object().into_iter().flatten() {
                all[key] = value.clone();
            }
            self.objects
                .push(json!({"apiVersion": "v1", "kind": "Node", "metadata": {"name": name, "labels": all},
                "status": {"allocatable": has}}));
            self.nodes.push(name);
        }
        self
    }

    /// A node that is in no rack.
    pub fn loose_node(mut self, name: &str) -> Self {
        self.objects.push(json!({"apiVersion": "v1", "kind": "Node", "metadata": {"name": name},
            "status": {"allocatable": {"cpu": "1", "pods": "110"}}}));
        self.nodes.push(name.to_owned());
        self
    }

    /// Any other object.
    pub fn with(mut self, object: Value) -> Self {
        self.objects.push(object);
        self
    }

    /// A pod that runs already.
    pub fn running(self, pod: &Value, node: &str) -> Self {
        self.with(on(pod, node))
    }

    /// Lets Berth see it.
    pub fn open(self) -> Stage {
        let text =
            format!("apiVersion: config.berth.dev/v1alpha1\nkind: BerthConfiguration\n{}", self.settings);
        let config = config::parse(&text).expect("settings");
        let metrics = Registry::new().expect("a registry");
        let verbs = Verbs::in_memory_measured(config, read(&self.objects), &metrics).expect("verbs");
        Stage { verbs, nodes: self.nodes, metrics }
    }
}

/// Berth, and the nodes that kube-scheduler would show it.
pub struct Stage {
    pub verbs: Verbs,
    pub nodes: Vec<String>,
    metrics: Registry,
}

impl Stage {
    fn ask(&self, verb: Verb, body: &Value) -> Value {
        let mut body = body.clone();
        body["Pod"] = controlled(&body["Pod"]);
        self.see(&controller_of(&body["Pod"]).into_iter().collect::<Vec<_>>());
        self.see_set_of(&body["Pod"]);
        let answer = self.verbs.decide(verb, body.to_string().as_bytes()).expect("a well-formed call");
        serde_json::from_slice(&answer.expect("an answer")).expect("JSON")
    }

    /// The watch shows the `LeaderWorkerSet` of a member, all of whose pods are alike, unless the scene has one.
    fn see_set_of(&self, pod: &Value) {
        let (meta, prefix) = (&pod["metadata"], "leaderworkerset.sigs.k8s.io");
        let name = meta["labels"][format!("{prefix}/name")].as_str();
        let size =
            meta["annotations"][format!("{prefix}/size")].as_str().and_then(|size| size.parse::<u32>().ok());
        let (Some(name), Some(size)) = (name, size) else { return };
        let key = ObjectKey::new(meta["namespace"].as_str().expect("a namespace"), name);
        let kind = Source::LeaderWorkerSet.kind().expect("a kind");
        if self.verbs.store.view().group_object(kind, &key).is_none() {
            let template = json!({"metadata": {"annotations": meta["annotations"]}, "spec": pod["spec"]});
            self.see(&[json!({"apiVersion": "leaderworkerset.x-k8s.io/v1", "kind": "LeaderWorkerSet",
                "metadata": {"name": name, "namespace": meta["namespace"]},
                "spec": {"leaderWorkerTemplate": {"size": size, "workerTemplate": template}}})]);
        }
    }

    /// Filter's whole answer, all nodes being candidates on which the pod itself has room, as with kube-scheduler.
    pub fn filter(&self, pod: &Value) -> Value {
        self.ask(Verb::Filter, &json!({"Pod": pod, "NodeNames": self.with_room_for(pod)}))
    }

    /// Filter's whole answer for these candidates.
    pub fn answer(&self, pod: &Value, nodes: &[&str]) -> Value {
        self.ask(Verb::Filter, &json!({"Pod": pod, "NodeNames": nodes}))
    }

    fn with_room_for(&self, pod: &Value) -> Vec<String> {
        let view = self.verbs.store.view();
        let Some(Object::Pod(pod)) = read(std::slice::from_ref(pod)).pop() else { panic!("a pod") };
        let applicant = Demand::of(&pod);
        let fits = |node: &&String| {
            let Some(host) = view.host(node) else { return false };
            host.node
                .as_ref()
                .is_some_and(|node| applicant.fits(node, &host.used, &host.pods) == Verdict::Fits)
        };
        self.nodes.iter().filter(fits).cloned().collect()
    }

    /// The nodes that pass, of all on which the pod itself has room.
    pub fn passing(&self, pod: &Value) -> Vec<String> {
        self.passing_of(pod, &self.with_room_for(pod))
    }

    /// The nodes that pass, of these.
    pub fn passing_of(&self, pod: &Value, nodes: &[String]) -> Vec<String> {
        let answer = self.ask(Verb::Filter, &json!({"Pod": pod, "NodeNames": nodes}));
        assert_eq!(answer["Error"], "", "{answer}");
        serde_json::from_value(answer["NodeNames"].clone()).expect("names")
    }

    /// The racks of the nodes that pass.
    pub fn racks(&self, pod: &Value) -> Vec<String> {
        let mut racks: Vec<_> = self.passing(pod).iter().map(|node| rack_of(node)).collect();
        racks.dedup();
        racks
    }

    /// The reasons for all nodes on which the pod itself has room, those that preemption could help with and the others.
    /// Nothing may pass.
    pub fn reasons(&self, pod: &Value) -> (Vec<String>, Vec<String>) {
        let answer = self.filter(pod);
        assert_eq!((&answer["Error"], &answer["NodeNames"]), (&json!(""), &json!([])), "{answer}");
        let of = |map: &Value| {
            let mut reasons: Vec<String> = map
                .as_object()
                .into_iter()
                .flat_map(|map| map.values())
                .map(|why| why.as_str().expect("text").to_owned())
                .collect();
            reasons.sort();
            reasons.dedup();
            reasons
        };
        (of(&answer["FailedNodes"]), of(&answer["FailedAndUnresolvableNodes"]))
    }

    /// The scores of all nodes, in their order.
    pub fn scores(&self, pod: &Value) -> Vec<i64> {
        let answer = self.ask(Verb::Prioritize, &json!({"Pod": pod, "NodeNames": self.nodes}));
        answer
            .as_array()
            .expect("scores")
            .iter()
            .map(|score| score["Score"].as_i64().expect("a score"))
            .collect()
    }

    /// The candidates that preempt keeps, each with its victims.
    pub fn preempt(&self, pod: &Value, victims: &[(&str, &[&str])]) -> Vec<String> {
        let victims: Vec<_> = victims.iter().map(|(node, uids)| (*node, *uids, 0)).collect();
        self.preempt_against_budgets(pod, &victims)
    }

    /// The same, with the number of disruption budgets that are violated on each node.
    pub fn preempt_against_budgets(&self, pod: &Value, victims: &[(&str, &[&str], i64)]) -> Vec<String> {
        let meta = |uids: &[&str], violations: i64| {
            let pods: Vec<_> = uids.iter().map(|uid| json!({"UID": uid})).collect();
            json!({"Pods": pods, "NumPDBViolations": violations})
        };
        let map: serde_json::Map<_, _> = victims
            .iter()
            .map(|(node, uids, violations)| ((*node).to_owned(), meta(uids, *violations)))
            .collect();
        let answer = self.ask(Verb::Preempt, &json!({"Pod": pod, "NodeNameToMetaVictims": map}));
        answer["NodeNameToMetaVictims"].as_object().expect("a map").keys().cloned().collect()
    }

    /// Filters the pod, takes the first node that passes, and binds it there; `None` if none does.
    pub fn place(&self, pod: &Value) -> Option<String> {
        let node = self.passing(pod).into_iter().next()?;
        self.bind(pod, &node);
        Some(node)
    }

    /// The racks in which members of a group end, placed one after another.
    pub fn place_all(&self, pods: &[Value]) -> Vec<Option<String>> {
        pods.iter().map(|pod| self.place(pod).map(|node| rack_of(&node))).collect()
    }

    pub fn bind(&self, pod: &Value, node: &str) {
        assert_eq!(self.try_bind(pod, node), r#"{"Error":""}"#);
    }

    /// What bind answers.
    pub fn try_bind(&self, pod: &Value, node: &str) -> String {
        self.see(&[controlled(pod)]);
        let meta = &pod["metadata"];
        let body = json!({"PodName": meta["name"], "PodNamespace": meta["namespace"], "PodUID": meta["uid"], "Node": node});
        let runtime = tokio::runtime::Builder::new_current_thread().build().expect("a runtime");
        let answer = runtime.block_on(self.verbs.bind(body.to_string().as_bytes())).expect("an answer");
        String::from_utf8(answer).expect("text")
    }

    /// The watch shows these.
    pub fn see(&self, objects: &[Value]) {
        self.verbs.store.apply(read(objects).into_iter().map(Change::Upsert));
    }

    /// The watch shows that this is gone.
    pub fn lose(&self, object: &Value) {
        for lost in read(std::slice::from_ref(object)) {
            self.verbs.store.apply([Change::Remove(lost.kind(), lost.key())]);
        }
    }

    /// Time passes.
    pub fn wait(&self, seconds: u64) {
        self.verbs.store.write(|view| view.advance(std::time::Duration::from_secs(seconds)));
    }

    /// How often it was said that topology annotations do not count, and why.
    pub fn ignored(&self) -> Vec<(String, u64)> {
        let page = String::from_utf8(self.metrics.render()).expect("text");
        let series = page.lines().filter_map(|line| line.strip_prefix("berth_topology_ignored_total{why=\""));
        let pairs = series.filter_map(|line| line.split_once("\"} "));
        let counts = pairs.map(|(why, count)| (why.to_owned(), count.parse().expect("a number")));
        counts.filter(|(_, count)| *count > 0).collect()
    }

    /// How many groups became whole, as metrics show it.
    pub fn assembled(&self) -> u64 {
        let page = String::from_utf8(self.metrics.render()).expect("text");
        let count = page.lines().find_map(|line| line.strip_prefix("berth_group_assembly_seconds_count "));
        count.expect("the series").parse().expect("a number")
    }

    /// The states that groups are in, as metrics show them.
    pub fn states(&self) -> Vec<String> {
        self.verbs.group_events.publish(&self.verbs.store.view(), &std::collections::BTreeSet::new());
        let page = String::from_utf8(self.metrics.render()).expect("text");
        let series = page.lines().filter_map(|line| line.strip_prefix("berth_groups{state=\""));
        let pairs = series.filter_map(|line| line.split_once("\"} "));
        pairs.filter(|(_, count)| *count != "0").map(|(state, _)| state.to_owned()).collect()
    }

    /// How much room is kept: groups, slots.
    pub fn kept(&self) -> (usize, usize) {
        let view = self.verbs.store.view();
        let kept = view.ledger().reservations();
        (kept.len(), kept.iter().map(|kept| kept.slots.len()).sum())
    }
}

fn read(objects: &[Value]) -> Vec<Object> {
    let list = json!({"apiVersion": "v1", "kind": "List", "items": objects}).to_string();
    snapshot_file::parse(&list, &Interner::default()).expect("objects").objects
}

/// A member of an annotated group that says how many it has is one of as many pods of a stateful set, so that those to come
/// are known to be like it. A pod that names its controllers keeps them.
fn controlled(pod: &Value) -> Value {
    let mut pod = pod.clone();
    let annotations = &pod["metadata"]["annotations"];
    if let (Some(group), Some(_)) =
        (annotations["berth.dev/group"].as_str(), annotations["berth.dev/group-size"].as_str())
        && pod["metadata"]["ownerReferences"].is_null()
    {
        pod["metadata"]["ownerReferences"] = json!([{"apiVersion": "apps/v1", "kind": "StatefulSet", "name": group,
            "uid": group, "controller": true}]);
    }
    pod
}

/// The stateful set that controls a member.
fn controller_of(pod: &Value) -> Option<Value> {
    let size: u32 = pod["metadata"]["annotations"]["berth.dev/group-size"].as_str()?.parse().ok()?;
    let owner = &pod["metadata"]["ownerReferences"][0];
    (owner["kind"] == "StatefulSet").then(|| {
        json!({"apiVersion": "apps/v1", "kind": "StatefulSet",
            "metadata": {"name": owner["name"], "namespace": pod["metadata"]["namespace"]}, "spec": {"replicas": size}})
    })
}

/// The rack of a node, by its name.
pub fn rack_of(node: &str) -> String {
    node.rsplit_once('-').expect("RACK-NUMBER").0.to_owned()
}

/// A pod that asks for this much.
pub fn pod(name: &str, asks: &Value) -> Value {
    json!({"apiVersion": "v1", "kind": "Pod",
        "metadata": {"name": name, "namespace": "default", "uid": name, "labels": {}, "annotations": {}},
        "spec": {"containers": [{"name": "main", "resources": {"requests": asks}}]}, "status": {}})
}

/// A pod that asks for one CPU.
pub fn single(name: &str) -> Value {
    pod(name, &json!({"cpu": "1"}))
}

/// Members `GROUP-0`, `GROUP-1`, ... of a group by Berth's annotations, in one rack, one CPU each.
pub fn group(name: &str, size: usize) -> Vec<Value> {
    (0..size)
        .map(|at| {
            let pod = single(&format!("{name}-{at}"));
            let pod = annotated(pod, "berth.dev/group", name);
            let pod = annotated(pod, "berth.dev/group-size", &size.to_string());
            annotated(pod, "berth.dev/required-topology", RACK)
        })
        .collect()
}

/// With an annotation more; an empty value takes it away.
pub fn annotated(mut pod: Value, key: &str, value: &str) -> Value {
    let annotations = pod["metadata"]["annotations"].as_object_mut().expect("annotations");
    if value.is_empty() {
        annotations.remove(key);
    } else {
        annotations.insert(key.to_owned(), json!(value));
    }
    pod
}

/// All of them with an annotation more.
pub fn all_annotated(pods: Vec<Value>, key: &str, value: &str) -> Vec<Value> {
    pods.into_iter().map(|pod| annotated(pod, key, value)).collect()
}

/// With a field of its spec set.
pub fn with_spec(mut pod: Value, field: &str, value: Value) -> Value {
    pod["spec"][field] = value;
    pod
}

/// With a label more.
pub fn labelled(mut pod: Value, key: &str, value: &str) -> Value {
    pod["metadata"]["labels"][key] = json!(value);
    pod
}

/// The pod on a node.
pub fn on(pod: &Value, node: &str) -> Value {
    with_spec(pod.clone(), "nodeName", json!(node))
}

/// The pod about to go.
pub fn terminating(pod: &Value) -> Value {
    let mut pod = pod.clone();
    pod["metadata"]["deletionTimestamp"] = json!("2026-01-01T00:00:00Z");
    pod
}
