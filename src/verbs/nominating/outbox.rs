//! What is to be written: one nomination of each pod, in order.

use std::cmp::Reverse;
use std::collections::{BTreeMap, HashMap, HashSet};
use std::sync::{Mutex, MutexGuard, PoisonError};

use tokio::sync::Notify;

use crate::cluster::nominator::Nomination;
use crate::model::{Name, Pod, Uid};

/// What is taken back comes first, for others wait for the room; then who matters more, as kube-scheduler asks about them
/// first; then who came first.
type Turn = (bool, Reverse<i32>, u64);

#[derive(Default)]
pub(super) struct Outbox {
    content: Mutex<Content>,
    filled: Notify,
}

#[derive(Default)]
struct Content {
    waiting: BTreeMap<Turn, Nomination>,
    turns: HashMap<Uid, Turn>,
    /// Two patches of one pod at a time could arrive in the wrong order.
    under_way: HashSet<Uid>,
    count: u64,
}

impl Outbox {
    /// A nomination is to be written, in the place of what was to be written for the pod.
    pub(super) fn put(&self, pod: &Pod, node: Option<Name>) {
        let mut content = self.lock();
        content.remove(&pod.uid);
        content.count += 1;
        let turn = (node.is_some(), Reverse(pod.priority), content.count);
        let nomination = Nomination { pod: pod.key.clone(), uid: pod.uid.clone(), node };
        content.turns.insert(pod.uid.clone(), turn);
        content.waiting.insert(turn, nomination);
        drop(content);
        self.filled.notify_one();
    }

    /// Nothing is to be written for a pod any more.
    pub(super) fn cancel(&self, uid: &Uid) {
        self.lock().remove(uid);
    }

    /// The next one to write. The pod has to be named to [`Outbox::done`] afterwards.
    pub(super) fn take(&self) -> Option<Nomination> {
        let mut content = self.lock();
        let Content { waiting, under_way, .. } = &*content;
        let turn = *waiting
            .iter()
            .find(|(_, nomination)| !under_way.contains(&nomination.uid))
            .map(|(turn, _)| turn)?;
        let nomination = content.waiting.remove(&turn)?;
        content.turns.remove(&nomination.uid);
        content.under_way.insert(nomination.uid.clone());
        Some(nomination)
    }

    /// What was taken for a pod has been written, or need not be.
    pub(super) fn done(&self, uid: &Uid) {
        self.lock().under_way.remove(uid);
    }

    /// Whoever was writing does not any more.
    pub(super) fn forget_writers(&self) {
        self.lock().under_way.clear();
    }

    /// Completes when something may be there to take.
    pub(super) async fn filled(&self) {
        self.filled.notified().await;
    }

    fn lock(&self) -> MutexGuard<'_, Content> {
        self.content.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Content {
    fn remove(&mut self, uid: &Uid) {
        if let Some(turn) = self.turns.remove(uid) {
            self.waiting.remove(&turn);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::Outbox;
    use crate::fixtures::pod;

    #[test]
    fn one_of_each_pod_in_the_order_of_need() {
        let outbox = Outbox::default();
        let [a, b, c] = ["a", "b", "c"].map(|name| pod(name).build());
        let urgent = pod("urgent").priority(9).build();
        let node = || Some("x".into());
        outbox.put(&a, node());
        outbox.put(&b, node());
        outbox.put(&c, node());
        outbox.put(&urgent, node());
        outbox.put(&c, None);
        outbox.cancel(&b.uid);
        let names = || std::iter::from_fn(|| outbox.take()).map(|next| next.pod.name.to_string());
        assert_eq!(names().collect::<Vec<_>>(), ["c", "urgent", "a"]);
        outbox.put(&a, None);
        assert_eq!(names().next(), None, "its first one is under way");
        outbox.done(&a.uid);
        assert_eq!(names().collect::<Vec<_>>(), ["a"]);
    }
}
