//! The write half of the view: watch events and ledger transitions.

use std::collections::HashSet;
use std::sync::Arc;
use std::time::Duration;

use super::{HostId, Needs, PodState, View};
use crate::ledger::{DropCause, Life, Reservation};
use crate::model::group::Overruled;
use crate::model::{GroupKey, Kind, Membership, Name, Object, ObjectKey, Pod, Recogniser, Uid};

/// One thing a watch tells.
#[derive(Clone, Debug)]
pub enum Change {
    /// The object is there and looks like this.
    Upsert(Object),
    /// The object is gone, or is of no interest any more.
    Remove(Kind, ObjectKey),
    /// These, and only these, are all objects of the kind: a list, swapped in as a whole.
    Replace(Kind, Vec<Object>),
}

impl Change {
    /// The kind of the objects that it is about.
    pub fn kind(&self) -> Kind {
        match self {
            Change::Upsert(object) => object.kind(),
            Change::Remove(kind, _) | Change::Replace(kind, _) => *kind,
        }
    }
}

/// What was dropped from the ledger on the way.
pub type Dropped = Vec<DropCause>;

impl View {
    /// Takes in what a watch tells.
    pub fn apply(&mut self, change: Change) -> Dropped {
        let mut dropped = Dropped::new();
        self.list_kind(change.kind());
        match change {
            Change::Upsert(object) => self.upsert(object, &mut dropped),
            Change::Remove(kind, key) => self.remove(kind, &key, &mut dropped),
            Change::Replace(kind, objects) => self.replace(kind, objects, &mut dropped),
        }
        dropped
    }

    /// Filter answered for `pod`.
    ///
    /// Nothing is recorded for a pod that the watch already shows on a node (the call is a late one),
    /// or that has no UID to know it by.
    pub fn offer(&mut self, pod: &Arc<Pod>, offer: Offer, ttl: Duration) -> Dropped {
        let placed = self.pods.get(&pod.uid).is_some_and(|shown| shown.node.is_some());
        if placed || pod.uid.is_empty() {
            return Dropped::new();
        }
        let shown = self.pods.get(&pod.uid).cloned();
        self.keeping_places(&pod.uid, |view| {
            let dropped = match offer {
                Offer::None => view.ledger.withdraw(&pod.uid),
                Offer::One(node) => view.ledger.offer(pod, Some(node), ttl),
                Offer::Several => view.ledger.offer(pod, None, ttl),
            };
            if let Some(shown) = &shown {
                view.ledger.shown(shown);
            }
            dropped
        })
        .into_iter()
        .collect()
    }

    /// By what filter answered, the subgroup of a pod comes to the domain of this value of a topology key.
    pub fn bring_subgroup_to(&mut self, uid: &str, domain: (Name, Name)) {
        self.ledger.bring_subgroup_to(uid, domain);
    }

    /// Room is to be kept for the members of a group.
    ///
    /// It was worked out a moment ago: members that got a place since then have consumed theirs already.
    pub fn reserve(&mut self, reservation: Reservation, life: Life) {
        let since = |pod: &&Arc<Pod>| !reservation.in_place.contains(&pod.uid);
        let since: Vec<_> = self.placed_members(&reservation.group).filter(since).cloned().collect();
        let group = reservation.group.clone();
        self.list_group(&group);
        self.ledger.reserve(reservation, life);
        for pod in since {
            if let Some(node) = self.place_of(&pod.uid).cloned() {
                self.ledger.consume(&group, &self.slot_of(&pod, &node));
            }
        }
    }

    /// Nothing is kept for a group any more.
    pub fn release(&mut self, group: &Arc<GroupKey>) {
        if self.ledger.reservations().of(group).is_some() {
            self.ledger.release(group);
            self.list_group(group);
            self.room_is_made();
        }
    }

    /// Nobody of a group is missing. The last one may still be under way: then its attempt may fail.
    pub fn release_unless_under_way(&mut self, group: &Arc<GroupKey>) {
        if self.ledger.has_member_of(group) {
            self.look_again_when_room_is_made(group.clone());
        } else {
            self.release(group);
            self.ledger.begin_anew(group);
        }
    }

    /// Releases every reservation; they are to be worked out anew from what runs.
    pub fn forget_reservations(&mut self) {
        let reserved: Vec<_> = self.ledger.reservations().iter().map(|kept| kept.group.clone()).collect();
        for group in reserved {
            self.release(&group);
        }
        self.outdate_all();
    }

    /// Bind was called for the pod.
    pub fn assume(&mut self, uid: &Uid, key: &ObjectKey, node: Name, ttl: Duration) {
        let shown = self.pods.get(uid);
        if uid.is_empty() || shown.is_some_and(|pod| pod.node.is_some()) {
            return;
        }
        let pod = shown.cloned().unwrap_or_else(|| Arc::new(Pod::identity_only(uid.clone(), key.clone())));
        self.keeping_places(uid, |view| view.ledger.assume(pod, node, ttl));
        let entry = self.ledger.get(uid).and_then(|entry| entry.pod.group.clone());
        if let Some(membership) = entry {
            self.ledger.progress(&membership.group);
        }
    }

    /// Somebody waited for the choice of these pods, in vain.
    pub fn mark_overdue(&mut self, pods: &[Uid]) {
        for uid in pods {
            // Others that wait for it need not wait any longer.
            self.keeping_places(uid, |view| view.ledger.mark_overdue(uid));
        }
    }

    /// The API server refused to bind the pod to the node.
    pub fn refuse(&mut self, uid: &Uid, node: &str) -> Dropped {
        self.keeping_places(uid, |view| view.ledger.refuse(uid, node)).into_iter().collect()
    }

    /// Lets the ledger's clock run on. Not to be called for time during which the pod watch was cut.
    pub fn advance(&mut self, elapsed: Duration) -> Dropped {
        let mut dropped = Dropped::new();
        let kept: Vec<_> = self.ledger.reservations().iter().map(|kept| kept.group.clone()).collect();
        let expired = self.ledger.advance(elapsed);
        self.give_up(kept);
        for uid in expired {
            dropped.extend(self.keeping_places(&uid, |view| view.ledger.expire(&uid)));
        }
        dropped
    }

    /// Forgets what was decided about a pod, so that it is decided anew.
    pub fn withdraw(&mut self, uid: &str) -> Dropped {
        self.keeping_places(uid, |view| view.ledger.withdraw(uid)).into_iter().collect()
    }

    /// Makes what a decision needs and the view does not have yet.
    pub fn provide(&mut self, needs: &Needs) {
        for key in &needs.counters {
            if self.counters.get(key).is_none() {
                let placed = self.hosts.by_id().enumerate().flat_map(|(host, found)| {
                    found.iter().flat_map(|found| found.pods.iter()).map(move |pod| (HostId::at(host), pod))
                });
                self.counters.insert(key.clone(), placed);
            }
        }
        self.topologies.provide(&needs.topology_keys, &self.hosts);
        for (counter, key) in &needs.sums {
            if let Some(domains) = self.topologies.get(key).filter(|_| !self.provides_sum(counter, key)) {
                self.counters.sum(counter, key, domains);
            }
        }
    }

    /// Forgets counters and domains that nobody asked for in the last `idle` calls of this.
    pub fn sweep_unused(&mut self, idle: u64) {
        self.counters.sweep(idle);
        self.topologies.sweep(idle);
    }

    fn upsert(&mut self, object: Object, dropped: &mut Dropped) {
        let key = object.key();
        match object {
            Object::Node(node) => {
                let (known, name) = (self.node(&node.name).cloned(), node.name.clone());
                let is_new = known.is_none();
                let is_other = known.is_none_or(|known| known != node);
                if self.hosts.set_node(node) {
                    self.topologies.clear();
                    if !is_new {
                        self.ledger.forget_domains();
                    }
                }
                if is_other {
                    self.outdate_groups_on(&name);
                    self.room_is_made();
                }
            }
            Object::Pod(pod) => self.upsert_pod(pod, dropped),
            Object::Namespace(object) => {
                self.namespaces.insert(key.name, object);
            }
            Object::Service(object) => self.services.insert(key, object),
            Object::Workload(kind, object) => self.workloads.entry(kind).or_default().insert(key, object),
            Object::VolumeClaim(object) => self.set_claim(&key, Some(object)),
            Object::PersistentVolume(object) => self.set_persistent_volume(&key, Some(object)),
            Object::StorageClass(object) => self.set_storage_class(&key, Some(object)),
            Object::LimitRange(object) => self.set_limit_range(&key, Some(object)),
            Object::ResourceQuota(object) => self.set_quota(&key, Some(object)),
            Object::PriorityClass(object) => self.set_priority_class(&key, Some(object)),
            Object::Group(kind, object) => self.set_group_object(kind, &key, Some(object)),
        }
    }

    fn remove(&mut self, kind: Kind, key: &ObjectKey, dropped: &mut Dropped) {
        match kind {
            Kind::Node => {
                self.hosts.remove_node(&key.name);
                self.topologies.clear();
                self.outdate_groups_on(&key.name);
            }
            Kind::Pod => {
                if let Some(uid) = self.pod_names.get(key).cloned() {
                    self.remove_pod(&uid, dropped);
                }
            }
            Kind::Namespace => {
                self.namespaces.remove(&key.name);
            }
            Kind::Service => self.services.remove(key),
            Kind::ReplicationController | Kind::ReplicaSet | Kind::StatefulSet => {
                self.workloads.entry(kind).or_default().remove(key);
            }
            Kind::PersistentVolumeClaim => self.set_claim(key, None),
            Kind::PersistentVolume => self.set_persistent_volume(key, None),
            Kind::StorageClass => self.set_storage_class(key, None),
            Kind::LimitRange => self.set_limit_range(key, None),
            Kind::ResourceQuota => self.set_quota(key, None),
            Kind::PriorityClass => self.set_priority_class(key, None),
            Kind::Group(kind) => self.set_group_object(kind, key, None),
        }
    }

    /// Readers never see the middle of this: the view is published when all of it is done.
    fn replace(&mut self, kind: Kind, objects: Vec<Object>, dropped: &mut Dropped) {
        let listed: HashSet<ObjectKey> = objects.iter().map(Object::key).collect();
        let gone = self.objects(kind).into_iter().map(|object| object.key());
        for key in gone.filter(|key| !listed.contains(key)) {
            self.remove(kind, &key, dropped);
        }
        for object in objects {
            self.upsert(object, dropped);
        }
    }

    fn upsert_pod(&mut self, mut pod: Arc<Pod>, dropped: &mut Dropped) {
        self.recognise_group(&mut pod);
        self.keep_what_it_was_placed_by(&mut pod);
        if !pod.is_kept() {
            self.remove(Kind::Pod, &pod.key, dropped);
            return;
        }
        let uid = pod.uid.clone();
        // Most updates change nothing that is kept: the copy that everybody shares stays.
        let pod = self.pods.get(&uid).filter(|known| **known == pod).cloned().unwrap_or(pod);
        let namesake = self.pod_names.insert(pod.key.clone(), uid.clone());
        if let Some(previous) = namesake.filter(|previous| *previous != uid) {
            // The deletion of its predecessor was missed.
            self.remove_pod(&previous, dropped);
            self.pod_names.insert(pod.key.clone(), uid.clone());
        }
        if !self.pods.contains_key(&uid) {
            // A predecessor that was bound and deleted without the watch ever showing it.
            for previous in self.ledger.namesakes(&pod.key, &uid) {
                dropped.extend(self.keeping_places(&previous, |view| view.ledger.delete(&previous)));
            }
        }
        let (group, is_going) = (pod.group.clone(), pod.terminating || pod.finished);
        let in_place = pod.node.is_some() && !pod.finished;
        let bound = in_place && self.placement(&uid).is_none();
        if in_place && self.was_placed_by_another_berth(&pod) {
            self.drop_what_is_overtaken(&pod, dropped);
        }
        let before = self.standing(&uid);
        dropped.extend(self.keeping_places(&uid, |view| {
            let cause = if pod.node.is_some() {
                view.ledger.confirm(&pod.uid);
                None
            } else {
                view.ledger.observe(&pod)
            };
            let known = view.pods.insert(pod.uid.clone(), pod.clone());
            view.quotas.recount(known.as_deref(), Some(&pod));
            cause
        }));
        match &group {
            Some(membership) if is_going => self.release_if_abandoned(&membership.group),
            Some(membership) if in_place => {
                if bound {
                    self.ledger.progress(&membership.group);
                }
                self.ledger.arrived(&membership.group);
            }
            _ => {}
        }
        self.outdate_if_changed(before, &uid);
    }

    /// Whether a member that was seen waiting has got a node, but not from here. kube-scheduler places members through
    /// Berth alone, so it has asked another one.
    fn was_placed_by_another_berth(&self, pod: &Pod) -> bool {
        let waited = self.pods.get(&pod.uid).is_some_and(|known| known.node.is_none());
        let is_overtaken = |node: &Name| self.ledger.is_overtaken_by(&pod.uid, node);
        waited && pod.is_placed_with_its_group() && pod.node.as_ref().is_some_and(is_overtaken)
    }

    /// Offers to groups of which nobody is in place, and of which kube-scheduler made nothing before it turned to another Berth,
    /// must not stand against what that one has decided. What is reserved for them stays, as a plan that gives way to groups
    /// that have begun; should their bind calls come all the same, they find their slots there.
    fn drop_what_is_overtaken(&mut self, by: &Pod, dropped: &mut Dropped) {
        let offers = self.ledger.unbound_members_of(by.scheduler.as_ref());
        let has_not_begun = |(_, group): &(&Uid, &Arc<GroupKey>)| {
            self.placed_members(group).all(|pod| self.ledger.is_unbound(&pod.uid))
        };
        let overtaken: Vec<Uid> = offers.filter(has_not_begun).map(|(uid, _)| uid.clone()).collect();
        for uid in overtaken {
            dropped.extend(self.keeping_places(&uid, |view| view.ledger.overtake(&uid)));
        }
    }

    /// What a member asks for counts until it has a place. What is written into it later changes nothing for its group,
    /// nor for others.
    fn keep_what_it_was_placed_by(&self, pod: &mut Arc<Pod>) {
        let placed = self.pods.get(&pod.uid).filter(|known| known.node.is_some());
        let Some((before, now)) = placed.and_then(|known| known.group.as_ref()).zip(pod.group.as_ref())
        else {
            return;
        };
        let is_same = before.topology == now.topology && before.subgroup == now.subgroup;
        if before.group == now.group && !is_same {
            let membership = Membership {
                topology: before.topology.clone(),
                subgroup: before.subgroup.clone(),
                overruled: Some(Overruled::RunningMember),
                ..Membership::clone(now)
            };
            Arc::make_mut(pod).group = Some(Arc::new(membership));
        }
    }

    fn remove_pod(&mut self, uid: &Uid, dropped: &mut Dropped) {
        let group = self.pods.get(uid).and_then(|pod| pod.group.clone());
        let before = self.standing(uid);
        dropped.extend(self.keeping_places(uid, |view| {
            if let Some(pod) = view.pods.remove(uid) {
                view.pod_names.remove(&pod.key);
                view.quotas.recount(Some(&pod), None);
            }
            view.ledger.delete(uid)
        }));
        if let Some(membership) = group {
            self.release_if_abandoned(&membership.group);
        }
        self.outdate_if_changed(before, uid);
    }

    /// Room is kept for members to come only while somebody of the group is there.
    fn release_if_abandoned(&mut self, group: &Arc<GroupKey>) {
        let somebody = self.placed_members(group).len() + self.waiting_members(group).len() > 0
            || self.ledger.has_member_of(group);
        if !somebody {
            self.release(group);
            self.ledger.begin_anew(group);
        }
    }

    /// From now on groups are recognised like this.
    pub fn set_recogniser(&mut self, recogniser: Arc<Recogniser>) {
        if self.recogniser == recogniser {
            return;
        }
        self.recogniser = recogniser;
        self.recognition += 1;
        let shown: Vec<_> = self.pods.values().cloned().collect();
        for mut pod in shown {
            self.recognise_group(&mut pod);
            self.keeping_places(&pod.uid.clone(), |view| view.pods.insert(pod.uid.clone(), pod));
        }
        let under_way: Vec<_> = self.ledger.iter().map(|entry| entry.pod.clone()).collect();
        for mut pod in under_way {
            self.recognise_group(&mut pod);
            self.keeping_places(&pod.uid.clone(), |view| view.ledger.replace_pod(pod));
        }
        let reserved: Vec<_> = self.ledger.reservations().iter().map(|kept| kept.group.clone()).collect();
        for group in reserved {
            self.release_if_abandoned(&group);
        }
        // Groups that are recognised from now on may have members in place.
        self.outdate_all();
    }

    /// Makes a change that concerns one pod, and brings all that is kept by place in line with where it is then.
    pub(super) fn keeping_places<R>(&mut self, uid: &str, change: impl FnOnce(&mut Self) -> R) -> R {
        let (before, entry_before) = (self.pod_state(uid), self.entry_before(uid));
        let under_way = self.ledger.get(uid).map(|entry| entry.pod.clone());
        let result = change(self);
        let after = self.pod_state(uid);
        self.list_pod(uid, [&before, &after], entry_before.as_ref());
        if let Some(pod) = under_way.filter(|_| self.ledger.get(uid).is_none()) {
            self.outdate_by_end_of_attempt(&pod);
        }
        if !before.is(&after) {
            self.update_slots(&before, &after);
            let has_left = matches!(before, PodState::Placed(..)) && !matches!(after, PodState::Placed(..));
            let left = before.pod().filter(|_| has_left).and_then(|pod| pod.group.clone());
            let come = match &after {
                PodState::Placed(node, pod) if !before.is_on(node) => Some((node.clone(), pod.clone())),
                _ => None,
            };
            self.leave(before);
            self.arrive(after);
            if let Some((node, pod)) = come {
                self.outdate_by_arrival(&pod, &node);
            }
            if let Some(membership) = left {
                self.outdate_by_departure(&membership);
            }
            if has_left {
                self.room_is_made();
            }
        }
        result
    }

    /// A member that is placed consumes a slot of its group; one that loses its place gets it reinstated, for itself or for
    /// who comes in its stead.
    fn update_slots(&mut self, before: &PodState, after: &PodState) {
        let group = |pod: &Pod| pod.group.as_ref().map(|membership| membership.group.clone());
        if self.ledger.reservations().is_empty() {
            return;
        }
        match (before, after) {
            (PodState::Placed(..), PodState::Placed(..)) => {}
            (_, PodState::Placed(node, pod)) if !pod.terminating => {
                if let Some(group) = group(pod) {
                    self.ledger.consume(&group, &self.slot_of(pod, node));
                }
            }
            (PodState::Placed(node, pod), after) if !pod.terminating && !after.is_over() => {
                if let Some(group) = group(pod) {
                    self.ledger.reinstate(&group, self.slot_of(pod, node));
                }
            }
            _ => {}
        }
    }

    fn leave(&mut self, state: PodState) {
        match state {
            PodState::Placed(node, pod) => {
                if let Some(host) = self.hosts.id(&node) {
                    self.counters.moved(host, &pod, -1);
                }
                self.hosts.remove_pod(&node, &pod.uid);
                if let Some(membership) = &pod.group {
                    let members = if pod.terminating { &mut self.leaving } else { &mut self.groups };
                    members.remove(&membership.group, &pod.uid);
                    self.exclusive.remove(&membership.group, &pod.uid);
                }
                for term in pod.anti_affinity_terms() {
                    self.pods_with_anti_affinity.remove(&term.topology_key, &pod.uid);
                }
            }
            PodState::Waiting(pod) => {
                if let Some(node) = &pod.nominated_node {
                    self.nominated.remove(node, &pod.uid);
                }
                if let Some(membership) = &pod.group {
                    let members = if pod.terminating { &mut self.leaving } else { &mut self.waiting };
                    members.remove(&membership.group, &pod.uid);
                }
            }
            PodState::Finished(pod) => {
                if let Some(membership) = &pod.group {
                    let members = if pod.terminating { &mut self.leaving } else { &mut self.finished };
                    members.remove(&membership.group, &pod.uid);
                }
            }
            PodState::Unknown => {}
        }
    }

    fn arrive(&mut self, state: PodState) {
        match state {
            PodState::Placed(node, pod) => {
                self.hosts.add_pod(&node, pod.clone());
                if let Some(host) = self.hosts.id(&node) {
                    self.counters.moved(host, &pod, 1);
                }
                for term in pod.anti_affinity_terms() {
                    self.pods_with_anti_affinity.add(term.topology_key.clone(), pod.clone());
                }
                if let Some(membership) = pod.group.clone() {
                    if membership.topology.exclusive.is_some() && !pod.terminating {
                        self.exclusive.add(membership.group.clone(), pod.clone());
                    }
                    let members = if pod.terminating { &mut self.leaving } else { &mut self.groups };
                    members.add(membership.group.clone(), pod);
                }
            }
            PodState::Waiting(pod) => {
                if let Some(node) = pod.nominated_node.clone() {
                    self.nominated.add(node, pod.clone());
                }
                if let Some(membership) = pod.group.clone() {
                    let members = if pod.terminating { &mut self.leaving } else { &mut self.waiting };
                    members.add(membership.group.clone(), pod);
                }
            }
            PodState::Finished(pod) => {
                if let Some(membership) = pod.group.clone() {
                    // Whoever deletes it may well want another in its place.
                    let members = if pod.terminating { &mut self.leaving } else { &mut self.finished };
                    members.add(membership.group.clone(), pod);
                }
            }
            PodState::Unknown => {}
        }
    }
}

/// What filter answered.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Offer {
    /// No node.
    None,
    /// Exactly this node.
    One(Name),
    /// More than one.
    Several,
}
