//! A case: a cluster, the settings, a pod and its candidate nodes, as JSON that both sides read.

use serde_json::{Value, json};

/// Admitted as a label value by API servers of old, and none all the same.
pub const NO_LABEL_VALUE: &str = "_x_";

/// The lists of objects in a case.
pub const OBJECTS: [&str; 6] =
    ["nodes", "pods", "services", "replicationControllers", "replicaSets", "statefulSets"];

/// See `spreadreference/wire.go` for the fields.
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

    /// Pods that say themselves how they are spread are none of Berth's business.
    pub fn has_own_constraints(&self) -> bool {
        self.pod()["spec"]["topologySpreadConstraints"].as_array().is_some_and(|own| !own.is_empty())
    }

    pub fn candidates(&self) -> Vec<&str> {
        let names = self.0["candidates"].as_array().expect("a list of candidates");
        names.iter().map(|name| name.as_str().expect("a name")).collect()
    }

    /// The settings as Berth's configuration file; JSON is YAML.
    pub fn configuration(&self) -> String {
        json!({
            "apiVersion": "config.berth.dev/v1alpha1",
            "kind": "BerthConfiguration",
            "topologySpread": self.0["args"],
        })
        .to_string()
    }

    /// The cluster as `kubectl get -o json` prints it.
    pub fn cluster(&self) -> String {
        let lists = OBJECTS.iter().filter_map(|list| self.0[*list].as_array());
        let items: Vec<&Value> = lists.flatten().collect();
        json!({"apiVersion": "v1", "kind": "List", "items": items}).to_string()
    }

    /// How many controllers have a selector that means nothing.
    pub fn void_selectors(&self) -> usize {
        let sets = ["replicaSets", "statefulSets"].into_iter().filter_map(|list| self.0[list].as_array());
        sets.flatten().filter(|set| set.to_string().contains(NO_LABEL_VALUE)).count()
    }

    /// What kube-scheduler would send.
    pub fn request(&self) -> Vec<u8> {
        let body = json!({"Pod": self.pod(), "Nodes": null, "NodeNames": self.0["candidates"]});
        body.to_string().into_bytes()
    }
}
