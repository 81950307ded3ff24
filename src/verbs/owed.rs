//! Keeps what is reserved for groups in line with what is seen of their members.

use std::sync::Arc;

use super::Verbs;
use super::off_loop::off_the_event_loop;
use crate::config::Config;
use crate::engine::{Engine, Unanswered};
use crate::ledger::Life;
use crate::model::GroupKey;
use crate::policy::Owed;
use crate::store::Snapshot;
use crate::view::View;

/// How often what is owed is worked out in a row. The rest is left to the next decision.
const MOST_ROUNDS: usize = 4;

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
    // What one group gives up another may be owed; nobody gives up anything twice.
    for _ in 0..MOST_ROUNDS {
        let groups: Vec<Arc<GroupKey>> = view.outdated_groups().cloned().collect();
        if groups.is_empty() {
            break;
        }
        update_once(view, &groups, config, engine)?;
    }
    Ok(())
}

fn update_once(
    view: &mut View,
    groups: &[Arc<GroupKey>],
    config: &Config,
    engine: &Engine,
) -> Result<(), Unanswered> {
    view.mark_up_to_date(groups);
    let needs = engine.owed_needs(view, groups)?;
    view.provide(&needs);
    let (rooms, others): (Vec<_>, Vec<_>) =
        engine.owed(view, groups)?.into_iter().partition(|owed| matches!(owed, Owed::Room(_)));
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
        }
    }
    Ok(())
}
