//! Required anti-affinity: which hosts are closed to which classes of members.
//!
//! As in kube-scheduler it works both ways: a pod stays away from those that it will not share a domain with, and from
//! those that will not share one with it. One member per host is the usual case.

use std::cell::RefCell;
use std::collections::{HashMap, HashSet};

use super::availability::Availability;
use super::class::{Class, ClassId};
use super::members::Members;
use crate::ledger::Slot;
use crate::model::{AntiAffinityTerm, Labels, Name, Node, Pod};
use crate::view::{DomainId, Host, HostDomain, View};

/// The topology key of hosts.
pub const HOSTNAME: &str = "kubernetes.io/hostname";

/// A pod that has a place or looks for one, as far as anti-affinity is concerned.
#[derive(Clone, Copy)]
pub struct Neighbour<'a> {
    terms: &'a [AntiAffinityTerm],
    labels: &'a Labels,
    namespace: &'a Name,
}

impl<'a> Neighbour<'a> {
    /// A pod.
    pub fn pod(pod: &'a Pod) -> Self {
        Self { terms: pod.anti_affinity_terms(), labels: &pod.labels, namespace: &pod.key.namespace }
    }

    /// The member that a slot is reserved for.
    pub fn slot(slot: &'a Slot, namespace: &'a Name) -> Self {
        Self { terms: slot.anti_affinity.as_deref().unwrap_or_default(), labels: &slot.labels, namespace }
    }

    fn class<'c: 'a>(class: &'c Class<'a>, namespace: &'a Name) -> Self {
        Self { terms: class.anti_affinity_terms(), labels: &class.labels, namespace }
    }

    /// The topology keys of whose domains the two share none.
    pub fn conflicts<'b>(self, other: Neighbour<'b>, view: &View) -> Vec<&'a Name>
    where
        'b: 'a,
    {
        let mine = self.terms.iter().filter(|term| term.matches(other, view));
        let theirs = other.terms.iter().filter(|term| term.matches(self, view));
        mine.chain(theirs).map(|term| &term.topology_key).collect()
    }
}

impl AntiAffinityTerm {
    fn matches(&self, other: Neighbour<'_>, view: &View) -> bool {
        let labels =
            view.namespace(other.namespace).map(|namespace| namespace.labels.clone()).unwrap_or_default();
        self.concerns(other.labels, other.namespace, &labels)
    }
}

/// Which hosts are closed to which classes.
pub struct Conflicts<'a> {
    availability: Availability<'a>,
    namespace: &'a Name,
    by_class: Vec<ClassConflicts<'a>>,
    /// Whether some pod in place wants its host to itself.
    hosts_are_guarded: bool,
    /// Whether a term of a class is satisfied in a domain, by class and position of the term; worked out once.
    satisfied: RefCell<HashMap<(ClassId, usize, DomainId), bool>>,
}

struct ClassConflicts<'a> {
    terms: &'a [AntiAffinityTerm],
    labels: Labels,
    /// Domains, by key and value, that pods in place or to come close to this class.
    closed: HashSet<(Name, Name)>,
    /// The keys of whose domains none is shared with each class, this one included.
    with_class: Vec<Vec<Name>>,
}

impl<'a> Conflicts<'a> {
    /// The conflicts of a group's missing members.
    pub fn of(members: &Members<'a>, availability: Availability<'a>) -> Self {
        let view = availability.view;
        Self {
            namespace: members.namespace,
            by_class: members.missing.iter().map(|class| of_class(class, members, &availability)).collect(),
            hosts_are_guarded: view.pods_with_anti_affinity(HOSTNAME).next().is_some(),
            satisfied: RefCell::default(),
            availability,
        }
    }

    /// Whether pods in place let a member of a class onto a host.
    pub fn admit(&self, class: ClassId, host: &Host, node: &Node) -> bool {
        let of_class = &self.by_class[class.index()];
        if of_class.terms.is_empty() && of_class.closed.is_empty() && !self.hosts_are_guarded {
            return true;
        }
        let closed = of_class.closed.iter().any(|(key, value)| node.labels.get(key) == Some(value));
        !closed
            && !self.is_guarded(of_class, host)
            && (0..of_class.terms.len()).all(|term| self.is_satisfied(class, term, host, node))
    }

    /// Whether no member minds any other.
    pub fn are_none_between_members(&self) -> bool {
        self.by_class.iter().all(|class| class.with_class.iter().all(Vec::is_empty))
    }

    /// The keys of whose domains two classes share none.
    pub fn between(&self, class: ClassId, other: ClassId) -> &[Name] {
        &self.by_class[class.index()].with_class[other.index()]
    }

    /// The keys of whose domains a class and a pod share none.
    pub fn with_pod<'p>(&'p self, class: ClassId, pod: &'p Pod) -> Vec<&'p Name> {
        let ClassConflicts { terms, labels, .. } = &self.by_class[class.index()];
        if terms.is_empty() && pod.anti_affinity.is_none() {
            return Vec::new();
        }
        let class = Neighbour { terms, labels, namespace: self.namespace };
        class.conflicts(Neighbour::pod(pod), self.availability.view)
    }

    fn is_guarded(&self, class: &ClassConflicts<'_>, host: &Host) -> bool {
        let own = Neighbour { terms: &[], labels: &class.labels, namespace: self.namespace };
        let guards = |pod: &Pod| pod.anti_affinity.is_some() && self.availability.counts(pod);
        self.hosts_are_guarded
            && host.pods.iter().filter(|pod| guards(pod)).any(|pod| {
                let mut here =
                    pod.anti_affinity_terms().iter().filter(|term| is_per_host(&term.topology_key));
                here.any(|term| term.matches(own, self.availability.view))
            })
    }

    /// Whether a term of a class is satisfied on a host.
    fn is_satisfied(&self, class: ClassId, term: usize, host: &Host, node: &Node) -> bool {
        let wanted = &self.by_class[class.index()].terms[term];
        if node.labels.get(&wanted.topology_key).is_none() {
            return true;
        }
        if is_per_host(&wanted.topology_key) {
            return !self.is_met(wanted, host);
        }
        let view = self.availability.view;
        let domains = view.domains(&wanted.topology_key);
        let Some((domains, HostDomain::In(domain))) =
            domains.and_then(|domains| Some((domains, domains.of(view.host_id(&host.name)?))))
        else {
            return true;
        };
        *self.satisfied.borrow_mut().entry((class, term, domain)).or_insert_with(|| {
            let mut hosts = domains.hosts(domain).iter().filter_map(|id| view.host_numbered(*id));
            !hosts.any(|host| self.is_met(wanted, host))
        })
    }

    /// Whether a pod on the host is one that the term is against.
    fn is_met(&self, term: &AntiAffinityTerm, host: &Host) -> bool {
        let counted = host.pods.iter().filter(|pod| self.availability.counts(pod));
        counted.into_iter().any(|pod| term.matches(Neighbour::pod(pod), self.availability.view))
    }
}

fn of_class<'a>(
    class: &Class<'a>,
    members: &Members<'a>,
    availability: &Availability<'a>,
) -> ClassConflicts<'a> {
    let (view, namespace) = (availability.view, members.namespace);
    let own = Neighbour::class(class, namespace);
    let mut closed = HashSet::new();
    let mut close = |keys: Vec<&Name>, node: Option<&Name>| {
        let node = node.and_then(|name| view.node(name));
        for key in keys {
            if let Some(value) = node.and_then(|node| node.labels.get(key)) {
                closed.insert((key.clone(), value.clone()));
            }
        }
    };
    for key in view.anti_affinity_keys().filter(|key| !is_per_host(key)) {
        for pod in view.pods_with_anti_affinity(key).filter(|pod| availability.counts(pod)) {
            let meant = |term: &&AntiAffinityTerm| term.topology_key == *key && term.matches(own, view);
            let keys = pod.anti_affinity_terms().iter().filter(meant).map(|term| &term.topology_key);
            close(keys.collect(), view.place_of(&pod.uid));
        }
    }
    let reservations = view.ledger().reservations().iter();
    for reservation in reservations.filter(|reservation| availability.respects_reservation(reservation)) {
        let namespace = &reservation.group.set.namespace;
        let either = |slot: &&Slot| slot.anti_affinity.is_some() || class.anti_affinity.is_some();
        for slot in reservation.slots.iter().filter(either) {
            close(own.conflicts(Neighbour::slot(slot, namespace), view), Some(&slot.host));
        }
    }
    let with_class = |other: &Class<'a>| {
        own.conflicts(Neighbour::class(other, namespace), view).into_iter().cloned().collect()
    };
    ClassConflicts {
        terms: class.anti_affinity_terms(),
        labels: class.labels.clone().into_owned(),
        with_class: members.missing.iter().map(with_class).collect(),
        closed,
    }
}

/// Whether the domains of a key are hosts.
pub fn is_per_host(key: &str) -> bool {
    key == HOSTNAME
}
