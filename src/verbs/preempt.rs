//! Preempt: which of kube-scheduler's candidates are worth an eviction.

use super::Verbs;
use super::call::PreemptCall;
use super::decide::{Clock, Consultation};
use crate::config::Mode;
use crate::decision::Undecided;
use crate::policy::Purpose;
use crate::policy::preemption::{Candidate, Fate, Victims};
use crate::view::View;
use crate::wire::{NodeVictims, WireError, reply};

impl Verbs {
    pub(super) fn preempt(&self, body: &[u8]) -> Result<Vec<u8>, WireError> {
        let PreemptCall { pod: called, offered } =
            PreemptCall::decode(body, &self.interner, self.store.snapshot().view())?;
        let names: Vec<_> = offered.iter().map(|candidate| candidate.node.clone()).collect();
        let find = |view: &View| {
            let known = |offered: &NodeVictims<'_>| {
                let victims = Victims::find(&offered.node, offered.uids.as_deref().unwrap_or_default(), view);
                Candidate { victims, budget_violations: offered.budget_violations }
            };
            offered.iter().map(known).collect()
        };
        let clock = Clock::start();
        let consultation = Consultation::on(Purpose::Preempt, &clock);
        let consulted = self.consult(consultation, &called, &names, |asked| asked.preempt(find));
        let (snapshot, fates) = match consulted {
            Ok(consulted) => (consulted.snapshot, consulted.answer),
            Err(undecided) => {
                self.record_undecided(called.key(), undecided);
                // Filter would not let the member of such a group in whoever is evicted. In all other doubt every candidate
                // stays: kube-scheduler's own choice is the fallback.
                let is_followed = self.store.snapshot().config().replica_groups.mode == Mode::Enforce;
                let is_in_vain = is_followed
                    && undecided == Undecided::DecisionTimeout
                    && called.is_placed_with_its_group();
                let fate = if is_in_vain { Fate::Refused } else { Fate::Undecided };
                (self.store.snapshot(), vec![fate; offered.len()])
            }
        };
        let mode = snapshot.config().preemption.mode;
        self.record_preemption(called.key(), mode, &names, &fates);
        let stays = |fate: Fate| mode == Mode::Observe || fate.passes();
        let kept = offered.iter().zip(&fates).filter(|(_, fate)| stays(**fate));
        Ok(reply::preempt(kept.map(|(candidate, _)| candidate)))
    }
}
