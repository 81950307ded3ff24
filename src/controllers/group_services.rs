//! Keeps a headless Service for each replica group that asks for one.
//!
//! Level-triggered: whatever has happened, what there is to do follows from the cluster as it is now. So a change that was
//! missed, a restart, and another Berth that takes over are one case.

mod memory;
mod metrics;
mod news;

use std::sync::Arc;
use std::time::{Duration, Instant};

use tokio::time::sleep;

use self::memory::Memory;
pub(crate) use self::metrics::GroupServiceMetrics;
use self::news::News;
use super::election::Election;
use crate::cluster::service_writer::{ServiceWriter, Written};
use crate::cluster::{EventRecorder, Freshness};
use crate::group_services::{Action, Desired, Refusal, desired, difference};
use crate::metrics::count;
use crate::model::{Kind, ObjectKey};
use crate::off_loop::off_the_event_loop;
use crate::store::{Changes, Snapshot, Store};

/// A burst of changes is looked at once, after so long.
const GATHER: Duration = Duration::from_millis(100);
/// Between two changes: 50 in a second at most.
const SPACING: Duration = Duration::from_millis(20);
/// How often everything is looked at again although nothing has changed that concerns members or Services.
const RESYNC: Duration = Duration::from_mins(1);
/// How soon it is looked at again whether the cache may be trusted.
const NOT_READY: Duration = Duration::from_secs(1);
/// So many times as long as it took to look at everything nothing is done: a fifth of a core at most.
const REST: u32 = 4;

/// The controller.
pub(crate) struct GroupServices {
    pub(crate) store: Arc<Store>,
    pub(crate) freshness: Arc<Freshness>,
    pub(crate) writer: ServiceWriter,
    pub(crate) election: Arc<Election>,
    pub(crate) event_recorder: EventRecorder,
    pub(crate) metrics: GroupServiceMetrics,
}

impl GroupServices {
    /// Works for as long as Berth does.
    pub(crate) async fn run(&self) {
        let mut changes = self.store.subscribe();
        let mut active = self.election.subscribe();
        let (mut memory, mut news) = (Memory::default(), News::default());
        loop {
            let pause = self.sync(&mut memory, &mut news).await;
            tokio::select! {
                () = changes.until(concerns_services) => sleep(GATHER).await,
                told = active.changed() => if told.is_err() { return },
                () = sleep(pause) => {}
            }
        }
    }

    /// Looks at everything once; returns when to do so again.
    async fn sync(&self, memory: &mut Memory, news: &mut News) -> Duration {
        let snapshot = self.store.snapshot();
        if !self.election.is_active() || !snapshot.config().replica_groups.services.enabled {
            self.show(&Desired::default(), 0);
            return RESYNC;
        }
        // Half a cluster tells nothing about what is missing, and less about what is too much.
        if self.freshness.not_ready(snapshot.config().server.staleness_limit.0).is_some() {
            return NOT_READY;
        }
        let began = Instant::now();
        let (desired, actions) = off_the_event_loop(|| look(&snapshot));
        let mut rest = began.elapsed() * REST;
        let is_there =
            |key: &&ObjectKey| snapshot.view().service(key).is_some_and(|found| found.managed.is_some());
        self.show(&desired, desired.services.keys().filter(is_there).count());
        for refused in &desired.refused {
            let (reason, message) = ("GroupServiceRefused", refused.why.message());
            news.tell(&self.event_recorder, &refused.member, &refused.group, reason, message);
        }
        memory.keep_only(&actions, Instant::now());
        let mut next = RESYNC;
        for action in actions {
            let now = Instant::now();
            if let Some(due) = memory.due(&action, now) {
                next = next.min(due - now);
                continue;
            }
            if !self.election.is_active() {
                return Duration::ZERO;
            }
            let written = self.write(&action).await;
            self.remember(&action, &written, memory, news);
            if written != Written::Done {
                next = next.min(memory.due(&action, now).map_or(NOT_READY, |due| due - now));
            }
            sleep(SPACING).await;
            rest = rest.saturating_sub(SPACING);
        }
        sleep(rest).await;
        next
    }

    async fn write(&self, action: &Action) -> Written {
        match action {
            Action::Create(entry) => self.writer.create(&entry.service).await,
            Action::Repair(entry, seen) => self.writer.repair(&entry.service, seen).await,
            Action::Delete(key, seen) => self.writer.delete(key, seen).await,
        }
    }

    fn remember(&self, action: &Action, written: &Written, memory: &mut Memory, news: &mut News) {
        self.metrics.count(action, written);
        let (service, now) = (action.key(), Instant::now());
        match written {
            Written::Done => {
                tracing::debug!(%service, ?action, "Service of a replica group written");
                memory.done(action, now);
            }
            Written::Superseded => memory.failed(action, now),
            Written::Refused(reason) | Written::Failed(reason) => {
                tracing::debug!(%service, reason, "Service of a replica group not written");
                memory.failed(action, now);
            }
        }
        if let (Written::Refused(reason), Action::Create(entry) | Action::Repair(entry, _)) =
            (written, action)
        {
            let message =
                format!("the API server does not let Berth write the replica group's Service: {reason}");
            let group = &entry.service.made_for;
            news.tell(&self.event_recorder, &entry.member, group, "GroupServiceFailed", &message);
        }
    }

    fn show(&self, desired: &Desired, there: usize) {
        self.metrics.services.with_label_values(&["wanted"]).set(count(desired.services.len()));
        self.metrics.services.with_label_values(&["there"]).set(count(there));
        for why in Refusal::ALL {
            let refused = desired.refused.iter().filter(|refused| refused.why == why).count();
            self.metrics.refused.with_label_values(&[why.label()]).set(count(refused));
        }
    }
}

fn look(snapshot: &Snapshot) -> (Desired, Vec<Action>) {
    let desired = desired(snapshot.view());
    let actions = difference(&desired, snapshot.view());
    (desired, actions)
}

fn concerns_services(changes: &Changes) -> bool {
    let is_of_groups = Kind::ALL.into_iter().filter(|kind| matches!(kind, Kind::Group(_)));
    changes.is_incomplete
        || changes.settings
        || !changes.groups.is_empty()
        || changes.kinds.contains(Kind::Service)
        || is_of_groups.into_iter().any(|kind| changes.kinds.contains(kind))
}
