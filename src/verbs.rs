//! The four verbs: decode, decide on one view, encode.

mod group_events;
mod preempting;

use std::borrow::Cow;
use std::sync::Arc;
use std::time::Duration;

use arc_swap::ArcSwap;

pub use self::group_events::GroupEvents;

use crate::cluster::binder::{BindError, BindOrder};
use crate::cluster::freshness::NotReady;
use crate::cluster::{Binder, EventRecorder, Freshness, Store};
use crate::config::Config;
use crate::decision::{Decision, Undecided};
use crate::engine::{Asked, Engine, Panicked};
use crate::json::{self, Interner, PodObject};
use crate::metrics::Metrics;
use crate::model::{Name, Object, ObjectKey, Pod};
use crate::policy::{Purpose, Question};
use crate::view::View;
use crate::view::change::{Change, Offer};
use crate::wire::{BindArgs, Candidates, SchedulingArgs, WireError, reply};

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

/// For what filter may still wait.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Patience {
    /// For nothing: it answers.
    None,
    /// For bind calls on which a hard limit hangs.
    Limits,
    /// Also for those that only make scores better.
    Preferences,
}

impl Patience {
    /// Scores are worth a small part of the wait: the bind call is usually under way already, and where it is not
    /// (volumes, permits) it will not come soon.
    const PREFERENCES: u32 = 10;

    /// What is left after some of the time for limits has passed.
    pub fn after(waited: Duration, limits: Duration) -> Self {
        if waited < limits / Self::PREFERENCES {
            Patience::Preferences
        } else if waited < limits {
            Patience::Limits
        } else {
            Patience::None
        }
    }

    /// How long it stays like this.
    pub fn next_change(self, waited: Duration, limits: Duration) -> Duration {
        let until = if self == Patience::Preferences { limits / Self::PREFERENCES } else { limits };
        until.saturating_sub(waited)
    }

    fn waits_for(self, decision: &Decision) -> bool {
        let worth_it = match self {
            Patience::None => false,
            Patience::Limits => decision.is_uncertain(),
            Patience::Preferences => true,
        };
        worth_it && !decision.effects().awaited.is_empty()
    }
}

/// What kube-scheduler can ask.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verb {
    /// Which nodes may be used.
    Filter,
    /// Which of them are best.
    Prioritize,
    /// Where evicting pods is worth it.
    Preempt,
    /// Bind a pod to its node.
    Bind,
}

impl Verb {
    /// All verbs.
    pub const ALL: [Verb; 4] = [Verb::Filter, Verb::Prioritize, Verb::Preempt, Verb::Bind];

    /// The name in paths and metrics.
    pub const fn label(self) -> &'static str {
        match self {
            Verb::Filter => "filter",
            Verb::Prioritize => "prioritize",
            Verb::Preempt => "preempt",
            Verb::Bind => "bind",
        }
    }

    /// The verb of a path such as `/filter`.
    pub fn from_path(path: &str) -> Option<Verb> {
        let name = path.strip_prefix('/')?;
        Verb::ALL.into_iter().find(|verb| verb.label() == name)
    }
}

/// Everything a verb needs.
pub struct Verbs {
    /// The cluster.
    pub store: Arc<Store>,
    /// How far it can be trusted.
    pub freshness: Arc<Freshness>,
    /// Who decides; replaced as a whole when the configuration changes.
    pub engine: Arc<ArcSwap<Engine>>,
    /// Who carries out bindings.
    pub binder: Binder,
    /// The settings in force.
    pub config: Arc<ArcSwap<Config>>,
    /// Shared strings.
    pub interner: Arc<Interner>,
    /// Who tells people about groups.
    pub group_events: Arc<GroupEvents>,
    /// Who counts.
    pub metrics: Arc<Metrics>,
}

impl Verbs {
    /// Berth without a server, over a cluster in memory: for embedding it, and for tests.
    pub fn in_memory(config: Config, objects: Vec<Object>) -> Result<Self, prometheus::Error> {
        let metrics = Arc::new(Metrics::new()?);
        let store = Arc::new(Store::new(metrics.clone()));
        store.recognise_groups(&config);
        store.apply(objects.into_iter().map(Change::Upsert));
        let freshness = Arc::new(Freshness::default());
        freshness.mark_all_current();
        Ok(Self {
            binder: Binder::InMemory(store.clone()),
            engine: Arc::new(ArcSwap::from_pointee(Engine::new(&config, metrics.clone()))),
            config: Arc::new(ArcSwap::from_pointee(config)),
            interner: Arc::default(),
            group_events: Arc::new(GroupEvents::new(EventRecorder::silent(metrics.clone()), metrics.clone())),
            store,
            freshness,
            metrics,
        })
    }

    /// Answers filter, prioritize and preempt, which need nothing but the processor. `None` for bind, which
    /// needs the API server.
    pub fn decide(&self, verb: Verb, body: &[u8]) -> Result<Option<Vec<u8>>, WireError> {
        match verb {
            Verb::Filter => self.filter(body, Patience::None),
            Verb::Prioritize => self.prioritize(body).map(Some),
            Verb::Preempt => self.preempt(body).map(Some),
            Verb::Bind => Ok(None),
        }
    }

    /// Answers filter. `None`, and only if there is patience left, when a bind call that is about to come would make the
    /// answer better: ask again when the store has changed.
    pub fn filter(&self, body: &[u8], patience: Patience) -> Result<Option<Vec<u8>>, WireError> {
        let SchedulingArgs { pod: object, candidates } = SchedulingArgs::decode(body)?;
        let pod = self.recognised(&object);
        let judge = |engine: &Engine, asked: &Asked<'_>| {
            let decision = asked.filter()?;
            let undecided = decision.is_undecided();
            let waits = patience.waits_for(&decision);
            if !undecided && !waits {
                engine.count(&decision);
            }
            Ok((decision, undecided, waits))
        };
        let undecided = match self.consult(Purpose::Filter, &pod, &candidates.names, judge) {
            Ok((_, _, true)) => return Ok(None),
            Ok((decision, false, false)) => {
                let offer = self.offer(&candidates, &decision);
                self.record(&pod, offer, &decision);
                self.group_events.filtered(&pod, &decision);
                return Ok(Some(reply::filter(&candidates, &decision)));
            }
            Ok((decision, true, false)) => {
                self.record(&pod, Offer::None, &decision);
                // Not a rejection: that could evict pods for a place that may well be free.
                return Ok(Some(reply::filter_error(Undecided::PlacementUnknown)));
            }
            Err(undecided) => undecided,
        };
        self.record(&pod, Offer::None, &Decision::all_pass(0));
        Ok(Some(reply::filter_error(undecided)))
    }

    fn prioritize(&self, body: &[u8]) -> Result<Vec<u8>, WireError> {
        let SchedulingArgs { pod: object, candidates } = SchedulingArgs::decode(body)?;
        let pod = self.recognised(&object);
        let names = &candidates.names;
        let scores = self.consult(Purpose::Prioritize, &pod, names, |_, asked| asked.prioritize());
        // In doubt there is no preference; filter has already said so aloud.
        Ok(reply::prioritize(names, &scores.unwrap_or_else(|_| vec![0; names.len()])))
    }

    /// The pod of a call, with its part in a group.
    fn recognised(&self, object: &PodObject) -> Arc<Pod> {
        let mut pod = Arc::new(json::pod(object, &self.interner));
        self.store.view().recognise_group(&mut pod);
        pod
    }

    /// Asks the engine on one view that has everything the policies need.
    fn consult<R>(
        &self,
        purpose: Purpose,
        pod: &Pod,
        candidates: &[Cow<'_, str>],
        ask: impl Fn(&Engine, &Asked<'_>) -> Result<R, Panicked>,
    ) -> Result<R, Undecided> {
        let limit = self.config.load().server.staleness_limit.0;
        if let Some(not_ready) = self.freshness.not_ready(limit) {
            return Err(not_ready.into());
        }
        let engine = self.engine.load_full();
        let mut view = self.store.view();
        if !view.reservations_are_rebuilt() {
            view = self.restore(&engine)?;
        }
        loop {
            let mut own = view.clone();
            if view.ledger().get(&pod.uid).is_some() {
                // Wherever an earlier attempt put the pod, now it is nowhere: it must not stand in its own way.
                Arc::make_mut(&mut own).withdraw(&pod.uid);
            }
            let asked = engine.prepare(Question::about(purpose, pod, candidates, &own))?;
            let needs = asked.needs()?;
            if own.provides(&needs) {
                return Ok(ask(&engine, &asked)?);
            }
            // What is missing is made once and kept up from then on. The question is prepared again, for the view that
            // has it may be another one by then.
            view = self.store.write(|view| {
                view.provide(&needs);
                Vec::new()
            });
        }
    }

    /// Works out what has to be kept for groups of which some members are running already: the first thing after a start.
    fn restore(&self, engine: &Engine) -> Result<Arc<View>, Panicked> {
        let needs = engine.restore_needs(&self.store.view())?;
        let ttl = self.config.load().replica_groups.reservation_ttl.0;
        let mut result = Ok(());
        let view = self.store.write(|view| {
            view.provide(&needs);
            if !view.reservations_are_rebuilt() {
                match engine.restore(view) {
                    Ok(restored) => restored.into_iter().for_each(|kept| view.reserve(kept, ttl)),
                    Err(panicked) => result = Err(panicked),
                }
                view.mark_reservations_rebuilt();
            }
            Vec::new()
        });
        result.map(|()| view)
    }

    /// Puts into the ledger what filter answered, what has to be kept for the pod's group, and who was waited for in
    /// vain. Whatever was decided about the pod before is void.
    fn record(&self, pod: &Arc<Pod>, offer: Offer, decision: &Decision) {
        let config = self.config.load();
        let ttl = config.server.ledger_ttl.0;
        self.store.write(|view| {
            view.mark_overdue(&decision.effects().awaited);
            let mut dropped = Vec::new();
            if let Some(reservation) = &decision.effects().reservation {
                // It was worked out as if the pod were nowhere.
                dropped.extend(view.withdraw(&pod.uid));
                view.reserve(reservation.clone(), config.replica_groups.reservation_ttl.0);
            }
            dropped.extend(view.offer(pod, offer, ttl));
            dropped
        });
    }

    /// Answers bind. The placement is in the ledger before the API server hears of it, so no decision
    /// made meanwhile can miss it.
    pub async fn bind(&self, body: &[u8]) -> Result<Vec<u8>, WireError> {
        let args = BindArgs::decode(body)?;
        let order = BindOrder {
            uid: Name::from(&*args.uid),
            key: ObjectKey::new(&*args.namespace, &*args.name),
            node: self.interner.name(&args.node),
        };
        let ttl = self.config.load().server.ledger_ttl.0;
        self.store.write(|view| {
            view.assume(&order.uid, &order.key, order.node.clone(), ttl);
            Vec::new()
        });
        let (result, reason) = match self.binder.bind(&order).await {
            Ok(()) => {
                self.group_events.bound(&order.uid, &self.store.view());
                ("bound", String::new())
            }
            Err(error @ BindError::Refused(_)) => {
                self.store.write(|view| view.refuse(&order.uid, &order.node));
                ("refused", error.to_string())
            }
            // Kept in the ledger: the pod may well be on the node.
            Err(error @ BindError::Unknown(_)) => ("unknown", error.to_string()),
        };
        self.metrics.bindings.with_label_values(&[result]).inc();
        if !reason.is_empty() {
            tracing::warn!(pod = %order.key, node = &*order.node, reason, "pod not bound");
        }
        Ok(reply::bind(&reason))
    }

    fn offer(&self, candidates: &Candidates<'_>, decision: &Decision) -> Offer {
        match decision.passing() {
            0 => Offer::None,
            1 => {
                let only = (0..candidates.names.len()).find(|at| decision.passes(*at));
                only.map_or(Offer::None, |at| Offer::One(self.interner.name(&candidates.names[at])))
            }
            _ => Offer::Several,
        }
    }
}
