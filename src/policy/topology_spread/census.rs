//! How many of the workload's pods each domain holds, over the nodes that count.

use super::Case;
use super::rules::Constraint;
use crate::policy::Question;
use crate::view::{Counter, DomainId, Domains, HostId};

/// What is known of the constraints at hand, in their order.
pub struct Census<'a> {
    pub counter: &'a Counter,
    pub keys: Vec<Key<'a>>,
}

/// One constraint and its domains.
pub struct Key<'a> {
    pub constraint: &'a Constraint,
    pub domains: &'a Domains,
    /// Matching pods per domain; `None` for domains without a node that counts. One more than there are
    /// domains: the last is for nodes without the label, where those count.
    pub pods: Vec<Option<i64>>,
}

impl<'a> Census<'a> {
    /// `None` if the view was not prepared for this case, which cannot happen: see `Policy::needs`.
    pub fn prepare(case: &Case<'_>, constraints: &'a [Constraint], question: &Question<'a>) -> Option<Self> {
        let counter = question.view.counter(&case.key)?;
        let key = |constraint: &'a Constraint| {
            let domains = &**question.view.domains(&constraint.topology_key)?;
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
        let mut counts = self.counter.per_host();
        for (host, found) in question.view.numbered_hosts_dense() {
            let matching = i64::from(counts.next().unwrap_or(0));
            let Some(node) = found.and_then(|host| host.node.as_ref()) else { continue };
            if require_all_keys && !self.has_all_keys(host) {
                continue;
            }
            let mut allowed = None;
            let mut tolerated = None;
            for (at, key) in self.keys.iter_mut().enumerate() {
                let requirements = question.requirements;
                if key.constraint.honor_affinity && !*allowed.get_or_insert_with(|| requirements.allow(node))
                {
                    continue;
                }
                if key.constraint.honor_taints
                    && !*tolerated.get_or_insert_with(|| requirements.tolerate(&node.taints))
                {
                    continue;
                }
                let domain = key.domain_or_unlabelled(host);
                if wanted(at, domain) {
                    *key.pods[domain].get_or_insert(0) += matching;
                }
            }
        }
    }

    /// Whether the host's node carries every topology label.
    pub fn has_all_keys(&self, host: HostId) -> bool {
        self.keys.iter().all(|key| key.domains.of(host).is_some())
    }
}

impl Key<'_> {
    /// The domain of a host. A missing label reads as an empty value, as in a Go map.
    pub fn domain_or_unlabelled(&self, host: HostId) -> DomainId {
        let unlabelled = || self.domains.empty_value().unwrap_or(self.domains.len());
        self.domains.of(host).unwrap_or_else(unlabelled)
    }
}
