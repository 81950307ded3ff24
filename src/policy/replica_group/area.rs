//! Parts of the cluster in which a group may be.

use std::borrow::Cow;
use std::collections::{HashMap, HashSet};

use super::roster::Roster;
use crate::model::Name;
use crate::view::{DomainId, Domains, HostDomain, HostId, View};

/// Hosts among which a group, or a part of one, is assigned.
#[derive(Clone)]
pub struct Area<'a> {
    /// The domain, if it is one.
    pub domain: Option<DomainId>,
    /// Its hosts.
    pub hosts: Cow<'a, [HostId]>,
}

impl<'a> Area<'a> {
    /// The whole cluster.
    pub fn everywhere(view: &View) -> Self {
        Self { domain: None, hosts: (0..view.host_numbers()).collect() }
    }

    /// One domain.
    pub fn of(domains: &'a Domains, domain: DomainId) -> Self {
        Self { domain: Some(domain), hosts: Cow::Borrowed(domains.hosts(domain)) }
    }

    /// The domains of a narrower topology within it, in the order in which their hosts come.
    pub fn divided_by(&self, narrower: &Domains) -> Vec<Area<'static>> {
        let mut parts: Vec<Area<'static>> = Vec::new();
        let mut known: HashMap<DomainId, usize> = HashMap::new();
        for host in &*self.hosts {
            let HostDomain::In(domain) = narrower.of(*host) else { continue };
            let at = *known.entry(domain).or_insert_with(|| {
                parts.push(Area { domain: Some(domain), hosts: Cow::Owned(Vec::new()) });
                parts.len() - 1
            });
            parts[at].hosts.to_mut().push(*host);
        }
        parts
    }

    /// The same without the hosts whose nodes bear one of these labels.
    pub fn without(&self, closed: &[(Name, Name)], view: &View) -> Area<'a> {
        if closed.is_empty() {
            return self.clone();
        }
        let bears = |host: &HostId| {
            let node = view.host_numbered(*host).and_then(|host| host.node.as_ref());
            node.is_some_and(|node| closed.iter().any(|(key, value)| node.labels.get(key) == Some(value)))
        };
        Area { domain: self.domain, hosts: self.hosts.iter().copied().filter(|host| !bears(host)).collect() }
    }
}

/// The domain that most of a group's members are in, and whether some are in another. Of several with as many, the
/// one whose value comes first.
pub fn anchor(roster: &Roster<'_>, domains: &Domains) -> (Option<DomainId>, bool) {
    let mut members: HashMap<DomainId, usize> = HashMap::new();
    for placed in &roster.placed {
        if let HostDomain::In(domain) = domains.of(placed.host) {
            *members.entry(domain).or_default() += 1;
        }
    }
    let split = members.len() > 1;
    let most = members
        .into_iter()
        .max_by(|(a, most), (b, more)| most.cmp(more).then_with(|| domains.value(*b).cmp(domains.value(*a))));
    (most.map(|(domain, _)| domain), split)
}

/// The domains of a key that hold some of the hosts.
pub fn domains_of(hosts: impl Iterator<Item = HostId>, domains: &Domains) -> HashSet<DomainId> {
    let inside = hosts.filter_map(|host| match domains.of(host) {
        HostDomain::In(domain) => Some(domain),
        _ => None,
    });
    inside.collect()
}
