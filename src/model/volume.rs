//! Claims of persistent volumes, and where the volumes behind them let pods be.

use std::sync::Arc;

use super::{Name, Node, ObjectKey, Requirements};

/// What Berth keeps of a `PersistentVolumeClaim`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct VolumeClaim {
    /// Namespace and name.
    pub key: ObjectKey,
    /// The volume that it is bound to, or is to be bound to.
    pub volume: Option<Name>,
    /// Its storage class.
    pub class: Option<Name>,
    /// The one node that kube-scheduler chose for its first pod, while its volume is being made there.
    pub selected_node: Option<Arc<Requirements>>,
}

/// What Berth keeps of a `PersistentVolume`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PersistentVolume {
    /// Its name (the namespace part is empty).
    pub key: ObjectKey,
    /// From which nodes it can be reached; all of these have to allow the node.
    pub reachable: Box<[Arc<Requirements>]>,
}

/// What Berth keeps of a `StorageClass`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StorageClass {
    /// Its name (the namespace part is empty).
    pub key: ObjectKey,
    /// Whether volumes are made only when a pod that uses them is placed.
    pub waits_for_consumer: bool,
    /// Where volumes can be made, if not everywhere.
    pub allowed_topologies: Option<Arc<Requirements>>,
}

/// Where a pod can be for the sake of its volumes: every one of these has to allow the node.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct VolumeAffinity(Arc<[Arc<Requirements>]>);

impl VolumeAffinity {
    /// What all of these together allow; `None` if that is every node.
    pub fn of(all: Vec<Arc<Requirements>>) -> Option<Self> {
        (!all.is_empty()).then(|| Self(all.into()))
    }

    /// Whether all volumes can be reached from a node, or made there.
    pub fn allows(&self, node: &Node) -> bool {
        self.0.iter().all(|requirements| requirements.allow(node))
    }
}

/// How a claim is named that a pod will use which does not exist yet.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ClaimName {
    /// So.
    Fixed(Name),
    /// This, a dash, and the name of the pod: made from a template of claims.
    BeforePod(Name),
    /// The name of the pod, a dash, and this: made for an ephemeral volume.
    AfterPod(Name),
}

impl ClaimName {
    /// The claim's name, for a pod of this name, if it is known.
    pub fn of_pod(&self, pod: Option<&str>) -> Option<Name> {
        match (self, pod) {
            (ClaimName::Fixed(name), _) => Some(name.clone()),
            (ClaimName::BeforePod(claim), Some(pod)) => Some(format!("{claim}-{pod}").into()),
            (ClaimName::AfterPod(volume), Some(pod)) => Some(format!("{pod}-{volume}").into()),
            (ClaimName::BeforePod(_) | ClaimName::AfterPod(_), None) => None,
        }
    }
}

/// A volume of a pod that does not exist yet, and the claim behind it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TemplateVolume {
    /// The volume's name within the pod.
    pub name: Name,
    /// The claim.
    pub claim: ClaimName,
}
