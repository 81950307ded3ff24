//! Takes a history step by step through world, view and model, and compares.

use std::collections::{BTreeMap, BTreeSet, HashSet};
use std::time::Duration;

use berth::ledger::{DropCause, Phase};
use berth::model::{Kind, Name, Object};
use berth::view::View;
use berth::view::change::{Change, Offer};

use super::model::{Hosts, Model, Placed};
use super::recount::{self, needs};
use super::step::{NODES, Step};
use super::world::{ApiPod, Call, News, World, key, node, node_name, service};

pub const TIME_TO_LIVE: u64 = 10;
const TTL: Duration = Duration::from_secs(TIME_TO_LIVE);

/// What happened at least once, to judge the generator by.
#[derive(Debug, Default)]
pub struct Seen(BTreeSet<&'static str>);

impl Seen {
    const ALL: [&'static str; 17] = [
        "deleted",
        "refiltered",
        "attempt_failed",
        "bind_refused",
        "expired",
        "confirmed after the answer",
        "confirmed before the answer",
        "missed recreation",
        "missed deletion",
        "late call for a pod long gone",
        "late call after confirmation",
        "pods on a host without node",
        "room made for a pod that is assumed elsewhere",
        "member of a group leaving",
        "nominated after being offered nodes",
        "placed, and only its identity known",
        "resized where it is",
    ];

    pub fn add(&mut self, other: &Seen) {
        self.0.extend(&other.0);
    }

    pub fn missing(&self) -> Vec<&'static str> {
        Self::ALL.into_iter().filter(|what| !self.0.contains(what)).collect()
    }
}

#[derive(Debug, Default)]
pub struct Replay {
    world: World,
    view: View,
    model: Model,
    services: HashSet<usize>,
    /// What the view said it dropped.
    dropped: Vec<DropCause>,
    /// Pods whose bind was answered before anything was shown.
    answered: HashSet<String>,
    pub seen: Seen,
}

impl Replay {
    pub fn take(&mut self, step: &Step) {
        match *step {
            Step::Create(pod) => self.world.create(pod),
            Step::Relabel(pod, label) => self.world.update(pod, |pod| pod.label = label),
            Step::BoundByOther(pod, node) => {
                self.world.update(pod, |pod| pod.node = pod.node.take().or(Some(node_name(node))));
            }
            Step::FailAttempt(pod, mark) => self.world.update(pod, |pod| pod.failure = Some(mark)),
            Step::Nominate(pod, node) => {
                // kube-scheduler makes room only for pods that it believes to be on no node.
                self.world.update(pod, |pod| pod.nominated = pod.node.is_none().then(|| node_name(node)));
            }
            Step::Leave(pod) => self.world.update(pod, |pod| pod.leaving = true),
            Step::Delete(pod) | Step::Finish(pod) => self.world.remove(pod),
            Step::SetNode(node, label) => {
                self.world.nodes.insert(node_name(node), label);
                self.world.node_news.push_back(News::NodeShown(node_name(node), label));
            }
            Step::RemoveNode(node) => {
                self.world.nodes.remove(&node_name(node));
                self.world.node_news.push_back(News::NodeGone(node_name(node)));
            }
            Step::SetService(number) => {
                self.services.insert(number);
                self.tell(Change::Upsert(service(number)));
            }
            Step::RemoveService(number) => {
                self.services.remove(&number);
                self.tell(Change::Remove(Kind::Service, service(number).key()));
            }
            Step::Deliver(events) => self.deliver(events),
            Step::DeliverNodes(events) => self.deliver_nodes(events),
            Step::RelistPods => self.relist_pods(),
            Step::RelistNodes => self.relist_nodes(),
            Step::Filter(pod, age, offered) => self.filter(pod, age, offered),
            Step::Bind(pod, age, node) => self.bind(pod, age, node),
            Step::Execute(call, willing) => self.world.execute(call, willing),
            Step::Answer(call, arrives) => self.answer(call, arrives),
            Step::Advance(seconds) => self.advance(seconds),
            Step::Provide => self.view.provide(&needs()),
            // Comparing asks for counters, so only several sweeps in a row find one unused.
            Step::Sweep => (0..3).for_each(|_| self.view.sweep_unused(1)),
        }
    }

    /// Lets everything come to its end; then only the truth is left.
    pub fn settle(&mut self) {
        while !self.world.calls.is_empty() {
            self.world.execute(0, true);
            self.answer(0, true);
            self.compare("while calls are answered");
        }
        self.deliver(usize::MAX);
        self.deliver_nodes(usize::MAX);
        self.compare("when all is delivered");
        self.advance(TIME_TO_LIVE);
        self.compare("when all has expired");
        assert!(self.view.ledger().is_empty(), "nothing is under way for ever");
        assert_eq!(self.view.count(Kind::Pod), self.world.pods.len(), "as many pods as really are");
        for pod in self.world.pods.values() {
            let place = self.view.place_of(&pod.uid).map(|node| &**node);
            assert_eq!(place, pod.node.as_deref(), "the place of {} in the end", pod.uid);
        }
        for number in 0..NODES {
            let name = node_name(number);
            let known = self.view.node(&name).is_some();
            assert_eq!(known, self.world.nodes.contains_key(&name), "{name} in the end");
        }
    }

    /// Asserts that the view says what the model says.
    pub fn compare(&self, when: &str) {
        let (view, model) = (&self.view, &self.model);
        for uid in self.world.everybody() {
            let expected = model.place_of(uid).map(|(node, _)| node);
            assert_eq!(view.place_of(uid).map(|node| &**node), expected, "place of {uid} {when}");
            assert_eq!(
                view.pod(uid).map(|pod| (pod.node.as_deref().map(str::to_owned), pod.failed_attempt)),
                model.shown.get(uid).map(|pod| (pod.node.clone(), pod.failure)),
                "{uid} as the watch shows it {when}"
            );
            let expected = model.decided.get(uid).map(|decided| match &decided.place {
                None => Phase::Offered,
                Some(node) => Phase::Assumed { node: Name::from(&**node), binding: decided.bind_called },
            });
            let entry = view.ledger().get(uid);
            assert_eq!(entry.map(|entry| &entry.phase), expected.as_ref(), "ledger entry of {uid} {when}");
            assert!(entry.is_none_or(|entry| *entry.pod.uid == **uid), "entry under a foreign UID {when}");
        }
        let hosts = model.hosts();
        assert_eq!(self.hosts(), hosts, "hosts and their pods {when}");
        recount::compare(view, &hosts, when);
        let nominated = view.nominated().flat_map(|(node, pods)| {
            let pods = pods.map(|pod| (node.to_string(), pod.uid.to_string()));
            pods.collect::<Vec<_>>()
        });
        assert_eq!(nominated.collect::<BTreeSet<_>>(), model.nominated(), "nominated pods {when}");
        for number in 0..NODES {
            let kept = view.nominated_to(&node_name(number)).count();
            let expected = model.nominated().iter().filter(|(node, _)| *node == node_name(number)).count();
            assert_eq!(kept, expected, "pods nominated to {} {when}", node_name(number));
        }
        for number in 0..NODES {
            let name = node_name(number);
            let shown = view.node(&name).map(|node| label_of(&node.labels));
            let expected = model.nodes.get(&name).map(|label| Some(*label));
            assert_eq!(shown, expected, "{name} {when}");
            assert_eq!(view.host(&name).is_some(), hosts.contains_key(&name), "host {name} {when}");
        }
        for kind in Kind::ALL {
            let expected = match kind {
                Kind::Pod => model.shown.len(),
                Kind::Node => model.nodes.len(),
                Kind::Service => self.services.len(),
                _ => 0,
            };
            assert_eq!(view.count(kind), expected, "count of {kind:?} {when}");
            assert_eq!(view.objects(kind).len(), expected, "objects of {kind:?} {when}");
        }
        assert_eq!(view.ledger().len(), model.decided.len(), "ledger entries {when}");
        assert_eq!(causes(&self.dropped), causes(&model.dropped), "causes of dropping {when}");
    }

    pub fn place_of_newest(&self, pod: usize) -> Option<String> {
        let pod = self.world.believed(pod, 0)?;
        self.view.place_of(&pod.uid).map(ToString::to_string)
    }

    pub fn ledger_len(&self) -> usize {
        self.view.ledger().len()
    }

    fn hosts(&self) -> Hosts {
        let read = |host: &berth::view::Host| {
            let pods = host.pods.iter().map(|pod| Placed {
                uid: pod.uid.to_string(),
                label: label_of(&pod.labels),
                leaving: pod.terminating,
            });
            let mut pods: Vec<_> = pods.collect();
            pods.sort();
            let node = host.node.as_ref().and_then(|node| label_of(&node.labels));
            (host.name.to_string(), (node, pods))
        };
        let hosts: Vec<_> = self.view.hosts().map(read).collect();
        let map: BTreeMap<_, _> = hosts.iter().cloned().collect();
        assert_eq!(map.len(), hosts.len(), "a host is there twice");
        map
    }

    fn tell(&mut self, change: Change) {
        let dropped = self.view.apply(change);
        self.note(dropped);
    }

    fn note(&mut self, dropped: Vec<DropCause>) {
        self.seen.0.extend(dropped.iter().copied().map(DropCause::label));
        self.dropped.extend(dropped);
    }

    fn deliver(&mut self, events: usize) {
        let events = events.min(self.world.pod_news.len());
        for news in self.world.pod_news.drain(..events).collect::<Vec<_>>() {
            match &news {
                News::Shown(pod) => {
                    self.notice_confirmation(pod);
                    self.model.show(pod);
                }
                News::Gone(name) => self.model.remove(name),
                News::NodeShown(..) | News::NodeGone(_) => {}
            }
            self.tell(news.to_change());
        }
    }

    fn notice_confirmation(&mut self, pod: &ApiPod) {
        let under_way = self.model.decided.get(&pod.uid).is_some_and(|decided| decided.bind_called);
        if pod.node.is_some() && under_way {
            let answered = self.answered.contains(&pod.uid);
            self.seen.0.insert(if answered {
                "confirmed after the answer"
            } else {
                "confirmed before the answer"
            });
        }
        let decided = self.model.decided.get(&pod.uid);
        if pod.nominated.is_some() && decided.is_some_and(|decided| decided.place.is_none()) {
            self.seen.0.insert("nominated after being offered nodes");
        }
        let assumed = decided.and_then(|decided| decided.place.as_ref());
        if assumed.is_some_and(|place| pod.nominated.as_ref().is_some_and(|node| node != place)) {
            self.seen.0.insert("room made for a pod that is assumed elsewhere");
        }
        if self.model.place_of(&pod.uid).is_some_and(|(_, placed)| placed.label != Some(pod.label)) {
            self.seen.0.insert("resized where it is");
        }
        if pod.leaving && pod.node.is_some() {
            self.seen.0.insert("member of a group leaving");
        }
        if pod.node.as_ref().is_some_and(|node| !self.model.nodes.contains_key(node)) {
            self.seen.0.insert("pods on a host without node");
        }
    }

    fn deliver_nodes(&mut self, events: usize) {
        let events = events.min(self.world.node_news.len());
        for news in self.world.node_news.drain(..events).collect::<Vec<_>>() {
            match &news {
                News::NodeShown(name, label) => {
                    self.model.nodes.insert(name.clone(), *label);
                }
                News::NodeGone(name) => {
                    self.model.nodes.remove(name);
                }
                News::Shown(_) | News::Gone(_) => {}
            }
            self.tell(news.to_change());
        }
    }

    /// The watch broke; whatever was on its way is lost, and the list tells what is there now.
    fn relist_pods(&mut self) {
        self.world.pod_news.clear();
        let pods: Vec<ApiPod> = self.world.pods.values().cloned().collect();
        for shown in self.model.shown.values() {
            match self.world.pods.get(&shown.name) {
                None => self.seen.0.insert("missed deletion"),
                Some(now) if now.uid != shown.uid => self.seen.0.insert("missed recreation"),
                Some(_) => false,
            };
        }
        self.model.list(&pods);
        let objects = pods.iter().map(|pod| Object::Pod(pod.to_model())).collect();
        self.tell(Change::Replace(Kind::Pod, objects));
    }

    fn relist_nodes(&mut self) {
        self.world.node_news.clear();
        self.model.nodes.clone_from(&self.world.nodes);
        let objects = self.world.nodes.iter().map(|(name, label)| node(name, *label)).collect();
        self.tell(Change::Replace(Kind::Node, objects));
    }

    fn filter(&mut self, pod: usize, age: usize, offered: usize) {
        let Some(pod) = self.world.believed(pod, age) else { return };
        self.notice_late(&pod);
        let nodes: Vec<_> = (0..offered).map(node_name).collect();
        let offer = match nodes.as_slice() {
            [] => Offer::None,
            [only] => Offer::One(Name::from(&**only)),
            _ => Offer::Several,
        };
        let mut asked = pod.clone();
        // kube-scheduler only asks about pods it believes to be unbound.
        asked.node = None;
        let mut asked = asked.to_model();
        self.view.recognise_group(&mut asked);
        let dropped = self.view.offer(&asked, offer, TTL);
        self.note(dropped);
        self.model.filter(&pod, &nodes, TIME_TO_LIVE);
    }

    fn bind(&mut self, pod: usize, age: usize, node: usize) {
        let Some(pod) = self.world.believed(pod, age) else { return };
        self.notice_late(&pod);
        let node = node_name(node);
        self.view.assume(&Name::from(&*pod.uid), &key(&pod.name), Name::from(&*node), TTL);
        self.model.bind(&pod, &node, TIME_TO_LIVE);
        if self.model.place_of(&pod.uid).is_some_and(|(_, placed)| placed.label.is_none()) {
            self.seen.0.insert("placed, and only its identity known");
        }
        self.world.calls.push(Call { uid: pod.uid, node, bound: None });
    }

    fn notice_late(&mut self, pod: &ApiPod) {
        if self.model.shown.get(&pod.uid).is_some_and(|shown| shown.node.is_some()) {
            self.seen.0.insert("late call after confirmation");
        }
        if self.world.pods.get(&pod.name).is_none_or(|now| now.uid != pod.uid) {
            self.seen.0.insert("late call for a pod long gone");
        }
    }

    fn answer(&mut self, call: usize, arrives: bool) {
        if self.world.calls.get(call).is_none_or(|call| arrives && call.bound.is_none()) {
            return;
        }
        let call = self.world.calls.remove(call);
        match call.bound.filter(|_| arrives) {
            Some(true) => {
                self.answered.insert(call.uid);
            }
            Some(false) => {
                let dropped = self.view.refuse(&Name::from(&*call.uid), &call.node);
                self.note(dropped);
                self.model.refuse(&call.uid, &call.node);
            }
            // Outcome unknown: the placement stays in the ledger.
            None => {}
        }
    }

    fn advance(&mut self, seconds: u64) {
        let dropped = self.view.advance(Duration::from_secs(seconds));
        self.note(dropped);
        self.model.advance(seconds);
    }
}

fn label_of(labels: &berth::model::Labels) -> Option<u8> {
    labels.get("v")?.parse().ok()
}

fn causes(dropped: &[DropCause]) -> BTreeMap<&'static str, usize> {
    let mut counts = BTreeMap::new();
    for cause in dropped {
        *counts.entry(cause.label()).or_default() += 1;
    }
    counts
}
