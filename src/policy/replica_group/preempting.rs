//! Whether a group fits once lower-priority pods are gone, with the member that asks on a certain host.

use super::availability::Assumption;
use super::search::Search;
use super::subgroups;
use crate::view::{DomainId, HostId};

impl Search<'_> {
    /// Whether everybody fits into a domain once lower-priority pods are gone, the member that asks being on `host`,
    /// which alone is open. Where all members are alike, the count of the domain and of the host tell; only different
    /// ones have to be assigned.
    pub fn fits_after_evictions(&self, domain: Option<DomainId>, host: HostId, open: &[bool]) -> bool {
        let assumption = Assumption::LowerPriorityGone;
        if !self.fits(domain, assumption) {
            return false;
        }
        let problem = self.problem(assumption, Some(open));
        let (Some(set), Some((found, node)), Some(asking)) =
            (self.host_set(domain), problem.host(host), self.members.asking)
        else {
            return false;
        };
        let used = problem.availability.used(found);
        let inside = set.hosts.contains(&host);
        let has_room = problem.room(asking, node, &used) > 0 && problem.suits(asking, found, node);
        if !inside || !has_room || problem.is_decided_by_counting() {
            return inside && has_room;
        }
        subgroups::assign(&set, problem).is_some()
    }
}
