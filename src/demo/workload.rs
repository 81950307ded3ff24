//! The demo's workloads, as Kubernetes would show them.

use serde_json::{Value, json};

/// Where they all live.
pub const NAMESPACE: &str = "shop";

/// Pods that are made from one template and found through one Service.
#[derive(Clone, Copy, Debug)]
pub struct Workload {
    /// The Service, and the value of the label `app`.
    pub app: &'static str,
    /// The controller's kind: `ReplicaSet` (a Deployment's, say) or `StatefulSet`.
    kind: &'static str,
    /// The controller's name, with which its pods' names begin.
    controller: &'static str,
    /// How many pods it wants.
    pub replicas: usize,
    /// How important they are.
    pub priority: i32,
    /// Whether its pods are one replica of a `LeaderWorkerSet`, which runs as a whole or not at all.
    grouped: bool,
}

const ORDINARY: Workload =
    Workload { app: "", kind: "ReplicaSet", controller: "", replicas: 0, priority: 100, grouped: false };

/// Running before the story begins.
pub const CACHE: Workload = Workload { app: "cache", controller: "cache-5d8", replicas: 12, ..ORDINARY };
/// The large one to be placed.
pub const WEB: Workload = Workload { app: "web", controller: "web-7c9f4", replicas: 150, ..ORDINARY };
/// The small one to be placed.
pub const DB: Workload =
    Workload { app: "db", kind: "StatefulSet", controller: "db", replicas: 6, ..ORDINARY };
/// A model served by four pods that are of use only together, and the least important of all.
pub const LLM: Workload = Workload {
    app: "llm",
    kind: "StatefulSet",
    controller: "llm-0",
    replicas: 4,
    priority: 10,
    grouped: true,
};
/// What takes the last places.
pub const BATCH: Workload =
    Workload { app: "batch", controller: "batch-66b", replicas: 68, priority: 50, ..ORDINARY };
/// One pod that cannot wait.
pub const URGENT: Workload =
    Workload { app: "urgent", controller: "urgent-9f2", replicas: 1, priority: 1000, ..ORDINARY };

/// All of them.
pub const ALL: [Workload; 6] = [CACHE, WEB, DB, LLM, BATCH, URGENT];

/// One pod.
#[derive(Clone, Debug)]
pub struct Pod {
    /// Its name.
    pub name: String,
    /// Whose it is.
    pub workload: Workload,
}

impl Workload {
    /// Its pods, in the order in which they are placed.
    pub fn pods(self) -> impl Iterator<Item = Pod> {
        (0..self.replicas).map(move |at| Pod { name: format!("{}-{at}", self.controller), workload: self })
    }

    /// Its Service and its controller.
    pub fn objects(self) -> [Value; 2] {
        let labels = json!({"app": self.app});
        let service = json!({
            "apiVersion": "v1", "kind": "Service",
            "metadata": {"namespace": NAMESPACE, "name": self.app},
            "spec": {"selector": labels},
        });
        let controller = json!({
            "apiVersion": "apps/v1", "kind": self.kind,
            "metadata": {"namespace": NAMESPACE, "name": self.controller, "labels": labels},
            "spec": {"replicas": self.replicas, "selector": {"matchLabels": labels}},
        });
        [service, controller]
    }
}

impl Pod {
    /// What tells it from a later pod of the same name.
    pub fn uid(&self) -> String {
        format!("uid-{}", self.name)
    }

    /// The object while it is on no node.
    pub fn pending(&self) -> Value {
        let Workload { app, kind, controller, priority, grouped, .. } = self.workload;
        let mut labels = json!({"app": app});
        if grouped {
            labels["leaderworkerset.sigs.k8s.io/name"] = json!(app);
            labels["leaderworkerset.sigs.k8s.io/group-index"] = json!("0");
        }
        json!({
            "apiVersion": "v1", "kind": "Pod",
            "metadata": {
                "namespace": NAMESPACE, "name": self.name, "uid": self.uid(), "labels": labels,
                "ownerReferences": [{
                    "apiVersion": "apps/v1", "kind": kind, "name": controller,
                    "uid": format!("uid-{controller}"), "controller": true,
                }],
            },
            "spec": {"containers": [{"name": app, "image": app}], "priority": priority},
            "status": {"phase": "Pending"},
        })
    }

    /// The object while it waits for the room that was made for it on a node.
    pub fn nominated(&self, node: &str) -> Value {
        let mut pod = self.pending();
        pod["status"]["nominatedNodeName"] = json!(node);
        pod
    }

    /// The object on a node.
    pub fn on(&self, node: &str, phase: &str) -> Value {
        let mut pod = self.pending();
        pod["spec"]["nodeName"] = json!(node);
        pod["status"]["phase"] = json!(phase);
        pod
    }
}
