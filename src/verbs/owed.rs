//! Keeps what is reserved for groups in line with what is seen of their members.

use std::collections::HashSet;
use std::sync::Arc;

use super::Verbs;
use super::off_loop::off_the_event_loop;
use crate::config::Config;
use crate::engine::{Engine, Unanswered};
use crate::ledger::{Life, Reservation};
use crate::model::GroupKey;
use crate::policy::Owed;
use crate::store::Snapshot;
use crate::view::View;

impl Verbs {
    /// Works out anew what is owed to groups whose members have changed. No decision is made before that.
    pub fn bring_reservations_up_to_date(&self) -> Result<Arc<Snapshot>, Unanswered> {
        let mut result = Ok(());
        let snapshot = off_the_event_loop(|| {
            self.store.write_by_settings(|view, config, engine| {
                result = update(view, config, engine);
                Vec::new()
            })
        });
        result.map(|()| snapshot)
    }

    /// Does so whenever members change, so that room is kept, and shown, also while nobody asks for anything.
    pub async fn keep_reservations_up_to_date(&self) {
        let mut changes = self.store.subscribe();
        loop {
            let snapshot = self.store.snapshot();
            // Half a cluster tells nothing about what is missing.
            let is_due = snapshot.view().outdated_groups().len() > 0 && self.trust_cache(&snapshot).is_ok();
            if is_due && self.bring_reservations_up_to_date().is_err() {
                tracing::error!("reservations of replica groups could not be worked out");
            }
            if changes.next().await.is_none() {
                return;
            }
        }
    }
}

/// For how long room is kept for groups.
pub(super) fn life(config: &Config) -> Life {
    let groups = &config.replica_groups;
    Life { without_progress: groups.reservation_ttl.0, longest: groups.limits.longest_reservation.0 }
}

/// Works out what is owed to groups whose members have changed. It is tried once, even if a policy panics.
pub(super) fn update(view: &mut View, config: &Config, engine: &Engine) -> Result<(), Unanswered> {
    let groups: Vec<Arc<GroupKey>> = view.outdated_groups().cloned().collect();
    if groups.is_empty() {
        return Ok(());
    }
    view.mark_up_to_date(&groups);
    let needs = engine.owed_needs(view, &groups)?;
    view.provide(&needs);
    let owed = engine.owed(view, &groups)?;
    for owed in without_mere_plans(owed, view, engine, &groups)? {
        match owed {
            Owed::Nothing(group) => view.release_unless_under_way(&group),
            Owed::Room(room) => view.reserve(room, life(config)),
            Owed::Short(group) => view.look_again_when_room_is_made(group),
        }
    }
    Ok(())
}

/// What is owed to groups with members in place comes before what was planned for groups of which nobody has come, and
/// nobody is under way: plans that are in the way of those are given up.
fn without_mere_plans(
    owed: Vec<Owed>,
    view: &mut View,
    engine: &Engine,
    groups: &[Arc<GroupKey>],
) -> Result<Vec<Owed>, Unanswered> {
    let left_short: HashSet<_> = owed.iter().filter_map(short).cloned().collect();
    let plans: Vec<_> = view.mere_plans().cloned().collect();
    if left_short.is_empty() || plans.is_empty() {
        return Ok(owed);
    }
    let mut otherwise = view.clone();
    plans.iter().for_each(|plan| otherwise.release(&plan.group));
    let owed_otherwise = engine.owed(&otherwise, groups)?;
    if owed_otherwise.iter().filter_map(short).count() >= left_short.len() {
        return Ok(owed);
    }
    let served = owed_otherwise.iter().filter_map(|owed| match owed {
        Owed::Room(room) => Some(room).filter(|room| left_short.contains(&room.group)),
        _ => None,
    });
    let (mut hosts, mut namespaces) = (HashSet::new(), HashSet::new());
    for room in served {
        hosts.extend(room.slots.iter().map(|slot| &slot.host));
        // They share what is allowed there.
        namespaces.insert(&room.group.set.namespace);
    }
    let is_in_the_way = |plan: &&Arc<Reservation>| {
        namespaces.contains(&plan.group.set.namespace)
            || plan.slots.iter().any(|slot| hosts.contains(&slot.host))
    };
    for plan in plans.iter().filter(is_in_the_way) {
        view.release(&plan.group);
    }
    Ok(owed_otherwise)
}

fn short(owed: &Owed) -> Option<&Arc<GroupKey>> {
    match owed {
        Owed::Short(group) => Some(group),
        _ => None,
    }
}
