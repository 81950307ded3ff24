//! What kube-scheduler is told in words.
//!
//! The words are constant: kube-scheduler counts nodes by identical text and puts the counts into the pod's condition
//! and Event. What is said of nearly all nodes at once is short, because kube-scheduler decodes every copy.

use crate::decision::{Reason, Undecided};

/// Before the reason why the nominated node is rejected.
pub const NO_LONGER_FITS: &str = "nominated node no longer fits";

/// What is said about a rejected node.
pub const fn of_rejection(reason: Reason) -> &'static str {
    match reason {
        Reason::SkewExceeded | Reason::SkewUndecided => "default topology spread: too much skew",
        Reason::SpreadLabelMissing => "default topology spread: topology label missing",
        Reason::SpreadOutsideSample => "default topology spread: only nodes outside of the sample will do",
        Reason::SpreadNodeUnknown => "default topology spread: node not known yet",
        Reason::GroupInOtherDomain => "replica group is in another domain of its required topology",
        Reason::OutsideGroupDomain => "outside the replica group's domain",
        Reason::GroupLabelMissing => "node lacks the label of the replica group's required topology",
        Reason::SlotsOfOtherMembers => "room is needed for other members of the replica group",
        Reason::GroupUndecided => {
            "whether the replica group fits depends on a placement that is not known yet"
        }
        Reason::GroupDomainUnknown => {
            "a member of the replica group runs on a node whose domain is not known"
        }
        Reason::GroupSizeUnknown => "the object that tells the replica group's size is not known yet",
        Reason::MembersNotCreated => "members of the replica group have not been created yet",
        Reason::MemberGated => "a member of the replica group is held back by a scheduling gate",
        Reason::MemberVolumeUnknown => "the volume of a member of the replica group is not known yet",
        Reason::OutsideSample => {
            "the replica group's room is on nodes that are not in kube-scheduler's sample"
        }
        Reason::CacheContradicted => "the node is not known yet, or not as kube-scheduler knows it",
        Reason::ReservedForGroup | Reason::ReservationUndecided => "room is reserved for a replica group",
        Reason::MemberDoesNotFitHere => {
            "replica group fits into the domain, but not with this member on this node"
        }
        Reason::OwnDomainExclusive => "replica group's own domain is exclusive to another replica group",
        Reason::OwnDomainReserved => {
            "replica group's own domain has its free room reserved for another replica group"
        }
        Reason::OwnDomainNeedsPreemption => {
            "replica group's own domain has no room for its missing members unless lower-priority pods leave"
        }
        Reason::OwnDomainTooSmall => "replica group's own domain has no room for its missing members",
        Reason::DomainExclusive => "required domain is exclusive to another replica group",
        Reason::DomainReserved => {
            "replica group does not fit as a whole into the required domain, room is reserved for another"
        }
        Reason::DomainNeedsPreemption => {
            "replica group does not fit as a whole into the required domain unless lower-priority pods leave"
        }
        Reason::DomainTooSmall => "replica group does not fit as a whole into the required domain",
        Reason::ClusterExclusive => "the cluster is exclusive to another replica group",
        Reason::ClusterReserved => {
            "replica group does not fit as a whole into the cluster, room is reserved for another"
        }
        Reason::ClusterNeedsPreemption => {
            "replica group does not fit as a whole into the cluster unless lower-priority pods leave"
        }
        Reason::AwaitsOwnNodes => "replica group waits for a node group of its own, or for more nodes in it",
        Reason::ClusterTooSmall => "replica group does not fit as a whole into the cluster",
        Reason::GroupTooLarge => "replica group has more members than replicaGroups.limits.members allows",
        Reason::NamespaceSlotsUsedUp => {
            "as much room as replicaGroups.limits.slotsPerNamespace allows is kept in this namespace already"
        }
        Reason::QuotaTooSmall => {
            "the namespace's ResourceQuota does not let all members of the replica group be created"
        }
        Reason::InvalidGroupName => {
            "annotation berth.dev/group or berth.dev/group-set is longer than 253 bytes, or has control characters in it"
        }
        Reason::InvalidGroupSize => {
            "annotation berth.dev/group-size of the replica group is no number from 1 to 10000"
        }
        Reason::InvalidGroupIndex => "annotation berth.dev/group-index of the replica group is no number",
        Reason::InvalidExclusive => {
            "annotation berth.dev/exclusive of the replica group is none of Set, Namespace, Cluster"
        }
        Reason::InvalidTopologyKey => {
            "annotation berth.dev/required-topology or preferred-topology of the replica group is no label key"
        }
        Reason::TooManyUnlikeMembers => "missing members of the replica group are unlike in too many ways",
        Reason::TooManySubgroups => "replica group has too many subgroups",
        Reason::TooManyAffinityTerms => {
            "members of the replica group have too many terms of required affinity, or values in them"
        }
        Reason::TooManyAntiAffinityTerms => {
            "members of the replica group have too many terms of required anti-affinity"
        }
    }
}

/// What is said where there is no decision.
pub const fn of_error(undecided: Undecided) -> &'static str {
    match undecided {
        Undecided::CacheNotSynced => "berth: the cluster cache has not synced yet",
        Undecided::CacheStale => "berth: the cluster cache is stale, a watch is cut",
        Undecided::PlacementUnknown => {
            "berth: a hard limit depends on a placement or node that is not known yet"
        }
        Undecided::GroupSizeUnknown => {
            "berth: the object that tells the replica group's size is not known yet"
        }
        Undecided::MembersNotCreated => "berth: members of the replica group have not been created yet",
        Undecided::MemberVolumeUnknown => {
            "berth: the volume of a member of the replica group is not known yet"
        }
        Undecided::GroupDomainUnknown => {
            "berth: a member of the replica group runs on a node whose domain is not known"
        }
        Undecided::MemberGated => "berth: a member of the replica group is held back by a scheduling gate",
        Undecided::ReservationsNotReady => {
            "berth: the room to be kept for replica groups is still being worked out"
        }
        Undecided::DecisionTimeout => "berth: the decision would have taken too long",
        Undecided::InternalError => "berth: internal error while deciding",
    }
}
