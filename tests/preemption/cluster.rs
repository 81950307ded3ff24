//! A small cluster: two zones and a node without, pods of one Service and others, some of them in groups.

use serde_json::{Value, json};

pub const NODES: usize = 5;
/// How many pods make one replica of a set.
pub const SET_SIZE: usize = 3;
pub const NAMESPACE: &str = "d";
const GROUP_LABELS: [&str; 2] =
    ["leaderworkerset.sigs.k8s.io/name", "leaderworkerset.sigs.k8s.io/group-index"];

#[derive(Clone, Debug)]
pub struct Pod {
    pub number: usize,
    pub node: usize,
    pub priority: i32,
    /// Whether it belongs to the Service that is spread.
    pub web: bool,
    pub group: Option<Group>,
    pub leaving: bool,
}

/// How it says to which group it belongs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Group {
    Labelled(u8),
    /// In a set whose pods restart one by one.
    Loose(u8),
    Annotated(u8),
}

/// Beyond the last node there is a host of which Berth knows pods, but no Node.
pub fn node_name(number: usize) -> String {
    if number == NODES { "ghost".to_owned() } else { format!("n{number}") }
}

impl Pod {
    pub fn uid(&self) -> String {
        format!("u{}", self.number)
    }

    pub fn object(&self) -> Value {
        let mut labels = json!({"app": if self.web { "web" } else { "other" }});
        let mut annotations = json!({"note": "a long text that nobody reads"});
        match self.group {
            Some(Group::Labelled(index)) => {
                labels[GROUP_LABELS[0]] = json!("llm");
                labels[GROUP_LABELS[1]] = json!(index.to_string());
            }
            Some(Group::Loose(index)) => {
                labels[GROUP_LABELS[0]] = json!("loose");
                labels[GROUP_LABELS[1]] = json!(index.to_string());
            }
            Some(Group::Annotated(index)) => annotations["berth.dev/group"] = json!(format!("g{index}")),
            None => {}
        }
        let mut metadata = json!({"namespace": NAMESPACE, "name": format!("p{}", self.number),
            "uid": self.uid(), "labels": labels, "annotations": annotations});
        if self.leaving {
            metadata["deletionTimestamp"] = json!("2026-01-01T00:00:00Z");
        }
        json!({"apiVersion": "v1", "kind": "Pod", "metadata": metadata,
            "spec": {"nodeName": node_name(self.node), "priority": self.priority}})
    }
}

/// Everything but the pods.
pub fn surroundings() -> Vec<Value> {
    let node = |number: usize| {
        let mut labels = json!({"kubernetes.io/hostname": node_name(number)});
        if number > 0 {
            labels["zone"] = json!((number % 2).to_string());
        }
        json!({"apiVersion": "v1", "kind": "Node", "metadata": {"name": node_name(number), "labels": labels}})
    };
    let mut objects: Vec<Value> = (0..NODES).map(node).collect();
    objects.push(
        json!({"apiVersion": "v1", "kind": "Service", "metadata": {"namespace": NAMESPACE, "name": "web"},
        "spec": {"selector": {"app": "web"}}}),
    );
    for (name, policy) in [("llm", "RecreateGroupOnPodRestart"), ("loose", "None")] {
        objects.push(json!({"apiVersion": "leaderworkerset.x-k8s.io/v1", "kind": "LeaderWorkerSet",
            "metadata": {"namespace": NAMESPACE, "name": name},
            "spec": {"leaderWorkerTemplate": {"size": SET_SIZE, "restartPolicy": policy}}}));
    }
    objects
}
