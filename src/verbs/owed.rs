//! Keeps what is reserved for groups in line with what is seen of their members.
//!
//! ```text
//!   members changed         outdated: looked at before the next decision, each namespace for its share of the time
//!   went short, or in doubt  looked at a few at a time before a decision, for it may be many for one change
//!   what is left over       keeps what it has, and a service looks at it in small rounds
//! ```

mod round;

use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use self::round::{CatchingUp, most_rounds};
use super::Verbs;
use super::decide::Clock;
use crate::config::Config;
use crate::decision::Undecided;
use crate::engine::Unanswered;
use crate::ledger::Life;
use crate::model::{Name, Pod};
use crate::off_loop::off_the_event_loop;
use crate::store::Snapshot;
use crate::view::View;

/// How soon to see whether a cache that may not be trusted now may be.
const DISTRUST: Duration = Duration::from_millis(200);

/// So many times as long as it took to look at some of them nothing is done about the others.
const REST: u32 = 4;

/// For so long nobody decides while it is not known yet what all groups are owed. Whoever makes up groups without end must
/// not hold up everybody for ever.
const LONGEST_RECKONING: Duration = Duration::from_secs(10);

/// Since when it is not known what all groups are owed, after a beginning.
#[derive(Debug, Default)]
pub struct Reckoning(Mutex<Option<Instant>>);

impl Reckoning {
    /// Whether decisions wait until it is known.
    fn holds_up_decisions(&self, is_reckoned: bool) -> bool {
        let mut since = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if is_reckoned {
            *since = None;
            return false;
        }
        since.get_or_insert_with(Instant::now).elapsed() < LONGEST_RECKONING
    }
}

impl Verbs {
    /// Works out anew what is owed to groups before a decision about a pod: to its own group and to others whose members have
    /// changed, as far as their namespaces' share goes. What is left over keeps what it has. The time for the decision does not
    /// run meanwhile.
    pub(super) fn catch_up(
        &self,
        mut snapshot: Arc<Snapshot>,
        pod: &Pod,
        clock: &Clock,
    ) -> Result<Arc<Snapshot>, Undecided> {
        if !snapshot.view().has_groups_to_look_at() {
            return Ok(snapshot);
        }
        clock.stand_still(|| {
            let own = pod.group.as_ref().map(|membership| membership.group.clone());
            let mut catching_up = CatchingUp::before_a_decision(own, snapshot.view());
            while catching_up.has_next(snapshot.view()) {
                snapshot = self.look_at_some(&mut catching_up)?;
            }
            let is_reckoned = snapshot.view().is_reckoned();
            if self.reckoning.holds_up_decisions(is_reckoned) {
                return Err(Undecided::ReservationsNotReady);
            }
            Ok(snapshot)
        })
    }

    /// Works out anew what is owed to all groups of which anything has changed.
    pub fn bring_reservations_up_to_date(&self) -> Result<Arc<Snapshot>, Unanswered> {
        let mut snapshot = self.store.snapshot();
        let mut catching_up = CatchingUp::with_everything();
        for _ in 0..most_rounds(snapshot.view()) {
            if !catching_up.has_next(snapshot.view()) {
                break;
            }
            snapshot = self.look_at_some(&mut catching_up)?;
        }
        Ok(snapshot)
    }

    /// Does so a little at a time whenever something changes, so that room is kept, and shown, also while nobody asks for
    /// anything.
    pub async fn keep_reservations_up_to_date(&self) {
        let mut changes = self.store.subscribe();
        let mut last: Option<Name> = None;
        loop {
            let snapshot = self.store.snapshot();
            // Half a cluster tells nothing about what is missing.
            let is_waiting = is_due(snapshot.view());
            let is_due_now = is_waiting && self.trust_cache(&snapshot).is_ok();
            if is_due_now {
                let began = Instant::now();
                let mut catching_up = CatchingUp::in_turn(last.take(), snapshot.view());
                if self.look_at_some(&mut catching_up).is_err() {
                    tracing::error!("reservations of replica groups could not be worked out");
                }
                last = catching_up.into_first_namespace();
                tokio::time::sleep(began.elapsed() * REST).await;
            }
            if is_due_now && self.store.snapshot().view().has_groups_to_look_at() {
                continue;
            }
            tokio::select! {
                next = changes.next() => if next.is_none() {
                    return;
                },
                // A watch that is open at last may have nothing to tell: nothing changes then but that the cache is trusted.
                () = tokio::time::sleep(DISTRUST), if is_waiting && !is_due_now => {}
            }
        }
    }

    /// One round. The view is not kept from others between two of them.
    fn look_at_some(&self, catching_up: &mut CatchingUp) -> Result<Arc<Snapshot>, Unanswered> {
        let mut result = Ok(());
        let snapshot = off_the_event_loop(|| {
            self.store.let_others_write();
            self.store.write_by_settings(|view, config, engine| {
                result = catching_up.round(view, config, engine);
                Vec::new()
            })
        });
        result.map(|()| snapshot)
    }
}

/// Works out on a copy what a decision about a pod would find worked out.
pub(super) fn catch_up_on(view: &mut View, pod: &Pod, snapshot: &Snapshot) -> Result<(), Unanswered> {
    let own = pod.group.as_ref().map(|membership| membership.group.clone());
    let mut catching_up = CatchingUp::before_a_decision(own, view);
    while catching_up.has_next(view) {
        catching_up.round(view, snapshot.config(), snapshot.engine())?;
    }
    Ok(())
}

/// For how long room is kept for groups.
pub(super) fn life(config: &Config) -> Life {
    let groups = &config.replica_groups;
    Life { without_progress: groups.reservation_ttl.0, longest: groups.limits.longest_reservation.0 }
}

fn is_due(view: &View) -> bool {
    view.has_groups_to_look_at() || !view.is_reckoned()
}

#[cfg(test)]
mod tests;
