//! Who would have to leave for those who have been assigned.

use std::collections::BTreeMap;
use std::sync::Arc;

use super::{DomainPacking, NodeCapacity, Position};
use crate::model::Pod;
use crate::policy::replica_group::availability::Assumption;
use crate::policy::replica_group::class::ClassId;

impl<'a> DomainPacking<'a, '_> {
    /// Pods in place on nodes where not everybody who is assigned there would fit beside them.
    pub fn pods_in_the_way(&self) -> impl Iterator<Item = &'a Arc<Pod>> {
        let mut by_node: BTreeMap<Position, Vec<ClassId>> = BTreeMap::new();
        for (class, at) in &self.assigned {
            by_node.entry(*at).or_default().push(*class);
        }
        let crowded = by_node.into_iter().filter(|(at, classes)| self.is_overfull(*at, classes));
        crowded.flat_map(|(at, _)| self.node(at).host.pods.iter())
    }

    /// Whether those assigned to a node would not all fit there if nothing were taken for granted.
    fn is_overfull(&self, at: Position, assigned: &[ClassId]) -> bool {
        let NodeCapacity { host, node, .. } = self.node(at);
        let availability = self.problem.availability.assuming(Assumption::Nothing);
        let mut used = availability.used(host).into_owned();
        let mut overfull = false;
        for class in assigned.iter().map(|class| self.problem.members.class(*class)) {
            overfull |= class.demand().capacity(node, &used) == 0;
            used.arrive(class.requests);
        }
        overfull
    }
}
