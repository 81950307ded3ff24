//! Recording: what follows from a decision once it is given as an answer. Ledger, metrics, log lines and Events are
//! derived from the value here, and nowhere else.

use std::borrow::Cow;

use super::Verbs;
use super::call::CalledPod;
use super::decide::Consulted;
use super::owed;
use crate::config::Mode;
use crate::decision::{Decision, Effects, Undecided};
use crate::model::ObjectKey;
use crate::policy::preemption::Fate;
use crate::view::View;
use crate::view::change::Offer;

/// How many nodes a log line names.
const SHOWN: usize = 5;

/// Room was reserved between a decision and its record.
#[derive(Debug)]
pub(super) struct Outdated;

impl Verbs {
    /// Records what filter answers: a decision, or with [`Decision::undecided`] an error. Nothing is recorded, and the
    /// decision has to be made anew, if room was reserved since of which it does not know.
    pub(super) fn record_filter(
        &self,
        called: &CalledPod,
        consulted: &Consulted<Decision>,
        candidates: &[Cow<'_, str>],
    ) -> Result<(), Outdated> {
        let Consulted { snapshot, pod, answer: decision } = consulted;
        let offer = self.offer(candidates, decision);
        self.write_ledger(called, offer, decision.effects(), Some(snapshot.view()))?;
        self.nominations.asked_about(pod);
        if let Some(undecided) = decision.undecided() {
            self.record_undecided(called.key(), undecided);
            if undecided.may_last() {
                self.group_events.filtered(pod, candidates, decision, snapshot.view());
            }
        } else {
            snapshot.engine().count(decision);
            self.group_events.filtered(pod, candidates, decision, snapshot.view());
        }
        if let Some(node) = &decision.effects().nominate {
            self.nominations.ask_for(pod, node);
        }
        Ok(())
    }

    /// Records that filter answers with an error because there is no decision.
    pub(super) fn record_filter_error(&self, called: &CalledPod, undecided: Undecided) {
        self.record_undecided(called.key(), undecided);
        let nothing = self.write_ledger(called, Offer::None, &Effects::default(), None);
        debug_assert!(nothing.is_ok(), "it takes no room");
    }

    /// Records that a call is answered without a decision.
    pub(super) fn record_undecided(&self, pod: &ObjectKey, undecided: Undecided) {
        let reason = undecided.code();
        self.metrics.undecided.with_label_values(&[reason]).inc();
        tracing::debug!(%pod, reason, "no decision");
    }

    /// Records what becomes of the candidates for preemption. Who only observes wants to read it; otherwise the metrics
    /// will do.
    pub(super) fn record_preemption(
        &self,
        pod: &ObjectKey,
        mode: Mode,
        names: &[Cow<'_, str>],
        fates: &[Fate],
    ) {
        for fate in fates {
            self.metrics.preemption_candidates.with_label_values(&[mode.label(), fate.label()]).inc();
        }
        let those = |wanted: Fate| {
            let concerned = names.iter().zip(fates).filter(move |(_, fate)| **fate == wanted);
            concerned.map(|(name, _)| &**name)
        };
        let (refused, outranked) = (those(Fate::Refused), those(Fate::Outranked));
        let (in_vain, dearer) = (refused.clone().count(), outranked.clone().count());
        if in_vain + dearer == 0 {
            return;
        }
        let text = |names: Vec<&str>| names.join(" ");
        let (refused, outranked) =
            (text(refused.take(SHOWN).collect()), text(outranked.take(SHOWN).collect()));
        let candidates = fates.len();
        match mode {
            Mode::Observe => tracing::info!(
                %pod, candidates, in_vain, dearer, refused, outranked, "candidates for preemption would be dropped"
            ),
            Mode::Enforce => tracing::debug!(
                %pod, candidates, in_vain, dearer, refused, outranked, "candidates for preemption dropped"
            ),
        }
    }

    /// Puts into the ledger what filter answers, what has to be reserved for the pod's group, and who was waited for in
    /// vain. Whatever was decided about the pod before is void.
    ///
    /// What takes room was decided on `seen`. No lock is held from there to here: whoever has reserved room meanwhile was
    /// first.
    fn write_ledger(
        &self,
        called: &CalledPod,
        offer: Offer,
        effects: &Effects,
        seen: Option<&View>,
    ) -> Result<(), Outdated> {
        let takes_room = !matches!(offer, Offer::None) || effects.reservation.is_some();
        let seen = seen.filter(|_| takes_room).map(|view| view.ledger().reservations().made());
        let mut outcome = Ok(());
        self.store.write_by_settings(|view, config, _| {
            if seen.is_some_and(|made| made != view.ledger().reservations().made()) {
                outcome = Err(Outdated);
                return Vec::new();
            }
            // Groups may be recognised in another way since the decision: then nothing is reserved for what is no group
            // any more.
            let pod = &called.seen_by(view);
            let group = pod.group.as_ref().map(|membership| &membership.group);
            let reservation = effects.reservation.as_ref().filter(|kept| Some(&kept.group) == group);
            view.mark_overdue(&effects.awaited);
            let mut dropped = Vec::new();
            if let Some(reservation) = reservation {
                // It was worked out as if the pod were nowhere.
                dropped.extend(view.withdraw(&pod.uid));
                view.reserve(reservation.clone(), owed::life(config));
            }
            dropped.extend(view.offer(pod, offer, config.server.ledger_ttl.0));
            if let Some(domain) = &effects.subgroup_domain {
                view.bring_subgroup_to(&pod.uid, domain.clone());
            }
            dropped
        });
        outcome
    }

    fn offer(&self, candidates: &[Cow<'_, str>], decision: &Decision) -> Offer {
        match decision.passing() {
            _ if decision.undecided().is_some() => Offer::None,
            0 => Offer::None,
            1 => {
                let only = (0..candidates.len()).find(|at| decision.passes(*at));
                only.map_or(Offer::None, |at| Offer::One(self.interner.name(&candidates[at])))
            }
            _ => Offer::Several,
        }
    }
}
