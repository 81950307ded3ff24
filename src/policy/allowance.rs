//! What working out what is owed to groups may cost those who wait for it.
//!
//! Whoever asks waits for what is worked out before the answer, whosever groups it is about. So each namespace has a share in
//! what may be spent, and what goes beyond it is put off. It is counted in steps: the same on every Berth, however fast its
//! machine is.
//!
//! ```text
//!   the group of the pod that asks        as much as a group may cost at all
//!   groups whose members have changed     a share for each namespace
//!   groups that may be owed otherwise     a small purse for all of them
//! ```

use std::cell::{Cell, RefCell};
use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use super::Budget;
use crate::model::{GroupKey, Name};

/// What one group may cost at all: a tenth of a second or so.
const STEPS_PER_GROUP: u64 = 2_000_000;

/// What a look at a group costs at least: there may be many of which next to nothing is to be looked at.
const STEPS_PER_LOOK: u64 = 500;

/// How much may be spent on which groups. It is paid from as groups are looked at.
#[derive(Debug)]
pub struct Allowance {
    first: Option<Arc<GroupKey>>,
    left_for_first: Cell<u64>,
    later: HashSet<Arc<GroupKey>>,
    left_for_later: Cell<u64>,
    share: u64,
    left: RefCell<HashMap<Name, u64>>,
}

/// What one look at a group may cost.
#[derive(Debug)]
pub struct Grant {
    /// To be spent from.
    pub budget: Budget,
    steps: u64,
}

impl Grant {
    /// Whether the look would have cost more than is allowed now. If it would have cost more than a group may at all, it has
    /// been looked at.
    pub fn is_too_small(&self) -> bool {
        self.steps < STEPS_PER_GROUP && self.budget.is_spent()
    }
}

impl Allowance {
    /// So many steps for each namespace, and so many for what is looked at in addition.
    pub fn of(share: u64, for_later: u64) -> Self {
        Self {
            first: None,
            left_for_first: Cell::new(0),
            later: HashSet::new(),
            left_for_later: Cell::new(for_later),
            share,
            left: RefCell::default(),
        }
    }

    /// As much as it takes.
    pub fn unlimited() -> Self {
        Self::of(u64::MAX, u64::MAX)
    }

    /// This group is not put off, whatever the others have cost.
    pub fn put_first(&mut self, group: Arc<GroupKey>) {
        self.left_for_first = Cell::new(2 * STEPS_PER_GROUP);
        self.first = Some(group);
    }

    /// These are looked at in addition.
    pub fn set_later(&mut self, groups: impl IntoIterator<Item = Arc<GroupKey>>) {
        self.later = groups.into_iter().collect();
    }

    /// Whether a group was to be looked at in addition.
    pub fn is_later(&self, group: &GroupKey) -> bool {
        self.later.contains(group)
    }

    /// Whether anything may be spent on a group.
    pub fn covers(&self, group: &GroupKey) -> bool {
        self.left_for(group) > 0
    }

    /// What may be spent on a group.
    pub fn grant(&self, group: &GroupKey) -> Grant {
        let steps = self.left_for(group).min(STEPS_PER_GROUP);
        Grant { budget: Budget::of_steps(steps), steps }
    }

    /// What a group may cost at all, whatever is left.
    pub fn whole_grant() -> Grant {
        Grant { budget: Budget::of_steps(STEPS_PER_GROUP), steps: STEPS_PER_GROUP }
    }

    /// A look at a group is over.
    pub fn pay(&self, group: &GroupKey, grant: &Grant) {
        let taken = grant.steps.saturating_sub(grant.budget.left()).max(STEPS_PER_LOOK);
        let left = self.left_for(group).saturating_sub(taken);
        if self.is_first(group) {
            self.left_for_first.set(left);
        } else if self.is_later(group) {
            self.left_for_later.set(left);
        } else if self.share != u64::MAX {
            self.left.borrow_mut().insert(group.set.namespace.clone(), left);
        }
    }

    fn is_first(&self, group: &GroupKey) -> bool {
        self.first.as_deref() == Some(group)
    }

    fn left_for(&self, group: &GroupKey) -> u64 {
        if self.is_first(group) {
            self.left_for_first.get()
        } else if self.is_later(group) {
            self.left_for_later.get()
        } else {
            self.left.borrow().get(&group.set.namespace).copied().unwrap_or(self.share)
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::{Allowance, STEPS_PER_GROUP};
    use crate::fixtures::pod;
    use crate::model::GroupKey;

    fn group(namespace: &str, name: &str) -> Arc<GroupKey> {
        let pod = pod(name).namespace(namespace).annotation("berth.dev/group", name).build();
        pod.group.expect("a member").group.clone()
    }

    #[test]
    fn each_namespace_pays_from_its_own_share() {
        let [own, other, same, elsewhere, later] =
            [("a", "own"), ("a", "other"), ("a", "same"), ("b", "g"), ("b", "later")]
                .map(|(ns, name)| group(ns, name));
        let mut allowance = Allowance::of(10_000, 2_000);
        allowance.put_first(own.clone());
        allowance.set_later([later.clone()]);
        let spend = |group: &GroupKey, steps: usize| {
            let grant = allowance.grant(group);
            grant.budget.spend(steps);
            allowance.pay(group, &grant);
            grant.is_too_small()
        };
        assert!(!spend(&other, 9_900), "it is within the share");
        assert!(spend(&same, 9_900), "of which not so much is left");
        assert!(!allowance.covers(&same) && allowance.covers(&elsewhere) && allowance.covers(&own));
        assert!(!spend(&own, 1_000_000), "whoever asks is not put off");
        assert!(
            !spend(&later, 0) && !spend(&later, 1_400) && allowance.covers(&later),
            "a look costs something"
        );
        assert!(!spend(&later, 50) && !allowance.covers(&later));
        let grant = Allowance::whole_grant();
        grant.budget.spend(usize::MAX);
        assert!(!grant.is_too_small(), "more than {STEPS_PER_GROUP} steps are never granted");
    }
}
