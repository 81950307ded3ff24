//! A case: a cluster, a pod and its candidate nodes, and quantities, as JSON that both sides read.

use serde_json::{Value, json};

/// See `fitreference/wire.go` for the fields.
#[derive(Clone)]
pub struct Case(pub Value);

impl Case {
    pub fn parse(text: &str) -> Self {
        Self(serde_json::from_str(text).expect("a case is JSON"))
    }

    pub fn id(&self) -> u64 {
        self.0["id"].as_u64().expect("a case has a number")
    }

    pub fn pod(&self) -> &Value {
        &self.0["pod"]
    }

    /// All pods, the incoming one included.
    pub fn pods(&self) -> impl Iterator<Item = &Value> {
        self.0["pods"].as_array().into_iter().flatten().chain([self.pod()])
    }

    pub fn nodes(&self) -> impl Iterator<Item = &Value> {
        self.0["nodes"].as_array().into_iter().flatten()
    }

    pub fn candidates(&self) -> Vec<&str> {
        texts(&self.0["candidates"])
    }

    pub fn quantities(&self) -> Vec<&str> {
        texts(&self.0["quantities"])
    }

    /// The cluster as `kubectl get -o json` prints it.
    pub fn cluster(&self) -> String {
        let lists = ["nodes", "pods"].into_iter().filter_map(|list| self.0[list].as_array());
        let items: Vec<&Value> = lists.flatten().collect();
        json!({"apiVersion": "v1", "kind": "List", "items": items}).to_string()
    }
}

fn texts(list: &Value) -> Vec<&str> {
    list.as_array().into_iter().flatten().filter_map(Value::as_str).collect()
}

/// Whether the pod counts no more.
pub fn is_finished(pod: &Value) -> bool {
    matches!(pod["status"]["phase"].as_str(), Some("Succeeded" | "Failed"))
}
