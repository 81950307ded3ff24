//! Required anti-affinity: which hosts are closed to which members.
//!
//! As in kube-scheduler it works both ways: a pod stays away from those that it will not share a domain with, and from
//! those that will not share one with it. One member per host is the usual case.

use std::cell::RefCell;
use std::collections::{HashMap, HashSet};

use super::room::{Counting, Room};
use super::roster::{Class, Roster};
use crate::model::{Apart, Labels, Name, Node, Pod};
use crate::view::{DomainId, Host, Lies, View};

const HOSTNAME: &str = "kubernetes.io/hostname";

/// Which hosts are closed to which members.
pub struct Fence<'a> {
    room: Room<'a>,
    namespace: &'a Name,
    /// By class.
    sides: Vec<Side<'a>>,
    /// Whether some pod in place wants its host to itself.
    hosts_are_guarded: bool,
    /// What became of a term in a domain, by class and term.
    seen: RefCell<HashMap<(usize, usize, DomainId), bool>>,
}

struct Side<'a> {
    terms: &'a [Apart],
    labels: Labels,
    /// Domains, by key and value, that pods in place close to this class.
    closed: HashSet<(&'a Name, &'a Name)>,
    /// The keys of whose domains none is shared with each class, this one included.
    clashes: Vec<Vec<&'a Name>>,
}

impl<'a> Fence<'a> {
    pub fn around(roster: &Roster<'a>, room: Room<'a>) -> Self {
        let view = room.view;
        let namespace = roster.namespace;
        let namespace_labels = labels_of(namespace, view);
        let concerns =
            |term: &Apart, class: &Class<'_>| term.concerns(&class.labels, namespace, &namespace_labels);
        let side = |class: &Class<'a>| {
            let mut closed = HashSet::new();
            for key in view.standoffish_keys().filter(|key| ***key != *HOSTNAME) {
                for pod in view.standoffish(key).filter(|pod| counts(pod, &room)) {
                    let meant = |term: &&'a Apart| term.topology_key == *key && concerns(term, class);
                    let place = || view.node(view.place_of(&pod.uid)?)?.labels.get(key);
                    if let (Some(term), Some(value)) = (pod.apart().iter().find(meant), place()) {
                        closed.insert((&term.topology_key, value));
                    }
                }
            }
            let clash = |other: &Class<'a>| {
                let mine = class.apart.iter().filter(|term| concerns(term, other));
                let theirs = other.apart.iter().filter(|term| concerns(term, class));
                mine.chain(theirs).map(|term| &term.topology_key).collect()
            };
            let clashes = roster.missing.iter().map(clash).collect();
            Side { terms: class.apart, labels: class.labels.clone().into_owned(), closed, clashes }
        };
        Self {
            namespace,
            sides: roster.missing.iter().map(side).collect(),
            hosts_are_guarded: view.standoffish(HOSTNAME).next().is_some(),
            seen: RefCell::default(),
            room,
        }
    }

    /// Whether pods in place let a member of a class onto a host.
    pub fn admits(&self, class: usize, host: &Host, node: &Node) -> bool {
        let side = &self.sides[class];
        if side.terms.is_empty() && side.closed.is_empty() && !self.hosts_are_guarded {
            return true;
        }
        let closed = side.closed.iter().any(|(key, value)| node.labels.get(key) == Some(*value));
        !closed
            && !(self.hosts_are_guarded && self.is_guarded(side, host))
            && (0..side.terms.len()).all(|term| self.holds(class, term, host, node))
    }

    /// Whether no member minds any other.
    pub fn is_calm(&self) -> bool {
        self.sides.iter().all(|side| side.clashes.iter().all(Vec::is_empty))
    }

    /// The keys of whose domains two classes share none.
    pub fn clashes(&self, class: usize, other: usize) -> &[&'a Name] {
        &self.sides[class].clashes[other]
    }

    fn is_guarded(&self, side: &Side<'_>, host: &Host) -> bool {
        let namespace_labels = labels_of(self.namespace, self.room.view);
        host.pods.iter().filter(|pod| pod.apart.is_some() && counts(pod, &self.room)).any(|pod| {
            let here = pod.apart().iter().filter(|term| &*term.topology_key == HOSTNAME);
            here.into_iter().any(|term| term.concerns(&side.labels, self.namespace, &namespace_labels))
        })
    }

    /// Whether a term of a class is content with a host.
    fn holds(&self, class: usize, term: usize, host: &Host, node: &Node) -> bool {
        let wanted = &self.sides[class].terms[term];
        if !node.labels.iter().any(|(key, _)| *key == wanted.topology_key) {
            return true;
        }
        if &*wanted.topology_key == HOSTNAME {
            return !self.meets(wanted, host);
        }
        let view = self.room.view;
        let domains = view.domains(&wanted.topology_key);
        let Some((domains, Lies::In(domain))) =
            domains.and_then(|domains| Some((domains, domains.of(view.host_id(&host.name)?))))
        else {
            return true;
        };
        *self.seen.borrow_mut().entry((class, term, domain)).or_insert_with(|| {
            let mut hosts = domains.hosts(domain).iter().filter_map(|id| view.host_numbered(*id));
            !hosts.any(|host| self.meets(wanted, host))
        })
    }

    /// Whether a pod on the host is one that the term wants to be apart from.
    fn meets(&self, term: &Apart, host: &Host) -> bool {
        let meant = |pod: &Pod| {
            term.concerns(&pod.labels, &pod.key.namespace, &labels_of(&pod.key.namespace, self.room.view))
        };
        host.pods.iter().any(|pod| counts(pod, &self.room) && meant(pod))
    }
}

/// Whether a pod in place counts: not if it is taken to have left.
fn counts(pod: &Pod, room: &Room<'_>) -> bool {
    room.counting != Counting::Evicting || pod.priority >= room.priority
}

fn labels_of(namespace: &Name, view: &View) -> Labels {
    view.namespace(namespace).map(|namespace| namespace.labels.clone()).unwrap_or_default()
}
