//! Required anti-affinity and host ports: which hosts are closed to which classes of members.
//!
//! As in kube-scheduler anti-affinity works both ways: a pod stays away from those that it will not share a domain with,
//! and from those that will not share one with it. One member per host is the usual case. Pods that want the same port of
//! their host do not go together on a host either.
//!
//! Nothing here is looked at once per pair of members. A term is matched with each class once; whether a domain is free of
//! pods in place that a term is against is found out once per domain.

mod keys;

use std::cell::RefCell;
use std::collections::HashMap;
use std::sync::LazyLock;

use self::keys::Keys;
pub use self::keys::{KeyId, KeySet};
use super::availability::Availability;
use super::class::{Class, ClassId};
use super::closed_labels::ClosedLabels;
use super::limits::MOST_TERMS;
use super::members::Members;
use crate::ledger::Slot;
use crate::model::{AntiAffinityTerm, HostPort, Labels, Name, Node, Pod};
use crate::policy::Budget;
use crate::view::{DomainId, Host, HostDomain, HostId, View};

/// The topology key of hosts.
pub const HOSTNAME: &str = "kubernetes.io/hostname";

/// The same as a name, for those who share nothing but their host.
pub static HOST: LazyLock<Name> = LazyLock::new(|| Name::from(HOSTNAME));

/// A pod that has a place or looks for one, as far as its neighbours are concerned.
#[derive(Clone, Copy)]
pub struct Neighbour<'a> {
    terms: &'a [AntiAffinityTerm],
    host_ports: &'a [HostPort],
    labels: &'a Labels,
    namespace: &'a Name,
}

impl<'a> Neighbour<'a> {
    /// A pod.
    pub fn pod(pod: &'a Pod) -> Self {
        Self {
            terms: first_of(pod.anti_affinity_terms()),
            host_ports: pod.host_ports(),
            labels: &pod.labels,
            namespace: &pod.key.namespace,
        }
    }

    /// The member that a slot is reserved for.
    pub fn slot(slot: &'a Slot, namespace: &'a Name) -> Self {
        Self {
            terms: first_of(slot.anti_affinity.as_deref().unwrap_or_default()),
            host_ports: slot.host_ports(),
            labels: &slot.labels,
            namespace,
        }
    }

    /// A missing member.
    pub fn class<'c: 'a>(class: &'c Class<'a>, namespace: &'a Name) -> Self {
        Self {
            terms: class.anti_affinity_terms(),
            host_ports: class.host_ports(),
            labels: &class.labels,
            namespace,
        }
    }

    /// Somebody who minds nobody.
    fn labelled(labels: &'a Labels, namespace: &'a Name) -> Self {
        Self { terms: &[], host_ports: &[], labels, namespace }
    }

    /// Whether it may be in the way of somebody who minds nobody.
    pub fn may_mind(self) -> bool {
        !self.terms.is_empty() || !self.host_ports.is_empty()
    }

    /// The topology keys of whose domains the two share none.
    pub fn conflicts<'b>(self, other: Neighbour<'b>, view: &View) -> Vec<&'a Name>
    where
        'b: 'a,
    {
        let mine = self.terms.iter().filter(|term| term.matches(other, view));
        let theirs = other.terms.iter().filter(|term| term.matches(self, view));
        let ports = HostPort::any_conflict(self.host_ports, other.host_ports).then(|| &*HOST);
        mine.chain(theirs).map(|term| &term.topology_key).chain(ports).collect()
    }
}

/// The terms that are looked at.
fn first_of(terms: &[AntiAffinityTerm]) -> &[AntiAffinityTerm] {
    &terms[..terms.len().min(MOST_TERMS)]
}

impl AntiAffinityTerm {
    /// Whether it is meant for a neighbour.
    pub(super) fn matches(&self, other: Neighbour<'_>, view: &View) -> bool {
        // Most terms are meant for other pods: then nobody needs to know the namespace's labels.
        if !self.selector.as_ref().is_some_and(|selector| selector.matches(other.labels)) {
            return false;
        }
        let labels =
            view.namespace(other.namespace).map(|namespace| namespace.labels.clone()).unwrap_or_default();
        self.concerns(other.labels, other.namespace, &labels)
    }
}

/// The number of a term among the different ones of all classes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
struct TermId(usize);

/// Which hosts are closed to which classes.
pub struct Conflicts<'a> {
    availability: Availability<'a>,
    budget: &'a Budget,
    namespace: &'a Name,
    keys: Keys<'a>,
    /// The different terms of all classes.
    terms: Vec<&'a AntiAffinityTerm>,
    by_class: Vec<ClassConflicts<'a>>,
    /// Whether some pod in place wants its host to itself.
    hosts_are_guarded: bool,
    /// Whether no pod in place is one that a term is against, by term and domain of its key; worked out once.
    satisfied: RefCell<HashMap<(TermId, DomainId), bool, ahash::RandomState>>,
}

struct ClassConflicts<'a> {
    own: &'a [AntiAffinityTerm],
    terms: Vec<TermId>,
    host_ports: &'a [HostPort],
    labels: Labels,
    /// Domains that pods in place or to come close to this class.
    closed: ClosedLabels,
    /// The keys of whose domains none is shared with each class, this one included; empty if there are none at all.
    with_class: Vec<KeySet>,
    /// All of those.
    with_any: KeySet,
}

impl<'a> Conflicts<'a> {
    /// The conflicts of a group's missing members.
    pub fn of(members: &Members<'a>, availability: Availability<'a>, budget: &'a Budget) -> Self {
        let view = availability.view;
        let (mut terms, mut ids) = (Vec::new(), HashMap::new());
        let mut of_class = |class: &Class<'a>| {
            let mut id = |term: &'a AntiAffinityTerm| {
                *ids.entry(term).or_insert_with(|| {
                    terms.push(term);
                    TermId(terms.len() - 1)
                })
            };
            ClassConflicts {
                own: class.anti_affinity_terms(),
                host_ports: class.host_ports(),
                terms: class.anti_affinity_terms().iter().map(&mut id).collect(),
                labels: class.labels.clone().into_owned(),
                closed: ClosedLabels::default(),
                with_class: Vec::new(),
                with_any: KeySet::default(),
            }
        };
        let by_class = members.missing.iter().map(&mut of_class).collect();
        let mut conflicts = Self {
            availability,
            budget,
            namespace: members.namespace,
            keys: Keys::of(members.host_key().into_iter().chain(members.anti_affinity_keys()), view),
            terms,
            by_class,
            hosts_are_guarded: view.pods_with_anti_affinity(HOSTNAME).next().is_some(),
            satisfied: RefCell::default(),
        };
        conflicts.find_between_classes();
        conflicts.close_for_pods_in_place();
        conflicts.close_for_slots(members);
        conflicts
    }

    /// Whether pods in place let a member of a class onto a host.
    pub fn admit(&self, class: ClassId, id: HostId, host: &Host, node: &Node) -> bool {
        let of_class = &self.by_class[class.index()];
        if !of_class.host_ports.is_empty() && self.has_taken_port(of_class, host) {
            return false;
        }
        if of_class.terms.is_empty() && of_class.closed.is_empty() && !self.hosts_are_guarded {
            return true;
        }
        !of_class.closed.cover(node)
            && !self.is_guarded(of_class, host)
            && of_class.terms.iter().all(|term| self.is_satisfied(*term, id))
    }

    /// The keys of whose domains two classes share none.
    pub fn between(&self, class: ClassId, other: ClassId) -> KeySet {
        self.by_class[class.index()].with_class.get(other.index()).copied().unwrap_or_default()
    }

    /// The keys of whose domains a class shares none with some class.
    pub fn with_any(&self, class: ClassId) -> KeySet {
        self.by_class[class.index()].with_any
    }

    /// Whether members of a class keep apart by no more than the host.
    pub fn are_per_host_within(&self, class: ClassId) -> bool {
        self.between(class, class).iter().all(|key| is_per_host(self.keys.name(key)))
    }

    /// The domains that a host is in, of some keys.
    pub fn domains_of(&self, host: HostId, keys: KeySet) -> impl Iterator<Item = (KeyId, DomainId)> {
        keys.iter().filter_map(move |key| Some((key, self.keys.domain_of(key, host)?)))
    }

    /// The keys of whose domains a class and a pod share none.
    pub fn with_pod<'p>(&'p self, class: ClassId, pod: &'p Pod) -> Vec<&'p Name> {
        let ClassConflicts { own, host_ports, labels, .. } = &self.by_class[class.index()];
        let class = Neighbour { terms: own, host_ports, labels, namespace: self.namespace };
        let pod = Neighbour::pod(pod);
        if class.may_mind() || pod.may_mind() {
            class.conflicts(pod, self.availability.view)
        } else {
            Vec::new()
        }
    }

    /// Whether a pod on the host, or one that the host is to take, occupies a port that a class wants.
    fn has_taken_port(&self, class: &ClassConflicts<'_>, host: &Host) -> bool {
        let in_place = host.pods.iter().filter(|pod| self.availability.counts(pod));
        let mut all = in_place.chain(self.availability.nominated(host));
        all.any(|pod| HostPort::any_conflict(class.host_ports, pod.host_ports()))
    }

    fn find_between_classes(&mut self) {
        let wants_ports = self.by_class.iter().any(|class| !class.host_ports.is_empty());
        if self.terms.is_empty() && !wants_ports {
            return;
        }
        let host = self.keys.find(HOSTNAME).filter(|_| wants_ports);
        let classes = self.by_class.len();
        let aimed_at: Vec<Vec<bool>> = self.terms.iter().map(|term| self.aimed_at(term)).collect();
        // By class: the keys of its own terms that are against each class.
        let against = |class: &ClassConflicts<'_>| {
            let mut against = vec![KeySet::default(); classes];
            for term in &class.terms {
                let Some(key) = self.keys.find(&self.terms[term.0].topology_key) else { continue };
                for (keys, _) in against.iter_mut().zip(&aimed_at[term.0]).filter(|(_, aimed)| **aimed) {
                    keys.insert(key);
                }
            }
            against
        };
        let mut against: Vec<Vec<KeySet>> = self.by_class.iter().map(against).collect();
        for (at, class) in self.by_class.iter().enumerate().filter(|_| host.is_some()) {
            for (other, keys) in self.by_class.iter().zip(&mut against[at]) {
                if HostPort::any_conflict(class.host_ports, other.host_ports) {
                    keys.extend(host);
                }
            }
        }
        for (at, class) in self.by_class.iter_mut().enumerate() {
            class.with_class =
                (0..classes).map(|other| against[at][other].union(against[other][at])).collect();
            class.with_any = class.with_class.iter().fold(KeySet::default(), |all, keys| all.union(*keys));
        }
    }

    /// Whether a term is against each class.
    fn aimed_at(&self, term: &AntiAffinityTerm) -> Vec<bool> {
        let aimed = |class: &ClassConflicts<'_>| {
            let class = Neighbour::labelled(&class.labels, self.namespace);
            self.budget.spend(1) && term.matches(class, self.availability.view)
        };
        self.by_class.iter().map(aimed).collect()
    }

    fn close_for_pods_in_place(&mut self) {
        let (view, namespace) = (self.availability.view, self.namespace);
        for key in view.anti_affinity_keys().filter(|key| !is_per_host(key)) {
            for pod in view.pods_with_anti_affinity(key).filter(|pod| self.availability.counts(pod)) {
                let terms =
                    first_of(pod.anti_affinity_terms()).iter().filter(|term| term.topology_key == *key);
                for term in terms {
                    if !self.budget.spend(self.by_class.len()) {
                        return;
                    }
                    let mut node = None;
                    for class in &mut self.by_class {
                        let own = Neighbour::labelled(&class.labels, namespace);
                        if term.matches(own, view) {
                            let node = node.get_or_insert_with(|| view.node(view.place_of(&pod.uid)?));
                            class.close(key, node.map(|node| &**node));
                        }
                    }
                }
            }
        }
    }

    fn close_for_slots(&mut self, members: &Members<'a>) {
        let (view, availability, budget) = (self.availability.view, self.availability, self.budget);
        let reservations = view.ledger().reservations().iter();
        for reservation in reservations.filter(|reservation| availability.respects_reservation(reservation)) {
            let namespace = &reservation.group.set.namespace;
            for (class, conflicts) in members.missing.iter().zip(&mut self.by_class) {
                let own = Neighbour::class(class, members.namespace);
                let either = |slot: &&Slot| own.may_mind() || Neighbour::slot(slot, namespace).may_mind();
                // The slots of a group are mostly for members that are alike.
                let mut last: Option<(&Slot, Vec<&Name>)> = None;
                for slot in reservation.slots.iter().filter(either) {
                    if !budget.spend(1) {
                        return;
                    }
                    let known = last.take().filter(|(other, _)| other.has_neighbours_of(slot));
                    let find = || own.conflicts(Neighbour::slot(slot, namespace), view);
                    let keys = known.map_or_else(find, |(_, keys)| keys);
                    for key in &keys {
                        conflicts.close(key, view.node(&slot.host).map(|node| &**node));
                    }
                    last = Some((slot, keys));
                }
            }
        }
    }

    fn is_guarded(&self, class: &ClassConflicts<'_>, host: &Host) -> bool {
        let own = Neighbour::labelled(&class.labels, self.namespace);
        let guards = |pod: &Pod| pod.anti_affinity.is_some() && self.availability.counts(pod);
        self.hosts_are_guarded
            && self.budget.spend(host.pods.len())
            && host.pods.iter().filter(|pod| guards(pod)).any(|pod| {
                let terms = first_of(pod.anti_affinity_terms()).iter();
                let mut here = terms.filter(|term| is_per_host(&term.topology_key));
                here.any(|term| term.matches(own, self.availability.view))
            })
    }

    /// Whether no pod in place in the host's domain is one that the term is against.
    fn is_satisfied(&self, id: TermId, host: HostId) -> bool {
        let (view, term) = (self.availability.view, self.terms[id.0]);
        let Some(domains) = self.keys.domains(&term.topology_key) else { return true };
        let HostDomain::In(domain) = domains.of(host) else { return true };
        *self.satisfied.borrow_mut().entry((id, domain)).or_insert_with(|| {
            let mut hosts = domains.hosts(domain).iter().filter_map(|id| view.host_numbered(*id));
            !hosts.any(|host| self.is_met(term, host))
        })
    }

    /// Whether a pod on the host is one that the term is against.
    fn is_met(&self, term: &AntiAffinityTerm, host: &Host) -> bool {
        let mut counted = host.pods.iter().filter(|pod| self.availability.counts(pod));
        self.budget.spend(host.pods.len())
            && counted.any(|pod| term.matches(Neighbour::pod(pod), self.availability.view))
    }
}

impl ClassConflicts<'_> {
    fn close(&mut self, key: &Name, node: Option<&Node>) {
        if let Some(value) = node.and_then(|node| node.labels.get(key)) {
            self.closed.close(key, value);
        }
    }
}

/// Whether the domains of a key are hosts.
pub fn is_per_host(key: &str) -> bool {
    key == HOSTNAME
}
