//! The problem that both phases work on: who is missing, what is left on each host, who keeps away from whom, and who has
//! to be near whom.

use std::cell::OnceCell;
use std::collections::HashSet;

use super::affinity::Affinity;
use super::availability::{Assumption, Availability};
use super::class::ClassId;
use super::conflicts::Conflicts;
use super::members::Members;
use super::own_hosts::OwnHosts;
use super::subgroup_homes::SubgroupHomes;
use crate::config::Packing;
use crate::model::{Node, Used};
use crate::policy::Budget;
use crate::view::{DomainId, Host, HostId};

/// Which hosts the member that asks may go to, by host; every one if nobody asks.
pub type Open<'o> = Option<&'o [bool]>;

/// A group that looks for room, under one assumption.
#[derive(Clone, Copy)]
pub struct Problem<'a, 's> {
    /// Who is missing.
    pub members: &'s Members<'a>,
    /// Who keeps away from whom.
    pub conflicts: &'s Conflicts<'a>,
    /// Who has to be near whom.
    pub affinity: &'s Affinity<'a>,
    /// What is left on each host.
    pub availability: Availability<'a>,
    /// How members are put on the hosts of their domain.
    pub packing: Packing,
    /// Where the member that asks may go.
    pub open: Open<'s>,
    /// The hosts that the group is on, or has slots on.
    pub own_hosts: &'s OwnHosts,
    /// Where the group's subgroups are.
    pub homes: &'s SubgroupHomes,
    /// Domains of the subgroups' topology that parts of other groups have to themselves; looked for once, if at all.
    pub taken_by_others: &'s OnceCell<HashSet<DomainId>>,
    /// What looking may cost. When it is spent, no host has room.
    pub budget: &'a Budget,
}

impl<'a> Problem<'a, '_> {
    /// What is taken for granted.
    pub fn assumption(&self) -> Assumption {
        self.availability.assumption
    }

    /// A host and its node, if the watch shows it.
    pub fn host(&self, id: HostId) -> Option<(&'a Host, &'a Node)> {
        let host = self.availability.view.host_numbered(id)?;
        Some((host, host.node.as_deref()?))
    }

    /// Whether the member that asks may go to a host.
    pub fn is_open(&self, id: HostId) -> bool {
        self.open.is_none_or(|open| open.get(id.index()).copied().unwrap_or_default())
    }

    /// Whether the node and the pods in place let a class onto a host, if there is room.
    pub fn suits(&self, class: ClassId, id: HostId, host: &Host, node: &Node) -> bool {
        let members = self.members.class(class);
        let volumes = || members.volumes.as_ref().is_none_or(|volumes| volumes.allows(node));
        members.demand().suits(node)
            && volumes()
            && self.affinity.admits(class, host)
            && self.conflicts.admit(class, id, host, node)
    }

    /// How many members of a class a host has room for, of which so much is used.
    pub fn room(&self, class: ClassId, node: &Node, used: &Used) -> usize {
        let room = self.room_regardless_of_conflicts(class, node, used);
        if self.conflicts.between(class, class).is_empty() { room } else { room.min(1) }
    }

    /// The same as if members of the class did not mind each other.
    pub fn room_regardless_of_conflicts(&self, class: ClassId, node: &Node, used: &Used) -> usize {
        usize::try_from(self.members.class(class).demand().capacity(node, used)).unwrap_or(0)
    }

    /// Whether counting alone tells if everybody finds room: all missing members are alike, keep apart by no more than
    /// the host, and need not be near each other.
    pub fn is_decided_by_counting(&self) -> bool {
        let [class] = &self.members.missing[..] else { return self.members.missing.is_empty() };
        let only = ClassId::at(0);
        class.subgroup.is_none()
            && !self.affinity.is_between_members()
            && self.conflicts.are_per_host_within(only)
    }
}
