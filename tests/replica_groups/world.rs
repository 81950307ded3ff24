//! One history while it is played: the truth, what Berth was told of it, and what kube-scheduler has under way.

use std::collections::BTreeMap;
use std::time::Duration;

use berth::config::Config;
use berth::model::group::Source;
use berth::model::{Kind as ObjectKind, ObjectKey};
use serde_json::Value;

use crate::api_server::ApiServer;
use crate::berth_process::{Berth, config};
use crate::objects;
use crate::room::Occupancy;
use crate::scenario::{NodeSpec, Scenario, Times};
use crate::takeover::Standby;
use crate::tally::Seen;
use crate::truth::{Pod, Truth};
use crate::watch::{About, Event, News, Watch};

/// By how much Berth's picture is late at most. A watch that is later than the time to live counts as cut.
pub const LAG: Duration = Duration::from_secs(10);
/// After so long kube-scheduler gives up on a binding.
const PATIENCE: Duration = Duration::from_secs(20);

pub struct World<'a> {
    pub truth: Truth,
    pub lost: Vec<NodeSpec>,
    pub watch: Watch,
    pub berth: Berth,
    pub standby: Option<Standby>,
    /// Until then the Berth that is asked may not know what the other one did.
    pub behind_until: Duration,
    pub api: &'a ApiServer,
    config: Config,
    pub times: Times,
    pub now: Duration,
    /// Pods between filter and bind.
    pub attempts: Vec<Attempt>,
    /// When filter last let a pod in that is still not bound: Berth may count on it for a while.
    pub offers: BTreeMap<String, Duration>,
    /// When a node was last lost or moved to another rack, or another Berth was asked: what was let in around then may be looked at
    /// anew.
    pub upset: Option<Duration>,
    /// Whether room was kept for anybody before the last question.
    pub room_was_kept: bool,
    pub follows_scores: bool,
    /// Since when room is kept for groups of the hostile tenant.
    pub kept_since: BTreeMap<String, Duration>,
    pub seen: Seen,
    pub log: Option<Vec<String>>,
}

#[derive(Clone, Debug)]
pub struct Attempt {
    /// As it was when it began.
    pub pod: Pod,
    pub node: String,
    pub since: Duration,
    /// kube-scheduler does not give up on it.
    pub patient: bool,
    /// The Berth that let it in is not the one that is asked now.
    pub orphaned: bool,
}

impl<'a> World<'a> {
    pub fn new(scenario: &Scenario, api: &'a ApiServer, log: bool) -> Self {
        let nodes = scenario.nodes.iter().map(|node| (node.name.clone(), node.clone())).collect();
        let mut truth = Truth { nodes, sets: scenario.sets.clone(), ..Truth::default() };
        truth.add_shared_claims();
        let config = config(scenario.times);
        let start = || Berth::start(&config, api, everything(&truth).into_iter());
        let (berth, watch) = (start(), Watch::default());
        let standby = scenario.has_standby.then(|| Standby {
            berth: start(),
            watch: Watch::default(),
            offers: BTreeMap::new(),
        });
        Self {
            truth,
            lost: Vec::new(),
            watch,
            berth,
            standby,
            behind_until: Duration::ZERO,
            api,
            config,
            times: scenario.times,
            now: Duration::ZERO,
            attempts: Vec::new(),
            offers: BTreeMap::new(),
            upset: None,
            room_was_kept: false,
            follows_scores: scenario.follows_scores,
            kept_since: BTreeMap::new(),
            seen: Seen::default(),
            log: log.then(Vec::new),
        }
    }

    pub fn note(&mut self, text: impl FnOnce() -> String) {
        if let Some(log) = &mut self.log {
            log.push(format!("{:>7.1}s  {}", self.now.as_secs_f64(), text()));
        }
    }

    /// What nodes hold, as kube-scheduler sees it.
    pub fn occupancy(&self) -> Occupancy {
        Occupancy::new(&self.truth, self.assumed())
    }

    /// The same when all that is under way has come to its end: a member is not bound apart from those of its group that run, as
    /// far as Berth has heard of them.
    pub fn occupancy_to_come(&self) -> Occupancy {
        let is_to_be_declined = |pod: &Pod, node: &str| {
            let Some(part) = &pod.part else { return false };
            if self.is_apart_from_subgroup(pod, part, node) && !self.watch.hides(part.group) {
                return true;
            }
            let (level, node) = (self.truth.set_of(part.group).required, self.truth.nodes.get(node));
            let Some((level, node)) = level.zip(node) else { return false };
            let mut running = self.truth.running_members(part.group).map(|(_, place)| place).peekable();
            running.peek().is_some()
                && !self.watch.hides(part.group)
                && running.all(|place| place.domain(level) != node.domain(level))
        };
        let kept = self.assumed().filter(|(pod, node)| !is_to_be_declined(pod, node));
        Occupancy::new(&self.truth, kept)
    }

    /// Pods under way that are still there to be bound, with the node each is meant for.
    pub fn assumed(&self) -> impl Iterator<Item = (&Pod, &str)> {
        self.attempts.iter().filter_map(|attempt| self.to_be_bound(attempt))
    }

    /// Those of them that Berth knows of.
    pub fn remembered(&self) -> impl Iterator<Item = (&Pod, &str)> {
        let remembered = self.attempts.iter().filter(|attempt| !self.is_forgotten(attempt));
        remembered.filter_map(|attempt| self.to_be_bound(attempt))
    }

    /// Where pods go of which Berth does not know any more that they are under way.
    pub fn forgotten(&self) -> impl Iterator<Item = &str> {
        let forgotten = self.attempts.iter().filter(|attempt| self.is_forgotten(attempt));
        forgotten.filter_map(|attempt| self.to_be_bound(attempt)).map(|(_, node)| node)
    }

    fn to_be_bound<'s>(&'s self, attempt: &'s Attempt) -> Option<(&'s Pod, &'s str)> {
        let pod = self.truth.pods.get(&attempt.pod.uid).filter(|pod| pod.node.is_none())?;
        Some((pod, &*attempt.node))
    }

    /// Whether Berth does not know any more that a pod is under way.
    pub fn is_forgotten(&self, attempt: &Attempt) -> bool {
        attempt.orphaned || attempt.since + self.times.ledger <= self.now
    }

    /// The members of a group that run on a node or are meant for one.
    pub fn placed_members(&self, group: usize) -> impl Iterator<Item = (&Pod, &str)> {
        let revision = self.truth.groups[group].revision;
        let part_of = move |pod: &Pod| {
            pod.part.as_ref().is_some_and(|part| part.group == group && part.revision == revision)
        };
        let bound = self.truth.bound_members(group).filter(|(pod, _)| !pod.finished);
        let bound = bound.map(|(pod, node)| (pod, &**node));
        bound.chain(self.remembered().filter(move |(pod, _)| part_of(pod)))
    }

    pub fn has_begun(&self, group: usize) -> bool {
        self.placed_members(group).next().is_some()
    }

    /// Pods that wait for kube-scheduler.
    pub fn pending(&self) -> Vec<String> {
        let waits = |pod: &&Pod| {
            let under_way = self.attempts.iter().any(|attempt| attempt.pod.uid == pod.uid);
            pod.node.is_none() && !pod.leaving && !under_way
        };
        self.truth.pods.values().filter(waits).map(|pod| pod.uid.clone()).collect()
    }

    /// Tells Berth of a pod, in time.
    pub fn show_pod(&mut self, uid: &str) {
        let pod = &self.truth.pods[uid];
        self.tell_of(uid, About::of(pod, pod.leaving || pod.finished));
    }

    /// A member that says how many they are from now on.
    pub fn show_resized_pod(&mut self, uid: &str) {
        self.tell_of(uid, About::of_resized(&self.truth.pods[uid]));
    }

    fn tell_of(&mut self, uid: &str, about: About) {
        let event =
            Event::Shown(ObjectKind::Pod, objects::pod(&self.truth.pods[uid], &self.truth).to_string());
        self.tell(News { since: self.now, event, about: Some(about) });
    }

    pub fn remove_pod(&mut self, uid: &str) {
        let Some(pod) = self.truth.pods.remove(uid) else { return };
        self.forget_offers_to(uid);
        let event = Event::Gone(ObjectKind::Pod, ObjectKey::new(pod.namespace, &*pod.name));
        self.tell(News { since: self.now, event, about: Some(About::of(&pod, true)) });
    }

    pub fn show_node(&mut self, node: &NodeSpec) {
        let event = Event::Shown(ObjectKind::Node, objects::node(node).to_string());
        self.tell(News { since: self.now, event, about: None });
    }

    pub fn deliver(&mut self, kind: ObjectKind, count: usize) {
        let events = self.watch.take(kind, count);
        self.berth.hear(events);
    }

    pub fn deliver_all(&mut self) {
        let events = self.watch.take_older(Duration::MAX);
        self.berth.hear(events);
    }

    /// Lets time run. Hardly anything stays under way for as long as it is remembered.
    pub fn pass(&mut self, time: Duration) {
        let then = self.now + time;
        self.attempts.retain(|attempt| attempt.patient || attempt.since + PATIENCE > then);
        let events = self.watch.take_older(then.saturating_sub(LAG));
        self.berth.hear(events);
        self.berth.advance(time);
        if let Some(standby) = &mut self.standby {
            standby.berth.hear(standby.watch.take_older(then.saturating_sub(LAG)));
            standby.berth.advance(time);
        }
        self.now = then;
        self.look_at_hostile_tenant();
        self.excuse_the_late();
        self.excuse_those_around_forgotten();
        self.excuse_the_outranked();
    }

    /// More time than anything is remembered for, in several ticks, while nobody does anything.
    pub fn pass_long(&mut self) {
        let partial = (0..self.truth.groups.len()).any(|group| {
            self.has_begun(group)
                && !self.truth.is_whole(group)
                && self.truth.set_of(group).required.is_some()
        });
        self.seen.expired_in_pieces |= partial;
        self.attempts.retain(|attempt| attempt.patient);
        self.deliver_all();
        for _ in 0..5 {
            self.pass(self.times.longest() / 4);
        }
        self.forget_all_offers();
    }

    /// A Berth that has only the cluster to go by.
    pub fn newcomer(&self) -> Berth {
        Berth::start(&self.config, self.api, everything(&self.truth).into_iter())
    }

    /// Berth loses its memory; what is under way with it is lost, or comes late.
    pub fn restart(&mut self) {
        self.orphan_attempts();
        self.offers.clear();
        self.watch.clear();
        self.excuse_the_unsettled();
        let in_pieces =
            |group: usize| self.is_in_pieces(group) && self.truth.set_of(group).required.is_some();
        self.seen.restarted_in_pieces |= (0..self.truth.groups.len()).any(in_pieces);
        self.berth = self.newcomer();
        self.excuse_those_around_forgotten();
    }

    /// What is under way does not concern the Berth that is asked from now on.
    pub fn orphan_attempts(&mut self) {
        self.attempts.retain(|attempt| attempt.patient);
        self.attempts.iter_mut().for_each(|attempt| attempt.orphaned = true);
    }

    /// What is kept for groups in pieces can be worked out anew. But for whom it was not kept any more, cannot.
    pub fn excuse_the_unsettled(&mut self) {
        let in_pieces: Vec<usize> =
            (0..self.truth.groups.len()).filter(|group| self.is_in_pieces(*group)).collect();
        let unsettled = in_pieces.iter().any(|group| self.truth.groups[*group].record.excused);
        for group in in_pieces {
            self.truth.groups[group].record.excused |= unsettled;
        }
    }

    pub fn is_in_pieces(&self, group: usize) -> bool {
        self.has_begun(group) && !self.truth.is_whole(group)
    }
}

/// What a list would say.
fn everything(truth: &Truth) -> Vec<Event> {
    let nodes =
        truth.nodes.values().map(|node| Event::Shown(ObjectKind::Node, objects::node(node).to_string()));
    let sets = truth.sets.iter().filter_map(objects::set);
    let shown = |set: Value| Some(Event::Shown(Source::LeaderWorkerSet.kind()?, set.to_string()));
    let sets = sets.filter_map(shown);
    let pods = truth.pods.values();
    let pods = pods.map(|pod| Event::Shown(ObjectKind::Pod, objects::pod(pod, truth).to_string()));
    let claims = truth.claims.iter().flat_map(objects::claim);
    let classes =
        objects::priority_classes().map(|class| Event::Shown(ObjectKind::PriorityClass, class.to_string()));
    let storage = [Event::Shown(ObjectKind::StorageClass, objects::storage_class().to_string())];
    let classes = classes.chain(storage);
    nodes.chain(classes).chain(sets).chain(claims).chain(pods).collect()
}
