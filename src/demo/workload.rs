//! The demo's workloads, as Kubernetes would show them.

use serde_json::{Value, json};

/// Where they all live.
pub const NAMESPACE: &str = "shop";

/// The label that tells the rack of a node.
pub const RACK: &str = "example.com/rack";

/// Pods that are made from one template.
#[derive(Clone, Copy, Debug)]
pub struct Workload {
    /// The Service, and the value of the label `app`.
    pub app: &'static str,
    /// The controller's kind: `ReplicaSet` (a Deployment's, say), `StatefulSet`, or `Job`, which nobody spreads.
    kind: &'static str,
    /// The controller's name, with which its pods' names begin.
    controller: &'static str,
    /// How many pods it wants.
    pub replicas: usize,
    /// How important they are.
    pub priority: i32,
    /// What its pods are to each other.
    pub company: Company,
}

/// What the pods of a workload are to each other.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Company {
    /// Nothing: each is of use alone.
    None,
    /// One replica of a `LeaderWorkerSet`, of use only together, wherever they are.
    Replica,
    /// The same, and all in one rack.
    ReplicaInOneRack,
}

const ORDINARY: Workload = Workload {
    app: "",
    kind: "ReplicaSet",
    controller: "",
    replicas: 0,
    priority: 100,
    company: Company::None,
};

/// Most of a rack, for it has twenty places: two of these do not go into one.
const LARGE_REPLICA: Workload =
    Workload { kind: "StatefulSet", replicas: 16, company: Company::ReplicaInOneRack, ..ORDINARY };

/// Running before the story begins.
pub const CACHE: Workload = Workload { app: "cache", controller: "cache-5d8", replicas: 12, ..ORDINARY };
/// The large one to be placed.
pub const WEB: Workload = Workload { app: "web", controller: "web-7c9f4", replicas: 150, ..ORDINARY };
/// The small one to be placed.
pub const DB: Workload =
    Workload { app: "db", kind: "StatefulSet", controller: "db", replicas: 6, ..ORDINARY };
/// A model served by many pods in one rack.
pub const ALPHA: Workload = Workload { app: "alpha", controller: "alpha-0", ..LARGE_REPLICA };
/// Another one, as large.
pub const BETA: Workload = Workload { app: "beta", controller: "beta-0", ..LARGE_REPLICA };
/// Pods that come one by one and have nothing to do with each other.
pub const CRON: Workload =
    Workload { app: "cron", kind: "Job", controller: "cron-28", replicas: 8, ..ORDINARY };
/// A model served by four pods that are of use only together, and the least important of all.
pub const LLM: Workload = Workload {
    app: "llm",
    kind: "StatefulSet",
    controller: "llm-0",
    replicas: 4,
    priority: 10,
    company: Company::Replica,
};
/// What takes the last places.
pub const BATCH: Workload =
    Workload { app: "batch", controller: "batch-66b", replicas: 64, priority: 50, ..ORDINARY };
/// One pod that cannot wait.
pub const URGENT: Workload =
    Workload { app: "urgent", controller: "urgent-9f2", replicas: 1, priority: 1000, ..ORDINARY };

/// All of them.
pub const ALL: [Workload; 9] = [CACHE, WEB, DB, ALPHA, BETA, CRON, LLM, BATCH, URGENT];

/// One pod.
#[derive(Clone, Debug)]
pub struct Pod {
    /// Its name.
    pub name: String,
    /// Which one of its workload's.
    pub number: usize,
    /// Whose it is.
    pub workload: Workload,
}

impl Workload {
    /// Its pods, in the order in which they are placed.
    pub fn pods(self) -> impl Iterator<Item = Pod> {
        let pod = move |number| Pod { name: format!("{}-{number}", self.controller), number, workload: self };
        (0..self.replicas).map(pod)
    }

    /// Its Service, its controller and its `LeaderWorkerSet`, where Berth has to know them.
    pub fn objects(self) -> Vec<Value> {
        if self.kind == "Job" {
            return Vec::new();
        }
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
        let set = (self.company != Company::None).then(|| self.leader_worker_set());
        [service, controller].into_iter().chain(set).collect()
    }

    /// The set that its pods are the only replica of. It tells what those ask for that do not exist yet.
    fn leader_worker_set(self) -> Value {
        let container = json!({"name": self.app, "image": self.app});
        let template = json!({"spec": {"containers": [container], "priority": self.priority}});
        json!({
            "apiVersion": "leaderworkerset.x-k8s.io/v1", "kind": "LeaderWorkerSet",
            "metadata": {"namespace": NAMESPACE, "name": self.app},
            "spec": {"leaderWorkerTemplate": {"size": self.replicas, "workerTemplate": template}},
        })
    }
}

impl Pod {
    /// What tells it from a later pod of the same name.
    pub fn uid(&self) -> String {
        format!("uid-{}", self.name)
    }

    /// The object while it is on no node.
    pub fn pending(&self) -> Value {
        let Workload { app, kind, controller, replicas, priority, company } = self.workload;
        let mut labels = json!({"app": app});
        let mut annotations = json!({});
        if company != Company::None {
            labels["leaderworkerset.sigs.k8s.io/name"] = json!(app);
            labels["leaderworkerset.sigs.k8s.io/group-index"] = json!("0");
            labels["leaderworkerset.sigs.k8s.io/worker-index"] = json!(self.number.to_string());
            annotations["leaderworkerset.sigs.k8s.io/size"] = json!(replicas.to_string());
        }
        if company == Company::ReplicaInOneRack {
            annotations["berth.dev/required-topology"] = json!(RACK);
        }
        json!({
            "apiVersion": "v1", "kind": "Pod",
            "metadata": {
                "namespace": NAMESPACE, "name": self.name, "uid": self.uid(),
                "labels": labels, "annotations": annotations,
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
