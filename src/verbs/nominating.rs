//! Nominations carry the plan: the slots of a group are written to its waiting members as their nominated nodes.
//!
//! kube-scheduler tries a nominated node before all others, with one-node calls, and keeps pods that matter no more away
//! from it. So the plan is seen by people, survives Berth, and does not depend on which nodes kube-scheduler looks at.
//!
//! ```text
//!   all members have come, nobody asked yet    planned ahead, a few groups at a time     (line, planning)
//!   slots are reserved                         wanted for the members that wait          (memos)
//!   they are not any more                      taken back
//!   kube-scheduler made a nomination itself    left alone
//!                                                      |
//!                                                      v
//!   what is due, one of each pod, in order     written, some at a time                   (outbox, writing)
//! ```
//!
//! Planning and writing are two services: while the API server takes its time for what was planned first, the next groups
//! are planned, and what kube-scheduler has placed meanwhile is not written any more.

mod line;
mod memos;
mod outbox;
mod planning;
#[cfg(test)]
mod tests;
mod writing;

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use dashmap::{DashMap, DashSet};
use tokio::sync::Notify;

use self::memos::Memo;
use self::outbox::Outbox;
use crate::cluster::nominator::Nominator;
use crate::config::{Config, Mode};
use crate::model::{GroupKey, Name, Pod, Uid};

/// How often a pod that was nominated may come back without having been placed. Beyond that, something that is not judged
/// here keeps it away from there.
const MOST_TRIES: u32 = 3;

/// What has been nominated, and what is to be.
pub struct Nominations {
    nominator: Nominator,
    /// What was last wanted for a pod that waits.
    memos: DashMap<Uid, Memo>,
    outbox: Outbox,
    /// Schedulers that have asked about pods.
    schedulers: DashSet<Name>,
    news: Mutex<News>,
    has_news: Notify,
    /// How many decisions are between the look at the cluster and their record.
    deciding: AtomicUsize,
}

/// Whether the plans of groups are written to their members.
fn nominates_groups(config: &Config) -> bool {
    config.replica_groups.nominate && config.replica_groups.mode == Mode::Enforce
}

/// Whether a pod is to be nominated to any node, by these settings: groups that are only observed are not, other pods may be.
fn is_nominated(pod: &Pod, config: &Config) -> bool {
    let is_member = pod.group.as_ref().is_some_and(|membership| membership.has_topology_request());
    if is_member { nominates_groups(config) } else { config.replica_groups.nominate }
}

/// A decision is under way while this is there.
pub(super) struct Deciding<'a>(&'a AtomicUsize);

impl Drop for Deciding<'_> {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::Relaxed);
    }
}

/// What decisions have to tell the planner.
#[derive(Default)]
struct News {
    /// Groups with members that were answered to come back when they are nominated.
    groups: Vec<Arc<GroupKey>>,
    /// A scheduler has asked for the first time: groups that wait for it may be planned from now on.
    is_new_scheduler: bool,
}

impl Nominations {
    /// Nothing written so far.
    pub fn new(nominator: Nominator) -> Self {
        Self {
            nominator,
            memos: DashMap::new(),
            outbox: Outbox::default(),
            schedulers: DashSet::new(),
            news: Mutex::default(),
            has_news: Notify::new(),
            deciding: AtomicUsize::default(),
        }
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
            && self.schedulers.insert(scheduler.clone())
        {
            self.tell(|news| news.is_new_scheduler = true);
        }
    }

    /// Whether a pod may be nominated to a node that is not among its candidates.
    pub(super) fn may_nominate(&self, pod: &Pod, config: &Config) -> bool {
        let tries = self.memos.get(&pod.uid).map_or(0, |memo| memo.tries);
        self.nominator.is_there() && config.replica_groups.nominate && tries < MOST_TRIES
    }

    /// A decision that is on record wants the pod to be tried on a node which is not among its candidates. Of a member of a
    /// group it is one of the group's slots, and which one is for the plan to say: others may have got it meanwhile.
    pub(super) fn ask_for(&self, pod: &Pod, node: &Name) {
        self.memos.entry(pod.uid.clone()).or_default().tries += 1;
        match pod.group.as_ref().filter(|membership| membership.has_topology_request()) {
            Some(membership) => self.tell(|news| news.groups.push(membership.group.clone())),
            None => self.want(pod, node),
        }
    }

    /// A decision begins: a plan had better wait until it is recorded, or it would have to be made anew.
    pub(super) fn deciding(&self) -> Deciding<'_> {
        self.deciding.fetch_add(1, Ordering::Relaxed);
        Deciding(&self.deciding)
    }

    /// Whether a decision is under way. The next one may begin at any moment.
    fn is_deciding(&self) -> bool {
        self.deciding.load(Ordering::Relaxed) > 0
    }

    fn tell(&self, tell: impl FnOnce(&mut News)) {
        tell(&mut self.news.lock().unwrap_or_else(PoisonError::into_inner));
        self.has_news.notify_one();
    }

    fn take_news(&self) -> News {
        std::mem::take(&mut *self.news.lock().unwrap_or_else(PoisonError::into_inner))
    }
}
