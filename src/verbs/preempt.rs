//! Preempt: which of kube-scheduler's candidates are worth an eviction.

use std::borrow::Cow;

use super::Verbs;
use crate::config::Mode;
use crate::engine::{Asked, Engine};
use crate::model::Pod;
use crate::policy::Purpose;
use crate::policy::preemption::{Candidate, Fate, Victims};
use crate::view::View;
use crate::wire::{NodeVictims, PreemptArgs, WireError, reply};

impl Verbs {
    pub(super) fn preempt(&self, body: &[u8]) -> Result<Vec<u8>, WireError> {
        let PreemptArgs { pod: object, candidates: offered } = PreemptArgs::decode(body)?;
        let pod = self.recognised(&object);
        let names: Vec<_> = offered.iter().map(|candidate| candidate.node.clone()).collect();
        let find = |view: &View| {
            let known = |offered: &NodeVictims<'_>| {
                let victims = Victims::find(&offered.node, offered.uids.as_deref().unwrap_or_default(), view);
                Candidate { victims, budget_violations: offered.budget_violations }
            };
            offered.iter().map(known).collect()
        };
        let judge = |engine: &Engine, asked: &Asked<'_>| Ok((engine.preemption_mode(), asked.preempt(find)?));
        let (mode, fates) = self.consult(Purpose::Preempt, &pod, &names, judge).unwrap_or_else(|_| {
            // In doubt every candidate stays: kube-scheduler's own choice is the fallback.
            (self.config.load().preemption.mode, vec![Fate::Undecided; offered.len()])
        });
        for fate in &fates {
            self.metrics.preemption_candidates.with_label_values(&[mode.label(), fate.label()]).inc();
        }
        tell(&pod, mode, &names, &fates);
        let stays = |fate: Fate| mode == Mode::Observe || fate.passes();
        let kept = offered.iter().zip(&fates).filter(|(_, fate)| stays(**fate));
        Ok(reply::preempt(kept.map(|(candidate, _)| candidate)))
    }
}

/// Tells what is dropped, or would have been. Who only observes wants to read it; otherwise the metrics will do.
fn tell(pod: &Pod, mode: Mode, names: &[Cow<'_, str>], fates: &[Fate]) {
    const SHOWN: usize = 5;
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
    let (refused, outranked) = (text(refused.take(SHOWN).collect()), text(outranked.take(SHOWN).collect()));
    let (pod, candidates) = (&pod.key, fates.len());
    match mode {
        Mode::Observe => tracing::info!(
            %pod, candidates, in_vain, dearer, refused, outranked, "candidates for preemption would be dropped"
        ),
        Mode::Enforce => tracing::debug!(
            %pod, candidates, in_vain, dearer, refused, outranked, "candidates for preemption dropped"
        ),
    }
}
