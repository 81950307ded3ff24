//! Two Berths: both are told what happens, each at its own pace, and kube-scheduler asks one of them.

use std::collections::BTreeMap;
use std::time::Duration;

use crate::berth_process::Berth;
use crate::watch::{News, Watch};
use crate::world::{LAG, World};

/// The one that is not asked.
pub struct Standby {
    pub berth: Berth,
    pub watch: Watch,
    /// Whom it let in, and when: it does not know that nothing came of it.
    pub offers: BTreeMap<String, Duration>,
}

impl World<'_> {
    /// Tells both, in time.
    pub fn tell(&mut self, news: News) {
        if let Some(standby) = &mut self.standby {
            standby.watch.push(news.clone());
        }
        self.watch.push(news);
    }

    /// Nobody counts on the pod any more once this is told.
    pub fn forget_offers_to(&mut self, uid: &str) {
        self.offers.remove(uid);
        if let Some(standby) = &mut self.standby {
            standby.offers.remove(uid);
        }
    }

    /// Their time is up.
    pub fn forget_all_offers(&mut self) {
        self.offers.clear();
        if let Some(standby) = &mut self.standby {
            standby.offers.clear();
        }
    }

    /// From now on the other one is asked. What is under way with the first is lost, or comes late.
    pub fn take_over(&mut self, is_up_to_date: bool) {
        let Some(mut other) = self.standby.take() else { return };
        self.note(|| format!("the other Berth is asked from now on, up to date: {is_up_to_date}"));
        self.upset = Some(self.now);
        if is_up_to_date {
            other.berth.hear(other.watch.take_older(Duration::MAX));
        }
        std::mem::swap(&mut self.berth, &mut other.berth);
        std::mem::swap(&mut self.watch, &mut other.watch);
        std::mem::swap(&mut self.offers, &mut other.offers);
        self.standby = Some(other);
        self.kept_since.clear();
        let in_pieces =
            |group: usize| self.is_in_pieces(group) && self.truth.set_of(group).required.is_some();
        self.seen.handed_over_in_pieces |= (0..self.truth.groups.len()).any(in_pieces);
        self.orphan_attempts();
        self.excuse_the_unsettled();
        self.excuse_those_around_forgotten();
        if !self.watch.is_empty() {
            self.behind_until = self.now + LAG;
            self.excuse_those_it_cannot_know_of();
        }
    }

    /// Whether the Berth that is asked does not know yet what the other one did.
    pub fn is_behind(&self) -> bool {
        self.now < self.behind_until && !self.watch.is_empty()
    }

    /// It takes room for free that is not, and does not know where members are.
    fn excuse_those_it_cannot_know_of(&mut self) {
        for at in 0..self.truth.groups.len() {
            let (begun, hidden) = (self.has_begun(at), self.watch.hides(at));
            let record = &mut self.truth.groups[at].record;
            record.excused |= begun;
            record.disturbed |= hidden;
        }
    }
}
