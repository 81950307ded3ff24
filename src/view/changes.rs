//! What one change of the view touched, for those who follow it.

use std::sync::Arc;

use super::{PodState, View};
use crate::ledger::Entry;
use crate::model::{GroupKey, Kind, Pod, Uid};

/// What differs between a published view and the one before it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Changes {
    /// The kinds of which objects were applied or removed.
    pub kinds: Kinds,
    /// The pods whose place, copy or ledger entry is another one now, sorted.
    pub pods: Vec<Uid>,
    /// The groups of those pods, and groups whose reservation is another one now, sorted.
    pub groups: Vec<Arc<GroupKey>>,
    /// Whether the configuration is another one.
    pub settings: bool,
    /// Whether more has changed than is listed here: who follows has to look at everything.
    pub is_incomplete: bool,
}

impl Changes {
    /// Changes of which nothing is listed.
    pub fn unlisted() -> Self {
        Self { is_incomplete: true, ..Self::default() }
    }

    /// Whether nothing has changed that anybody could follow.
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }

    /// Whether a decision that waits for the placement of these pods may come out differently now.
    pub fn concern(&self, awaited: &[Uid]) -> bool {
        self.is_incomplete
            || self.settings
            || awaited.iter().any(|awaited| self.pods.binary_search(awaited).is_ok())
    }

    fn add_pod(&mut self, pod: &Pod) {
        self.pods.push(pod.uid.clone());
        self.groups.extend(pod.group.as_ref().map(|membership| membership.group.clone()));
    }

    /// A change touches the same pods and groups several times over.
    fn normalise(&mut self) {
        self.pods.sort_unstable();
        self.pods.dedup();
        self.groups.sort_unstable();
        self.groups.dedup();
    }
}

/// A set of kinds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Kinds(u32);

// One bit per kind.
const _: () = assert!(Kind::ALL.len() <= 32);

impl Kinds {
    /// Adds a kind.
    pub fn insert(&mut self, kind: Kind) {
        self.0 |= 1 << kind.index();
    }

    /// Whether the kind is in the set.
    pub fn contains(self, kind: Kind) -> bool {
        self.0 & (1 << kind.index()) != 0
    }
}

impl FromIterator<Kind> for Kinds {
    fn from_iter<I: IntoIterator<Item = Kind>>(kinds: I) -> Self {
        kinds.into_iter().fold(Self::default(), |mut set, kind| {
            set.insert(kind);
            set
        })
    }
}

impl View {
    /// From now on the view lists what is changed, until [`View::take_changes`]. A published view never does.
    pub(crate) fn list_changes(&mut self) {
        self.changes = Some(Box::default());
    }

    /// What was changed since [`View::list_changes`]; `None` if it was not called.
    pub(crate) fn take_changes(&mut self) -> Option<Changes> {
        let mut changes = *self.changes.take()?;
        changes.normalise();
        Some(changes)
    }

    /// Whether the place, the copy or the ledger entry of a pod is another one in another view.
    pub fn differs_in_pod(&self, other: &View, uid: &str) -> bool {
        !self.pod_state(uid).is(&other.pod_state(uid)) || self.ledger.get(uid) != other.ledger.get(uid)
    }

    pub(super) fn list_kind(&mut self, kind: Kind) {
        if let Some(changes) = &mut self.changes {
            changes.kinds.insert(kind);
        }
    }

    pub(super) fn list_group(&mut self, group: &Arc<GroupKey>) {
        if let Some(changes) = &mut self.changes {
            changes.groups.push(group.clone());
        }
    }

    /// Lists that the configuration is another one.
    pub(crate) fn list_settings(&mut self) {
        if let Some(changes) = &mut self.changes {
            changes.settings = true;
        }
    }

    /// The ledger entry of a pod before a change; not looked for unless changes are listed.
    pub(super) fn entry_before(&self, uid: &str) -> Option<Entry> {
        self.changes.as_ref().and_then(|_| self.ledger.get(uid).cloned())
    }

    /// Lists a pod if a change touched it.
    pub(super) fn list_pod(&mut self, uid: &str, states: [&PodState; 2], before: Option<&Entry>) {
        let Some(changes) = &mut self.changes else { return };
        let after = self.ledger.get(uid);
        let [state_before, state_after] = states;
        if state_before.is(state_after) && before == after {
            return;
        }
        let entries = before.into_iter().chain(after).map(|entry| &*entry.pod);
        let shown = states.into_iter().filter_map(PodState::pod);
        entries.chain(shown).for_each(|pod| changes.add_pod(pod));
    }
}
