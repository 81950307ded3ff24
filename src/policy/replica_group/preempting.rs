//! Whether a group fits once lower-priority pods are gone, with the member that asks on a certain host.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use super::availability::Assumption;
use super::host_set::HostSet;
use super::members::Members;
use super::search::{Outcome, Search};
use super::subgroups;
use crate::model::{Kind, Pod};
use crate::view::change::Change;
use crate::view::{DomainId, HostId};

/// What is found about each domain on the way, for kube-scheduler names many candidates of one.
pub struct AfterEvictions<'a, 's> {
    search: &'s Search<'a>,
    domains: HashMap<Option<DomainId>, Option<DomainAfterEvictions<'a>>>,
    /// Where the member that asks may go, by host: one at a time.
    open: Vec<bool>,
}

/// A domain into which everybody fits once lower-priority pods are gone.
struct DomainAfterEvictions<'a> {
    set: HostSet<'a>,
    /// Hosts to which the member that asks may go in one assignment of everybody; elsewhere it is tried.
    open: HashSet<HostId>,
}

impl<'a, 's> AfterEvictions<'a, 's> {
    /// Nothing found out yet.
    pub fn new(search: &'s Search<'a>) -> Self {
        Self { search, domains: HashMap::new(), open: vec![false; search.view.host_numbers()] }
    }

    /// Whether everybody fits into a domain once lower-priority pods are gone, the member that asks being on `host`.
    /// Where all members are alike, the count of the domain and of the host tell. Different ones are assigned once for the
    /// domain, and again only if that leaves no room for this one on its host.
    pub fn fits(&mut self, domain: Option<DomainId>, host: HostId) -> bool {
        let search = self.search;
        let found = self.domains.entry(domain).or_insert_with(|| DomainAfterEvictions::of(domain, search));
        let Some(DomainAfterEvictions { set, open }) = found else { return false };
        let problem = search.problem(Assumption::LowerPriorityGone, None);
        let (true, Some((found, node)), Some(asking)) =
            (set.contains(host), problem.host(host), search.members.asking)
        else {
            return false;
        };
        let used = problem.availability.used(found);
        let has_room = problem.room(asking, node, &used) > 0 && problem.suits(asking, host, found, node);
        if !has_room || problem.is_decided_by_counting() || open.contains(&host) {
            return has_room;
        }
        self.open[host.index()] = true;
        let problem = search.problem(Assumption::LowerPriorityGone, Some(&self.open));
        let fits = subgroups::assign(set, problem).is_some();
        self.open[host.index()] = false;
        fits
    }
}

impl Search<'_> {
    /// Whether everybody fits once these pods are gone, and nobody else, the member that asks being on `host`: for groups
    /// some of whose members may not evict anybody.
    pub(super) fn fits_without(&self, victims: &[Arc<Pod>], host: HostId) -> bool {
        let Some(asking) = self.asking else { return false };
        let mut view = self.view.clone();
        let gone = victims.iter().map(|victim| Change::Remove(Kind::Pod, victim.key.clone()));
        gone.for_each(|change| {
            view.apply(change);
        });
        let mut open = vec![false; view.host_numbers()];
        open[host.index()] = true;
        let members = Members::of(asking, &view, self.budget);
        let search = members
            .as_ref()
            .and_then(|members| Search::new(members, Some(asking), &view, self.settings, self.budget));
        search.is_some_and(|search| matches!(search.run(Assumption::Nothing, Some(&open)), Outcome::Found(_)))
    }
}

impl<'a> DomainAfterEvictions<'a> {
    /// `None` if not everybody fits.
    fn of(domain: Option<DomainId>, search: &Search<'a>) -> Option<Self> {
        let assumption = Assumption::LowerPriorityGone;
        let set = search.host_set(domain).filter(|_| search.fits(domain, assumption))?;
        let problem = search.problem(assumption, None);
        if problem.is_decided_by_counting() {
            return Some(Self { set, open: HashSet::new() });
        }
        let packing = subgroups::assign(&set, problem)?;
        Some(Self { set, open: packing.hosts_for_asking(0).into_iter().collect() })
    }
}

#[cfg(test)]
mod tests {
    use super::super::situation::{Situation, cpus, member};
    use super::AfterEvictions;
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
                let domain = search.required.and_then(|domains| domains.find(&host[..1]));
                AfterEvictions::new(search).fits(domain, id)
            });
            assert_eq!(worth_it, expected, "{host}");
        }
    }
}
