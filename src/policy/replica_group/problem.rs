//! The problem that both phases work on: who is missing, what is left on each host, and who keeps away from whom.

use super::availability::{Assumption, Availability};
use super::class::ClassId;
use super::conflicts::{Conflicts, is_per_host};
use super::members::Members;
use crate::config::Packing;
use crate::model::{Node, Used};
use crate::view::{Host, HostId};

/// Which hosts the member that asks may go to, by host; every one if nobody asks.
pub type Open<'o> = Option<&'o [bool]>;

/// A group that looks for room, under one assumption.
#[derive(Clone, Copy)]
pub struct Problem<'a, 's> {
    /// Who is missing.
    pub members: &'s Members<'a>,
    /// Who keeps away from whom.
    pub conflicts: &'s Conflicts<'a>,
    /// What is left on each host.
    pub availability: Availability<'a>,
    /// How members are put on the hosts of their domain.
    pub packing: Packing,
    /// Where the member that asks may go.
    pub open: Open<'s>,
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
    pub fn suits(&self, class: ClassId, host: &Host, node: &Node) -> bool {
        self.members.class(class).demand().suits(node) && self.conflicts.admit(class, host, node)
    }

    /// How many members of a class a host has room for, of which so much is used.
    pub fn room(&self, class: ClassId, node: &Node, used: &Used) -> usize {
        let room = usize::try_from(self.members.class(class).demand().capacity(node, used)).unwrap_or(0);
        if self.conflicts.between(class, class).is_empty() { room } else { room.min(1) }
    }

    /// Whether counting alone tells if everybody finds room: all missing members are alike, and keep apart by no more
    /// than the host.
    pub fn is_decided_by_counting(&self) -> bool {
        let [class] = &self.members.missing[..] else { return self.members.missing.is_empty() };
        let only = ClassId::at(0);
        class.subgroup.is_none() && self.conflicts.between(only, only).iter().all(|key| is_per_host(key))
    }
}
