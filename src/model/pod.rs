//! A pod, as far as placing it and its neighbours is concerned.

use std::sync::Arc;

use super::{
    AntiAffinityTerm, Kind, Labels, Membership, Name, ObjectKey, PodConstraints, Requirements, Resources,
};

/// A pod's UID: the identity that survives nothing, unlike its name.
pub type Uid = Name;

/// What Berth keeps of a Pod.
#[derive(Clone, Debug, PartialEq, Eq)]
#[expect(clippy::struct_excessive_bools, reason = "facts that have nothing to do with each other")]
pub struct Pod {
    /// The pod's UID.
    pub uid: Uid,
    /// Its namespace and name; a recreated pod has the same key and another UID.
    pub key: ObjectKey,
    /// Its labels.
    pub labels: Labels,
    /// Those of its annotations that may say something about a group.
    pub annotations: Labels,
    /// Where it runs, once bound.
    pub node: Option<Name>,
    /// The node that is to take it: preemption made room there, or kube-scheduler is about to bind it to it.
    pub nominated_node: Option<Name>,
    /// Whether it has a deletion timestamp.
    pub terminating: bool,
    /// Whether it has succeeded: it takes no room any more and does not come back.
    pub finished: bool,
    /// When it was created, in seconds since the epoch.
    pub created: u32,
    /// The scheduler that is to place it.
    pub scheduler: Option<Name>,
    /// Whether it is held back from scheduling.
    pub gated: bool,
    /// The name of its priority class.
    pub priority_class: Option<Name>,
    /// Its priority; absent means 0.
    pub priority: i32,
    /// Whether nothing in it requests CPU or memory.
    pub is_best_effort: bool,
    /// Whether it may run for a certain time only.
    pub has_deadline: bool,
    /// Whether others may be evicted for it.
    pub may_preempt: bool,
    /// The object that controls it. One copy for all its pods.
    pub controller: Option<Arc<Controller>>,
    /// Its part in a replica group. Depends on the settings, so the view fills it in.
    pub group: Option<Arc<Membership>>,
    /// Whether it brings topology spread constraints of its own.
    pub has_spread_constraints: bool,
    /// Whether it is in a group that kube-scheduler itself places (`spec.schedulingGroup`).
    pub in_tree_group: bool,
    /// Fingerprint of its `PodScheduled=False` condition. kube-scheduler rewrites that condition when
    /// an attempt fails, so a change of it says that the attempt at hand is over.
    pub failed_attempt: Option<u32>,
    /// What it asks for while it is to be placed.
    pub requests: Arc<Resources>,
    /// What it takes where it is placed. The same, but for pods whose containers are being resized.
    pub allocated: Arc<Resources>,
    /// What it asks of a node.
    pub requirements: Arc<Requirements>,
    /// Its terms of required anti-affinity, if it has any.
    pub anti_affinity: Option<Arc<[AntiAffinityTerm]>>,
    /// What else it asks for, if it is one of the few that do.
    pub constraints: Option<Arc<PodConstraints>>,
}

/// The owner that controls a pod.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Controller {
    /// The API group and version, e.g. `apps/v1`.
    pub api_version: Name,
    /// Its kind.
    pub kind: Name,
    /// Its name.
    pub name: Name,
    /// Its UID: one that is made anew under the same name is another one.
    pub uid: Uid,
}

impl Pod {
    /// The UID of a pod that has none, as in a file written by hand: its name has to do.
    pub(crate) fn stand_in_uid(key: &ObjectKey) -> Uid {
        Uid::from(key.to_string())
    }

    /// Whether its UID is such a stand-in.
    pub(crate) fn has_stand_in_uid(&self) -> bool {
        self.uid == Self::stand_in_uid(&self.key)
    }

    /// The replication controller, replica set or stateful set that controls it, if one does.
    pub(crate) fn workload(&self) -> Option<(Kind, ObjectKey)> {
        let owner = self.controller.as_ref()?;
        let kind = match (&*owner.api_version, &*owner.kind) {
            ("v1" | "/v1", "ReplicationController") => Kind::ReplicationController,
            ("apps/v1", "ReplicaSet") => Kind::ReplicaSet,
            ("apps/v1", "StatefulSet") => Kind::StatefulSet,
            _ => return None,
        };
        Some((kind, ObjectKey { namespace: self.key.namespace.clone(), name: owner.name.clone() }))
    }

    /// Whether it is a member of a replica group that is placed as one.
    pub(crate) fn is_placed_with_its_group(&self) -> bool {
        self.group.as_ref().is_some_and(|membership| membership.has_topology_request())
    }

    /// Whether it is of any interest: finished ones only as members that are not to be waited for.
    pub(crate) fn is_kept(&self) -> bool {
        !self.finished || self.group.is_some()
    }

    /// A pod of which only the identity is known, as in a bind call for a pod not yet seen.
    pub fn identity_only(uid: Uid, key: ObjectKey) -> Self {
        Self {
            uid,
            key,
            labels: Labels::default(),
            annotations: Labels::default(),
            node: None,
            nominated_node: None,
            terminating: false,
            finished: false,
            created: 0,
            scheduler: None,
            gated: false,
            priority_class: None,
            priority: 0,
            is_best_effort: false,
            has_deadline: false,
            may_preempt: true,
            controller: None,
            group: None,
            has_spread_constraints: false,
            in_tree_group: false,
            failed_attempt: None,
            requests: Resources::nothing(),
            allocated: Resources::nothing(),
            requirements: Requirements::nothing(),
            anti_affinity: None,
            constraints: None,
        }
    }
}
