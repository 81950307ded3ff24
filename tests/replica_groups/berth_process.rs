//! Berth, as its callers see it: JSON in, JSON out.

use std::time::Duration;

use berth::config::{self, Config};
use berth::json::{Slimmed, slim};
use berth::model::Object;
use berth::verbs::{Verb, Verbs};
use berth::view::change::Change;
use hyper::StatusCode;
use serde_json::{Value, json};

use crate::api_server::ApiServer;
use crate::truth::Pod;
use crate::watch::Event;

/// Nobody is evicted here, so room that an eviction would make does not count.
const CONFIG: &str = "apiVersion: config.berth.dev/v1alpha1\nkind: BerthConfiguration\n\
    replicaGroups: {countOnPreemption: false}\n";

pub fn config() -> Config {
    config::parse(CONFIG).expect("a sound configuration")
}

pub struct Berth(Verbs);

impl Berth {
    /// Knows these objects and nothing else.
    pub fn start(config: &Config, api: &ApiServer, objects: impl Iterator<Item = Event>) -> Self {
        let mut verbs = Verbs::in_memory(config.clone(), Vec::new()).expect("metrics");
        verbs.binder = api.binder();
        let berth = Self(verbs);
        berth.hear(objects);
        berth
    }

    pub fn hear(&self, events: impl IntoIterator<Item = Event>) {
        let change = |event| match event {
            Event::Shown(kind, text) => Change::Upsert(self.read(kind, &text)),
            Event::Gone(kind, key) => Change::Remove(kind, key),
        };
        self.0.store.apply(events.into_iter().map(change));
    }

    fn read(&self, kind: berth::model::Kind, text: &str) -> Object {
        match slim(kind, text, &self.0.interner) {
            Ok(Slimmed::Kept(object)) => object,
            other => panic!("{other:?} of {text}"),
        }
    }

    pub fn advance(&self, time: Duration) {
        self.0.store.write(|view| view.advance(time));
    }

    /// The nodes that are left, or why nothing was decided.
    pub fn filter(&self, pod: &Value, nodes: &[String]) -> Result<Vec<String>, String> {
        let answer = self.ask(Verb::Filter, pod, nodes);
        match answer["Error"].as_str() {
            Some("") => Ok(serde_json::from_value(answer["NodeNames"].clone()).expect("a list of names")),
            error => Err(error.unwrap_or("no Error in the answer").to_owned()),
        }
    }

    /// One score per node.
    pub fn prioritize(&self, pod: &Value, nodes: &[String]) -> Vec<i64> {
        let answer = self.ask(Verb::Prioritize, pod, nodes);
        let scores: Vec<i64> =
            answer.as_array().expect("a list").iter().filter_map(|entry| entry["Score"].as_i64()).collect();
        assert_eq!(scores.len(), nodes.len(), "a score for each");
        scores
    }

    fn ask(&self, verb: Verb, pod: &Value, nodes: &[String]) -> Value {
        let body = json!({"Pod": pod, "Nodes": null, "NodeNames": nodes}).to_string();
        let answer = self.0.decide(verb, body.as_bytes()).expect("a sound call").expect("an answer");
        serde_json::from_slice(&answer).expect("JSON")
    }

    /// Whether Berth says that the pod is bound, when the API server answers with this status.
    pub fn bind(&self, api: &ApiServer, pod: &Pod, node: &str, status: StatusCode) -> bool {
        let body =
            json!({"PodName": pod.name, "PodNamespace": pod.namespace, "PodUID": pod.uid, "Node": node})
                .to_string();
        let (answer, asked) = api.answering(status, self.0.bind(body.as_bytes()));
        let path = format!("/api/v1/namespaces/{}/pods/{}/binding", pod.namespace, pod.name);
        assert_eq!(asked.as_deref(), Some(&*path), "the binding goes to the API server");
        answer.expect("a sound call") == br#"{"Error":""}"#
    }
}
