//! Nominations carry the plan: the slots of a group are written to its waiting members as their nominated nodes.
//!
//! kube-scheduler tries a nominated node before all others, with one-node calls, and keeps pods that matter no more away
//! from it. So the plan is seen by people, survives Berth, and does not depend on which nodes kube-scheduler looks at.
//!
//! ```text
//!   all members have come, nobody asked yet    planned ahead, a few groups at a time
//!   slots are reserved                         written to the members that wait, once per member and plan
//!   they are not any more                      taken back
//!   kube-scheduler made a nomination itself    left alone
//! ```

use std::cmp::Reverse;
use std::collections::HashSet;
use std::sync::Arc;
use std::time::Duration;

use dashmap::{DashMap, DashSet};
use futures::StreamExt;
use futures::stream;

use super::off_loop::off_the_event_loop;
use super::{Verbs, owed};
use crate::cluster::nominator::{Nomination, Nominator, Written};
use crate::config::{Config, Mode};
use crate::engine::Unanswered;
use crate::model::{GroupKey, Name, Pod, Uid};
use crate::policy::replica_group::nominations;
use crate::view::View;

/// How many groups may have room kept before anybody asked about them.
const LOOK_AHEAD: usize = 32;
/// How often a pod that was nominated to a node outside of the sample may come back without having been placed. Beyond
/// that, something that is not judged here keeps it away from there.
const MOST_TRIES: u32 = 3;
/// What changes in so short a time is written together.
const PAUSE: Duration = Duration::from_millis(5);
/// How many are written at a time, and how many in one round: a burst must not take the API server from others.
const AT_ONCE: usize = 8;
const ROUND: usize = 64;

/// What has been nominated.
pub struct Nominations {
    nominator: Nominator,
    /// The node that was last written for a pod, and how often a node outside of the sample was.
    written: DashMap<Uid, Memo>,
    /// Groups that have been planned ahead: if nothing came of it, their members are to ask.
    planned: DashSet<Arc<GroupKey>>,
    /// Schedulers that have asked about pods.
    schedulers: DashSet<Name>,
}

/// What was last written for a pod.
#[derive(Clone, Debug, Default)]
struct Memo {
    node: Option<Name>,
    tries: u32,
    /// A decision asked for it: it stands, whichever slot the pod would be given now.
    asked_for: bool,
    /// It has yet to be written.
    is_due: bool,
}

impl Nominations {
    /// Nothing written so far.
    pub fn new(nominator: Nominator) -> Self {
        Self { nominator, written: DashMap::new(), planned: DashSet::new(), schedulers: DashSet::new() }
    }

    /// Who writes them.
    pub(super) fn nominator(&self) -> &Nominator {
        &self.nominator
    }

    /// Whether a scheduler of that name has asked about a pod.
    pub(super) fn is_asked_by(&self, scheduler: &Name) -> bool {
        self.schedulers.contains(scheduler)
    }

    /// A scheduler asked about a pod.
    pub(super) fn asked_about(&self, pod: &Pod) {
        if let Some(scheduler) = &pod.scheduler
            && !self.is_asked_by(scheduler)
        {
            self.schedulers.insert(scheduler.clone());
        }
    }

    /// Whether a pod may be nominated to a node that is not among its candidates.
    pub(super) fn may_nominate(&self, pod: &Pod, config: &Config) -> bool {
        let tries = self.written.get(&pod.uid).map_or(0, |written| written.tries);
        self.nominator.is_there() && config.replica_groups.nominate && tries < MOST_TRIES
    }

    /// A decision wants the pod to be tried on this node, which is not among its candidates.
    pub(super) fn ask_for(&self, uid: &Uid, node: &Name) {
        let mut written = self.written.entry(uid.clone()).or_default();
        let tries = written.tries + 1;
        *written = Memo { node: Some(node.clone()), tries, asked_for: true, is_due: true };
    }

    /// What has to be written now, and forgets pods that wait no more.
    fn due(&self, view: &View) -> Vec<Nomination> {
        self.written.retain(|uid, _| view.pod(uid).is_some_and(|pod| pod.node.is_none() && !pod.terminating));
        let mut due = Vec::new();
        let mut wanted: HashSet<&Uid> = HashSet::new();
        for reservation in view.ledger().reservations().iter() {
            for (pod, node) in nominations::of_group(&reservation.group, view) {
                wanted.insert(&pod.uid);
                due.extend(self.to_write(pod, node));
            }
        }
        for mut entry in self.written.iter_mut() {
            let (uid, written) = entry.pair_mut();
            let Some(pod) = view.pod(uid) else { continue };
            let nomination = |node: Option<Name>| Nomination { pod: pod.key.clone(), uid: uid.clone(), node };
            let has_plan = wanted.contains(uid) || pod.group.is_none() || view.ledger().get(uid).is_some();
            if std::mem::take(&mut written.is_due) {
                due.push(nomination(written.node.clone()));
            } else if !has_plan && written.node.is_some() && !is_planned_for(pod, view) {
                // The plan is no more. Whoever nominated the pod elsewhere since meant it.
                let is_ours = pod.nominated_node == written.node;
                (written.node, written.asked_for) = (None, false);
                due.extend(is_ours.then(|| nomination(None)));
            }
        }
        due
    }

    fn to_write(&self, pod: &Pod, node: &Name) -> Option<Nomination> {
        let mut written = self.written.entry(pod.uid.clone()).or_default();
        if written.node.as_ref() == Some(node) || written.asked_for {
            return None;
        }
        let by_others = pod.nominated_node.is_some() && pod.nominated_node != written.node;
        if by_others && pod.nominated_node.as_ref() != Some(node) {
            return None;
        }
        written.node = Some(node.clone());
        let there_already = pod.nominated_node.as_ref() == Some(node);
        (!there_already).then(|| Nomination {
            pod: pod.key.clone(),
            uid: pod.uid.clone(),
            node: Some(node.clone()),
        })
    }

    /// Groups that have come as a whole, in the order in which kube-scheduler asks about their pods.
    fn to_plan(&self, view: &View) -> Vec<Arc<GroupKey>> {
        let reservations = view.ledger().reservations();
        let ahead = reservations.iter().filter(|kept| view.placed_members(&kept.group).len() == 0).count();
        let is_ours = |pod: &Pod| pod.scheduler.as_ref().is_some_and(|name| self.is_asked_by(name));
        let mut groups: Vec<_> = view
            .waiting_groups()
            .filter(|(group, _)| reservations.of(group).is_none() && !self.planned.contains(*group))
            .filter_map(|(group, pods)| {
                let pods: Vec<_> = pods.collect();
                let ready = pods.iter().all(|pod| is_ours(pod) && !pod.gated && pod.failed_attempt.is_none());
                let asks = pods.first()?.group.as_ref()?.has_topology_request();
                let first = pods.iter().map(|pod| (Reverse(pod.priority), pod.created)).min()?;
                (ready && asks).then(|| (first, group.clone()))
            })
            .collect();
        groups.sort();
        groups.into_iter().map(|(_, group)| group).take(LOOK_AHEAD.saturating_sub(ahead)).collect()
    }

    /// Forgets groups of which nobody waits any more.
    fn forget_plans(&self, view: &View) {
        self.planned.retain(|group| view.waiting_members(group).len() > 0);
    }
}

/// Whether something is reserved for the pod's group.
fn is_planned_for(pod: &Pod, view: &View) -> bool {
    pod.group.as_ref().is_some_and(|membership| view.ledger().reservations().of(&membership.group).is_some())
}

impl Verbs {
    /// Plans ahead and writes nominations whenever something has changed that they depend on.
    pub async fn keep_nominations_up_to_date(&self) {
        if !self.nominations.nominator.is_there() {
            return std::future::pending().await;
        }
        let mut changes = self.store.subscribe();
        loop {
            self.nominate().await;
            if changes.next().await.is_none() {
                return;
            }
            tokio::time::sleep(PAUSE).await;
        }
    }

    async fn nominate(&self) {
        let snapshot = self.store.snapshot();
        let groups = &snapshot.config().replica_groups;
        if !groups.nominate || groups.mode != Mode::Enforce || self.trust_cache(&snapshot).is_err() {
            return;
        }
        if off_the_event_loop(|| self.plan_ahead()).is_err() {
            tracing::error!("replica groups could not be planned ahead");
        }
        let view = self.store.view();
        let due = self.nominations.due(&view);
        for round in due.chunks(ROUND) {
            stream::iter(round).for_each_concurrent(AT_ONCE, |nomination| self.write(nomination)).await;
        }
    }

    async fn write(&self, nomination: &Nomination) {
        let result = match (self.nominations.nominator.write(nomination).await, &nomination.node) {
            (Ok(Written::Superseded), _) => "superseded",
            (Ok(Written::Done), Some(_)) => "written",
            (Ok(Written::Done), None) => "taken_back",
            (Err(error), _) => {
                tracing::debug!(pod = %nomination.pod, error, "nomination not written");
                "failed"
            }
        };
        self.metrics.nominations.with_label_values(&[result]).inc();
    }

    fn plan_ahead(&self) -> Result<(), Unanswered> {
        let view = self.store.view();
        self.nominations.forget_plans(&view);
        for group in self.nominations.to_plan(&view) {
            self.nominations.planned.insert(group.clone());
            let mut result = Ok(());
            self.store.write_by_settings(|view, config, engine| {
                match engine.plan_ahead(view, &group) {
                    Ok(Some(plan)) => view.reserve(plan, owed::life(config)),
                    Ok(None) => {}
                    Err(panicked) => result = Err(panicked),
                }
                Vec::new()
            });
            result?;
        }
        Ok(())
    }
}
