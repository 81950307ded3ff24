//! The objects that say which pods are spread, and any watched object.

use std::sync::Arc;

use super::kind::GroupKind;
use super::{
    GroupObject, Kind, Labels, LimitRange, ManagedService, Name, Node, ObjectKey, PersistentVolume, Pod,
    PriorityClass, ResourceQuota, Selector, StorageClass, VolumeClaim,
};

/// What Berth keeps of a Service.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Service {
    /// Namespace and name.
    pub key: ObjectKey,
    /// Its selector; empty selects nothing.
    pub selector: Labels,
    /// What is known of it besides, if Berth made it for a replica group.
    pub managed: Option<Arc<ManagedService>>,
}

/// What Berth keeps of a `ReplicationController`, `ReplicaSet` or `StatefulSet`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Workload {
    /// Namespace and name.
    pub key: ObjectKey,
    /// Which pods it owns.
    pub selector: Selector,
    /// How many pods it is to have, all made from one template.
    pub replicas: u32,
}

/// What Berth keeps of a Namespace.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Namespace {
    /// Its name (the namespace part is empty).
    pub key: ObjectKey,
    /// Its labels.
    pub labels: Labels,
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
    /// A claim of a volume.
    VolumeClaim(Arc<VolumeClaim>),
    /// A volume.
    PersistentVolume(Arc<PersistentVolume>),
    /// A storage class.
    StorageClass(Arc<StorageClass>),
    /// A limit range.
    LimitRange(Arc<LimitRange>),
    /// A resource quota.
    ResourceQuota(Arc<ResourceQuota>),
    /// A priority class.
    PriorityClass(Arc<PriorityClass>),
    /// An object that stands behind groups.
    Group(GroupKind, Arc<GroupObject>),
}

impl Object {
    /// The object's kind.
    pub fn kind(&self) -> Kind {
        match self {
            Object::Node(_) => Kind::Node,
            Object::Pod(_) => Kind::Pod,
            Object::Namespace(_) => Kind::Namespace,
            Object::Service(_) => Kind::Service,
            Object::Workload(kind, _) => *kind,
            Object::VolumeClaim(_) => Kind::PersistentVolumeClaim,
            Object::PersistentVolume(_) => Kind::PersistentVolume,
            Object::StorageClass(_) => Kind::StorageClass,
            Object::LimitRange(_) => Kind::LimitRange,
            Object::ResourceQuota(_) => Kind::ResourceQuota,
            Object::PriorityClass(_) => Kind::PriorityClass,
            Object::Group(kind, _) => Kind::Group(*kind),
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
            Object::VolumeClaim(object) => object.key.clone(),
            Object::PersistentVolume(object) => object.key.clone(),
            Object::StorageClass(object) => object.key.clone(),
            Object::LimitRange(object) => object.key.clone(),
            Object::ResourceQuota(object) => object.key.clone(),
            Object::PriorityClass(object) => object.key.clone(),
            Object::Group(_, object) => object.key.clone(),
        }
    }
}
