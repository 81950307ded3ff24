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

#[cfg(test)]
mod tests {
    use super::super::situation::{Situation, cpus, member};
    use crate::fixtures::pod;

    #[test]
    fn an_eviction_is_worth_it_where_the_whole_group_fits_afterwards() {
        let lower = |name: &str, host: &str| pod(name).requests(cpus(4)).priority(-1).on(host).build();
        let equal = |name: &str, host: &str| pod(name).requests(cpus(4)).on(host).build();
        let situation = Situation::racks(&[("a", &[4, 4]), ("b", &[4, 4])])
            .with(lower("w", "a0"))
            .with(lower("x", "a1"))
            .with(lower("y", "b0"))
            .with(equal("z", "b1"));
        let asking = member("g", 0, 2, 4).build();
        for (host, expected) in [("a0", true), ("a1", true), ("b0", false), ("b1", false)] {
            let worth_it = situation.search(&asking, |search| {
                let id = search.view.host_id(host).expect("a host");
                let mut open = vec![false; search.view.host_numbers()];
                open[id.index()] = true;
                let domain = search.required.and_then(|domains| domains.find(&host[..1]));
                search.fits_after_evictions(domain, id, &open)
            });
            assert_eq!(worth_it, expected, "{host}");
        }
    }
}
