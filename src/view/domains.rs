//! Which domain of a topology key each host lies in.

use std::collections::HashMap;

use super::HostId;
use super::hosts::Hosts;
use crate::model::Name;

/// A domain's number, dense from 0.
pub type DomainId = usize;

const NONE: u32 = u32::MAX;

/// The domains of one topology key. Made on first use, and anew when a node comes, goes or is relabelled.
#[derive(Debug)]
pub struct Domains {
    /// By host number.
    of: Vec<u32>,
    /// How many there are.
    len: usize,
    /// The domain of nodes whose label is there and empty.
    empty_value: Option<DomainId>,
}

impl Domains {
    pub(super) fn build(hosts: &Hosts, key: &str) -> Self {
        let mut ids: HashMap<Name, u32> = HashMap::new();
        let mut domain = |host: Option<&super::Host>| -> u32 {
            let Some(value) = host.and_then(|host| host.node.as_ref()?.labels.get(key)) else { return NONE };
            let next = u32::try_from(ids.len()).unwrap_or(NONE);
            *ids.entry(value.clone()).or_insert(next)
        };
        let of = hosts.slots().map(|slot| domain(slot.as_ref())).collect();
        let empty_value = ids.get("").map(|id| *id as DomainId);
        Self { of, len: ids.len(), empty_value }
    }

    /// The domain of a host; `None` if its node is not known or lacks the label.
    pub fn of(&self, host: HostId) -> Option<DomainId> {
        self.of.get(host).copied().filter(|id| *id != NONE).map(|id| id as DomainId)
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
