//! Lets pods be tried again that were turned away because of reserved room, once it is given up.
//!
//! kube-scheduler tries a pod that an extender rejected again when something in the cluster changes, else after five
//! minutes. That a reservation has expired is nothing that it sees. What it sees is a nomination that goes: to it that is a
//! pod that leaves its node, for which all that wait and matter no more are tried again. So one of those that wait, the one that
//! matters most, is nominated to the room for a moment.

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;
use std::time::Duration;

use super::Verbs;
use crate::cluster::nominator::{Nomination, Written};
use crate::config::Mode;
use crate::ledger::Reservation;
use crate::model::{GroupKey, Name, Pod};
use crate::view::View;

/// From the end of a reservation to its announcement. Until then it shows who was turned away at the last moment, and what
/// else is given up is announced with it: everybody who waits is tried again for each announcement.
const PAUSE: Duration = Duration::from_secs(1);

/// Between two looks at what is kept. In a burst there are hundreds of changes in that time.
const LOOK_EVERY: Duration = Duration::from_millis(200);

/// What was kept for groups when it was last looked at.
#[derive(Default)]
struct KeptRoom(HashMap<Arc<GroupKey>, Kept>);

struct Kept {
    reservation: Arc<Reservation>,
    /// How many members had a place.
    placed: usize,
}

impl KeptRoom {
    fn of(view: &View) -> Self {
        let reservations = view.ledger().reservations().iter();
        let kept = reservations.map(|reservation| {
            let placed = view.placed_members(&reservation.group).len();
            (reservation.group.clone(), Kept { reservation: reservation.clone(), placed })
        });
        Self(kept.collect())
    }

    /// A host with a slot that has been given up since. Slots that members came for are not.
    fn given_up(&self, view: &View) -> Option<Name> {
        let reservations = view.ledger().reservations();
        self.0.iter().find_map(|(group, before)| {
            let now = reservations.of(group);
            if now.is_some_and(|now| Arc::ptr_eq(now, &before.reservation)) {
                return None;
            }
            let mut left: Vec<&Name> = now.iter().flat_map(|now| &now.slots).map(|slot| &slot.host).collect();
            let mut hosts: Vec<&Name> = before.reservation.slots.iter().map(|slot| &slot.host).collect();
            hosts.retain(|host| match left.iter().position(|left| left == host) {
                Some(at) => {
                    left.swap_remove(at);
                    false
                }
                None => true,
            });
            let came = view.placed_members(group).len().saturating_sub(before.placed);
            hosts.get(came).map(|host| (*host).clone())
        })
    }
}

/// Of the pods that a scheduler could not place, the one that matters most, for each scheduler.
fn most_important(view: &View, is_asked_by: impl Fn(&Name) -> bool) -> Vec<&Arc<Pod>> {
    let mut found: BTreeMap<&Name, &Arc<Pod>> = BTreeMap::new();
    for pod in view.pods() {
        let waits = pod.node.is_none() && !pod.terminating && !pod.gated && pod.failed_attempt.is_some();
        let is_free = pod.nominated_node.is_none() && view.ledger().get(&pod.uid).is_none();
        let Some(scheduler) = pod.scheduler.as_ref().filter(|name| waits && is_free && is_asked_by(name))
        else {
            continue;
        };
        let known = found.entry(scheduler).or_insert(pod);
        if (pod.priority, &known.key) > (known.priority, &pod.key) {
            *known = pod;
        }
    }
    found.into_values().collect()
}

impl Verbs {
    /// Does so whenever room is given up that was kept for a group.
    pub async fn announce_room(&self) {
        if !self.nominations.nominator().is_there() {
            return std::future::pending().await;
        }
        let mut changes = self.store.subscribe();
        let mut kept = KeptRoom::default();
        loop {
            let snapshot = self.store.snapshot();
            let groups = &snapshot.config().replica_groups;
            let view = snapshot.view();
            let given_up = kept.given_up(view);
            kept = KeptRoom::of(view);
            let announces = groups.nominate && groups.mode == Mode::Enforce;
            if let Some(host) = given_up.filter(|_| announces) {
                tokio::time::sleep(PAUSE).await;
                self.announce(&host, &self.store.view()).await;
            }
            if changes.next().await.is_none() {
                return;
            }
            tokio::time::sleep(LOOK_EVERY).await;
            while changes.next_ready().is_some() {}
        }
    }

    async fn announce(&self, host: &Name, view: &View) {
        for pod in most_important(view, |scheduler| self.nominations.is_asked_by(scheduler)) {
            let nomination =
                Nomination { pod: pod.key.clone(), uid: pod.uid.clone(), node: Some(host.clone()) };
            let result = match self.nominations.nominator().flash(&nomination).await {
                Ok(Written::Done) => "announced",
                Ok(Written::Superseded) => "superseded",
                Err(error) => {
                    tracing::debug!(pod = %nomination.pod, error, "free room not announced");
                    "failed"
                }
            };
            self.metrics.nominations.with_label_values(&[result]).inc();
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;
    use std::time::Duration;

    use super::{KeptRoom, most_important};
    use crate::fixtures::{PodBuilder, pod};
    use crate::ledger::{Life, Reservation, Slot};
    use crate::model::{GroupKey, Name, Object, Pod};
    use crate::view::View;
    use crate::view::change::Change;

    const LIFE: Life = Life::of(Duration::from_mins(1));

    fn member(index: usize) -> PodBuilder {
        let (index, name) = (index.to_string(), format!("g-{index}"));
        let pod = pod(&name).annotation("berth.dev/group", "g").annotation("berth.dev/group-size", "3");
        pod.annotation("berth.dev/group-index", &index).annotation("berth.dev/required-topology", "rack")
    }

    fn group() -> Arc<GroupKey> {
        member(0).build().group.expect("a member").group.clone()
    }

    /// The first member is in place, and these are for others.
    fn slots(hosts: &[&str]) -> Reservation {
        let slots: Vec<_> =
            hosts.iter().map(|host| Slot::of(&member(1).build(), &Name::from(*host))).collect();
        let in_place = vec!["g-0".into()];
        Reservation { in_place, missing: slots.len(), slots, ..Reservation::nothing(group()) }
    }

    fn see(view: &mut View, pod: Pod) {
        drop(view.apply(Change::Upsert(Object::Pod(Arc::new(pod)))));
    }

    #[test]
    fn room_is_given_up_if_nobody_came_for_it() {
        type Event = fn(&mut View);
        for (name, event, expected) in [
            ("nothing happens", (|_| {}) as Event, None),
            ("it expires", |view| drop(view.advance(Duration::from_mins(1))), Some("x")),
            ("it is released", |view| view.release(&group()), Some("x")),
            ("a member comes", |view| see(view, member(1).on("x").build()), None),
            (
                "all come, and it is fulfilled",
                |view| {
                    see(view, member(1).on("x").build());
                    see(view, member(2).on("y").build());
                    view.release(&group());
                },
                None,
            ),
            (
                "one comes, and the rest is given up",
                |view| {
                    see(view, member(1).on("x").build());
                    view.release(&group());
                },
                Some("y"),
            ),
            ("it moves", |view| view.reserve(slots(&["x", "z"]), LIFE), Some("y")),
            ("more is kept", |view| view.reserve(slots(&["x", "y", "z"]), LIFE), None),
        ] {
            let mut view = View::default();
            see(&mut view, member(0).on("w").build());
            view.reserve(slots(&["x", "y"]), LIFE);
            let kept = KeptRoom::of(&view);
            event(&mut view);
            assert_eq!(kept.given_up(&view).as_deref(), expected, "{name}");
            assert_eq!(KeptRoom::of(&view).given_up(&view), None, "{name}: it is announced once");
        }
    }

    fn waiting(name: &str, priority: i32) -> Pod {
        let (failed_attempt, scheduler) = (Some(1), Some("s".into()));
        Pod { scheduler, failed_attempt, ..pod(name).priority(priority).build() }
    }

    #[test]
    fn the_most_important_pod_of_each_scheduler_carries_the_announcement() {
        let mut view = View::default();
        for pod in [
            waiting("low", 1),
            waiting("second", 5),
            waiting("first", 5),
            Pod { scheduler: Some("t".into()), ..waiting("another's", 0) },
            Pod { scheduler: Some("u".into()), ..waiting("a stranger's", 0) },
            Pod { failed_attempt: None, ..waiting("new", 9) },
            Pod { nominated_node: Some("x".into()), ..waiting("nominated", 9) },
            Pod { gated: true, ..waiting("gated", 9) },
            Pod { terminating: true, ..waiting("going", 9) },
            Pod { node: Some("x".into()), ..waiting("placed", 9) },
        ] {
            see(&mut view, pod);
        }
        let found = most_important(&view, |scheduler| **scheduler != *"u");
        let found: Vec<_> = found.iter().map(|pod| &*pod.key.name).collect();
        assert_eq!(found, ["first", "another's"]);
    }
}
