//! Which node the next members of a class go to.
//!
//! With fewest hosts: those that the group is on, the one that takes all that are left most exactly, else the one that takes
//! most. With most hosts: the one with fewest members. Of equals the first.

use std::cmp::Reverse;
use std::collections::BTreeSet;

use super::packing::Position;
use crate::config::Packing;

/// A node that takes members of the class.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FreeNode {
    /// Which.
    pub at: Position,
    /// How many it takes.
    pub capacity: usize,
    /// How many members of the group are on it.
    pub members: usize,
    /// Whether the group is on it, or has slots there.
    pub ours: bool,
}

/// The nodes that are left, in order.
pub struct NodeOrder {
    packing: Packing,
    /// As they came: most often one node takes all, and nobody needs the others in order.
    unsorted: Vec<FreeNode>,
    asked: bool,
    sorted: Sorted,
}

#[derive(Default)]
struct Sorted {
    /// With fewest hosts, by capacity: those that the group is on, and the others.
    ours: BTreeSet<(usize, Position)>,
    others: BTreeSet<(usize, Position)>,
    /// With most hosts.
    by_members: BTreeSet<(usize, Reverse<usize>, Position, bool)>,
}

impl NodeOrder {
    /// These nodes.
    pub fn of(nodes: impl Iterator<Item = FreeNode>, packing: Packing) -> Self {
        let unsorted = nodes.filter(|node| node.capacity > 0).collect();
        Self { packing, unsorted, asked: false, sorted: Sorted::default() }
    }

    /// Puts a node back, which may take fewer now; one that takes none is left out.
    pub fn put(&mut self, node: FreeNode) {
        if node.capacity == 0 {
            return;
        }
        let FreeNode { at, capacity, members, ours } = node;
        match (self.packing, ours) {
            (Packing::FewestHosts, true) => self.sorted.ours.insert((capacity, at)),
            (Packing::FewestHosts, false) => self.sorted.others.insert((capacity, at)),
            (Packing::MostHosts, _) => self.sorted.by_members.insert((members, Reverse(capacity), at, ours)),
        };
    }

    /// Takes out the node that is best for so many members.
    pub fn take(&mut self, count: usize) -> Option<FreeNode> {
        if !std::mem::replace(&mut self.asked, true) {
            let rank = |node: &FreeNode| self.rank(node, count);
            let nodes = self.unsorted.iter().enumerate();
            let (best, _) = nodes.min_by_key(|(_, node)| (rank(node), node.at))?;
            return Some(self.unsorted.swap_remove(best));
        }
        for node in std::mem::take(&mut self.unsorted) {
            self.put(node);
        }
        let Sorted { ours, others, by_members } = &mut self.sorted;
        match self.packing {
            Packing::FewestHosts => take_best(ours, count)
                .map(|(capacity, at)| FreeNode { at, capacity, members: 0, ours: true })
                .or_else(|| {
                    let (capacity, at) = take_best(others, count)?;
                    Some(FreeNode { at, capacity, members: 0, ours: false })
                }),
            Packing::MostHosts => {
                let (members, Reverse(capacity), at, ours) = by_members.pop_first()?;
                Some(FreeNode { at, capacity, members, ours })
            }
        }
    }

    /// Less is better.
    fn rank(&self, node: &FreeNode, count: usize) -> (bool, usize, usize) {
        match self.packing {
            Packing::FewestHosts => {
                let takes_all = node.capacity >= count;
                let exactness = if takes_all { node.capacity } else { usize::MAX - node.capacity };
                (!node.ours, usize::from(!takes_all), exactness)
            }
            Packing::MostHosts => (false, node.members, usize::MAX - node.capacity),
        }
    }
}

/// Takes out the one that takes all most exactly, else the one that takes most.
fn take_best(nodes: &mut BTreeSet<(usize, Position)>, count: usize) -> Option<(usize, Position)> {
    let from = |capacity: usize| (capacity, Position::FIRST)..;
    let exact = nodes.range(from(count)).next().copied();
    let most = || nodes.range(from(nodes.last()?.0)).next().copied();
    let best = exact.or_else(most)?;
    nodes.remove(&best);
    Some(best)
}

#[cfg(test)]
mod tests {
    use super::{FreeNode, NodeOrder};
    use crate::config::Packing;
    use crate::policy::replica_group::packing::Position;

    /// The order in which nodes are taken, as positions, for so many members that each take one.
    fn taken(packing: Packing, nodes: &[(usize, usize, bool)], mut count: usize) -> Vec<usize> {
        let free = nodes.iter().enumerate().map(|(at, (capacity, members, ours))| FreeNode {
            at: Position::at(at),
            capacity: *capacity,
            members: *members,
            ours: *ours,
        });
        let mut order = NodeOrder::of(free, packing);
        let mut taken = Vec::new();
        while count > 0 {
            let Some(node) = order.take(count) else { break };
            taken.push(node.at.index());
            let times = if packing == Packing::MostHosts { 1 } else { node.capacity.min(count) };
            count -= times;
            order.put(FreeNode {
                capacity: node.capacity - times,
                members: node.members + times,
                ours: true,
                ..node
            });
        }
        taken
    }

    #[test]
    fn nodes_are_taken_in_the_order_of_the_packing() {
        let few = Packing::FewestHosts;
        let plain = |capacities: [usize; 4]| capacities.map(|capacity| (capacity, 0, false));
        for (name, packing, nodes, count, expected) in [
            ("the one that takes all most exactly", few, plain([9, 3, 4, 4]), 4, vec![2]),
            ("the largest, then the rest exactly", few, plain([1, 3, 2, 3]), 5, vec![1, 2]),
            ("what takes none is left out", few, plain([0, 0, 1, 1]), 3, vec![2, 3]),
            (
                "our own first",
                few,
                [(9, 0, false), (1, 1, true), (2, 1, true), (9, 0, false)],
                4,
                vec![2, 1, 0],
            ),
            ("one to a host", Packing::MostHosts, plain([2, 2, 2, 2]), 5, vec![0, 1, 2, 3, 0]),
            (
                "the emptiest, then the roomiest",
                Packing::MostHosts,
                [(1, 1, true), (1, 0, false), (2, 0, false), (0, 0, false)],
                4,
                vec![2, 1, 0, 2],
            ),
        ] {
            assert_eq!(taken(packing, &nodes, count), expected, "{name}");
        }
    }
}
