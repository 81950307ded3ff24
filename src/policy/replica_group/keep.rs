//! Keeping to a plan: the slots that are reserved, as long as there is one for everybody.

use super::host_set::{HostSet, domains_of};
use super::packing::{DomainPacking, Kept};
use super::problem::Problem;
use super::search::{Plan, Search};
use crate::ledger::{Reservation, Slot};
use crate::view::DomainId;

impl<'a> Search<'a> {
    /// What is reserved for the group, if it still has a slot for everybody. Nobody who came later was let onto it, so
    /// whoever is in flight changes nothing, unless it has a higher priority.
    pub(super) fn keep_to_reservation(&self, problem: Problem<'a, '_>) -> Option<Plan> {
        let membership = self.members.membership;
        let reservation = self.reservation?;
        // Subgroups have domains of their own, which slots do not tell.
        let lost = self.required.is_some() && self.intended.is_none();
        let left = self.anchor.is_some() && self.anchor != self.intended;
        let mut in_flight = self.in_flight.towards(self.value_of(self.intended));
        let outranked = in_flight.any(|entry| entry.pod.priority > reservation.priority);
        if membership.subgroup.is_some() || lost || left || outranked {
            return None;
        }
        let set = self.host_set(self.intended)?;
        // Beyond the preferred topology, it may have become possible within it.
        let set = if membership.topology.preferred.is_some() {
            self.preferred_part(&set, &reservation.slots)?
        } else {
            set
        };
        // Slots do not tell in which domain members that have to be near each other were put.
        if problem.affinity.divides(&set) {
            return None;
        }
        let mut packing = DomainPacking::over(&set.hosts, problem);
        let holds = match packing.take_reserved(&reservation.slots, self.in_flight.has_others()) {
            Kept::All => true,
            Kept::TooFew => false,
            // Somebody of a higher priority took one: who is in flight may take another.
            Kept::WithoutAllSpare => {
                let who = (self.members, problem.conflicts);
                packing = DomainPacking::over(&set.hosts, problem);
                packing.take_reserved(&reservation.slots, false);
                self.in_flight.make_certain(&mut packing, self.value_of(self.intended), who)
            }
        };
        holds.then(|| self.draw_up(&packing, self.intended, &problem))
    }

    /// The domain of the preferred topology within some hosts that everybody is in, or has a slot in.
    fn preferred_part(&self, set: &HostSet<'a>, slots: &[Slot]) -> Option<HostSet<'a>> {
        let narrower = self.view.domains(self.members.membership.topology.preferred.as_ref()?)?;
        let reserved = slots.iter().filter_map(|slot| self.view.host_id(&slot.host));
        let placed = self.members.placed.iter().map(|placed| placed.host);
        let domains = domains_of(placed.chain(reserved), narrower);
        let mut parts = set.divided_by(narrower).into_iter();
        parts.find(|part| domains.len() == 1 && part.domain.is_some_and(|domain| domains.contains(&domain)))
    }

    /// What has to be reserved for a plan.
    pub(super) fn reservation_of(
        &self,
        packing: &DomainPacking<'a, '_>,
        domain: Option<DomainId>,
    ) -> Reservation {
        let (members, membership) = (self.members, self.members.membership);
        let slots = packing.assignments().filter_map(|(class, host)| {
            let host = self.view.host_numbered(host)?.name.clone();
            Some(members.class(class).slot(host))
        });
        Reservation {
            priority: members.priority,
            domain: membership.topology.required.clone().zip(self.value_of(domain).cloned()),
            exclusive: members.exclusive(),
            parts: membership.subgroup.as_ref().map(|parts| parts.topology.clone()),
            missing: members.missing(),
            undescribed: members.undescribed,
            slots: slots.collect(),
            in_place: members.in_place().cloned().collect(),
            ..Reservation::nothing(membership.group.clone())
        }
    }

    /// Whether what is reserved is of no use any more: nobody is there or on the way, and not everybody would fit.
    pub(super) fn is_reservation_useless(&self) -> bool {
        let intended =
            self.intended.is_none() || !self.fits(self.intended, super::availability::Assumption::Nothing);
        self.reservation.is_some()
            && self.members.placed.is_empty()
            && !self.in_flight.has_members()
            && intended
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::super::availability::Assumption;
    use super::super::search::Outcome;
    use super::super::situation::{Situation, cpus, hosts, member};
    use crate::fixtures::pod;
    use crate::ledger::Life;
    use crate::model::Pod;

    fn plan(situation: &Situation, asking: &Pod) -> Option<(String, crate::ledger::Reservation)> {
        situation.search(asking, |search| match search.run(Assumption::Nothing, None) {
            Outcome::Found(plan) => Some((hosts(&plan), plan.reservation.clone())),
            Outcome::Undecided(_) | Outcome::None => None,
        })
    }

    #[test]
    fn slots_are_kept_to_while_there_is_one_for_everybody() {
        let asking = member("g", 0, 2, 2).build();
        let mut situation = Situation::racks(&[("a", &[4]), ("b", &[8])]).with(asking.clone());
        let (first, reservation) = plan(&situation, &asking).expect("room");
        assert_eq!(first, "a0 a0", "the tightest rack");
        situation.view.reserve(reservation, Life::of(Duration::from_mins(1)));
        // A rack that would be tighter now changes nothing.
        let full = situation.with(pod("x").requests(cpus(4)).on("b0").build());
        assert_eq!(plan(&full, &asking).map(|(hosts, _)| hosts), Some("a0 a0".to_owned()));
        // Somebody took the room all the same: another plan is made.
        let taken = full.with(pod("y").requests(cpus(1)).on("a0").build());
        assert_eq!(plan(&taken, &asking).map(|(hosts, _)| hosts), Some("b0 b0".to_owned()));
    }

    #[test]
    fn a_spare_slot_that_was_lost_is_missed_while_somebody_is_in_flight() {
        let asking = member("g", 0, 2, 2).build();
        let single = pod("single").requests(cpus(2)).build();
        let mut situation = Situation::racks(&[("a", &[4, 4])]).with(asking.clone()).with_offered(single);
        let (first, reservation) = plan(&situation, &asking).expect("room");
        assert_eq!(first, "a0 a0 a1", "one to spare");
        situation.view.reserve(reservation, Life::of(Duration::from_mins(1)));
        let urgent = |name: &str| pod(name).requests(cpus(2)).priority(1);
        let taken = situation.with(urgent("x").on("a0").build());
        assert!(plan(&taken, &asking).is_some(), "one to spare is left elsewhere");
        let taken = taken.with(urgent("y").on("a1").build());
        assert_eq!(plan(&taken, &asking), None, "one for everybody, unless the pod in flight takes it");
    }
}
