//! What Berth keeps of the objects that stand behind groups.

use std::sync::Arc;

use super::TopologyRequest;
use crate::model::{AntiAffinityTerm, Labels, Name, ObjectKey, Requirements, Resources};

/// What Berth keeps of an object that stands behind groups, such as a `LeaderWorkerSet`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct GroupObject {
    /// Namespace and name.
    pub key: ObjectKey,
    /// How many pods make one group, where the object says so for all its groups alike.
    pub size: Option<u32>,
    /// Whether losing one pod makes its whole group start anew.
    pub restarts_together: bool,
    /// Where the object wants its groups to be. Pods may say otherwise.
    pub topology: TopologyRequest,
    /// The roles of its pods, in the order in which the object lists them.
    pub roles: Box<[Role]>,
}

impl GroupObject {
    /// One of which only the name is known.
    pub fn named(key: ObjectKey) -> Self {
        Self {
            key,
            size: None,
            restarts_together: true,
            topology: TopologyRequest::default(),
            roles: Box::default(),
        }
    }

    /// The role of that name.
    pub fn role(&self, name: &str) -> Option<&Role> {
        self.roles.iter().find(|role| *role.name == *name)
    }
}

/// Pods of one object that have the same purpose, such as all workers of one worker group.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Role {
    /// Its name; empty if the object has one role only.
    pub name: Name,
    /// How often the role is filled within one group.
    pub replicas: u32,
    /// How many pods fill it once.
    pub size: u32,
    /// What the first of those pods will look like, where it differs from the others.
    pub leader: Option<Arc<Template>>,
    /// What the others will look like.
    pub worker: Option<Arc<Template>>,
}

impl Role {
    /// How many pods of this role a group has.
    pub fn members(&self) -> u32 {
        self.replicas.saturating_mul(self.size)
    }

    /// What the pod of that number among those that fill the role once will look like.
    pub fn template(&self, number: u32) -> Option<&Template> {
        let leader = self.leader.as_ref().filter(|_| number == 0);
        leader.or(self.worker.as_ref()).map(|template| &**template)
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
