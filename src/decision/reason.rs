//! Reason codes: the closed set of causes for which a policy rejects a node.
//!
//! A code is stable like a field of an API: metrics, Events and people's alerts refer to it. What people read is derived
//! from it, in one place for each kind of reader: the reply to kube-scheduler in [`crate::wire`], the page of the docs
//! from [`catalogue`](super::catalogue).

macro_rules! reasons {
    ($($(#[$doc:meta])* $name:ident: $policy:ident, $nature:ident;)*) => {
        /// Why a node is rejected.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
        pub enum Reason {
            $($(#[$doc])* $name,)*
        }

        impl Reason {
            /// Every reason, for metrics that exist from the start and for the docs.
            pub const ALL: &'static [Reason] = &[$(Reason::$name,)*];

            /// The code: what metrics and Events show.
            pub const fn code(self) -> &'static str {
                match self { $(Reason::$name => stringify!($name),)* }
            }

            /// The policy whose reason it is, as metrics name it.
            pub const fn policy(self) -> &'static str {
                match self { $(Reason::$name => $policy,)* }
            }

            const fn nature(self) -> Nature {
                match self { $(Reason::$name => Nature::$nature,)* }
            }
        }
    };
}

/// The name of default spreading in metrics.
pub const TOPOLOGY_SPREAD: &str = "topology_spread";
/// The name of replica groups in metrics.
pub const REPLICA_GROUP: &str = "replica_group";

#[derive(Clone, Copy, PartialEq, Eq)]
enum Nature {
    /// No eviction on the node would help.
    Final,
    /// Evicting pods from the node may help.
    Resolvable,
    /// It follows from the worst case only: something is not known yet, and no eviction would settle it.
    Undecided,
    /// The same, but evicting pods may help.
    UndecidedResolvable,
}

reasons! {
    /// One more pod in the domain would exceed `maxSkew`.
    SkewExceeded: TOPOLOGY_SPREAD, Resolvable;
    /// It would if pods whose node is not known yet went where it is worst.
    SkewUndecided: TOPOLOGY_SPREAD, UndecidedResolvable;
    /// The node lacks the label of a `DoNotSchedule` constraint.
    SpreadLabelMissing: TOPOLOGY_SPREAD, Final;
    /// A node would do, but none of those that kube-scheduler offers: it looked at a sample.
    SpreadOutsideSample: TOPOLOGY_SPREAD, Undecided;
    /// The watch does not show the node yet.
    SpreadNodeUnknown: TOPOLOGY_SPREAD, UndecidedResolvable;
    /// Members of the group run in another domain of the required topology.
    GroupInOtherDomain: REPLICA_GROUP, Final;
    /// Another domain was chosen for the group.
    OutsideGroupDomain: REPLICA_GROUP, Final;
    /// The node lacks the label of the required topology.
    GroupLabelMissing: REPLICA_GROUP, Final;
    /// The node is in the group's domain, but its room is needed for other members.
    SlotsOfOtherMembers: REPLICA_GROUP, Final;
    /// Whether the group fits depends on a pod whose node is not known yet.
    GroupUndecided: REPLICA_GROUP, Undecided;
    /// A member runs where its domain cannot be told.
    GroupDomainUnknown: REPLICA_GROUP, Undecided;
    /// The object that tells how many members the group has is not known yet.
    GroupSizeUnknown: REPLICA_GROUP, Undecided;
    /// Members of the group do not exist yet, and nothing tells what they will ask for.
    MembersNotCreated: REPLICA_GROUP, Undecided;
    /// The volume of a member is not bound yet, or not known: nobody can tell where the group has to be.
    MemberVolumeUnknown: REPLICA_GROUP, Undecided;
    /// A member is held back by a scheduling gate.
    MemberGated: REPLICA_GROUP, Undecided;
    /// The group has room, but on none of the nodes that kube-scheduler offers: it looked at a sample.
    OutsideSample: REPLICA_GROUP, Undecided;
    /// kube-scheduler sees room for the member on the node, and the watch does not.
    CacheContradicted: REPLICA_GROUP, Undecided;
    /// The room that the pod would use is reserved for a group.
    ReservedForGroup: REPLICA_GROUP, Resolvable;
    /// It would be needed for a group if a pod whose node is not known yet took the rest.
    ReservationUndecided: REPLICA_GROUP, UndecidedResolvable;
    /// The group fits into the domain, but not with this member on this node.
    MemberDoesNotFitHere: REPLICA_GROUP, Final;
    /// The domain of the running members is exclusive to another group.
    OwnDomainExclusive: REPLICA_GROUP, Final;
    /// The domain of the running members has its free room reserved for another group.
    OwnDomainReserved: REPLICA_GROUP, Final;
    /// The domain of the running members has room only if lower-priority pods leave.
    OwnDomainNeedsPreemption: REPLICA_GROUP, Resolvable;
    /// The domain of the running members has no room for the missing ones.
    OwnDomainTooSmall: REPLICA_GROUP, Final;
    /// The domain is exclusive to another group, or not free of others that this group excludes.
    DomainExclusive: REPLICA_GROUP, Final;
    /// The domain has its free room reserved for another group.
    DomainReserved: REPLICA_GROUP, Final;
    /// The whole group fits into the domain only if lower-priority pods leave.
    DomainNeedsPreemption: REPLICA_GROUP, Resolvable;
    /// The whole group does not fit into the domain.
    DomainTooSmall: REPLICA_GROUP, Final;
    /// Nodes that are the group's own are missing, or there are too few of them.
    AwaitsOwnNodes: REPLICA_GROUP, Final;
    /// All nodes on which the group would fit are exclusive to another group.
    ClusterExclusive: REPLICA_GROUP, Final;
    /// The cluster has its free room reserved for another group.
    ClusterReserved: REPLICA_GROUP, Final;
    /// The whole group fits into the cluster only if lower-priority pods leave.
    ClusterNeedsPreemption: REPLICA_GROUP, Resolvable;
    /// The whole group does not fit into the cluster.
    ClusterTooSmall: REPLICA_GROUP, Final;
    /// The group has more members than the operator allows.
    GroupTooLarge: REPLICA_GROUP, Final;
    /// All the room that may be kept for groups of the namespace is kept already.
    NamespaceSlotsUsedUp: REPLICA_GROUP, Final;
    /// The namespace's quotas do not let all members be created.
    QuotaTooSmall: REPLICA_GROUP, Final;
    /// The annotation `berth.dev/group` or `berth.dev/group-set` is no name.
    InvalidGroupName: REPLICA_GROUP, Final;
    /// The annotation `berth.dev/group-size` makes no sense.
    InvalidGroupSize: REPLICA_GROUP, Final;
    /// The annotation `berth.dev/group-index` makes no sense.
    InvalidGroupIndex: REPLICA_GROUP, Final;
    /// The annotation `berth.dev/exclusive` makes no sense.
    InvalidExclusive: REPLICA_GROUP, Final;
    /// A topology annotation is no label key.
    InvalidTopologyKey: REPLICA_GROUP, Final;
    /// The missing members differ in more ways than are looked at.
    TooManyUnlikeMembers: REPLICA_GROUP, Final;
    /// The group has more subgroups than are looked at.
    TooManySubgroups: REPLICA_GROUP, Final;
    /// The members have more terms of required anti-affinity, or name more topology keys in them, than are looked at.
    TooManyAntiAffinityTerms: REPLICA_GROUP, Final;
    /// Members of the group have too many terms of required affinity, or too many values in them.
    TooManyAffinityTerms: REPLICA_GROUP, Final;
}

impl Reason {
    /// Whether evicting pods from the node could help.
    pub const fn is_resolvable(self) -> bool {
        matches!(self.nature(), Nature::Resolvable | Nature::UndecidedResolvable)
    }

    /// Whether it is known to be so. Otherwise something is not known yet, and this is what the worst case demands.
    pub const fn is_certain(self) -> bool {
        matches!(self.nature(), Nature::Final | Nature::Resolvable)
    }

    /// Whether it is so whoever is evicted, though it may change soon.
    pub const fn outlasts_evictions(self) -> bool {
        matches!(
            self,
            Reason::GroupSizeUnknown
                | Reason::MembersNotCreated
                | Reason::MemberVolumeUnknown
                | Reason::MemberGated
                | Reason::GroupDomainUnknown
                | Reason::OutsideSample
        )
    }
}

impl Reason {
    /// How far a pod that is rejected everywhere is from being placed, among its reasons the nearest being the one that
    /// is told about the pod as a whole. What is not known yet comes first, what only a person can change last.
    pub const fn distance(self) -> u8 {
        match self {
            Reason::SkewUndecided
            | Reason::SpreadOutsideSample
            | Reason::SpreadNodeUnknown
            | Reason::GroupUndecided
            | Reason::GroupDomainUnknown
            | Reason::GroupSizeUnknown
            | Reason::MembersNotCreated
            | Reason::MemberVolumeUnknown
            | Reason::MemberGated
            | Reason::CacheContradicted
            | Reason::OutsideSample
            | Reason::ReservationUndecided => 0,
            Reason::ReservedForGroup
            | Reason::NamespaceSlotsUsedUp
            | Reason::OwnDomainReserved
            | Reason::DomainReserved
            | Reason::ClusterReserved => 1,
            Reason::SkewExceeded
            | Reason::OwnDomainNeedsPreemption
            | Reason::DomainNeedsPreemption
            | Reason::ClusterNeedsPreemption => 2,
            Reason::OwnDomainExclusive | Reason::DomainExclusive | Reason::ClusterExclusive => 3,
            Reason::SlotsOfOtherMembers
            | Reason::OwnDomainTooSmall
            | Reason::DomainTooSmall
            | Reason::AwaitsOwnNodes
            | Reason::ClusterTooSmall => 4,
            Reason::MemberDoesNotFitHere
            | Reason::SpreadLabelMissing
            | Reason::GroupInOtherDomain
            | Reason::OutsideGroupDomain
            | Reason::GroupLabelMissing => 5,
            Reason::GroupTooLarge
            | Reason::QuotaTooSmall
            | Reason::InvalidGroupName
            | Reason::InvalidGroupSize
            | Reason::InvalidGroupIndex
            | Reason::InvalidExclusive
            | Reason::InvalidTopologyKey
            | Reason::TooManyUnlikeMembers
            | Reason::TooManySubgroups
            | Reason::TooManyAffinityTerms
            | Reason::TooManyAntiAffinityTerms => 6,
        }
    }
}

/// Why no decision was made at all, so that kube-scheduler is to ask again soon.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Undecided {
    /// Not every kind was listed, and a watch of it opened, since the start.
    CacheNotSynced,
    /// A watch has been cut for longer than the staleness limit.
    CacheStale,
    /// Every node that is left depends on a placement or a node that is not known yet.
    PlacementUnknown,
    /// A member of the pod's group is on a node of which nobody knows in which domain it is.
    GroupDomainUnknown,
    /// How many members the pod's group has is not known yet.
    GroupSizeUnknown,
    /// What the rest of the pod's group will ask for is not known yet.
    MembersNotCreated,
    /// Where the volume of a member of the pod's group is, is not known yet.
    MemberVolumeUnknown,
    /// A member of the pod's group is held back by a scheduling gate.
    MemberGated,
    /// What groups are owed is still being worked out, after a beginning.
    ReservationsNotReady,
    /// The decision would have taken longer than it may.
    DecisionTimeout,
    /// A policy failed.
    InternalError,
}

impl Undecided {
    /// Every cause, for metrics that exist from the start and for the docs.
    pub const ALL: [Undecided; 11] = [
        Undecided::CacheNotSynced,
        Undecided::CacheStale,
        Undecided::PlacementUnknown,
        Undecided::GroupDomainUnknown,
        Undecided::GroupSizeUnknown,
        Undecided::MembersNotCreated,
        Undecided::MemberVolumeUnknown,
        Undecided::MemberGated,
        Undecided::ReservationsNotReady,
        Undecided::DecisionTimeout,
        Undecided::InternalError,
    ];

    /// Whether it may stay so until somebody does something about it.
    pub const fn may_last(self) -> bool {
        matches!(
            self,
            Undecided::GroupDomainUnknown
                | Undecided::GroupSizeUnknown
                | Undecided::MembersNotCreated
                | Undecided::MemberVolumeUnknown
                | Undecided::MemberGated
        )
    }

    /// The code: what metrics show.
    pub const fn code(self) -> &'static str {
        match self {
            Undecided::CacheNotSynced => "CacheNotSynced",
            Undecided::CacheStale => "CacheStale",
            Undecided::PlacementUnknown => "PlacementUnknown",
            Undecided::GroupSizeUnknown => "GroupSizeUnknown",
            Undecided::MembersNotCreated => "MembersNotCreated",
            Undecided::MemberVolumeUnknown => "MemberVolumeUnknown",
            Undecided::GroupDomainUnknown => "GroupDomainUnknown",
            Undecided::MemberGated => "MemberGated",
            Undecided::ReservationsNotReady => "ReservationsNotReady",
            Undecided::DecisionTimeout => "DecisionTimeout",
            Undecided::InternalError => "InternalError",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::Reason;

    #[test]
    fn codes_are_unique_and_camel_case() {
        for (at, reason) in Reason::ALL.iter().enumerate() {
            let code = reason.code();
            assert!(code.starts_with(|c: char| c.is_ascii_uppercase()), "{code}");
            assert!(code.bytes().all(|byte| byte.is_ascii_alphanumeric()), "{code}");
            assert!(Reason::ALL[..at].iter().all(|other| other.code() != code), "{code} is there twice");
        }
    }
}
