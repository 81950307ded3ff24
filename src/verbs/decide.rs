//! Deciding: from a snapshot and a call to a decision, without any effect on what is decided next.
//!
//! A verb publishes what the view lacked, such as a counter, because the next calls need it too. [`Verbs::explain`] does
//! the same on a copy of its own.

use std::borrow::Cow;
use std::sync::Arc;

use super::Verbs;
use super::call::CalledPod;
use crate::cluster::freshness::NotReady;
use crate::config::Config;
use crate::decision::{Decision, Detail, Undecided};
use crate::engine::{Asked, Engine, Panicked};
use crate::model::Pod;
use crate::policy::{Purpose, Question};
use crate::store::Snapshot;
use crate::view::{Needs, View};

impl From<NotReady> for Undecided {
    fn from(not_ready: NotReady) -> Self {
        match not_ready {
            NotReady::NotSynced(_) => Undecided::CacheNotSynced,
            NotReady::Stale(_) => Undecided::CacheStale,
        }
    }
}

impl From<Panicked> for Undecided {
    fn from(_: Panicked) -> Self {
        Undecided::InternalError
    }
}

/// What was answered, and on what.
pub(super) struct Consulted<R> {
    /// What it was decided on.
    pub snapshot: Arc<Snapshot>,
    /// The pod as that snapshot sees it.
    pub pod: Arc<Pod>,
    /// What the policies say.
    pub answer: R,
}

/// What came of a question.
enum Outcome<R> {
    Answer(R),
    /// The view has to provide this first.
    Lacks(Needs),
}

impl Verbs {
    /// Asks the policies on one snapshot that has everything they need.
    pub(super) fn consult<R>(
        &self,
        purpose: Purpose,
        called: &CalledPod,
        candidates: &[Cow<'_, str>],
        answer: impl Fn(&Asked<'_>) -> Result<R, Panicked>,
    ) -> Result<Consulted<R>, Undecided> {
        let mut snapshot = self.store.snapshot();
        self.trust_cache(&snapshot)?;
        loop {
            if !snapshot.view().reservations_are_rebuilt() {
                snapshot = self.rebuild_reservations()?;
            }
            let pod = called.seen_by(snapshot.view());
            let (view, engine) = (snapshot.view(), snapshot.engine());
            match ask(engine, Question::about(purpose, &pod, candidates, view), &answer)? {
                Outcome::Answer(answer) => return Ok(Consulted { snapshot, pod, answer }),
                // It is made once and kept up from then on. Everything is prepared again on what is published then.
                Outcome::Lacks(needs) => {
                    snapshot = self.store.write(|view| {
                        view.provide(&needs);
                        Vec::new()
                    });
                }
            }
        }
    }

    /// What filter would decide about a pod now, with the facts behind it. It changes nothing: neither the ledger nor
    /// what is published, and no decision is counted or measured.
    pub fn explain(&self, pod: Arc<Pod>, candidates: &[Cow<'_, str>]) -> Result<Decision, Undecided> {
        let snapshot = self.store.snapshot();
        self.trust_cache(&snapshot)?;
        let (engine, mut view) = (snapshot.engine(), snapshot.view().clone());
        if !view.reservations_are_rebuilt() {
            rebuild(&mut view, snapshot.config(), engine)?;
        }
        let pod = CalledPod::new(pod, &view).seen_by(&view);
        loop {
            let question = Question::about(Purpose::Filter, &pod, candidates, &view);
            match ask(engine, Question { detail: Detail::Facts, ..question }, |asked: &Asked<'_>| {
                asked.filter()
            })? {
                Outcome::Answer(decision) => return Ok(decision),
                Outcome::Lacks(needs) => view.provide(&needs),
            }
        }
    }

    fn trust_cache(&self, snapshot: &Snapshot) -> Result<(), Undecided> {
        let not_ready = self.freshness.not_ready(snapshot.config().server.staleness_limit.0);
        not_ready.map_or(Ok(()), |not_ready| Err(not_ready.into()))
    }

    /// The first thing after a start, and after groups are recognised in another way.
    fn rebuild_reservations(&self) -> Result<Arc<Snapshot>, Panicked> {
        let mut result = Ok(());
        let snapshot = self.store.write_by_settings(|view, config, engine| {
            if !view.reservations_are_rebuilt() {
                result = rebuild(view, config, engine);
            }
            Vec::new()
        });
        result.map(|()| snapshot)
    }
}

/// Works out what has to be reserved for groups of which some members are running already. It is tried once, even if a
/// policy panics.
fn rebuild(view: &mut View, config: &Config, engine: &Engine) -> Result<(), Panicked> {
    view.mark_reservations_rebuilt();
    let needs = engine.restore_needs(view)?;
    view.provide(&needs);
    for restored in engine.restore(view)? {
        // What is reserved already stays as it is.
        if view.ledger().reservations().of(&restored.group).is_none() {
            view.reserve(restored, config.replica_groups.reservation_ttl.0);
        }
    }
    Ok(())
}

/// Asks the policies as if the pod were nowhere. A pure function of the question.
fn ask<R>(
    engine: &Engine,
    question: Question<'_>,
    answer: impl FnOnce(&Asked<'_>) -> Result<R, Panicked>,
) -> Result<Outcome<R>, Panicked> {
    let uid = &question.pod.uid;
    let without_pod;
    let mut question = question;
    if question.view.ledger().get(uid).is_some() {
        // Wherever an earlier attempt put the pod, now it is nowhere: it must not stand in its own way.
        let mut view = question.view.clone();
        view.withdraw(uid);
        without_pod = view;
        question.view = &without_pod;
    }
    let view = question.view;
    let asked = engine.prepare(question)?;
    let needs = asked.needs()?;
    if view.provides(&needs) { answer(&asked).map(Outcome::Answer) } else { Ok(Outcome::Lacks(needs)) }
}
