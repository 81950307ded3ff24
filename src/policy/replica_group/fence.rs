//! Required anti-affinity: which hosts are closed to which members.
//!
//! As in kube-scheduler it works both ways: a pod stays away from those that it will not share a domain with, and from
//! those that will not share one with it. One member per host is the usual case.

use std::cell::RefCell;
use std::collections::{HashMap, HashSet};

use super::room::{Counting, Room};
use super::roster::{Class, Roster};
use crate::ledger::Slot;
use crate::model::{AntiAffinityTerm, Labels, Name, Node, Pod};
use crate::view::{DomainId, Host, HostDomain, View};

/// The topology key of hosts.
pub const HOSTNAME: &str = "kubernetes.io/hostname";

/// Somebody who has a place or looks for one, as far as anti-affinity is concerned.
#[derive(Clone, Copy)]
pub struct Party<'a> {
    terms: &'a [AntiAffinityTerm],
    labels: &'a Labels,
    namespace: &'a Name,
}

impl<'a> Party<'a> {
    /// A pod.
    pub fn pod(pod: &'a Pod) -> Self {
        Self { terms: pod.anti_affinity_terms(), labels: &pod.labels, namespace: &pod.key.namespace }
    }

    /// Who will sit on a slot.
    pub fn slot(slot: &'a Slot, namespace: &'a Name) -> Self {
        Self { terms: slot.anti_affinity.as_deref().unwrap_or_default(), labels: &slot.labels, namespace }
    }

    fn class<'c: 'a>(class: &'c Class<'a>, namespace: &'a Name) -> Self {
        Self { terms: class.terms(), labels: &class.labels, namespace }
    }

    /// The topology keys of whose domains the two share none.
    pub fn clashes<'b>(self, other: Party<'b>, view: &View) -> Vec<&'a Name>
    where
        'b: 'a,
    {
        let mine = self.terms.iter().filter(|term| term.wants_apart(other, view));
        let theirs = other.terms.iter().filter(|term| term.wants_apart(self, view));
        mine.chain(theirs).map(|term| &term.topology_key).collect()
    }
}

impl AntiAffinityTerm {
    fn wants_apart(&self, from: Party<'_>, view: &View) -> bool {
        let labels =
            view.namespace(from.namespace).map(|namespace| namespace.labels.clone()).unwrap_or_default();
        self.concerns(from.labels, from.namespace, &labels)
    }
}

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
    terms: &'a [AntiAffinityTerm],
    labels: Labels,
    /// Domains, by key and value, that pods in place or to come close to this class.
    closed: HashSet<(Name, Name)>,
    /// The keys of whose domains none is shared with each class, this one included.
    clashes: Vec<Vec<Name>>,
}

impl<'a> Fence<'a> {
    pub fn around(roster: &Roster<'a>, room: Room<'a>) -> Self {
        let (view, namespace) = (room.view, roster.namespace);
        let side = |class: &Class<'a>| {
            let own = Party::class(class, namespace);
            let mut closed = HashSet::new();
            let mut close = |keys: Vec<&Name>, node: Option<&Name>| {
                let node = node.and_then(|name| view.node(name));
                for key in keys {
                    if let Some(value) = node.and_then(|node| node.labels.get(key)) {
                        closed.insert((key.clone(), value.clone()));
                    }
                }
            };
            for key in view.anti_affinity_keys().filter(|key| ***key != *HOSTNAME) {
                for pod in view.pods_with_anti_affinity(key).filter(|pod| counts(pod, &room)) {
                    let meant =
                        |term: &&AntiAffinityTerm| term.topology_key == *key && term.wants_apart(own, view);
                    let keys = pod.anti_affinity_terms().iter().filter(meant).map(|term| &term.topology_key);
                    close(keys.collect(), view.place_of(&pod.uid));
                }
            }
            for kept in view.ledger().reservations().iter().filter(|kept| room.minds_reservation(kept)) {
                for slot in kept
                    .slots
                    .iter()
                    .filter(|slot| slot.anti_affinity.is_some() || class.anti_affinity.is_some())
                {
                    close(own.clashes(Party::slot(slot, &kept.group.set.namespace), view), Some(&slot.host));
                }
            }
            let clash = |other: &Class<'a>| {
                own.clashes(Party::class(other, namespace), view).into_iter().cloned().collect()
            };
            let clashes = roster.missing.iter().map(clash).collect();
            Side { terms: class.terms(), labels: class.labels.clone().into_owned(), closed, clashes }
        };
        Self {
            namespace,
            sides: roster.missing.iter().map(side).collect(),
            hosts_are_guarded: view.pods_with_anti_affinity(HOSTNAME).next().is_some(),
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
        let closed = side.closed.iter().any(|(key, value)| node.labels.get(key) == Some(value));
        !closed
            && !self.is_guarded(side, host)
            && (0..side.terms.len()).all(|term| self.holds(class, term, host, node))
    }

    /// Whether no member minds any other.
    pub fn is_calm(&self) -> bool {
        self.sides.iter().all(|side| side.clashes.iter().all(Vec::is_empty))
    }

    /// The keys of whose domains two classes share none.
    pub fn clashes(&self, class: usize, other: usize) -> &[Name] {
        &self.sides[class].clashes[other]
    }

    /// The keys of whose domains a class and a pod share none.
    pub fn clashes_with<'p>(&'p self, class: usize, pod: &'p Pod) -> Vec<&'p Name> {
        let Side { terms, labels, .. } = &self.sides[class];
        if terms.is_empty() && pod.anti_affinity.is_none() {
            return Vec::new();
        }
        Party { terms, labels, namespace: self.namespace }.clashes(Party::pod(pod), self.room.view)
    }

    fn is_guarded(&self, side: &Side<'_>, host: &Host) -> bool {
        let own = Party { terms: &[], labels: &side.labels, namespace: self.namespace };
        self.hosts_are_guarded
            && host.pods.iter().filter(|pod| pod.anti_affinity.is_some() && counts(pod, &self.room)).any(
                |pod| {
                    let mut here =
                        pod.anti_affinity_terms().iter().filter(|term| &*term.topology_key == HOSTNAME);
                    here.any(|term| term.wants_apart(own, self.room.view))
                },
            )
    }

    /// Whether a term of a class is content with a host.
    fn holds(&self, class: usize, term: usize, host: &Host, node: &Node) -> bool {
        let wanted = &self.sides[class].terms[term];
        if node.labels.get(&wanted.topology_key).is_none() {
            return true;
        }
        if &*wanted.topology_key == HOSTNAME {
            return !self.meets(wanted, host);
        }
        let view = self.room.view;
        let domains = view.domains(&wanted.topology_key);
        let Some((domains, HostDomain::In(domain))) =
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
    fn meets(&self, term: &AntiAffinityTerm, host: &Host) -> bool {
        let counted = host.pods.iter().filter(|pod| counts(pod, &self.room));
        counted.into_iter().any(|pod| term.wants_apart(Party::pod(pod), self.room.view))
    }
}

/// Whether a pod in place counts: not if it is taken to have left.
fn counts(pod: &Pod, room: &Room<'_>) -> bool {
    room.counting != Counting::Evicting || !room.outranks(pod)
}
