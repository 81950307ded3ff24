//! How many of the workload's pods each domain holds, over the nodes that count.

use std::sync::Arc;

use super::Case;
use super::rules::Constraint;
use crate::policy::Question;
use crate::view::{Counter, DomainId, Domains, HostDomain, HostId};

/// What is known of the constraints at hand, in their order.
pub struct DomainCounts<'a> {
    pub counter: &'a Counter,
    pub keys: Vec<Key<'a>>,
}

/// One constraint and its domains.
pub struct Key<'a> {
    pub constraint: &'a Constraint,
    pub domains: &'a Arc<Domains>,
    /// Matching pods per domain; `None` for domains without a node that counts. One more than there are
    /// domains: the last is for nodes without the label, where those count.
    pub pods: Vec<Option<i64>>,
}

impl<'a> DomainCounts<'a> {
    /// `None` if the view was not prepared for this case: see `Policy::needs`.
    pub fn prepare(case: &Case<'_>, constraints: &'a [Constraint], question: &Question<'a>) -> Option<Self> {
        let counter = question.view.counter(&case.key)?;
        let key = |constraint: &'a Constraint| {
            let domains = question.view.domains(&constraint.topology_key)?;
            Some(Key { constraint, domains, pods: vec![None; domains.len() + 1] })
        };
        Some(Self { counter, keys: constraints.iter().map(key).collect::<Option<_>>()? })
    }

    /// Counts the pods on every node that counts for a constraint. `wanted` says for which domains a count is
    /// asked; `require_all_keys` leaves out nodes that lack any of the labels.
    pub fn count(
        &mut self,
        question: &Question<'_>,
        require_all_keys: bool,
        wanted: impl Fn(usize, DomainId) -> bool,
    ) {
        let picky = |key: &Key<'_>| key.constraint.looks_at_nodes(&question.pod.requirements);
        let any_picky = self.keys.iter().any(picky);
        let counts = || self.counter.per_host().chain(std::iter::repeat(0));
        if are_independent(self.keys.iter().map(|key| key.constraint), require_all_keys, question) {
            // No key depends on another, nor on the node: the usual case.
            for (at, key) in self.keys.iter_mut().enumerate() {
                let kept = self.counter.per_domain(&key.constraint.topology_key, key.domains);
                // Nodes without the label join those where it is empty, if there are any.
                let joined = !require_all_keys && key.domains.empty_value().is_some();
                if let Some(sums) = kept.filter(|_| !joined) {
                    for (pods, sum) in key.pods.iter_mut().zip(sums) {
                        *pods = Some(*sum);
                    }
                    continue;
                }
                for (domain_of_host, matching) in key.domains.all().zip(counts()) {
                    let domain = match domain_of_host {
                        HostDomain::In(domain) => domain,
                        HostDomain::MissingLabel if !require_all_keys => key.unlabelled(),
                        HostDomain::MissingLabel | HostDomain::UnknownNode => continue,
                    };
                    if wanted(at, domain) {
                        *key.pods[domain.index()].get_or_insert(0) += i64::from(matching);
                    }
                }
            }
            return;
        }
        for (host, matching) in (0..question.view.host_numbers()).map(HostId::at).zip(counts()) {
            if !self.takes_part(host, require_all_keys) {
                continue;
            }
            // Looking at the node itself is what costs, so it is done only if something depends on it.
            let inclusion = if any_picky { Inclusion::of(host, question) } else { Inclusion::FULL };
            for (at, key) in self.keys.iter_mut().enumerate() {
                let domain = key.domain_or_unlabelled(host);
                if inclusion.counts_for(key.constraint) && wanted(at, domain) {
                    *key.pods[domain.index()].get_or_insert(0) += i64::from(matching);
                }
            }
        }
    }

    /// Whether the host's node is known and, if asked for, carries every topology label.
    pub fn takes_part(&self, host: HostId, require_all_keys: bool) -> bool {
        self.keys.iter().all(|key| match key.domains.of(host) {
            HostDomain::In(_) => true,
            HostDomain::MissingLabel => !require_all_keys,
            HostDomain::UnknownNode => false,
        })
    }
}

/// Whether the domains of each constraint can be counted without looking at the other constraints or at nodes.
pub fn are_independent<'a>(
    constraints: impl ExactSizeIterator<Item = &'a Constraint>,
    require_all_keys: bool,
    question: &Question<'_>,
) -> bool {
    let alone = constraints.len() == 1 || !require_all_keys;
    alone && constraints.into_iter().all(|constraint| !constraint.looks_at_nodes(&question.pod.requirements))
}

/// Whether the pod could be on a node at all, as far as constraints ask.
#[derive(Clone, Copy)]
pub struct Inclusion {
    allowed: bool,
    tolerated: bool,
}

impl Inclusion {
    const FULL: Self = Self { allowed: true, tolerated: true };

    pub fn of(host: HostId, question: &Question<'_>) -> Self {
        let node = question.view.host_numbered(host).and_then(|host| host.node.as_ref());
        node.map_or(Self::FULL, |node| Self {
            allowed: question.pod.requirements.allow(node),
            tolerated: question.pod.requirements.tolerate(&node.taints),
        })
    }

    pub fn counts_for(self, constraint: &Constraint) -> bool {
        (self.allowed || !constraint.honor_affinity) && (self.tolerated || !constraint.honor_taints)
    }
}

impl Key<'_> {
    /// The domain of a host. A missing label reads as an empty value, as in a Go map.
    pub fn domain_or_unlabelled(&self, host: HostId) -> DomainId {
        match self.domains.of(host) {
            HostDomain::In(domain) => domain,
            HostDomain::MissingLabel | HostDomain::UnknownNode => self.unlabelled(),
        }
    }

    fn unlabelled(&self) -> DomainId {
        self.domains.empty_value().unwrap_or(DomainId::at(self.domains.len()))
    }
}
