//! The hosts that a group is on already, or has slots on.

use std::collections::HashMap;

use super::members::Members;
use crate::ledger::Reservation;
use crate::view::{HostId, View};

/// What a group has on a host.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct OwnHost {
    /// Members in place.
    pub placed: usize,
    /// Whether slots are reserved.
    pub reserved: bool,
}

/// All hosts on which a group has something.
#[derive(Debug, Default)]
pub struct OwnHosts(HashMap<HostId, OwnHost, ahash::RandomState>);

impl OwnHosts {
    /// Those of a group.
    pub fn of(members: &Members<'_>, reservation: Option<&Reservation>, view: &View) -> Self {
        let mut hosts = Self::default();
        for placed in &members.placed {
            hosts.0.entry(placed.host).or_default().placed += 1;
        }
        let slots = reservation.iter().flat_map(|reservation| &reservation.slots);
        for host in slots.filter_map(|slot| view.host_id(&slot.host)) {
            hosts.0.entry(host).or_default().reserved = true;
        }
        hosts
    }

    /// What the group has on a host.
    pub fn on(&self, host: HostId) -> OwnHost {
        self.0.get(&host).copied().unwrap_or_default()
    }
}
