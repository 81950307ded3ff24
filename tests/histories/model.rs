//! What the view has to say, put as plainly as possible: two tables, read through from end to end for
//! every answer. Written from the life cycle in the ledger's documentation, not from its code.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use berth::ledger::DropCause;

use super::world::ApiPod;

/// A pod of which something has been decided that the watch does not show.
#[derive(Clone, Debug)]
pub struct Decided {
    pub name: String,
    /// Its label as the caller knew it; a bare bind call does not say.
    pub label: Option<u8>,
    /// Whether it was leaving, as far as the caller knew.
    pub leaving: bool,
    /// Where it will be, if that is known.
    pub place: Option<String>,
    pub bind_called: bool,
    failure_at_start: Option<u32>,
    /// The watch has not shown that failure yet: what it shows happened before.
    is_watch_behind: bool,
    forgotten_at: u64,
}

/// By name: the node's label if there is a node, and its pods, sorted by UID.
pub type Hosts = BTreeMap<String, (Option<u8>, Vec<Placed>)>;

/// A pod on a host.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Placed {
    pub uid: String,
    /// Its label, as far as it is known.
    pub label: Option<u8>,
    pub leaving: bool,
}

#[derive(Debug, Default)]
pub struct Model {
    pub shown: HashMap<String, ApiPod>,
    pub decided: HashMap<String, Decided>,
    pub nodes: HashMap<String, u8>,
    now: u64,
    pub dropped: Vec<DropCause>,
}

impl Model {
    pub fn show(&mut self, pod: &ApiPod) {
        let news = !self.shown.contains_key(&pod.uid);
        // A name has one bearer. Whoever bore it is gone, whether or not we were told.
        let predecessors = self.shown.values().filter(|p| p.name == pod.name && p.uid != pod.uid).collect();
        for uid in uids(predecessors) {
            self.forget(&uid);
        }
        if news {
            let others = self.decided.iter().filter(|(uid, d)| d.name == pod.name && **uid != pod.uid);
            let others: Vec<_> = others.map(|(uid, _)| uid.clone()).collect();
            for uid in others {
                self.forget(&uid);
            }
        }
        let over = self.decided.get_mut(&pod.uid).is_some_and(|decided| {
            let failed_anew = pod.failure.is_some() && pod.failure != decided.failure_at_start;
            decided.is_watch_behind &= pod.failure != decided.failure_at_start;
            failed_anew && !decided.is_watch_behind && !decided.bind_called
        });
        if pod.node.is_some() {
            self.decided.remove(&pod.uid);
        } else if over {
            self.decided.remove(&pod.uid);
            self.dropped.push(DropCause::AttemptFailed);
        }
        self.shown.insert(pod.uid.clone(), pod.clone());
    }

    pub fn remove(&mut self, name: &str) {
        let bearers: Vec<_> = self.shown.values().filter(|pod| pod.name == name).collect();
        for uid in uids(bearers) {
            self.forget(&uid);
        }
    }

    pub fn list(&mut self, pods: &[ApiPod]) {
        let gone: Vec<_> = self.shown.values().filter(|p| pods.iter().all(|q| q.name != p.name)).collect();
        for uid in uids(gone) {
            self.forget(&uid);
        }
        for pod in pods {
            self.show(pod);
        }
    }

    /// Filter answered with so many nodes, of which this is the first.
    pub fn filter(&mut self, pod: &ApiPod, offered: &[String], time_to_live: u64) {
        if self.is_shown_on_a_node(&pod.uid) {
            return;
        }
        if self.decided.remove(&pod.uid).is_some() {
            self.dropped.push(DropCause::Refiltered);
        }
        if offered.is_empty() {
            return;
        }
        let decided = Decided {
            name: pod.name.clone(),
            label: Some(pod.label),
            leaving: pod.leaving,
            place: offered.first().filter(|_| offered.len() == 1).cloned(),
            bind_called: false,
            failure_at_start: pod.failure,
            is_watch_behind: pod.failure.is_some()
                && self.shown.get(&pod.uid).is_none_or(|shown| shown.failure != pod.failure),
            forgotten_at: self.now + time_to_live,
        };
        self.decided.insert(pod.uid.clone(), decided);
    }

    pub fn bind(&mut self, pod: &ApiPod, node: &str, time_to_live: u64) {
        if self.is_shown_on_a_node(&pod.uid) {
            return;
        }
        let known = self.decided.remove(&pod.uid);
        let decided = Decided {
            name: pod.name.clone(),
            label: known.as_ref().and_then(|known| known.label),
            leaving: known.as_ref().is_some_and(|known| known.leaving),
            place: Some(node.to_owned()),
            bind_called: true,
            failure_at_start: known.as_ref().and_then(|known| known.failure_at_start),
            is_watch_behind: known.is_some_and(|known| known.is_watch_behind),
            forgotten_at: self.now + time_to_live,
        };
        self.decided.insert(pod.uid.clone(), decided);
    }

    pub fn refuse(&mut self, uid: &str, node: &str) {
        let meant = self.decided.get(uid).is_some_and(|d| d.bind_called && d.place.as_deref() == Some(node));
        if meant {
            self.decided.remove(uid);
            self.dropped.push(DropCause::BindRefused);
        }
    }

    pub fn advance(&mut self, seconds: u64) {
        self.now += seconds;
        let before = self.decided.len();
        self.decided.retain(|_, decided| decided.forgotten_at > self.now);
        self.dropped.extend((self.decided.len()..before).map(|_| DropCause::Expired));
    }

    /// Where a pod is, and what is known of it there.
    pub fn place_of(&self, uid: &str) -> Option<(&str, Placed)> {
        let shown = self.shown.get(uid);
        let decided = self.decided.get(uid);
        let place = shown.and_then(|pod| pod.node.as_deref());
        let place = place.or_else(|| decided?.place.as_deref())?;
        // The watch's copy of the pod is the better one.
        let (label, leaving) = match (shown, decided) {
            (Some(pod), _) => (Some(pod.label), pod.leaving),
            (None, Some(decided)) => (decided.label, decided.leaving),
            (None, None) => return None,
        };
        Some((place, Placed { uid: uid.to_owned(), label, leaving }))
    }

    /// Pods on no node for which room was made, with the node it was made on.
    pub fn nominated(&self) -> BTreeSet<(String, String)> {
        let waiting = self.shown.values().filter(|pod| self.place_of(&pod.uid).is_none());
        waiting.filter_map(|pod| Some((pod.nominated.clone()?, pod.uid.clone()))).collect()
    }

    /// Every host that exists.
    pub fn hosts(&self) -> Hosts {
        let mut hosts: Hosts =
            self.nodes.iter().map(|(name, label)| (name.clone(), (Some(*label), Vec::new()))).collect();
        let known = self.shown.keys().chain(self.decided.keys().filter(|uid| !self.shown.contains_key(*uid)));
        for uid in known {
            if let Some((node, pod)) = self.place_of(uid) {
                hosts.entry(node.to_owned()).or_default().1.push(pod);
            }
        }
        for (_, pods) in hosts.values_mut() {
            pods.sort();
        }
        hosts
    }

    fn is_shown_on_a_node(&self, uid: &str) -> bool {
        self.shown.get(uid).is_some_and(|pod| pod.node.is_some())
    }

    fn forget(&mut self, uid: &str) {
        self.shown.remove(uid);
        if self.decided.remove(uid).is_some() {
            self.dropped.push(DropCause::Deleted);
        }
    }
}

fn uids(pods: Vec<&ApiPod>) -> Vec<String> {
    pods.into_iter().map(|pod| pod.uid.clone()).collect()
}
