//! Plans ahead, and finds out what is to be written, whenever groups have changed.

use std::collections::HashSet;
use std::sync::Arc;
use std::time::{Duration, Instant};

use super::super::{Verbs, owed};
use super::line::Line;
use super::nominates_groups;
use crate::engine::Unanswered;
use crate::model::{GroupKey, Pod, Uid};
use crate::off_loop::off_the_event_loop;
use crate::store::{Changes, Snapshot};
use crate::view::View;

/// What changes in so short a time is looked at together.
const PAUSE: Duration = Duration::from_millis(5);
/// How long is planned before changes are looked at again.
const ROUND: Duration = Duration::from_millis(20);
/// The next look while the cluster may not be trusted.
const DISTRUST: Duration = Duration::from_secs(1);
/// How often a plan is made anew because the cluster has changed meanwhile.
const ATTEMPTS: usize = 3;
/// How often, and how long each time, a plan waits for decisions under way.
const MOST_WAITS: usize = 20;
const WAIT: Duration = Duration::from_micros(200);

/// What has to be looked at.
#[derive(Default)]
pub(super) struct Outstanding {
    groups: HashSet<Arc<GroupKey>>,
    pods: HashSet<Uid>,
    everything: bool,
}

impl Outstanding {
    /// Nothing has been looked at yet.
    pub(super) fn everything() -> Self {
        Self { everything: true, ..Self::default() }
    }

    /// Whether there is nothing to look at.
    #[cfg(test)]
    pub(super) fn is_empty(&self) -> bool {
        !self.everything && self.groups.is_empty() && self.pods.is_empty()
    }

    pub(super) fn add(&mut self, changes: &Changes) {
        self.everything |= changes.is_incomplete || changes.settings;
        self.groups.extend(changes.groups.iter().cloned());
        self.pods.extend(changes.pods.iter().cloned());
    }
}

/// What became of a plan.
enum Planned {
    /// Room is kept, or there is none.
    Done,
    /// Decisions are being made all the time.
    Busy,
}

impl Verbs {
    /// Plans ahead, and finds out what is to be nominated, whenever something has changed that depends on.
    pub async fn keep_nominations_up_to_date(&self) {
        if !self.nominations.nominator.is_there() {
            return std::future::pending().await;
        }
        let mut changes = self.store.subscribe();
        let mut line = Line::default();
        let mut outstanding = Outstanding::everything();
        loop {
            let next_look = self.look(&mut line, &mut outstanding);
            tokio::select! {
                next = changes.next() => match next {
                    Some(next) => outstanding.add(&next),
                    None => return,
                },
                () = self.nominations.has_news.notified() => {}
                () = tokio::time::sleep(next_look.unwrap_or(Duration::MAX)), if next_look.is_some() => {}
            }
            tokio::time::sleep(PAUSE).await;
            while let Some(next) = changes.next_ready() {
                outstanding.add(&next);
            }
        }
    }

    /// Looks at what is outstanding, and plans for a while. Says when to look again if nothing changes.
    pub(super) fn look(&self, line: &mut Line, outstanding: &mut Outstanding) -> Option<Duration> {
        let snapshot = self.store.snapshot();
        if self.trust_cache(&snapshot).is_err() {
            return Some(DISTRUST);
        }
        if !nominates_groups(snapshot.config()) {
            // Once it is switched on, everything has changed.
            *line = Line::default();
            self.stand_down(&std::mem::take(outstanding), &snapshot);
            return None;
        }
        let view = snapshot.view();
        let is_ours = |pod: &Pod| self.is_asked_about(pod);
        let news = self.nominations.take_news();
        let Outstanding { mut groups, pods, everything } = std::mem::take(outstanding);
        groups.extend(news.groups);
        if everything || news.is_new_scheduler {
            groups.extend(line.groups().cloned());
            groups.extend(view.waiting_groups().map(|(group, _)| group.clone()));
        }
        if everything {
            self.nominations.forget_all_unless_waiting(view);
        } else {
            for uid in &pods {
                self.nominations.forget_unless_waiting(uid, view);
            }
        }
        for group in &groups {
            self.nominations.look_at_group(group, view);
        }
        line.look_at_all(groups, view, is_ours);
        if !line.has_next() {
            return None;
        }
        let planned = off_the_event_loop(|| self.plan_from(line));
        if planned.is_err() {
            tracing::error!("replica groups could not be planned ahead");
        }
        line.has_next().then_some(Duration::ZERO)
    }

    /// Takes back what must not be nominated by the settings in force, and forgets who waits no more.
    fn stand_down(&self, outstanding: &Outstanding, snapshot: &Snapshot) {
        let (view, config) = (snapshot.view(), snapshot.config());
        // Whoever has told them is asked again once it is switched on.
        drop(self.nominations.take_news());
        if outstanding.everything {
            self.nominations.forget_all_unless_waiting(view);
            self.nominations.take_back_all(view, config);
        } else {
            for uid in &outstanding.pods {
                self.nominations.forget_unless_waiting(uid, view);
                self.nominations.take_back_unless_followed(uid, view, config);
            }
        }
    }

    fn is_asked_about(&self, pod: &Pod) -> bool {
        pod.scheduler.as_ref().is_some_and(|name| self.nominations.schedulers.contains(name))
    }

    fn plan_from(&self, line: &mut Line) -> Result<(), Unanswered> {
        let began = Instant::now();
        while began.elapsed() < ROUND
            && let Some(group) = line.next()
        {
            let planned = self.plan_ahead(&group)?;
            let is_busy = matches!(planned, Planned::Busy);
            if is_busy {
                line.put_back(&group);
            }
            let view = self.store.view();
            self.nominations.look_at_group(&group, &view);
            line.look_at(&group, &view, |pod| self.is_asked_about(pod));
            if is_busy {
                break;
            }
        }
        Ok(())
    }

    /// Plans for a group on a snapshot. The plan is kept if it still holds with what was recorded meanwhile; a decision that
    /// is recorded after it, and has not seen it, is made anew.
    fn plan_ahead(&self, group: &Arc<GroupKey>) -> Result<Planned, Unanswered> {
        for _ in 0..ATTEMPTS {
            let mut snapshot = self.store.snapshot();
            let needs = snapshot.engine().plan_needs(snapshot.view(), group)?;
            if !snapshot.view().provides(&needs) {
                snapshot = self.store.write(|view| {
                    view.provide(&needs);
                    Vec::new()
                });
            }
            let Some(plan) = snapshot.engine().plan_ahead(snapshot.view(), group)? else {
                return Ok(Planned::Done);
            };
            for _ in 0..MOST_WAITS {
                if !self.nominations.is_deciding() {
                    break;
                }
                std::thread::sleep(WAIT);
            }
            if self.nominations.is_deciding() {
                return Ok(Planned::Busy);
            }
            let mut holds = Ok(true);
            self.store.write_after(&snapshot, |view: &mut View, config, engine, is_unchanged| {
                holds = if is_unchanged { Ok(true) } else { engine.plan_holds(view, &plan) };
                if holds == Ok(true) {
                    view.reserve(plan, owed::life(config));
                }
                Vec::new()
            });
            if holds? {
                return Ok(Planned::Done);
            }
        }
        Ok(Planned::Done)
    }
}
