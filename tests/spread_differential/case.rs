//! A case: a cluster, the settings, a pod and its candidate nodes, as JSON that both sides read.

use std::collections::BTreeMap;

use serde_json::{Map, Value, json};

use crate::support::differential::demands::NO_LABEL_VALUE;

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
        texts(&self.0["candidates"])
    }

    /// UIDs of the pods that would be evicted, by candidate.
    pub fn victims(&self) -> BTreeMap<&str, Vec<&str>> {
        let victims = self.0["victims"].as_object();
        victims.into_iter().flatten().map(|(node, uids)| (&**node, texts(uids))).collect()
    }

    /// The pod of the cluster with this UID.
    pub fn pod_of(&self, uid: &str) -> &Value {
        let pods = self.0["pods"].as_array().expect("a list of pods");
        pods.iter().find(|pod| pod["metadata"]["uid"] == uid).expect("a known UID")
    }

    /// The settings as Berth's configuration file; JSON is YAML. Berth is to judge every candidate and to
    /// choose none.
    pub fn configuration(&self) -> String {
        let mut configuration = json!({
            "apiVersion": "config.berth.dev/v1alpha1",
            "kind": "BerthConfiguration",
            "topologySpread": self.0["args"],
        });
        if nominated_node(self.pod()).is_some() {
            configuration["nominatedNode"] = json!({"policy": "Disabled"});
        }
        if !self.victims().is_empty() {
            configuration["preemption"] = json!({"decideUpTo": "Nothing"});
        }
        configuration.to_string()
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

    /// What kube-scheduler would send to filter and prioritize.
    pub fn request(&self) -> Vec<u8> {
        let body = json!({"Pod": self.pod(), "Nodes": null, "NodeNames": self.0["candidates"]});
        body.to_string().into_bytes()
    }

    /// What kube-scheduler would send to preempt: whole pods if it is told that the extender has no cache.
    pub fn preempt_request(&self) -> Vec<u8> {
        let mut body = json!({"Pod": self.pod(), "NodeNameToVictims": null, "NodeNameToMetaVictims": null});
        if self.id().is_multiple_of(2) {
            body["NodeNameToVictims"] = self.victims_as(|uid| self.pod_of(uid).clone()).into();
        } else {
            body["NodeNameToMetaVictims"] = self.meta_victims().into();
        }
        body.to_string().into_bytes()
    }

    /// All candidates of a preemption, as an answer names them.
    pub fn meta_victims(&self) -> Map<String, Value> {
        self.victims_as(|uid| json!({"UID": uid}))
    }

    fn victims_as(&self, form: impl Fn(&str) -> Value) -> Map<String, Value> {
        let entry = |(node, uids): (&str, Vec<&str>)| {
            let pods: Vec<Value> = uids.iter().map(|uid| form(uid)).collect();
            // Any number will do: Berth has to hand it back.
            (node.to_owned(), json!({"Pods": pods, "NumPDBViolations": uids.len() / 2}))
        };
        self.victims().into_iter().map(entry).collect()
    }
}

fn texts(list: &Value) -> Vec<&str> {
    list.as_array().expect("a list").iter().map(|text| text.as_str().expect("a text")).collect()
}

/// The node that a preemption has chosen for the pod.
pub fn nominated_node(pod: &Value) -> Option<&str> {
    pod["status"]["nominatedNodeName"].as_str()
}

/// Whether it waits for room there.
pub fn is_waiting(pod: &Value) -> bool {
    nominated_node(pod).is_some() && pod["spec"].get("nodeName").is_none()
}

pub fn is_terminating(pod: &Value) -> bool {
    pod["metadata"].get("deletionTimestamp").is_some()
}

/// A pod that names none has 0.
pub fn priority(pod: &Value) -> i64 {
    pod["spec"]["priority"].as_i64().unwrap_or_default()
}
