//! Nobody pays for another's annotations.

use std::collections::BTreeMap;

use super::Violation;
use crate::berth_process::{LONGEST, SLOTS};
use crate::hostile::NAMESPACE;
use crate::truth::Part;
use crate::world::World;

/// What is said of a domain that another group has to itself.
const EXCLUSIVE: &str = "exclusive to another replica group";

impl World<'_> {
    /// What is kept for the hostile tenant's groups is limited in number and in time.
    pub fn check_limits(&mut self) -> Result<(), Violation> {
        let slots = self.look_at_hostile_tenant();
        if slots > SLOTS {
            return Err(Violation::new("room for a tenant is limited", format!("{slots} slots")));
        }
        match self.kept_since.iter().find(|(_, since)| **since + LONGEST < self.now) {
            Some((group, since)) => {
                let text = format!("{group} has room since {:.1} s", since.as_secs_f64());
                Err(Violation::new("room is kept for so long at most", text))
            }
            None => Ok(()),
        }
    }

    /// Notes for which of its groups room is kept; tells how many slots there are.
    pub fn look_at_hostile_tenant(&mut self) -> usize {
        let kept = self.berth.slots_in(NAMESPACE);
        let slots = kept.values().sum();
        self.seen.hostile_reserved |= slots > 0;
        let since = |group: String| {
            let since = self.kept_since.get(&group).copied().unwrap_or(self.now);
            (group, since)
        };
        self.kept_since = kept.into_keys().map(since).collect();
        slots
    }

    /// Only a group that may want to be alone keeps others out, and it may want so within its namespace.
    pub fn check_kept_out(&self, part: &Part, reasons: &BTreeMap<String, String>) -> Result<(), Violation> {
        let minds =
            |other: usize| self.truth.objects(part.group, other) || self.truth.objects(other, part.group);
        let is_alone = self.truth.set_of(part.group).exclusive == Some(crate::scenario::Scope::Cluster);
        if is_alone || (0..self.truth.groups.len()).any(minds) {
            return Ok(());
        }
        match reasons.iter().find(|(_, reason)| reason.contains(EXCLUSIVE)) {
            Some((node, reason)) => {
                let text = format!("group {} on {node}: {reason}", part.group);
                Err(Violation::new("exclusive within what is allowed", text))
            }
            None => Ok(()),
        }
    }
}
