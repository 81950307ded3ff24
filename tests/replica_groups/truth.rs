//! What is really there: nodes, pods and the groups they belong to.

use std::collections::BTreeMap;
use std::time::Duration;

use crate::hostile::Mark;
pub use crate::scenario::{Level, Needs, NodeSpec, Scope, SetSpec};
use crate::storage::Claim;

#[derive(Clone, Debug)]
pub struct Pod {
    pub uid: String,
    pub name: String,
    pub namespace: &'static str,
    /// The value of the label by which pods keep apart.
    pub team: String,
    pub part: Option<Part>,
    pub needs: Needs,
    pub priority: i32,
    pub node: Option<String>,
    /// Has a deletion timestamp.
    pub leaving: bool,
    /// Has succeeded: it takes no room any more, and nobody waits for it.
    pub finished: bool,
    /// How often a failed attempt was written into its status.
    pub failures: u64,
    /// The name of the claim that it uses.
    pub claim: Option<String>,
    /// What a hostile tenant wrote into it.
    pub marks: Vec<Mark>,
}

/// A pod's part in a group.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Part {
    pub group: usize,
    pub index: usize,
    pub revision: u32,
    pub size: usize,
}

#[derive(Clone, Debug)]
pub struct Group {
    pub set: usize,
    pub number: usize,
    pub size: usize,
    pub revision: u32,
    /// Whether its controller keeps it alive.
    pub wanted: bool,
    pub record: Record,
}

/// What the checks remember of a group while it has members somewhere.
#[derive(Clone, Debug, Default)]
#[expect(clippy::struct_excessive_bools, reason = "facts that have nothing to do with each other")]
pub struct Record {
    /// Nobody promised that its room is kept: something happened that Berth could not know, or need not bear.
    pub excused: bool,
    /// Nodes under its members were lost or relabelled.
    pub disturbed: bool,
    /// When the last member was let in that is bound now.
    pub progress: Duration,
    /// Since when the time of what may be kept for it runs, if nobody has a place: another attempt does not begin it anew.
    pub attempted: Option<Duration>,
    /// Since when room may have been kept without a break.
    pub since: Duration,
    /// It was kept for as long as it may be. There is no more until the group is complete.
    pub spent: bool,
    /// A member that had a place is gone, and its room is to be kept.
    pub lost_member: bool,
    /// It would have fitted into one domain of the preferred level when its first member came.
    pub expects_preferred: bool,
}

#[derive(Debug, Default)]
pub struct Truth {
    pub nodes: BTreeMap<String, NodeSpec>,
    /// By UID.
    pub pods: BTreeMap<String, Pod>,
    pub groups: Vec<Group>,
    pub sets: Vec<SetSpec>,
    pub claims: Vec<Claim>,
    pub created: usize,
}

impl Group {
    /// All of them share one template, but for the leader.
    pub fn needs_of(&self, index: usize, sets: &[SetSpec]) -> Needs {
        let set = &sets[self.set];
        if index == 0 { set.leader } else { set.worker }
    }
}

impl Truth {
    pub fn set_of(&self, group: usize) -> &SetSpec {
        &self.sets[self.groups[group].set]
    }

    /// Which part of its group a member is in, if the group has parts.
    pub fn subgroup_of(&self, part: &Part) -> Option<usize> {
        self.set_of(part.group).subgroups?.of_member(part.index, part.size)
    }

    /// Those of a member's subgroup that run, and where.
    pub fn running_in_subgroup_of(&self, part: &Part) -> impl Iterator<Item = (&Pod, &NodeSpec)> {
        let subgroup = self.subgroup_of(part);
        let is_own =
            move |other: &Part| subgroup.is_some() && *other != *part && self.subgroup_of(other) == subgroup;
        let running = self.running_members(part.group);
        running.filter(move |(pod, _)| pod.part.as_ref().is_some_and(&is_own))
    }

    /// The members of the group's present incarnation that are to stay.
    pub fn members(&self, group: usize) -> impl Iterator<Item = &Pod> {
        let revision = self.groups[group].revision;
        self.pods.values().filter(move |pod| {
            !pod.leaving
                && pod.part.as_ref().is_some_and(|part| part.group == group && part.revision == revision)
        })
    }

    /// Those of them that have a node, or had one until they finished.
    pub fn bound_members(&self, group: usize) -> impl Iterator<Item = (&Pod, &String)> {
        self.members(group).filter_map(|pod| Some((pod, pod.node.as_ref()?)))
    }

    /// Those that run on a node that exists.
    pub fn running_members(&self, group: usize) -> impl Iterator<Item = (&Pod, &NodeSpec)> {
        let running = self.bound_members(group).filter(|(pod, _)| !pod.finished);
        running.filter_map(|(pod, node)| Some((pod, self.nodes.get(node)?)))
    }

    pub fn is_whole(&self, group: usize) -> bool {
        self.bound_members(group).count() >= self.groups[group].size
    }

    pub fn nodes_in<'a>(&'a self, level: Level, domain: &'a str) -> impl Iterator<Item = &'a NodeSpec> {
        self.nodes.values().filter(move |node| node.domain(level) == Some(domain))
    }

    /// Whether a group that wants to be alone objects to another one.
    pub fn objects(&self, group: usize, other: usize) -> bool {
        let (own, theirs) = (self.set_of(group), self.set_of(other));
        group != other
            && match own.exclusive {
                None => false,
                Some(Scope::Set) => self.groups[group].set == self.groups[other].set,
                Some(Scope::Namespace) => own.namespace == theirs.namespace,
                Some(Scope::Cluster) => true,
            }
    }
}
