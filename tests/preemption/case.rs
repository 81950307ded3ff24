//! A cluster, a pod that preempts, and the candidates that kube-scheduler found for it.

use std::collections::BTreeMap;

use berth::cluster::snapshot_file;
use berth::json::Interner;
use berth::verbs::{Verb, Verbs};
use serde_json::{Map, Value, json};

use crate::cluster::{NAMESPACE, Pod, surroundings};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mode {
    Enforce,
    Observe,
}

#[derive(Clone, Debug)]
pub struct Case {
    pub pods: Vec<Pod>,
    pub candidates: Vec<Candidate>,
    pub mode: Mode,
    /// As in the configuration.
    pub decide_up_to: &'static str,
    /// Whether the default constraint on zones is a hard one.
    pub hard: bool,
    pub whole_pods: bool,
}

#[derive(Clone, Debug)]
pub struct Candidate {
    pub node: String,
    pub uids: Vec<String>,
    pub budget_violations: i64,
}

/// Candidates with victims and counts.
#[derive(Debug, PartialEq, Eq)]
pub struct Answer(pub BTreeMap<String, Value>);

impl Candidate {
    pub fn as_sent(&self) -> (String, Value) {
        let pods: Vec<Value> = self.uids.iter().map(|uid| json!({"UID": uid})).collect();
        (self.node.clone(), json!({"Pods": pods, "NumPDBViolations": self.budget_violations}))
    }
}

impl Case {
    /// Berth over this cluster, without those pods.
    fn berth(&self, gone: &[String]) -> Verbs {
        let action = if self.hard { "DoNotSchedule" } else { "ScheduleAnyway" };
        let mode = self.mode;
        let config = format!(
            "apiVersion: config.berth.dev/v1alpha1\nkind: BerthConfiguration\n\
             preemption: {{mode: {mode:?}, decideUpTo: {}}}\ntopologySpread:\n  defaultingType: List\n  \
             defaultConstraints: [{{maxSkew: 1, topologyKey: zone, whenUnsatisfiable: {action}}}]\n",
            self.decide_up_to
        );
        let pods = self.pods.iter().filter(|pod| !gone.contains(&pod.uid())).map(Pod::object);
        let items: Vec<Value> = surroundings().into_iter().chain(pods).collect();
        let list = json!({"apiVersion": "v1", "kind": "List", "items": items}).to_string();
        let objects = snapshot_file::parse(&list, &Interner::default()).expect("a cluster");
        assert_eq!((objects.undecodable.total(), objects.other_kinds.total()), (0, 0));
        Verbs::in_memory(berth::config::parse(&config).expect("a configuration"), objects.objects)
            .expect("verbs")
    }

    fn ask(verbs: &Verbs, verb: Verb, body: &Value) -> Value {
        let answer = verbs.decide(verb, body.to_string().as_bytes()).expect("a well-formed call");
        serde_json::from_slice(&answer.expect("an answer")).expect("JSON")
    }

    fn preemptor() -> Value {
        json!({"metadata": {"namespace": NAMESPACE, "name": "new", "uid": "new", "labels": {"app": "web"}},
            "spec": {"priority": 100}})
    }

    /// What Berth answers.
    pub fn preempt(&self) -> Answer {
        let mut map = Map::new();
        for candidate in &self.candidates {
            let (node, mut victims) = candidate.as_sent();
            if self.whole_pods {
                let whole = |uid: &String| {
                    let known = self.pods.iter().find(|pod| pod.uid() == *uid);
                    known.map_or_else(|| json!({"metadata": {"name": "x", "uid": uid}}), Pod::object)
                };
                victims["Pods"] = candidate.uids.iter().map(whole).collect();
            }
            map.insert(node, victims);
        }
        let form = if self.whole_pods { "NodeNameToVictims" } else { "NodeNameToMetaVictims" };
        let answer =
            Self::ask(&self.berth(&[]), Verb::Preempt, &json!({"Pod": Self::preemptor(), form: map}));
        let answer = answer["NodeNameToMetaVictims"].as_object().expect("always this form").clone();
        Answer(answer.into_iter().collect())
    }

    /// Whether filter refuses the pod on a node once those pods are gone.
    pub fn is_refused(&self, node: &str, gone: &[String]) -> bool {
        let body = json!({"Pod": Self::preemptor(), "NodeNames": [node]});
        let answer = Self::ask(&self.berth(gone), Verb::Filter, &body);
        assert_eq!(answer["Error"], "", "filter decides: {answer}");
        answer["NodeNames"].as_array().is_none_or(Vec::is_empty)
    }

    /// Whether there is a candidate that filter refuses before the victims are gone and not afterwards.
    pub fn is_turned_by_eviction(&self) -> bool {
        let known = |uid: &String| self.pods.iter().any(|pod| pod.uid() == *uid);
        let mut candidates = self.candidates.iter().filter(|c| c.node != "ghost" && c.uids.iter().all(known));
        candidates.any(|c| self.is_refused(&c.node, &[]) && !self.is_refused(&c.node, &c.uids))
    }

    /// The same, with the answer for candidates.
    pub fn again(&self, answer: &Answer) -> Self {
        let named = |candidate: &&Candidate| answer.0.contains_key(&candidate.node);
        Self { candidates: self.candidates.iter().filter(named).cloned().collect(), ..self.clone() }
    }

    pub fn in_the_other_form(&self) -> Self {
        Self { whole_pods: !self.whole_pods, ..self.clone() }
    }
}
