//! The closed list of kinds that Berth watches.

use super::group::Source;
use super::group::source::ObjectKind;

/// One watched kind. The order is the order in which people see them in `/readyz` and metrics.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Kind {
    /// Nodes, with their labels and taints.
    Node,
    /// Pods that have not finished.
    Pod,
    /// Namespaces, for their labels.
    Namespace,
    /// Services, whose selectors define what is spread.
    Service,
    /// Replication controllers.
    ReplicationController,
    /// Replica sets.
    ReplicaSet,
    /// Stateful sets.
    StatefulSet,
    /// Claims of volumes, which tie members of groups to nodes.
    PersistentVolumeClaim,
    /// The volumes behind them.
    PersistentVolume,
    /// Where volumes are made that do not exist yet.
    StorageClass,
    /// What members of groups will request that say nothing.
    LimitRange,
    /// What members of groups may use that do not exist yet.
    ResourceQuota,
    /// How important members of groups will be that do not exist yet.
    PriorityClass,
    /// Objects that stand behind the groups of a source, see [`Source::kind`].
    Group(GroupKind),
}

/// The kind of the objects that stand behind the groups of one source.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct GroupKind {
    source: Source,
    kind: &'static ObjectKind,
}

impl GroupKind {
    /// The kind of a source's objects, if it has any.
    pub(super) const fn of(source: Source) -> Option<Self> {
        match source.object_kind() {
            Some(kind) => Some(Self { source, kind }),
            None => None,
        }
    }

    /// Whose kind it is.
    pub(crate) const fn source(self) -> Source {
        self.source
    }

    /// Only objects with this label are of interest.
    pub(crate) const fn with_label(self) -> Option<&'static str> {
        self.kind.with_label
    }
}

/// The kinds that do not depend on group sources.
const PLAIN: [Kind; 13] = [
    Kind::Node,
    Kind::Pod,
    Kind::Namespace,
    Kind::Service,
    Kind::ReplicationController,
    Kind::ReplicaSet,
    Kind::StatefulSet,
    Kind::PersistentVolumeClaim,
    Kind::PersistentVolume,
    Kind::StorageClass,
    Kind::LimitRange,
    Kind::ResourceQuota,
    Kind::PriorityClass,
];

impl Kind {
    /// Every kind: first those that do not depend on group sources, then those of the sources, in their order.
    pub const ALL: [Kind; PLAIN.len() + Source::KINDS] = {
        let mut all = [Kind::Node; PLAIN.len() + Source::KINDS];
        let mut at = 0;
        while at < PLAIN.len() {
            all[at] = PLAIN[at];
            at += 1;
        }
        let mut source = 0;
        while source < Source::ALL.len() {
            if let Some(kind) = Source::ALL[source].kind() {
                all[at] = kind;
                at += 1;
            }
            source += 1;
        }
        all
    };

    /// The name used in metric labels, logs and `/readyz`.
    pub const fn label(self) -> &'static str {
        match self {
            Kind::Node => "Node",
            Kind::Pod => "Pod",
            Kind::Namespace => "Namespace",
            Kind::Service => "Service",
            Kind::ReplicationController => "ReplicationController",
            Kind::ReplicaSet => "ReplicaSet",
            Kind::StatefulSet => "StatefulSet",
            Kind::PersistentVolumeClaim => "PersistentVolumeClaim",
            Kind::PersistentVolume => "PersistentVolume",
            Kind::StorageClass => "StorageClass",
            Kind::LimitRange => "LimitRange",
            Kind::ResourceQuota => "ResourceQuota",
            Kind::PriorityClass => "PriorityClass",
            Kind::Group(kind) => kind.kind.name,
        }
    }

    /// The API group; empty for the core group.
    pub const fn group(self) -> &'static str {
        match self {
            Kind::Node
            | Kind::Pod
            | Kind::Namespace
            | Kind::Service
            | Kind::ReplicationController
            | Kind::PersistentVolumeClaim
            | Kind::PersistentVolume
            | Kind::LimitRange
            | Kind::ResourceQuota => "",
            Kind::ReplicaSet | Kind::StatefulSet => "apps",
            Kind::StorageClass => "storage.k8s.io",
            Kind::PriorityClass => "scheduling.k8s.io",
            Kind::Group(kind) => kind.kind.group,
        }
    }

    /// The plural name in API paths.
    pub const fn plural(self) -> &'static str {
        match self {
            Kind::Node => "nodes",
            Kind::Pod => "pods",
            Kind::Namespace => "namespaces",
            Kind::Service => "services",
            Kind::ReplicationController => "replicationcontrollers",
            Kind::ReplicaSet => "replicasets",
            Kind::StatefulSet => "statefulsets",
            Kind::PersistentVolumeClaim => "persistentvolumeclaims",
            Kind::PersistentVolume => "persistentvolumes",
            Kind::StorageClass => "storageclasses",
            Kind::LimitRange => "limitranges",
            Kind::ResourceQuota => "resourcequotas",
            Kind::PriorityClass => "priorityclasses",
            Kind::Group(kind) => kind.kind.plural,
        }
    }

    /// Whether every cluster serves it. The others are watched where they are installed.
    pub const fn is_built_in(self) -> bool {
        match self {
            Kind::Group(kind) => kind.kind.built_in,
            Kind::Node
            | Kind::Pod
            | Kind::Namespace
            | Kind::Service
            | Kind::ReplicationController
            | Kind::ReplicaSet
            | Kind::StatefulSet
            | Kind::PersistentVolumeClaim
            | Kind::PersistentVolume
            | Kind::StorageClass
            | Kind::LimitRange
            | Kind::ResourceQuota
            | Kind::PriorityClass => true,
        }
    }

    /// Whether all it tells is what members of replica groups demand: where there are no groups it is not watched.
    pub const fn is_for_members(self) -> bool {
        match self {
            Kind::PersistentVolumeClaim
            | Kind::PersistentVolume
            | Kind::StorageClass
            | Kind::LimitRange
            | Kind::ResourceQuota
            | Kind::PriorityClass => true,
            Kind::Node
            | Kind::Pod
            | Kind::Namespace
            | Kind::Service
            | Kind::ReplicationController
            | Kind::ReplicaSet
            | Kind::StatefulSet
            | Kind::Group(_) => false,
        }
    }

    /// The kind of an object by its `apiVersion` and `kind`; any version of the group will do.
    pub fn recognise(api_version: &str, kind: &str) -> Option<Kind> {
        let group = api_version.split_once('/').map_or("", |(group, _)| group);
        Kind::ALL.into_iter().find(|k| k.label() == kind && k.group() == group)
    }

    /// Position in [`Kind::ALL`], for tables with one row per kind.
    pub fn index(self) -> usize {
        Kind::ALL.iter().position(|kind| *kind == self).unwrap_or_default()
    }
}

#[cfg(test)]
mod tests {
    use super::{Kind, Source};

    #[test]
    fn no_two_kinds_are_alike() {
        for (position, kind) in Kind::ALL.into_iter().enumerate() {
            assert_eq!(kind.index(), position);
            assert_eq!(Kind::recognise(&format!("{}/v1", kind.group()), kind.label()), Some(kind));
            assert!(Kind::ALL[..position].iter().all(|known| known.label() != kind.label()), "{kind:?}");
        }
    }

    #[test]
    fn kinds_are_recognised_by_group_and_name() {
        for (api_version, kind, expected) in [
            ("v1", "Pod", Some(Kind::Pod)),
            ("apps/v1", "ReplicaSet", Some(Kind::ReplicaSet)),
            ("extensions/v1beta1", "ReplicaSet", None),
            ("jobset.x-k8s.io/v1alpha2", "JobSet", None),
            ("scheduling.x-k8s.io/v1alpha1", "PodGroup", Source::PodGroup.kind()),
            ("scheduling.k8s.io/v1alpha2", "PodGroup", None),
            ("batch/v1", "Job", Source::JobSet.kind()),
            ("leaderworkerset.x-k8s.io/v1", "LeaderWorkerSet", Source::LeaderWorkerSet.kind()),
            ("v1", "PersistentVolumeClaim", Some(Kind::PersistentVolumeClaim)),
            ("storage.k8s.io/v1", "StorageClass", Some(Kind::StorageClass)),
            ("v1", "ResourceQuota", Some(Kind::ResourceQuota)),
            ("scheduling.k8s.io/v1", "PriorityClass", Some(Kind::PriorityClass)),
            ("v1", "ConfigMap", None),
        ] {
            assert_eq!(Kind::recognise(api_version, kind), expected, "{api_version} {kind}");
        }
    }
}
