//! Keeps what is reserved for groups in line with what is seen of their members.

use std::sync::Arc;
use std::time::{Duration, Instant};

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

/// How many of the groups that went short are looked at again before a decision. There may be many of them, made up by
/// somebody: whoever asks must not pay for all.
const MOST_HOPEFUL: usize = 8;

/// How soon to see whether a cache that may not be trusted now may be.
const DISTRUST: Duration = Duration::from_millis(200);

/// So many times as long as it took to look at some of them nothing is done about the others.
const REST: u32 = 4;

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
            let began = Instant::now();
            // Half a cluster tells nothing about what is missing.
            let is_outdated_now = is_outdated(snapshot.view());
            let is_due = is_outdated_now && self.trust_cache(&snapshot).is_ok();
            if is_due {
                if self.bring_reservations_up_to_date().is_err() {
                    tracing::error!("reservations of replica groups could not be worked out");
                }
                tokio::time::sleep(began.elapsed() * REST).await;
            }
            if is_due && is_outdated(self.store.snapshot().view()) {
                continue;
            }
            tokio::select! {
                next = changes.next() => if next.is_none() {
                    return;
                },
                // A watch that is open at last may have nothing to tell: nothing changes then but that the cache is trusted.
                () = tokio::time::sleep(DISTRUST), if is_outdated_now && !is_due => {}
            }
        }
    }
}

/// For how long room is kept for groups.
pub(super) fn life(config: &Config) -> Life {
    let groups = &config.replica_groups;
    Life { without_progress: groups.reservation_ttl.0, longest: groups.limits.longest_reservation.0 }
}

/// Whether groups have to be looked at before a decision.
pub(super) fn is_outdated(view: &View) -> bool {
    view.outdated_groups().len() + view.hopeful_groups().len() > 0
}

/// Works out what is owed to groups whose members have changed, and to some of those that went short and may find room by now.
/// It is tried once, even if a policy panics.
pub(super) fn update(view: &mut View, config: &Config, engine: &Engine) -> Result<(), Unanswered> {
    // What one group gives up another may be owed; nobody gives up anything twice.
    let mut hopeful_left = MOST_HOPEFUL;
    for _ in 0..MOST_ROUNDS {
        let hopeful = view.hopeful_groups().take(hopeful_left);
        let groups: Vec<Arc<GroupKey>> = view.outdated_groups().chain(hopeful).cloned().collect();
        hopeful_left = hopeful_left.saturating_sub(view.hopeful_groups().len());
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
