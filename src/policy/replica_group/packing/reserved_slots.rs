//! Keeping to slots that are reserved already.

use super::{DomainPacking, Position};
use crate::ledger::Slot;
use crate::policy::replica_group::class::ClassId;

/// How many of the slots that are reserved still hold.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kept {
    /// All that were looked at.
    All,
    /// One for everybody, but not all of those to spare.
    WithoutAllSpare,
    /// Not one for everybody.
    TooFew,
}

impl DomainPacking<'_, '_> {
    /// Takes the slots that are reserved as far as they still hold, those that are needed first. There has to be one for
    /// everybody, and one of them where the member that asks may go. With `spare`, slots beyond that are kept too.
    pub fn take_reserved(&mut self, slots: &[Slot], spare: bool) -> Kept {
        let members = self.problem.members;
        let mut needed: Vec<usize> = members.missing.iter().map(|class| class.count).collect();
        let mut left = Vec::new();
        for slot in slots {
            let at = self.position_of_slot(slot);
            let takes = |class: &ClassId| {
                members.class(*class).suits(slot) && at.is_some_and(|at| self.capacity(*class, at) > 0)
            };
            let wanted = members.classes().filter(|class| needed[class.index()] > 0).find(takes);
            match (wanted, at) {
                (Some(class), Some(at)) => {
                    needed[class.index()] -= 1;
                    self.assign(class, at);
                }
                _ => left.push(slot),
            }
        }
        let nobody_asks = members.asking.is_none();
        if needed.iter().any(|needed| *needed > 0) || !(nobody_asks || self.asking_is_assigned()) {
            return Kept::TooFew;
        }
        let mut kept = Kept::All;
        for slot in left.into_iter().filter(|_| spare) {
            let at = self.position_of_slot(slot);
            let takes = |class: &ClassId| {
                let alike = *members.class(*class).requests == slot.requests;
                alike && at.is_some_and(|at| self.capacity(*class, at) > 0)
            };
            match members.classes().find(takes).zip(at) {
                Some((class, at)) => self.assign(class, at),
                None => kept = Kept::WithoutAllSpare,
            }
        }
        kept
    }

    fn position_of_slot(&self, slot: &Slot) -> Option<Position> {
        self.position_of(self.problem.availability.view.host_id(&slot.host)?)
    }
}
