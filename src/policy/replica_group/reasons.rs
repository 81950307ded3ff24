//! Which reason code an obstacle has, at which level.

use super::limits::Excess;
use crate::decision::Reason;
use crate::model::group::recognition::Flaw;

/// Why a domain is none for a group.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Obstacle {
    /// Another group has it to itself, or the group wants it to itself and is not alone.
    Exclusive,
    /// It would fit, but for where the member that asks may go.
    Member,
    /// It would fit but for what is reserved for other groups.
    Reserved,
    /// It would fit if lower-priority pods left.
    Evictable,
    /// It is too small.
    Room,
}

/// Where the group looks for room.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Level {
    /// Members are running: only their domain will do.
    OwnDomain,
    /// A domain of the required topology is looked for.
    Domain,
    /// Nothing is required, so it is the cluster that is looked at.
    Cluster,
}

/// The code of an obstacle. A group that has nodes of its own lacks some of these, and not room that others might leave.
pub fn at(level: Level, obstacle: Obstacle, has_own_nodes: bool) -> Reason {
    match (level, obstacle) {
        (Level::Domain | Level::Cluster, Obstacle::Room) if has_own_nodes => Reason::AwaitsOwnNodes,
        (_, Obstacle::Member) => Reason::MemberDoesNotFitHere,
        (Level::OwnDomain, Obstacle::Exclusive) => Reason::OwnDomainExclusive,
        (Level::OwnDomain, Obstacle::Reserved) => Reason::OwnDomainReserved,
        (Level::OwnDomain, Obstacle::Evictable) => Reason::OwnDomainNeedsPreemption,
        (Level::OwnDomain, Obstacle::Room) => Reason::OwnDomainTooSmall,
        (Level::Domain, Obstacle::Exclusive) => Reason::DomainExclusive,
        (Level::Domain, Obstacle::Reserved) => Reason::DomainReserved,
        (Level::Domain, Obstacle::Evictable) => Reason::DomainNeedsPreemption,
        (Level::Domain, Obstacle::Room) => Reason::DomainTooSmall,
        (Level::Cluster, Obstacle::Exclusive) => Reason::ClusterExclusive,
        (Level::Cluster, Obstacle::Reserved) => Reason::ClusterReserved,
        (Level::Cluster, Obstacle::Evictable) => Reason::ClusterNeedsPreemption,
        (Level::Cluster, Obstacle::Room) => Reason::ClusterTooSmall,
    }
}

/// The code of an annotation that cannot be understood.
pub fn flawed(flaw: Flaw) -> Reason {
    match flaw {
        Flaw::Name => Reason::InvalidGroupName,
        Flaw::Size => Reason::InvalidGroupSize,
        Flaw::Index => Reason::InvalidGroupIndex,
        Flaw::Exclusive => Reason::InvalidExclusive,
        Flaw::Topology => Reason::InvalidTopologyKey,
    }
}

/// The code of what a group has too many of.
pub fn exceeding(excess: Excess) -> Reason {
    match excess {
        Excess::Classes => Reason::TooManyUnlikeMembers,
        Excess::Subgroups => Reason::TooManySubgroups,
        Excess::Terms => Reason::TooManyAntiAffinityTerms,
        Excess::AffinityTerms => Reason::TooManyAffinityTerms,
        Excess::ForQuota => Reason::QuotaTooSmall,
    }
}
