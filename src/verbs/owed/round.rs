//! Which groups are looked at next, and what follows from it.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet, HashSet};
use std::ops::Bound::{Excluded, Unbounded};
use std::sync::Arc;

use super::life;
use crate::config::Config;
use crate::engine::{Engine, Unanswered};
use crate::model::{GroupKey, Name};
use crate::policy::{Allowance, Owed};
use crate::view::View;

/// How many groups are looked at while nobody else can change the view.
const MOST_AT_ONCE: usize = 32;

/// What the groups of all namespaces may cost before a decision, in steps: a tenth of a second or so. Divided by namespaces that
/// have any, and never less than the least share.
const STEPS_BEFORE_A_DECISION: u64 = 2_000_000;
const LEAST_SHARE: u64 = 100_000;

/// How many of the groups that went short, or are in doubt, are looked at before a decision, and what they may cost.
const MOST_DOUBTFUL: usize = 8;
const STEPS_FOR_DOUBTFUL: u64 = 200_000;

/// What a round of the service may cost beside the group that comes first.
const STEPS_IN_TURN: u64 = 500_000;

/// So often in a row all groups are looked at, for what one gives up another may be owed; nobody gives up anything twice.
const MOST_REPETITIONS: usize = 4;

/// How many rounds it takes to look at everybody.
pub(super) fn most_rounds(view: &View) -> usize {
    MOST_REPETITIONS + (view.outdated_groups().len() + view.doubtful_groups().count()) / MOST_AT_ONCE
}

/// Working out what is owed to groups, in small rounds.
pub(super) struct CatchingUp {
    allowance: Allowance,
    /// It comes before all others.
    first: Option<Arc<GroupKey>>,
    /// Those that would cost too much, for now.
    put_off: HashSet<Arc<GroupKey>>,
    doubtful_left: usize,
}

impl CatchingUp {
    /// As much as others may be kept waiting for.
    pub fn before_a_decision(own: Option<Arc<GroupKey>>, view: &View) -> Self {
        let namespaces: BTreeSet<&Name> = view.outdated_groups().map(|group| &group.set.namespace).collect();
        let share = STEPS_BEFORE_A_DECISION / (namespaces.len().max(1) as u64);
        let allowance = Allowance::of(share.max(LEAST_SHARE), STEPS_FOR_DOUBTFUL);
        let own = own.filter(|own| view.is_to_be_looked_at(own));
        Self { doubtful_left: MOST_DOUBTFUL, ..Self::putting_first(own, allowance) }
    }

    /// One round, in which one group may cost whatever it takes: the next namespace's.
    pub fn in_turn(last: Option<Name>, view: &View) -> Self {
        let mut firsts: BTreeMap<&Name, &Arc<GroupKey>> = BTreeMap::new();
        // Groups that are in doubt have something already, or have waited before.
        for group in view.doubtful_groups().chain(view.outdated_groups()) {
            let first = firsts.entry(&group.set.namespace).or_insert(group);
            *first = (*first).min(group);
        }
        let next = last.and_then(|last| firsts.range::<Name, _>((Excluded(&last), Unbounded)).next());
        let first = next.or_else(|| firsts.first_key_value()).map(|(_, group)| (*group).clone());
        let allowance = Allowance::of(STEPS_IN_TURN, STEPS_FOR_DOUBTFUL);
        Self { doubtful_left: MOST_AT_ONCE, ..Self::putting_first(first, allowance) }
    }

    /// Whatever it costs.
    pub fn with_everything() -> Self {
        Self { doubtful_left: usize::MAX, ..Self::putting_first(None, Allowance::unlimited()) }
    }

    /// As much as the allowance covers.
    #[cfg(test)]
    pub fn paying_from(allowance: Allowance) -> Self {
        Self::putting_first(None, allowance)
    }

    fn putting_first(first: Option<Arc<GroupKey>>, mut allowance: Allowance) -> Self {
        if let Some(first) = &first {
            allowance.put_first(first.clone());
        }
        Self { allowance, first, put_off: HashSet::new(), doubtful_left: 0 }
    }

    /// The namespace of the group that came before all others.
    pub fn into_first_namespace(self) -> Option<Name> {
        self.first.map(|group| group.set.namespace.clone())
    }

    /// Whether there is anything left to look at that may be.
    pub fn has_next(&self, view: &View) -> bool {
        view.outdated_groups().any(|group| self.may_look_at(group))
            || self
                .first
                .as_ref()
                .is_some_and(|first| view.is_to_be_looked_at(first) && self.may_look_at(first))
            || (self.doubtful_left > 0 && view.doubtful_groups().any(|group| self.may_look_at(group)))
    }

    fn may_look_at(&self, group: &GroupKey) -> bool {
        self.allowance.covers(group) && !self.put_off.contains(group)
    }

    /// Looks at some groups.
    pub fn round(&mut self, view: &mut View, config: &Config, engine: &Engine) -> Result<(), Unanswered> {
        let first =
            self.first.iter().filter(|first| view.is_to_be_looked_at(first) && self.may_look_at(first));
        let mut groups: Vec<_> = first.cloned().collect();
        let is_other = |group: &&Arc<GroupKey>| !groups.contains(group) && self.may_look_at(group);
        let outdated = fairly(view.outdated_groups().filter(is_other), MOST_AT_ONCE, view);
        // What came before may have put them there: they are looked at once.
        let is_doubtful = |group: &&Arc<GroupKey>| is_other(group) && !outdated.contains(group);
        let most = self.doubtful_left.min(MOST_AT_ONCE);
        let doubtful = fairly(view.doubtful_groups().filter(is_doubtful), most, view);
        self.doubtful_left = self.doubtful_left.saturating_sub(doubtful.len());
        self.allowance.set_later(doubtful.iter().cloned());
        groups.extend(outdated);
        groups.extend(doubtful);
        self.look_at(&groups, view, config, engine)
    }

    /// It is tried once, even if a policy panics.
    fn look_at(
        &mut self,
        groups: &[Arc<GroupKey>],
        view: &mut View,
        config: &Config,
        engine: &Engine,
    ) -> Result<(), Unanswered> {
        let owed = engine.owed_needs(view, groups).and_then(|needs| {
            view.provide(&needs);
            engine.owed(view, groups, &self.allowance)
        });
        let is_put_off = |group: &Arc<GroupKey>| {
            let all = owed.iter().flatten();
            all.into_iter().any(|owed| matches!(owed, Owed::PutOff(put_off) if put_off == group))
        };
        let (put_off, looked_at): (Vec<_>, Vec<_>) = groups.iter().cloned().partition(is_put_off);
        self.put_off.extend(put_off);
        view.mark_up_to_date(&looked_at);
        let (rooms, others): (Vec<_>, Vec<_>) =
            owed?.into_iter().partition(|owed| matches!(owed, Owed::Room(_)));
        // Who gets nothing makes way first.
        for owed in others.into_iter().chain(rooms) {
            match owed {
                Owed::Nothing(group) => view.release_unless_under_way(&group),
                Owed::NotCreatable(group) => {
                    view.release(&group);
                    view.look_again_when_room_is_made(group);
                }
                Owed::Room(room) => view.reserve(room, life(config)),
                Owed::Short(group) => view.go_short(group),
                Owed::Undecided(group) => view.look_again_when_room_is_made(group),
                Owed::PutOff(_) => {}
            }
        }
        Ok(())
    }
}

/// Some of these groups: of each namespace as many. Of one namespace those first that have slots, for nobody must take them;
/// then those that matter more.
fn fairly<'a>(
    groups: impl Iterator<Item = &'a Arc<GroupKey>>,
    most: usize,
    view: &View,
) -> Vec<Arc<GroupKey>> {
    if most == 0 {
        return Vec::new();
    }
    let mut namespaces: BTreeMap<&Name, Vec<_>> = BTreeMap::new();
    for group in groups {
        let has_none = view.ledger().reservations().of(group).is_none();
        let priority = view.placed_members(group).map(|pod| pod.priority).max();
        let turn = (has_none, Reverse(priority), group);
        namespaces.entry(&group.set.namespace).or_default().push(turn);
    }
    for turns in namespaces.values_mut() {
        // There may be very many of one.
        if turns.len() > most {
            turns.select_nth_unstable(most);
            turns.truncate(most);
        }
        turns.sort_unstable();
    }
    let longest = namespaces.values().map(Vec::len).max().unwrap_or_default();
    let nth = |at: usize| namespaces.values().filter_map(move |turns| turns.get(at));
    (0..longest).flat_map(nth).map(|(.., group)| (*group).clone()).take(most).collect()
}
