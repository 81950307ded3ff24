//! Which domain of a topology key each host lies in.

use std::collections::HashMap;

use super::hosts::Hosts;
use super::{DomainId, Host, HostId};
use crate::model::Name;

/// Where a host lies.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum HostDomain {
    /// In this domain.
    In(DomainId),
    /// In none: its node lacks the label.
    MissingLabel,
    /// Nowhere: its node is not known.
    UnknownNode,
}

impl HostDomain {
    fn read(number: u32) -> Self {
        match number {
            UNKNOWN_NODE => HostDomain::UnknownNode,
            MISSING_LABEL => HostDomain::MissingLabel,
            id => HostDomain::In(DomainId::at(id as usize)),
        }
    }
}

const MISSING_LABEL: u32 = u32::MAX - 1;
const UNKNOWN_NODE: u32 = u32::MAX;

/// The domains of one topology key. Made on first use, and anew when a node comes, goes or is relabelled.
#[derive(Debug)]
pub struct Domains {
    /// By host number; plain numbers because every call reads all of them.
    of: Vec<u32>,
    /// How many there are.
    len: usize,
    /// The domain of nodes whose label is there and empty.
    empty_value: Option<DomainId>,
    /// The label's value in each domain.
    values: Vec<Name>,
    /// All hosts that lie in a domain, domain by domain, and where each begins.
    members: Vec<HostId>,
    begins: Vec<usize>,
}

impl Domains {
    pub(super) fn build(hosts: &Hosts, key: &str) -> Self {
        let mut ids: HashMap<Name, u32> = HashMap::new();
        let mut domain = |host: Option<&Host>| -> u32 {
            let Some(node) = host.and_then(|host| host.node.as_ref()) else { return UNKNOWN_NODE };
            let Some(value) = node.labels.get(key) else { return MISSING_LABEL };
            let next = u32::try_from(ids.len()).unwrap_or(MISSING_LABEL);
            *ids.entry(value.clone()).or_insert(next)
        };
        let of: Vec<u32> = hosts.by_id().map(|host| domain(host.as_ref())).collect();
        let empty_value = ids.get("").map(|id| DomainId::at(*id as usize));
        let len = ids.len();
        let mut values = vec![Name::from(""); len];
        for (value, id) in ids {
            values[id as usize] = value;
        }
        let mut begins = vec![0; len + 1];
        let inside = || of.iter().map(|number| HostDomain::read(*number)).enumerate();
        for (_, domain_of_host) in inside() {
            if let HostDomain::In(domain) = domain_of_host {
                begins[domain.index() + 1] += 1;
            }
        }
        for domain in 0..len {
            begins[domain + 1] += begins[domain];
        }
        let (mut members, mut next) = (vec![HostId::at(0); begins[len]], begins.clone());
        for (host, domain_of_host) in inside() {
            if let HostDomain::In(domain) = domain_of_host {
                members[next[domain.index()]] = HostId::at(host);
                next[domain.index()] += 1;
            }
        }
        Self { of, len, empty_value, values, members, begins }
    }

    /// The hosts that lie in a domain.
    pub fn hosts(&self, domain: DomainId) -> &[HostId] {
        &self.members[self.begins[domain.index()]..self.begins[domain.index() + 1]]
    }

    /// The label's value in a domain.
    pub fn value(&self, domain: DomainId) -> &Name {
        &self.values[domain.index()]
    }

    /// The domain of a value of the label.
    pub fn find(&self, value: &str) -> Option<DomainId> {
        self.values.iter().position(|known| **known == *value).map(DomainId::at)
    }

    /// Where a host lies.
    pub fn of(&self, host: HostId) -> HostDomain {
        self.of.get(host.index()).map_or(HostDomain::UnknownNode, |number| HostDomain::read(*number))
    }

    /// Where all hosts lie, by their number.
    pub fn all(&self) -> impl Iterator<Item = HostDomain> + '_ {
        self.of.iter().map(|number| HostDomain::read(*number))
    }

    /// All domains.
    pub fn ids(&self) -> impl Iterator<Item = DomainId> + use<> {
        (0..self.len).map(DomainId::at)
    }

    /// How many domains there are.
    pub fn len(&self) -> usize {
        self.len
    }

    /// Whether no node has the label.
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// The domain of nodes whose label is there and empty.
    pub fn empty_value(&self) -> Option<DomainId> {
        self.empty_value
    }
}
