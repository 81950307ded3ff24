//! A small cluster, with Berth and a kube-scheduler that is played here: its in-tree filters as Berth's own code knows them,
//! the score of preferred node affinity, and the weights of the shipped configuration.

use std::collections::BTreeSet;

use berth::cluster::snapshot_file;
use berth::config;
use berth::json::Interner;
use berth::model::{Labels, Object, Pod};
use berth::policy::fit::{Demand, Verdict};
use berth::verbs::{Verb, Verbs};
use berth::view::Host;
use berth::view::change::Change;
use serde_json::{Value, json};

/// What a score of Berth's is worth, and that of node affinity, which goes up to 100.
const BERTH_WEIGHT: i64 = 10;
const AFFINITY_WEIGHT: i64 = 2;

/// Nodes to be.
#[derive(Default)]
pub struct World {
    settings: Option<String>,
    objects: Vec<Value>,
    nodes: Vec<Value>,
}

impl World {
    pub fn new() -> Self {
        Self::default()
    }

    /// With a configuration of Berth, which has none otherwise.
    pub fn settings(mut self, text: String) -> Self {
        self.settings = Some(text);
        self
    }

    /// Nodes `RACK-0`, `RACK-1`, ... with these labels, and a taint as `KEY=VALUE` or none.
    pub fn rack(mut self, rack: &str, nodes: usize, has: &Value, labels: &Value, taint: &str) -> Self {
        for at in 0..nodes {
            let name = format!("{rack}-{at}");
            let mut all = json!({"example.com/rack": rack, "kubernetes.io/hostname": name});
            for (key, value) in labels.as_object().into_iter().flatten() {
                all[key] = value.clone();
            }
            let mut has = has.clone();
            has["pods"] = json!("110");
            let taints: Vec<_> = taint
                .split_once('=')
                .into_iter()
                .map(|(key, value)| json!({"key": key, "value": value, "effect": "NoSchedule"}))
                .collect();
            self.nodes
                .push(json!({"apiVersion": "v1", "kind": "Node", "metadata": {"name": name, "labels": all},
                "spec": {"taints": taints}, "status": {"allocatable": has}}));
        }
        self
    }

    /// With the object that a controller makes pods of.
    pub fn with(mut self, object: &Value) -> Self {
        self.objects.push(object.clone());
        self
    }

    /// Lets Berth see it.
    pub fn open(mut self) -> Scheduler {
        let bare = "apiVersion: config.berth.dev/v1alpha1\nkind: BerthConfiguration\n";
        let config = config::parse(self.settings.as_deref().unwrap_or(bare)).expect("settings");
        self.objects.extend(self.nodes.iter().cloned());
        let verbs = Verbs::in_memory(config, read(&self.objects)).expect("verbs");
        Scheduler { verbs, nodes: self.nodes }
    }
}

/// kube-scheduler, which knows the nodes and asks Berth.
pub struct Scheduler {
    verbs: Verbs,
    nodes: Vec<Value>,
}

impl Scheduler {
    /// Places pods one after another, each of them created only then. Where they are, those that have a place.
    pub fn place_all(&self, pods: &[Value]) -> Vec<String> {
        pods.iter().filter_map(|pod| self.place(pod)).collect()
    }

    fn place(&self, pod: &Value) -> Option<String> {
        self.verbs.store.apply(read(std::slice::from_ref(pod)).into_iter().map(Change::Upsert));
        let candidates = self.candidates(pod);
        if candidates.is_empty() {
            return None;
        }
        let answer = self.ask(Verb::Filter, &json!({"Pod": pod, "NodeNames": candidates}));
        assert_eq!(answer["Error"], "", "{answer}");
        let offered: Vec<String> = serde_json::from_value(answer["NodeNames"].clone()).expect("names");
        let scores = self.ask(Verb::Prioritize, &json!({"Pod": pod, "NodeNames": offered}));
        let score = |name: &String| {
            let all = scores.as_array().expect("scores").iter();
            let given =
                all.filter(|score| score["Host"] == **name).filter_map(|score| score["Score"].as_i64());
            given.sum::<i64>() * BERTH_WEIGHT + self.affinity(pod, name) * AFFINITY_WEIGHT
        };
        // Of equals the first, so that the same happens every time.
        let node = offered.iter().rev().max_by_key(|name| score(name))?;
        let meta = &pod["metadata"];
        let body = json!({"PodName": meta["name"], "PodNamespace": meta["namespace"], "PodUID": meta["uid"], "Node": node});
        let runtime = tokio::runtime::Builder::new_current_thread().build().expect("a runtime");
        let answer = runtime.block_on(self.verbs.bind(body.to_string().as_bytes())).expect("an answer");
        assert_eq!(String::from_utf8(answer).expect("text"), r#"{"Error":""}"#);
        Some(node.clone())
    }

    fn ask(&self, verb: Verb, body: &Value) -> Value {
        let answer = self.verbs.decide(verb, body.to_string().as_bytes()).expect("a well-formed call");
        serde_json::from_slice(&answer.expect("an answer")).expect("JSON")
    }

    /// The nodes that pass the filters in kube-scheduler's own tree.
    fn candidates(&self, pod: &Value) -> Vec<String> {
        let view = self.verbs.store.view();
        let Some(Object::Pod(pod)) = read(std::slice::from_ref(pod)).pop() else { panic!("a pod") };
        let applicant = Demand::of(&pod);
        let passes = |name: &&str| {
            let host = view.host(name).expect("a node that was shown");
            let node = host.node.as_ref().expect("a node");
            applicant.fits(node, &host.used, &host.pods) == Verdict::Fits && keeps_apart(&pod, host)
        };
        self.nodes.iter().map(name_of).filter(passes).map(str::to_owned).collect()
    }

    /// The score of preferred node affinity: 100 for the node that has all of it.
    fn affinity(&self, pod: &Value, name: &str) -> i64 {
        let terms =
            &pod["spec"]["affinity"]["nodeAffinity"]["preferredDuringSchedulingIgnoredDuringExecution"];
        let labels =
            self.nodes.iter().find(|node| name_of(node) == name).map(|node| &node["metadata"]["labels"]);
        let meets = |wanted: &Value| {
            assert_eq!(wanted["operator"], "In", "the others are not played here");
            let value = labels.and_then(|labels| labels.get(wanted["key"].as_str().expect("a key")));
            value.is_some_and(|value| wanted["values"].as_array().expect("values").contains(value))
        };
        let met = |term: &&Value| {
            term["preference"]["matchExpressions"].as_array().expect("expressions").iter().all(meets)
        };
        let terms: Vec<&Value> = terms.as_array().into_iter().flatten().collect();
        let weight = |term: &&Value| term["weight"].as_i64().expect("a weight");
        let (all, here): (i64, i64) = (
            terms.iter().map(weight).sum(),
            terms.iter().copied().filter(met).map(|term| weight(&term)).sum(),
        );
        if all == 0 { 0 } else { 100 * here / all }
    }
}

/// Required anti-affinity between a pod and those on a host, both ways. Hosts are all that the files ask for.
fn keeps_apart(pod: &Pod, host: &Host) -> bool {
    let objects = |own: &Pod, other: &Pod| {
        own.anti_affinity_terms().iter().any(|term| {
            assert_eq!(&*term.topology_key, "kubernetes.io/hostname", "others are not played here");
            term.concerns(&other.labels, &other.key.namespace, &Labels::default())
        })
    };
    host.pods.iter().all(|other| !objects(pod, other) && !objects(other, pod))
}

fn name_of(node: &Value) -> &str {
    node["metadata"]["name"].as_str().expect("a name")
}

fn read(objects: &[Value]) -> Vec<Object> {
    let list = json!({"apiVersion": "v1", "kind": "List", "items": objects}).to_string();
    let loaded = snapshot_file::parse(&list, &Interner::default()).expect("objects");
    assert_eq!((loaded.other_kinds.total(), loaded.undecodable.total()), (0, 0));
    loaded.objects
}

/// The racks of some nodes.
pub fn racks(nodes: &[String]) -> Vec<&str> {
    let racks: BTreeSet<_> = nodes.iter().map(|node| node.rsplit_once('-').expect("RACK-NUMBER").0).collect();
    racks.into_iter().collect()
}

/// How many different nodes these are.
pub fn hosts(nodes: &[String]) -> usize {
    nodes.iter().collect::<BTreeSet<_>>().len()
}
