//! What has been wanted for each pod that waits: what is written once is not written again, and what is taken back was ours.

use super::{MOST_TRIES, Nominations, is_nominated};
use crate::cluster::nominator::Nomination;
use crate::config::Config;
use crate::model::{GroupKey, Name, Pod, Uid};
use crate::policy::replica_group::nominations;
use crate::store::Snapshot;
use crate::view::View;

/// What was last wanted for a pod.
#[derive(Clone, Debug, Default)]
pub(super) struct Memo {
    /// The node that was written, or is about to be.
    node: Option<Name>,
    /// The one before it: the watch may show it for a while.
    former: Option<Name>,
    /// Whether the watch has shown the pod with its nomination: if it is gone since, somebody cleared it.
    is_seen: bool,
    /// Whether it is being taken back, until the watch shows that.
    is_taken_back: bool,
    /// How often the pod has come back without having been placed.
    pub(super) tries: u32,
}

impl Memo {
    /// Whether a nomination that the watch shows is not ours.
    fn is_by_others(&self, shown: Option<&Name>) -> bool {
        shown.is_some() && shown != self.node.as_ref() && shown != self.former.as_ref()
    }

    fn replace(&mut self, node: Option<Name>) {
        // What is wanted again was never anybody else's.
        if let Some(former) = std::mem::replace(&mut self.node, node) {
            self.former = Some(former);
        }
        (self.is_seen, self.is_taken_back) = (false, false);
    }
}

impl Nominations {
    /// Brings what is wanted for the members of a group in line with its slots.
    pub(super) fn look_at_group(&self, group: &GroupKey, view: &View) {
        let last = |pod: &Pod| self.memos.get(&pod.uid).and_then(|memo| memo.node.clone());
        let Some(wanted) = nominations::of_group(group, view, last) else { return };
        for (pod, node) in &wanted {
            match node {
                Some(node) => self.want(pod, node),
                None => self.take_back(pod),
            }
        }
    }

    /// A pod that waits is to be nominated to a node.
    pub(super) fn want(&self, pod: &Pod, node: &Name) {
        let mut memo = self.memos.entry(pod.uid.clone()).or_default();
        let shown = pod.nominated_node.as_ref();
        if memo.is_by_others(shown) && shown != Some(node) {
            return;
        }
        let is_wanted_already = memo.node.as_ref() == Some(node);
        if shown == Some(node) {
            if !is_wanted_already {
                memo.replace(Some(node.clone()));
            }
            memo.is_seen = true;
            self.outbox.cancel(&pod.uid);
            return;
        }
        if is_wanted_already {
            // An attempt that fails clears it, and the plan stands.
            let is_cleared = memo.is_seen && shown.is_none();
            if !is_cleared || memo.tries >= MOST_TRIES {
                return;
            }
            memo.tries += 1;
        }
        memo.replace(Some(node.clone()));
        self.outbox.put(pod, Some(node.clone()));
    }

    /// Nothing is planned for a pod that waits. Whoever nominated it elsewhere meant it.
    fn take_back(&self, pod: &Pod) {
        let Some(mut memo) = self.memos.get_mut(&pod.uid) else { return };
        let shown = pod.nominated_node.as_ref();
        if memo.node.is_none() && shown.is_none() {
            // It is gone: whoever nominates the pod there from now on is somebody else.
            memo.former = None;
            return;
        }
        if memo.is_taken_back {
            return;
        }
        let is_ours = shown.is_some() && !memo.is_by_others(shown);
        memo.replace(None);
        memo.is_taken_back = is_ours;
        if is_ours {
            self.outbox.put(pod, None);
        } else {
            self.outbox.cancel(&pod.uid);
        }
    }

    /// Takes back what was wanted for pods that are not to be nominated by the settings in force.
    pub(super) fn take_back_all(&self, view: &View, config: &Config) {
        let all: Vec<Uid> = self.memos.iter().map(|memo| memo.key().clone()).collect();
        for uid in &all {
            self.take_back_unless_followed(uid, view, config);
        }
    }

    /// The same of one pod. A nomination may also show only now that was written before.
    pub(super) fn take_back_unless_followed(&self, uid: &Uid, view: &View, config: &Config) {
        if let Some(pod) = view.pod(uid).filter(|pod| !is_nominated(pod, config)) {
            self.take_back(pod);
        }
    }

    /// Whether something is still to be written, as things are now. If not, it may be wanted again.
    pub(super) fn is_still_due(&self, nomination: &Nomination, snapshot: &Snapshot) -> bool {
        let (view, config) = (snapshot.view(), snapshot.config());
        let is_due = view.pod(&nomination.uid).is_some_and(|pod| {
            let waits = !pod.terminating && view.place_of(&pod.uid).is_none();
            let (shown, wanted) = (pod.nominated_node.as_ref(), nomination.node.as_ref());
            let memo = self.memos.get(&pod.uid);
            let by_others = memo.is_none_or(|memo| memo.is_by_others(shown));
            // A member that is on its way to one of several nodes needs none any more.
            let is_under_way = wanted.is_some() && view.ledger().get(&pod.uid).is_some();
            let is_followed = wanted.is_none() || is_nominated(pod, config);
            waits && shown != wanted && !by_others && !is_under_way && is_followed
        });
        if !is_due {
            self.forget_wanted(nomination);
        }
        is_due
    }

    /// What could not be written is wanted again when the group is looked at next.
    pub(super) fn forget_wanted(&self, nomination: &Nomination) {
        if let Some(mut memo) = self.memos.get_mut(&nomination.uid)
            && memo.node == nomination.node
        {
            memo.replace(None);
        }
    }

    /// Forgets a pod that waits no more.
    pub(super) fn forget_unless_waiting(&self, uid: &Uid, view: &View) {
        if self.memos.contains_key(uid) && !waits(uid, view) {
            self.memos.remove(uid);
            self.outbox.cancel(uid);
        }
    }

    /// Forgets all pods that wait no more.
    pub(super) fn forget_all_unless_waiting(&self, view: &View) {
        self.memos.retain(|uid, _| {
            let waits = waits(uid, view);
            if !waits {
                self.outbox.cancel(uid);
            }
            waits
        });
    }
}

fn waits(uid: &str, view: &View) -> bool {
    view.pod(uid).is_some_and(|pod| pod.node.is_none() && !pod.terminating)
}
