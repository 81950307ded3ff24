//! Parts of the cluster in which a group may be.

use std::borrow::Cow;
use std::collections::{HashMap, HashSet};

use super::closed_labels::ClosedLabels;
use super::members::{Members, PlacedMember};
use crate::model::Name;
use crate::view::{DomainId, Domains, HostDomain, HostId, View};

/// Hosts among which a group, or a subgroup, is placed.
#[derive(Clone)]
pub struct HostSet<'a> {
    /// The domain, if it is one.
    pub domain: Option<DomainId>,
    /// Its hosts, in the order of their numbers.
    pub hosts: Cow<'a, [HostId]>,
}

impl<'a> HostSet<'a> {
    /// The whole cluster.
    pub fn everywhere(view: &View) -> Self {
        Self { domain: None, hosts: (0..view.host_numbers()).map(HostId::at).collect() }
    }

    /// One domain.
    pub fn of(domains: &'a Domains, domain: DomainId) -> Self {
        Self { domain: Some(domain), hosts: Cow::Borrowed(domains.hosts(domain)) }
    }

    /// Whether a host is one of them.
    pub fn contains(&self, host: HostId) -> bool {
        self.hosts.binary_search(&host).is_ok()
    }

    /// The domains of a narrower topology within it, in the order in which their hosts come.
    pub fn divided_by(&self, narrower: &Domains) -> Vec<HostSet<'static>> {
        let mut parts: Vec<HostSet<'static>> = Vec::new();
        let mut known: HashMap<DomainId, usize> = HashMap::new();
        for host in &*self.hosts {
            let HostDomain::In(domain) = narrower.of(*host) else { continue };
            let at = *known.entry(domain).or_insert_with(|| {
                parts.push(HostSet { domain: Some(domain), hosts: Cow::Owned(Vec::new()) });
                parts.len() - 1
            });
            parts[at].hosts.to_mut().push(*host);
        }
        parts
    }

    /// The same without the hosts whose nodes carry one of these labels.
    pub fn without(&self, closed: &ClosedLabels, view: &View) -> HostSet<'a> {
        if closed.is_empty() {
            return self.clone();
        }
        let carries = |host: &HostId| {
            let node = view.host_numbered(*host).and_then(|host| host.node.as_ref());
            node.is_some_and(|node| closed.cover(node))
        };
        let hosts = self.hosts.iter().copied().filter(|host| !carries(host)).collect();
        HostSet { domain: self.domain, hosts }
    }
}

/// The domain that most of a group's members are in, and whether some are in another. Of several with as many, the
/// one whose value comes first.
pub fn anchor(members: &Members<'_>, domains: &Domains) -> (Option<DomainId>, bool) {
    let value = |placed: &PlacedMember<'_>| match domains.of(placed.host) {
        HostDomain::In(domain) => Some(domains.value(domain)),
        HostDomain::MissingLabel | HostDomain::UnknownNode => None,
    };
    let (most, split) = most_common(members.placed.iter().filter_map(value));
    (most.and_then(|value| domains.find(value)), split)
}

/// The one rule for which domain anchors a group, by the values of its members' domains: that of most, of several the first.
/// Whether there are others, too.
pub fn most_common<'n>(values: impl Iterator<Item = &'n Name>) -> (Option<&'n Name>, bool) {
    let mut members: HashMap<&Name, usize> = HashMap::new();
    for value in values {
        *members.entry(value).or_default() += 1;
    }
    let split = members.len() > 1;
    let most = members.into_iter().max_by(|(a, most), (b, more)| most.cmp(more).then_with(|| b.cmp(a)));
    (most.map(|(value, _)| value), split)
}

/// The domains of a key that hold some of the hosts.
pub fn domains_of(hosts: impl Iterator<Item = HostId>, domains: &Domains) -> HashSet<DomainId> {
    let inside = hosts.filter_map(|host| match domains.of(host) {
        HostDomain::In(domain) => Some(domain),
        HostDomain::MissingLabel | HostDomain::UnknownNode => None,
    });
    inside.collect()
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::{ClosedLabels, HostSet};
    use crate::fixtures::node;
    use crate::model::{Name, Object};
    use crate::view::change::Change;
    use crate::view::{Needs, View};

    fn racks_in_blocks() -> View {
        let mut view = View::default();
        for (name, block, rack) in
            [("a", "b1", "r1"), ("b", "b1", "r2"), ("c", "b2", "r3"), ("d", "b1", "r1")]
        {
            let node = node(name).label("block", block).label("rack", rack).build();
            view.apply(Change::Upsert(Object::Node(Arc::new(node))));
        }
        let topology_keys = vec![Name::from("block"), Name::from("rack")];
        view.provide(&Needs { topology_keys, ..Needs::default() });
        view
    }

    fn names(set: &HostSet<'_>, view: &View) -> Vec<String> {
        let hosts = set.hosts.iter().filter_map(|host| view.host_numbered(*host));
        hosts.map(|host| host.name.to_string()).collect()
    }

    #[test]
    fn a_block_divides_into_its_racks_and_leaves_out_what_others_have_to_themselves() {
        let view = racks_in_blocks();
        let (blocks, racks) = (view.domains("block").expect("blocks"), view.domains("rack").expect("racks"));
        let block = HostSet::of(blocks, blocks.find("b1").expect("b1"));
        assert_eq!(names(&block, &view), ["a", "b", "d"]);
        let parts: Vec<_> = block.divided_by(racks).iter().map(|part| names(part, &view)).collect();
        assert_eq!(parts, [vec!["a", "d"], vec!["b"]]);
        let mut closed = ClosedLabels::default();
        closed.close(&"rack".into(), &"r1".into());
        assert_eq!(names(&block.without(&closed, &view), &view), ["b"]);
        assert_eq!(names(&HostSet::everywhere(&view).without(&closed, &view), &view), ["b", "c"]);
    }
}
