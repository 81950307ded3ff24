//! The four verbs. Each call goes the same way:
//!
//! ```text
//!   body --call--> decoded call --decide--> Decision --record--> ledger, metrics, log, Events
//!                                  ^           |
//!                       one Snapshot           +---> reply (crate::wire)
//! ```
//!
//! Deciding changes nothing that another decision depends on; recording does, and happens only for an answer that is
//! really given. A filter call that waits for bind calls decides again, on the same decoded call.

mod announcing;
mod bind;
mod call;
mod decide;
mod filter;
mod group_events;
mod group_metrics;
mod metrics;
mod nominating;
mod notices;
mod off_loop;
mod owed;
mod own_nodes;
mod preempt;
mod record;
mod rests;
#[cfg(test)]
mod tests;
mod verb;
mod waiting;

use std::sync::Arc;

use self::call::SchedulingCall;
use self::decide::{Clock, Consultation};
use self::filter::Attempt;
pub use self::group_events::GroupEvents;
pub use self::group_metrics::GroupMetrics;
pub use self::metrics::VerbsMetrics;
pub use self::nominating::Nominations;
use self::off_loop::{is_large, off_the_event_loop_if};
pub use self::owed::Reckoning;
pub use self::rests::Rests;
pub use self::verb::Verb;
use self::waiting::Patience;
use crate::cluster::event_recorder::EventMetrics;
use crate::cluster::nominator::Nominator;
use crate::cluster::{Binder, EventRecorder, Freshness};
use crate::config::Config;
use crate::engine::Asked;
use crate::json::Interner;
use crate::metrics::Registry;
use crate::model::Object;
use crate::policy::Purpose;
use crate::store::Store;
use crate::view::change::Change;
use crate::wire::{WireError, reply};

/// Everything a verb needs.
pub struct Verbs {
    /// The cluster, the settings in force, and who decides by them.
    pub store: Arc<Store>,
    /// How far the cluster can be trusted.
    pub freshness: Arc<Freshness>,
    /// Who carries out bindings.
    pub binder: Binder,
    /// Shared strings.
    pub interner: Arc<Interner>,
    /// Who tells people about groups.
    pub group_events: Arc<GroupEvents>,
    /// What has been written to pods as their nominated nodes.
    pub nominations: Nominations,
    /// Whose decisions took too long.
    pub rests: Rests,
    /// Since when it is not known what all groups are owed.
    pub reckoning: Reckoning,
    /// Who counts.
    pub metrics: VerbsMetrics,
}

impl Verbs {
    /// Berth without a server, over a cluster in memory: for embedding it, and for tests.
    pub fn in_memory(config: Config, objects: Vec<Object>) -> Result<Self, prometheus::Error> {
        Self::in_memory_measured(config, objects, &Registry::new()?)
    }

    /// The same, with metrics that can be looked at.
    pub fn in_memory_measured(
        config: Config,
        objects: Vec<Object>,
        registry: &Registry,
    ) -> Result<Self, prometheus::Error> {
        let verbs = Self::over(Arc::new(Store::new(config, registry)?), registry)?;
        verbs.store.apply(objects.into_iter().map(Change::Upsert));
        Ok(verbs)
    }

    /// The same, over a store that is there already.
    pub fn over(store: Arc<Store>, registry: &Registry) -> Result<Self, prometheus::Error> {
        let event_recorder = EventRecorder::silent(EventMetrics::register(registry)?);
        let freshness = Arc::new(Freshness::default());
        freshness.mark_all_current();
        Ok(Self {
            binder: Binder::InMemory(store.clone()),
            interner: Arc::default(),
            group_events: Arc::new(GroupEvents::new(event_recorder, GroupMetrics::register(registry)?)),
            nominations: Nominations::new(Nominator::None),
            rests: Rests::default(),
            reckoning: Reckoning::default(),
            metrics: VerbsMetrics::register(registry, store.snapshot().engine().metrics())?,
            store,
            freshness,
        })
    }

    /// Answers filter, prioritize and preempt at once, without waiting for anybody. `None` for bind, which needs the API
    /// server.
    pub fn decide(&self, verb: Verb, body: &[u8]) -> Result<Option<Vec<u8>>, WireError> {
        let takes_long = verb == Verb::Preempt || is_large(body);
        off_the_event_loop_if(takes_long, || self.decide_here(verb, body))
    }

    fn decide_here(&self, verb: Verb, body: &[u8]) -> Result<Option<Vec<u8>>, WireError> {
        match verb {
            Verb::Filter => match self.attempt(&self.scheduling_call(body)?, Patience::None) {
                Attempt::Answered(answer) => Ok(Some(answer)),
                Attempt::Waits(_) => Ok(None),
            },
            Verb::Prioritize => self.prioritize(body).map(Some),
            Verb::Preempt => self.preempt(body).map(Some),
            Verb::Bind => Ok(None),
        }
    }

    fn prioritize(&self, body: &[u8]) -> Result<Vec<u8>, WireError> {
        let call = self.scheduling_call(body)?;
        let names = &call.candidates.names;
        let clock = Clock::start();
        let consultation = Consultation::on(Purpose::Prioritize, &clock);
        let answer = |asked: &Asked<'_>| asked.prioritize();
        let scores = match self.consult(consultation, &call.pod, names, answer) {
            Ok(consulted) => consulted.answer,
            // In doubt there is no preference.
            Err(undecided) => {
                self.record_undecided(call.pod.key(), undecided);
                vec![0; names.len()]
            }
        };
        Ok(reply::prioritize(names, &scores))
    }

    fn scheduling_call<'a>(&self, body: &'a [u8]) -> Result<SchedulingCall<'a>, WireError> {
        SchedulingCall::decode(body, &self.interner, self.store.snapshot().view())
    }
}
