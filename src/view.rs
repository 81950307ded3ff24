//! One consistent picture of the cluster: what the watches show, plus what has been decided since.
//!
//! A [`View`] is immutable once published and cheap to clone, because every part is a persistent
//! structure that shares what did not change. A request takes one view and decides on it without
//! any lock. The write half ([`change`]) works on a clone, which then replaces the published view.

pub mod change;
pub mod changes;
mod counters;
mod domains;
mod groups;
mod hosts;
mod ids;
mod namespaced;
mod outdated;
mod pod_index;
mod priorities;
mod quotas;
mod topologies;
mod volumes;

use std::sync::Arc;

use self::changes::Changes;
use self::counters::Counters;
pub use self::counters::{Counter, CounterKey};
pub use self::domains::{Domains, HostDomain};
pub use self::groups::MembersToCome;
pub use self::hosts::Host;
use self::hosts::Hosts;
pub use self::ids::{DomainId, HostId};
pub use self::namespaced::Namespaced;
use self::pod_index::PodIndex;
pub use self::priorities::ExpectedPriority;
use self::quotas::Quotas;
use self::topologies::Topologies;
use self::volumes::Volumes;
use crate::ledger::{Ledger, Phase};
use crate::model::persistent::{HashMap, HashSet};
use crate::model::{
    GroupKey, GroupObject, Kind, LimitRange, Name, Namespace, Node, Object, ObjectKey, Pod, PriorityClass,
    Recogniser, Service, Uid, Workload,
};

/// Everything a decision may depend on.
#[derive(Clone, Debug, Default)]
pub struct View {
    hosts: Hosts,
    pods: HashMap<Uid, Arc<Pod>>,
    /// Which pod bears a name now.
    pod_names: HashMap<ObjectKey, Uid>,
    namespaces: HashMap<Name, Arc<Namespace>>,
    services: Namespaced<Service>,
    /// Replication controllers, replica sets and stateful sets, by kind.
    workloads: HashMap<Kind, Namespaced<Workload>>,
    /// Objects that stand behind groups, by kind.
    group_objects: HashMap<Kind, Namespaced<GroupObject>>,
    /// Claims, volumes and storage classes.
    volumes: Volumes,
    limit_ranges: Namespaced<LimitRange>,
    quotas: Quotas,
    priority_classes: Namespaced<PriorityClass>,
    ledger: Ledger,
    /// Pods on no node yet, by the node that is to take them: preemption made room there, or kube-scheduler
    /// is about to bind them to it.
    nominated: PodIndex<Name>,
    /// Says which pods are members of which replica group.
    recogniser: Arc<Recogniser>,
    /// How often what the recogniser says about a pod may have changed.
    recognition: u64,
    /// Pods that have a place and are to keep it, by their replica group.
    groups: PodIndex<Arc<GroupKey>>,
    /// Those of them that are to have their domain to themselves. Most clusters have few or none.
    exclusive: PodIndex<Arc<GroupKey>>,
    /// Members that have no place yet, by their replica group.
    waiting: PodIndex<Arc<GroupKey>>,
    /// Members that are about to go, with or without a place, by their replica group.
    leaving: PodIndex<Arc<GroupKey>>,
    /// Members that have succeeded and do not come back, by their replica group.
    finished: PodIndex<Arc<GroupKey>>,
    /// Placed pods with required anti-affinity, by its topology keys.
    pods_with_anti_affinity: PodIndex<Name>,
    /// Groups whose members have changed since what is owed to them was last worked out.
    outdated: HashSet<Arc<GroupKey>>,
    /// Groups for which there was not all the room that they are owed.
    short: HashSet<Arc<GroupKey>>,
    /// Those of them that may find room by now. They are looked at a few at a time: anybody can claim to be a group.
    hopeful: HashSet<Arc<GroupKey>>,
    /// Groups in place of which something else has changed than their members: claims, quotas, the object behind them. They
    /// keep what they have until they are looked at, a few at a time.
    doubtful: HashSet<Arc<GroupKey>>,
    /// Whether what is owed to all groups has been worked out since Berth began, or began to recognise groups like this.
    is_reckoned: bool,
    counters: Counters,
    topologies: Topologies,
    /// What has been changed since somebody wanted to know; absent in a published view.
    changes: Option<Box<Changes>>,
}

/// What a decision needs beyond the objects themselves; made on first use, see [`View::provide`].
#[derive(Clone, Debug, Default)]
pub struct Needs {
    /// Counters of matching pods.
    pub counters: Vec<CounterKey>,
    /// Topology keys whose domains are asked for.
    pub topology_keys: Vec<Name>,
    /// Which counters are asked for by which of the keys' domains.
    pub sums: Vec<(CounterKey, Name)>,
}

impl Needs {
    /// Adds what somebody else needs.
    pub fn extend(&mut self, other: Needs) {
        let Needs { counters, topology_keys, sums } = other;
        self.counters.extend(counters);
        self.topology_keys.extend(topology_keys);
        self.sums.extend(sums);
    }
}

impl View {
    /// Whether everything that is needed is there.
    pub fn provides(&self, needs: &Needs) -> bool {
        needs.counters.iter().all(|key| self.counters.get(key).is_some())
            && needs.topology_keys.iter().all(|key| self.topologies.get(key).is_some())
            && needs.sums.iter().all(|(counter, key)| self.provides_sum(counter, key))
    }

    fn provides_sum(&self, counter: &CounterKey, key: &str) -> bool {
        let counter = self.counters.get(counter);
        let sums = counter.and_then(|counter| counter.per_domain(key, self.topologies.get(key)?));
        sums.is_some()
    }

    /// A counter, if it has been provided.
    pub fn counter(&self, key: &CounterKey) -> Option<&Counter> {
        self.counters.get(key)
    }

    /// How many counters are kept.
    pub fn counters(&self) -> usize {
        self.counters.len()
    }

    /// Of how many topology keys the domains are kept.
    pub fn topologies(&self) -> usize {
        self.topologies.len()
    }

    /// The domains of a topology key, if they have been provided.
    pub fn domains(&self, key: &str) -> Option<&Arc<Domains>> {
        self.topologies.get(key)
    }

    /// The number of the host of that name.
    pub fn host_id(&self, name: &str) -> Option<HostId> {
        self.hosts.id(name)
    }

    /// The host of that number.
    pub fn host_numbered(&self, id: HostId) -> Option<&Host> {
        self.hosts.get(id)
    }

    /// One more than the highest host number in use.
    pub fn host_numbers(&self) -> usize {
        self.hosts.by_id().len()
    }

    /// How many nodes there are.
    pub fn node_count(&self) -> usize {
        self.hosts.nodes()
    }

    /// The node of that name, if the watch shows it.
    pub fn node(&self, name: &str) -> Option<&Arc<Node>> {
        self.host(name)?.node.as_ref()
    }

    /// The host of that name: a node, or the place of pods whose node is not (or no longer) known.
    pub fn host(&self, name: &str) -> Option<&Host> {
        self.hosts.get(self.hosts.id(name)?)
    }

    /// The hosts that have members of replica groups that are placed together.
    pub fn hosts_with_members(&self) -> impl Iterator<Item = HostId> {
        self.hosts.with_members()
    }

    /// All hosts.
    pub fn hosts(&self) -> impl Iterator<Item = &Host> {
        self.hosts.iter()
    }

    /// The pod as the watch shows it.
    pub fn pod(&self, uid: &str) -> Option<&Arc<Pod>> {
        self.pods.get(uid)
    }

    /// All pods that the watch shows.
    pub fn pods(&self) -> impl Iterator<Item = &Arc<Pod>> {
        self.pods.values()
    }

    /// The pod that bears a name now, as the watch shows it.
    pub fn pod_named(&self, key: &ObjectKey) -> Option<&Arc<Pod>> {
        self.pods.get(self.pod_names.get(key)?)
    }

    /// Where a pod is, as far as anyone knows: shown by the watch, or assumed.
    pub fn place_of(&self, uid: &str) -> Option<&Name> {
        self.placement(uid).map(|(node, _)| node)
    }

    /// Nodes that are to take pods which are on no node yet, with those pods.
    pub fn nominated(&self) -> impl Iterator<Item = (&Name, impl Iterator<Item = &Arc<Pod>>)> {
        self.nominated.iter()
    }

    /// How many nodes are to take pods which are on no node yet.
    pub fn nominated_nodes(&self) -> usize {
        self.nominated.len()
    }

    /// The pods on no node yet that a node is to take.
    pub fn nominated_to(&self, node: &str) -> impl Iterator<Item = &Arc<Pod>> {
        self.nominated.of(node)
    }

    /// The members of a group that have a place and are not about to leave it.
    pub fn placed_members(&self, group: &GroupKey) -> impl ExactSizeIterator<Item = &Arc<Pod>> {
        self.groups.of(group)
    }

    /// The members of a group that have no place yet and are not about to go.
    pub fn waiting_members(&self, group: &GroupKey) -> impl ExactSizeIterator<Item = &Arc<Pod>> {
        self.waiting.of(group)
    }

    /// The members of a group that are about to go.
    pub fn leaving_members(&self, group: &GroupKey) -> impl ExactSizeIterator<Item = &Arc<Pod>> {
        self.leaving.of(group)
    }

    /// The members of a group that have succeeded, and do not come back as long as they are there.
    pub fn finished_members(&self, group: &GroupKey) -> impl ExactSizeIterator<Item = &Arc<Pod>> {
        self.finished.of(group)
    }

    /// All groups that have a member with a place, with those members.
    pub fn placed_groups(&self) -> impl Iterator<Item = (&Arc<GroupKey>, impl Iterator<Item = &Arc<Pod>>)> {
        self.groups.iter()
    }

    /// The groups of [`View::placed_groups`] of which a member in place is to have its domain to itself, with such members.
    pub fn exclusive_groups(
        &self,
    ) -> impl Iterator<Item = (&Arc<GroupKey>, impl Iterator<Item = &Arc<Pod>>)> {
        self.exclusive.iter()
    }

    /// All groups that have a member without a place, with those members.
    pub fn waiting_groups(&self) -> impl Iterator<Item = (&Arc<GroupKey>, impl Iterator<Item = &Arc<Pod>>)> {
        self.waiting.iter()
    }

    /// Pods with a place that will not share its domain of this key with some others.
    pub fn pods_with_anti_affinity(&self, topology_key: &str) -> impl Iterator<Item = &Arc<Pod>> {
        self.pods_with_anti_affinity.of(topology_key)
    }

    /// The topology keys of which some pods will not share a domain with some others.
    pub fn anti_affinity_keys(&self) -> impl Iterator<Item = &Name> {
        self.pods_with_anti_affinity.iter().map(|(key, _)| key)
    }

    /// Groups whose members have changed since what is owed to them was last worked out.
    pub fn outdated_groups(&self) -> impl ExactSizeIterator<Item = &Arc<GroupKey>> {
        self.outdated.iter()
    }

    /// Groups that went short and may find room by now, and groups in place of which something else has changed than their
    /// members.
    pub fn doubtful_groups(&self) -> impl Iterator<Item = &Arc<GroupKey>> {
        self.hopeful.iter().chain(&self.doubtful)
    }

    /// Whether groups have to be looked at, sooner or later.
    pub fn has_groups_to_look_at(&self) -> bool {
        !(self.outdated.is_empty() && self.hopeful.is_empty() && self.doubtful.is_empty())
    }

    /// Whether this group has to be.
    pub fn is_to_be_looked_at(&self, group: &GroupKey) -> bool {
        [&self.outdated, &self.hopeful, &self.doubtful].into_iter().any(|groups| groups.contains(group))
    }

    /// Whether what is owed to all groups has been worked out since Berth began, or began to recognise groups like this.
    pub fn is_reckoned(&self) -> bool {
        self.is_reckoned
    }

    /// Two views with the same number that the store published recognise every pod as a member of the same group, with
    /// the same topology request.
    pub fn recognition(&self) -> u64 {
        self.recognition
    }

    /// Who says which pods are members of which group.
    pub fn recogniser(&self) -> &Arc<Recogniser> {
        &self.recogniser
    }

    /// The pods under way.
    pub fn ledger(&self) -> &Ledger {
        &self.ledger
    }

    /// A namespace by name.
    pub fn namespace(&self, name: &str) -> Option<&Arc<Namespace>> {
        self.namespaces.get(name)
    }

    /// All namespaces.
    pub fn namespaces(&self) -> impl Iterator<Item = &Arc<Namespace>> {
        self.namespaces.values()
    }

    /// A service by name.
    pub fn service(&self, key: &ObjectKey) -> Option<&Arc<Service>> {
        self.services.get(key)
    }

    /// All services.
    pub fn all_services(&self) -> impl Iterator<Item = &Arc<Service>> {
        self.services.iter()
    }

    /// The services of a namespace.
    pub fn services(&self, namespace: &str) -> impl Iterator<Item = &Arc<Service>> {
        self.services.in_namespace(namespace)
    }

    /// A replication controller, replica set or stateful set.
    pub fn workload(&self, kind: Kind, key: &ObjectKey) -> Option<&Arc<Workload>> {
        self.workloads.get(&kind)?.get(key)
    }

    /// A group object.
    pub fn group_object(&self, kind: Kind, key: &ObjectKey) -> Option<&Arc<GroupObject>> {
        self.group_objects.get(&kind)?.get(key)
    }

    /// How many objects of a kind the watch shows.
    pub fn count(&self, kind: Kind) -> usize {
        match kind {
            Kind::Node => self.hosts.nodes(),
            Kind::Pod => self.pods.len(),
            Kind::Namespace => self.namespaces.len(),
            Kind::Service => self.services.len(),
            Kind::ReplicationController | Kind::ReplicaSet | Kind::StatefulSet => {
                self.workloads.get(&kind).map_or(0, Namespaced::len)
            }
            Kind::PersistentVolumeClaim => self.volumes.claims.len(),
            Kind::PersistentVolume => self.volumes.persistent.len(),
            Kind::StorageClass => self.volumes.classes.len(),
            Kind::LimitRange => self.limit_ranges.len(),
            Kind::ResourceQuota => self.quotas.objects.len(),
            Kind::PriorityClass => self.priority_classes.len(),
            Kind::Group(_) => self.group_objects.get(&kind).map_or(0, Namespaced::len),
        }
    }

    /// Every object of a kind as the watch shows it, for comparing with the API server.
    pub fn objects(&self, kind: Kind) -> Vec<Object> {
        match kind {
            Kind::Node => self.hosts().filter_map(|host| host.node.clone()).map(Object::Node).collect(),
            Kind::Pod => self.pods.values().cloned().map(Object::Pod).collect(),
            Kind::Namespace => self.namespaces.values().cloned().map(Object::Namespace).collect(),
            Kind::Service => self.services.iter().cloned().map(Object::Service).collect(),
            Kind::ReplicationController | Kind::ReplicaSet | Kind::StatefulSet => {
                let workloads = self.workloads.get(&kind).into_iter().flat_map(Namespaced::iter);
                workloads.map(|object| Object::Workload(kind, object.clone())).collect()
            }
            Kind::PersistentVolumeClaim => {
                self.volumes.claims.iter().cloned().map(Object::VolumeClaim).collect()
            }
            Kind::PersistentVolume => {
                self.volumes.persistent.iter().cloned().map(Object::PersistentVolume).collect()
            }
            Kind::StorageClass => self.volumes.classes.iter().cloned().map(Object::StorageClass).collect(),
            Kind::LimitRange => self.limit_ranges.iter().cloned().map(Object::LimitRange).collect(),
            Kind::ResourceQuota => self.quotas.objects.iter().cloned().map(Object::ResourceQuota).collect(),
            Kind::PriorityClass => self.priority_classes.iter().cloned().map(Object::PriorityClass).collect(),
            Kind::Group(group) => {
                let objects = self.group_objects.get(&kind).into_iter().flat_map(Namespaced::iter);
                objects.map(|object| Object::Group(group, object.clone())).collect()
            }
        }
    }

    /// The single rule by which cache and ledger become one: the watch's word first, then what is
    /// assumed. Every index over placements is kept by asking this before and after a change.
    pub fn placement(&self, uid: &str) -> Option<(&Name, &Arc<Pod>)> {
        let shown = self.pods.get(uid);
        if let Some(pod) = shown
            && let Some(node) = &pod.node
        {
            return (!pod.finished).then_some((node, pod));
        }
        let entry = self.ledger.get(uid)?;
        match &entry.phase {
            Phase::Assumed { node, .. } => Some((node, shown.unwrap_or(&entry.pod))),
            Phase::Offered => None,
        }
    }

    /// Where a pod stands: see [`View::placement`]. Room made for a pod counts until the pod has a place.
    fn pod_state(&self, uid: &str) -> PodState {
        if let Some((node, pod)) = self.placement(uid) {
            return PodState::Placed(node.clone(), pod.clone());
        }
        match self.pods.get(uid) {
            Some(pod) if pod.finished => PodState::Finished(pod.clone()),
            Some(pod) => PodState::Waiting(pod.clone()),
            None => PodState::Unknown,
        }
    }
}

/// Where a pod stands, as the indexes over pods see it.
enum PodState {
    /// On a node.
    Placed(Name, Arc<Pod>),
    /// On none.
    Waiting(Arc<Pod>),
    /// It has succeeded.
    Finished(Arc<Pod>),
    /// Not shown by the watch, and on no node that anybody knows of.
    Unknown,
}

impl PodState {
    /// Whether the pod is on this node.
    fn is_on(&self, node: &Name) -> bool {
        matches!(self, PodState::Placed(place, _) if place == node)
    }

    /// Whether nobody is to come back to the place that the pod had.
    fn is_over(&self) -> bool {
        matches!(self, PodState::Waiting(pod) if pod.terminating) || matches!(self, PodState::Finished(_))
    }

    /// The pod, if it is known.
    fn pod(&self) -> Option<&Pod> {
        match self {
            PodState::Placed(_, pod) | PodState::Waiting(pod) | PodState::Finished(pod) => Some(pod),
            PodState::Unknown => None,
        }
    }

    /// Whether nothing has changed, not even the copy of the pod.
    fn is(&self, other: &Self) -> bool {
        match (self, other) {
            (PodState::Placed(n, p), PodState::Placed(m, q)) => n == m && Arc::ptr_eq(p, q),
            (PodState::Waiting(p), PodState::Waiting(q)) | (PodState::Finished(p), PodState::Finished(q)) => {
                Arc::ptr_eq(p, q)
            }
            (PodState::Unknown, PodState::Unknown) => true,
            _ => false,
        }
    }
}
