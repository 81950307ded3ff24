//! The four verbs: decode, decide on one view, encode.

use std::sync::Arc;

use arc_swap::ArcSwap;

use crate::cluster::binder::{BindError, BindOrder};
use crate::cluster::freshness::Distrust;
use crate::cluster::slim;
use crate::cluster::{Binder, Freshness, Interner, Store};
use crate::config::Config;
use crate::engine::{Engine, policies};
use crate::metrics::Metrics;
use crate::model::{Name, Object, ObjectKey, Pod, Requirements};
use crate::policy::{Question, Verdicts};
use crate::view::View;
use crate::view::change::{Change, Offer};
use crate::wire::{BindArgs, Candidates, PreemptArgs, SchedulingArgs, WireError, reply};

const UNDECIDED: &str = "berth: a hard limit hangs on a placement that is still open";

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
    /// Who counts.
    pub metrics: Arc<Metrics>,
}

impl Verbs {
    /// Berth without a server, over a cluster in memory: for embedding it, and for tests.
    pub fn in_memory(config: Config, objects: Vec<Object>) -> Result<Self, prometheus::Error> {
        let metrics = Arc::new(Metrics::new()?);
        let store = Arc::new(Store::new(metrics.clone()));
        store.apply(objects.into_iter().map(Change::Upsert));
        let freshness = Arc::new(Freshness::default());
        freshness.mark_all_current();
        Ok(Self {
            binder: Binder::InMemory(store.clone()),
            engine: Arc::new(ArcSwap::from_pointee(Engine::new(policies(&config), metrics.clone()))),
            config: Arc::new(ArcSwap::from_pointee(config)),
            interner: Arc::default(),
            store,
            freshness,
            metrics,
        })
    }

    /// Answers filter, prioritize and preempt, which need nothing but the processor.
    pub fn decide(&self, verb: Verb, body: &[u8]) -> Result<Vec<u8>, WireError> {
        match verb {
            Verb::Filter => self.filter(body, false).map(Option::unwrap_or_default),
            Verb::Prioritize => self.prioritize(body),
            Verb::Preempt => self.preempt(body),
            Verb::Bind => Ok(reply::bind("bind cannot be decided without the API server")),
        }
    }

    /// Answers filter. `None`, and only if `patient`, when the answer hangs on a bind call that is about to come:
    /// ask again when the store has changed.
    pub fn filter(&self, body: &[u8], patient: bool) -> Result<Option<Vec<u8>>, WireError> {
        let SchedulingArgs { pod, candidates } = SchedulingArgs::decode(body)?;
        if let Some(reason) = self.distrust() {
            return Ok(Some(reply::filter_error(reason)));
        }
        let engine = self.engine.load_full();
        let requirements = slim::requirements(&pod);
        let pod = Arc::new(slim::pod(&pod, &self.interner));
        let view = self.view_for(&engine, &pod, &requirements);
        let names = &candidates.names;
        let question = Question { pod: &pod, requirements: &requirements, candidates: names, view: &view };
        let verdicts = match engine.filter(question) {
            Ok(verdicts) => verdicts,
            Err(panicked) => return Ok(Some(reply::filter_error(&format!("berth: {panicked}")))),
        };
        if verdicts.is_contested() {
            if patient {
                return Ok(None);
            }
            self.store.write(|view| {
                view.mark_overdue();
                Vec::new()
            });
            if verdicts.passing() == 0 {
                // Not a rejection: that could evict pods for a place that may well be free.
                return Ok(Some(reply::filter_error(UNDECIDED)));
            }
        }
        let offer = self.offer(&candidates, &verdicts);
        let ttl = self.config.load().server.ledger_ttl.0;
        self.store.write(|view| view.offer(&pod, offer, ttl));
        Ok(Some(reply::filter(&candidates, &verdicts)))
    }

    fn prioritize(&self, body: &[u8]) -> Result<Vec<u8>, WireError> {
        let SchedulingArgs { pod, candidates } = SchedulingArgs::decode(body)?;
        let engine = self.engine.load_full();
        let requirements = slim::requirements(&pod);
        let pod = slim::pod(&pod, &self.interner);
        let names = &candidates.names;
        let view = self.view_for(&engine, &pod, &requirements);
        let question = Question { pod: &pod, requirements: &requirements, candidates: names, view: &view };
        // An untrusted cache has no preference; filter has already said so aloud.
        let scores = match self.distrust() {
            None => engine.prioritize(question).ok(),
            Some(_) => None,
        };
        Ok(reply::prioritize(names, &scores.unwrap_or_else(|| vec![0; names.len()])))
    }

    fn preempt(&self, body: &[u8]) -> Result<Vec<u8>, WireError> {
        let PreemptArgs { pod, candidates } = PreemptArgs::decode(body)?;
        let engine = self.engine.load_full();
        let requirements = slim::requirements(&pod);
        let pod = slim::pod(&pod, &self.interner);
        let names: Vec<_> = candidates.iter().map(|candidate| candidate.node.clone()).collect();
        let view = self.view_for(&engine, &pod, &requirements);
        let question = Question { pod: &pod, requirements: &requirements, candidates: &names, view: &view };
        // In doubt every candidate stays: kube-scheduler's own choice is the fallback.
        let kept = match self.distrust() {
            None => engine.preempt(question).ok(),
            Some(_) => None,
        };
        let keeps = |at: usize| kept.as_ref().is_none_or(|kept| kept[at]);
        let kept = candidates.iter().enumerate().filter(|(at, _)| keeps(*at));
        Ok(reply::preempt(kept.map(|(_, candidate)| candidate)))
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
            Ok(()) => ("bound", String::new()),
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

    /// The view to decide on, with everything in it that the policies need. What is missing is made once and
    /// kept up from then on.
    fn view_for(&self, engine: &Engine, pod: &Pod, requirements: &Requirements) -> Arc<View> {
        let mut view = self.store.view();
        let needs = engine.needs(Question { pod, requirements, candidates: &[], view: &view });
        if !view.provides(&needs) {
            self.store.write(|view| {
                view.provide(&needs);
                Vec::new()
            });
            view = self.store.view();
        }
        if view.ledger().get(&pod.uid).is_some() {
            // Wherever an earlier attempt put the pod, now it is nowhere: it must not stand in its own way.
            Arc::make_mut(&mut view).withdraw(&pod.uid);
        }
        view
    }

    /// Why the cache cannot be trusted now, in constant words.
    fn distrust(&self) -> Option<&'static str> {
        let limit = self.config.load().server.staleness_limit.0;
        self.freshness.distrust(limit).map(|distrust| match distrust {
            Distrust::NotSynced(_) => "berth: the cluster cache has not synced yet",
            Distrust::Stale(_) => "berth: the cluster cache is stale, a watch is cut",
        })
    }

    fn offer(&self, candidates: &Candidates<'_>, verdicts: &Verdicts) -> Offer {
        match verdicts.passing() {
            0 => Offer::None,
            1 => {
                let only = (0..candidates.names.len()).find(|at| verdicts.passes(*at));
                only.map_or(Offer::None, |at| Offer::One(self.interner.name(&candidates.names[at])))
            }
            _ => Offer::Several,
        }
    }
}
