//! The closed list of kinds that Berth watches.

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
    /// Pod disruption budgets.
    PodDisruptionBudget,
    /// Jobs that belong to a `JobSet`.
    Job,
    /// `LeaderWorkerSet` objects, when that API is installed.
    LeaderWorkerSet,
    /// `JobSet` objects, when that API is installed.
    JobSet,
    /// Coscheduling pod groups, when that API is installed.
    PodGroup,
}

impl Kind {
    /// Every kind, required ones first.
    pub const ALL: [Kind; 12] = [
        Kind::Node,
        Kind::Pod,
        Kind::Namespace,
        Kind::Service,
        Kind::ReplicationController,
        Kind::ReplicaSet,
        Kind::StatefulSet,
        Kind::PodDisruptionBudget,
        Kind::Job,
        Kind::LeaderWorkerSet,
        Kind::JobSet,
        Kind::PodGroup,
    ];

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
            Kind::PodDisruptionBudget => "PodDisruptionBudget",
            Kind::Job => "Job",
            Kind::LeaderWorkerSet => "LeaderWorkerSet",
            Kind::JobSet => "JobSet",
            Kind::PodGroup => "PodGroup",
        }
    }

    /// The API group; empty for the core group.
    pub const fn group(self) -> &'static str {
        match self {
            Kind::Node | Kind::Pod | Kind::Namespace | Kind::Service | Kind::ReplicationController => "",
            Kind::ReplicaSet | Kind::StatefulSet => "apps",
            Kind::PodDisruptionBudget => "policy",
            Kind::Job => "batch",
            Kind::LeaderWorkerSet => "leaderworkerset.x-k8s.io",
            Kind::JobSet => "jobset.x-k8s.io",
            Kind::PodGroup => "scheduling.x-k8s.io",
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
            Kind::PodDisruptionBudget => "poddisruptionbudgets",
            Kind::Job => "jobs",
            Kind::LeaderWorkerSet => "leaderworkersets",
            Kind::JobSet => "jobsets",
            Kind::PodGroup => "podgroups",
        }
    }

    /// Whether every cluster serves it. The others are watched where they are installed.
    pub const fn is_built_in(self) -> bool {
        !matches!(self, Kind::LeaderWorkerSet | Kind::JobSet | Kind::PodGroup)
    }

    /// The kind of an object by its `apiVersion` and `kind`; any version of the group will do.
    pub fn recognise(api_version: &str, kind: &str) -> Option<Kind> {
        let group = api_version.split_once('/').map_or("", |(group, _)| group);
        Kind::ALL.into_iter().find(|k| k.label() == kind && k.group() == group)
    }

    /// Position in [`Kind::ALL`], for tables with one row per kind.
    pub const fn index(self) -> usize {
        self as usize
    }
}

#[cfg(test)]
mod tests {
    use super::Kind;

    #[test]
    fn the_table_is_in_declaration_order() {
        for (position, kind) in Kind::ALL.into_iter().enumerate() {
            assert_eq!(kind.index(), position);
        }
    }

    #[test]
    fn kinds_are_recognised_by_group_and_name() {
        for (api_version, kind, expected) in [
            ("v1", "Pod", Some(Kind::Pod)),
            ("apps/v1", "ReplicaSet", Some(Kind::ReplicaSet)),
            ("extensions/v1beta1", "ReplicaSet", None),
            ("jobset.x-k8s.io/v1alpha2", "JobSet", Some(Kind::JobSet)),
            ("scheduling.x-k8s.io/v1alpha1", "PodGroup", Some(Kind::PodGroup)),
            ("scheduling.k8s.io/v1alpha2", "PodGroup", None),
            ("batch/v1", "Job", Some(Kind::Job)),
            ("v1", "ConfigMap", None),
        ] {
            assert_eq!(Kind::recognise(api_version, kind), expected, "{api_version} {kind}");
        }
    }
}
