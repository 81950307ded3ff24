//! The objects that say which pods belong together.

use std::sync::Arc;

use super::{AntiAffinityTerm, Kind, Labels, Name, Node, ObjectKey, Pod, Requirements, Resources, Selector};

/// What Berth keeps of a Service.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Service {
    /// Namespace and name.
    pub key: ObjectKey,
    /// Its selector; empty selects nothing.
    pub selector: Labels,
}

/// What Berth keeps of a `ReplicationController`, `ReplicaSet` or `StatefulSet`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Workload {
    /// Namespace and name.
    pub key: ObjectKey,
    /// Which pods it owns.
    pub selector: Selector,
}

/// What Berth keeps of a `PodDisruptionBudget`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DisruptionBudget {
    /// Namespace and name.
    pub key: ObjectKey,
    /// Which pods it protects; absent protects none.
    pub selector: Option<Selector>,
    /// How many evictions it still allows.
    pub disruptions_allowed: i32,
}

/// What Berth keeps of a Namespace.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Namespace {
    /// Its name (the namespace part is empty).
    pub key: ObjectKey,
    /// Its labels.
    pub labels: Labels,
}

/// What Berth keeps of a `LeaderWorkerSet`, `JobSet`, coscheduling `PodGroup`, or `Job` of a `JobSet`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct GroupObject {
    /// Namespace and name.
    pub key: ObjectKey,
    /// How many pods make one group, where the object says so.
    pub size: Option<u32>,
    /// Whether losing one pod makes its whole group start anew.
    pub restarts_together: bool,
    /// What its leaders will look like, where they differ from its workers.
    pub leader: Option<Arc<Template>>,
    /// What its workers will look like.
    pub worker: Option<Arc<Template>>,
}

impl GroupObject {
    /// One of which only the name is known.
    pub fn named(key: ObjectKey) -> Self {
        Self { key, size: None, restarts_together: true, leader: None, worker: None }
    }
}

/// A pod that does not exist yet.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Template {
    /// Its labels, but for those that tell pods of one template apart.
    pub labels: Labels,
    /// What it will ask for.
    pub requests: Arc<Resources>,
    /// What it will ask of a node.
    pub requirements: Arc<Requirements>,
    /// Its terms of required anti-affinity.
    pub anti_affinity: Option<Arc<[AntiAffinityTerm]>>,
}

/// Any watched object.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Object {
    /// A node.
    Node(Arc<Node>),
    /// A pod.
    Pod(Arc<Pod>),
    /// A namespace.
    Namespace(Arc<Namespace>),
    /// A service.
    Service(Arc<Service>),
    /// A controller of the given kind.
    Workload(Kind, Arc<Workload>),
    /// A disruption budget.
    DisruptionBudget(Arc<DisruptionBudget>),
    /// A group object of the given kind.
    Group(Kind, Arc<GroupObject>),
}

impl Object {
    /// The object's kind.
    pub fn kind(&self) -> Kind {
        match self {
            Object::Node(_) => Kind::Node,
            Object::Pod(_) => Kind::Pod,
            Object::Namespace(_) => Kind::Namespace,
            Object::Service(_) => Kind::Service,
            Object::Workload(kind, _) | Object::Group(kind, _) => *kind,
            Object::DisruptionBudget(_) => Kind::PodDisruptionBudget,
        }
    }

    /// The object's namespace and name.
    pub fn key(&self) -> ObjectKey {
        match self {
            Object::Node(node) => ObjectKey { namespace: Name::from(""), name: node.name.clone() },
            Object::Pod(pod) => pod.key.clone(),
            Object::Namespace(object) => object.key.clone(),
            Object::Service(object) => object.key.clone(),
            Object::Workload(_, object) => object.key.clone(),
            Object::DisruptionBudget(object) => object.key.clone(),
            Object::Group(_, object) => object.key.clone(),
        }
    }
}
