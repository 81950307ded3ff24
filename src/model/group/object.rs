//! What Berth keeps of the objects that stand behind groups.

use std::sync::Arc;

use super::TopologyRequest;
use crate::model::pod_requests::{Amounts, Named};
use crate::model::{
    AntiAffinityTerm, Labels, Name, ObjectKey, PodConstraints, PodRequests, Requirements, Resources,
    TemplateVolume,
};

/// What Berth keeps of an object that stands behind groups, such as a `LeaderWorkerSet`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct GroupObject {
    /// Namespace and name.
    pub key: ObjectKey,
    /// How many pods make one group, where the object says so for all its groups alike.
    pub size: Option<u32>,
    /// Whether losing one pod makes its whole group start anew.
    pub restarts_together: bool,
    /// Where the object wants its groups to be. Pods and their templates may say otherwise.
    pub topology: TopologyRequest,
    /// The roles of its pods, in the order in which the object lists them.
    pub roles: Box<[Role]>,
    /// What others have to say who refer to it; absent where a file does not tell.
    pub identity: Option<Identity>,
    /// Whether its groups are to have a Service each, if it says so itself.
    pub wants_services: Option<bool>,
    /// Whether its own controller makes a Service for each of its groups.
    pub makes_services: bool,
}

/// Which object it is, whatever others have had its name before.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Identity {
    /// The API group and version in which it was read.
    pub api_version: Name,
    /// Its UID.
    pub uid: Name,
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
            identity: None,
            wants_services: None,
            makes_services: false,
        }
    }

    /// Its templates ask for this wherever their containers say nothing, and for nothing else that was filled in before.
    pub fn fill_in(&mut self, defaults: &Amounts<Name>) {
        for role in &mut self.roles {
            for template in [&mut role.leader, &mut role.worker].into_iter().flatten() {
                Arc::make_mut(template).fill_in(defaults);
            }
        }
    }

    /// The templates of all its roles, a leader's before those of its workers.
    pub fn templates(&self) -> impl Iterator<Item = &Template> {
        self.roles.iter().flat_map(Role::templates)
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

    /// Its templates, the leader's first.
    pub fn templates(&self) -> impl Iterator<Item = &Template> {
        [&self.leader, &self.worker].into_iter().flatten().map(|template| &**template)
    }

    /// What the pod of that number among those that fill the role once will look like.
    pub fn template(&self, number: u32) -> Option<&Template> {
        let leader = self.leader.as_ref().filter(|_| number == 0);
        leader.or(self.worker.as_ref()).map(|template| &**template)
    }
}

/// A pod that does not exist yet.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Template {
    /// Its labels, but for those that tell pods of one template apart.
    pub labels: Labels,
    /// Those of its annotations that may say something about a group.
    pub annotations: Labels,
    /// What it will ask for.
    pub requests: Arc<Resources>,
    /// What its containers will ask for, if nobody adds to it.
    pub by_container: Arc<PodRequests<Name>>,
    /// What quotas want to know of that beside amounts.
    pub named: Named,
    /// What it will ask of a node.
    pub requirements: Arc<Requirements>,
    /// Its terms of required anti-affinity.
    pub anti_affinity: Option<Arc<[AntiAffinityTerm]>>,
    /// What else it will ask for; its claims stand with its volumes.
    pub constraints: Option<Arc<PodConstraints>>,
    /// Its volumes that are claimed.
    pub volumes: Box<[TemplateVolume]>,
    /// The name of its priority class.
    pub priority_class: Option<Name>,
    /// Its priority, if it says so itself.
    pub priority: Option<i32>,
    /// Whether others may be evicted for it, if it says so itself.
    pub may_preempt: Option<bool>,
    /// Whether it may run for a certain time only.
    pub has_deadline: bool,
}

impl Template {
    /// What it will ask for where containers that say nothing ask for this.
    fn fill_in(&mut self, defaults: &Amounts<Name>) {
        let mut requests = PodRequests::clone(&self.by_container);
        requests.fill_in(defaults);
        self.requests = Arc::new(requests.to_resources());
        self.named = requests.named();
    }
}
