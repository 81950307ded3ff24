//! Berth over a large cluster in memory, asked as kube-scheduler asks.

use std::time::Duration;

use berth::cluster::snapshot_file;
use berth::config;
use berth::model::{Kind, ObjectKey};
use berth::verbs::{Verb, Verbs};
use berth::view::change::Change;
use serde_json::Value;

use super::usage::timed;
use crate::support::dear_groups::{behind, call, list, node, preempt_call};
use crate::support::small_cluster::CONFIG_HEAD;

pub const NODES: usize = 2_000;

pub struct Cluster(pub Verbs);

/// An answer, and how long the call ran.
pub struct Answered {
    pub body: Value,
    pub time: Duration,
}

impl Answered {
    pub fn error(&self) -> &str {
        self.body["Error"].as_str().unwrap_or_default()
    }

    /// How many nodes may be used.
    pub fn passing(&self) -> usize {
        self.body["NodeNames"].as_array().map_or(0, Vec::len)
    }

    /// Whether some node was rejected in these words.
    pub fn says(&self, words: &str) -> bool {
        self.body.to_string().contains(words)
    }
}

impl Cluster {
    pub fn new(config: &str) -> Self {
        let config = config::parse(&format!("{CONFIG_HEAD}{config}")).expect("a configuration");
        let cluster = Self(Verbs::in_memory(config, Vec::new()).expect("verbs"));
        cluster.add(&(0..NODES).map(node).collect::<Vec<_>>());
        cluster
    }

    /// The watch shows these, and what stands behind them.
    pub fn add(&self, objects: &[Value]) {
        for objects in [&behind(objects)[..], objects] {
            let loaded = snapshot_file::parse(&list(objects), &self.0.interner).expect("objects");
            self.0.store.apply(loaded.objects.into_iter().map(Change::Upsert));
        }
    }

    /// All pods are gone, and all that was decided about them.
    pub fn clear(&self) {
        let key = |object: berth::model::Object| object.key();
        let pods: Vec<ObjectKey> = self.0.store.view().objects(Kind::Pod).into_iter().map(key).collect();
        self.0.store.apply(pods.into_iter().map(|key| Change::Remove(Kind::Pod, key)));
        self.0.store.write(|view| view.advance(Duration::from_hours(1)));
    }

    pub fn filter(&self, pod: &Value) -> Answered {
        self.ask(Verb::Filter, &call(pod, NODES))
    }

    pub fn prioritize(&self, pod: &Value) -> Answered {
        self.ask(Verb::Prioritize, &call(pod, NODES))
    }

    pub fn preempt(&self, pod: &Value, victims: &[(usize, String)]) -> Answered {
        self.ask(Verb::Preempt, &preempt_call(pod, victims))
    }

    fn ask(&self, verb: Verb, body: &str) -> Answered {
        let (answer, time) = timed(|| self.0.decide(verb, body.as_bytes()));
        let answer = answer.expect("a sound call").expect("an answer");
        Answered { body: serde_json::from_slice(&answer).expect("JSON"), time }
    }
}
