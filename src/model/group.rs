//! Replica groups: pods that are of use only together, such as one leader and its workers.

pub(crate) mod fields;
mod object;
pub mod recognition;
pub(crate) mod service_terms;
pub(crate) mod source;
mod sources;
pub(crate) mod unique_nodes;

use std::sync::Arc;

pub use self::object::{GroupObject, Identity, Role, Template};
pub use self::recognition::Recogniser;
pub(crate) use self::source::DescribedBy;
pub use self::sources::Source;
pub(crate) use self::sources::keys;
pub use self::unique_nodes::{Said, UniqueNodes, UniqueNodesRule};
use super::{Name, ObjectKey};

/// The identity of a group.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct GroupKey {
    /// Who says so.
    pub source: Source,
    /// The namespace, and the name of the set that the group belongs to, or its own.
    pub set: ObjectKey,
    /// Which group of the set; empty where the name says it all.
    pub index: Name,
    /// Which incarnation of it; empty where incarnations cannot be told apart. Members of an old one are on their way
    /// out, and are no members of the new one.
    pub revision: Name,
}

/// What tells which member of a group is the first, and what it is called.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum FirstMember {
    /// It is called so, or known by that name, as every member's labels tell.
    Called(Name),
    /// It is the one with number 0, if members carry numbers.
    Numbered,
    /// Members are named by chance, or in no order.
    Nobody,
}

/// A pod's part in a group, as the pod itself tells it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Membership {
    /// The group.
    pub group: Arc<GroupKey>,
    /// How many members there are to be; absent if another object says so, or nobody.
    pub size: Option<u32>,
    /// Which of them it is; 0 is the leader, where there is one.
    pub index: Option<u32>,
    /// Where the group is to be.
    pub topology: TopologyRequest,
    /// The part of the group that it belongs to, if the group has parts.
    pub subgroup: Option<Subgroup>,
    /// What is said of its topology and does not count.
    pub overruled: Option<Overruled>,
    /// Whether its group is to have nodes of its own.
    pub unique_nodes: Option<UniqueNodes>,
}

/// What is said of a group's topology and does not count.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Overruled {
    /// Templates of one group name different topologies. The first one counts for all members, the leader's.
    Contradiction,
    /// The annotations of a member that runs are not those that it was placed by.
    RunningMember,
    /// A domain is wanted that is nobody else's, and of no topology.
    ExclusiveOfNothing,
}

impl Membership {
    /// Whether it matters where the group is. Otherwise its pods are placed one by one, as if they were no group.
    pub fn has_topology_request(&self) -> bool {
        !self.topology.is_none() || self.subgroup.is_some()
    }
}

/// Where a group is to be.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct TopologyRequest {
    /// All members in one domain of this topology key, or nowhere.
    pub required: Option<Name>,
    /// All members in one domain of this topology key, if possible.
    pub preferred: Option<Name>,
    /// Which other groups must not be in the same domain.
    pub exclusive: Option<Scope>,
}

impl TopologyRequest {
    /// This, and where it says nothing the other.
    pub fn or(self, other: &Self) -> Self {
        Self {
            required: self.required.or_else(|| other.required.clone()),
            preferred: self.preferred.or_else(|| other.preferred.clone()),
            exclusive: self.exclusive.or(other.exclusive),
        }
    }

    /// Whether nothing is wished for.
    pub fn is_none(&self) -> bool {
        self.required.is_none() && self.preferred.is_none()
    }
}

/// Among which groups one wants to be alone in its domain.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Scope {
    /// Those of the same set.
    Set,
    /// Those of the same namespace.
    Namespace,
    /// All.
    Cluster,
}

impl Scope {
    /// Whether a group that wants to be alone objects to the other one.
    pub fn covers(self, own: &GroupKey, other: &GroupKey) -> bool {
        let namespace = own.set.namespace == other.set.namespace;
        own.incarnation_of() != other.incarnation_of()
            && match self {
                Scope::Set => namespace && own.source == other.source && own.set.name == other.set.name,
                Scope::Namespace => namespace,
                Scope::Cluster => true,
            }
    }
}

impl GroupKey {
    /// What all incarnations of a group have in common.
    fn incarnation_of(&self) -> (Source, &ObjectKey, &Name) {
        (self.source, &self.set, &self.index)
    }

    /// Whether both belong to one set.
    pub fn is_of_same_set(&self, other: &GroupKey) -> bool {
        self.source == other.source && self.set == other.set
    }
}

/// A part of a group that is to be in one domain of a narrower topology.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Subgroup {
    /// Which part.
    pub index: u32,
    /// How many members a part has.
    pub size: u32,
    /// The topology key of which each part has a domain to itself.
    pub topology: Name,
    /// Whether the leader is in no part.
    pub leader_excluded: bool,
}

impl Subgroup {
    /// The part that a member of a group of `size` belongs to. If the leader is one too many for even parts, it joins
    /// the first.
    pub fn of_member(&self, member: u32, size: u32) -> Option<u32> {
        let parts = self.size.max(1);
        let leader_extra = size.saturating_sub(1).is_multiple_of(parts);
        match (member, self.leader_excluded) {
            (0, true) => None,
            (0, false) => Some(0),
            (member, excluded) if excluded || leader_extra => Some((member - 1) / parts),
            (member, _) => Some(member / parts),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{GroupKey, Name, ObjectKey, Scope, Source, Subgroup};

    fn group(source: Source, namespace: &str, set: &str, index: &str, revision: &str) -> GroupKey {
        let set = ObjectKey::new(namespace, set);
        GroupKey { source, set, index: Name::from(index), revision: Name::from(revision) }
    }

    #[test]
    fn who_wants_to_be_alone_objects_to_others_within_the_scope_only() {
        let own = group(Source::LeaderWorkerSet, "ns", "llm", "0", "a");
        let earlier = group(Source::LeaderWorkerSet, "ns", "llm", "0", "b");
        let sibling = group(Source::LeaderWorkerSet, "ns", "llm", "1", "a");
        let neighbour = group(Source::Kueue, "ns", "llm", "", "");
        let stranger = group(Source::LeaderWorkerSet, "other", "llm", "0", "a");
        for (scope, covered) in [(Scope::Set, 1), (Scope::Namespace, 2), (Scope::Cluster, 3)] {
            let others = [&sibling, &neighbour, &stranger];
            let objects: Vec<_> = others.iter().map(|other| scope.covers(&own, other)).collect();
            assert_eq!(objects, [covered >= 1, covered >= 2, covered >= 3], "{scope:?}");
            assert!(!scope.covers(&own, &own) && !scope.covers(&own, &earlier), "{scope:?}");
        }
    }

    #[test]
    fn parts_of_a_group_as_leader_worker_sets_number_them() {
        let parts =
            |size, leader_excluded| Subgroup { index: 0, size, topology: "rack".into(), leader_excluded };
        let of =
            |parts: Subgroup, size| (0..size).map(|member| parts.of_member(member, size)).collect::<Vec<_>>();
        assert_eq!(of(parts(2, false), 4), [Some(0), Some(0), Some(1), Some(1)]);
        assert_eq!(of(parts(2, false), 5), [Some(0), Some(0), Some(0), Some(1), Some(1)]);
        assert_eq!(of(parts(2, true), 5), [None, Some(0), Some(0), Some(1), Some(1)]);
        assert_eq!(of(parts(0, false), 2), [Some(0), Some(0)], "a size of zero is taken as one");
    }
}
