//! The controllers' part: groups and their members come, go and come back.

use crate::hostile::Mark;
use crate::scenario::{Kind, Needs};
use crate::truth::{Group, Part, Pod, Record};
use crate::world::World;

/// So many groups are enough for a small cluster.
const GROUPS: usize = 8;
/// With one member per host, so many hosts have to be in a rack that takes any group.
pub const LARGEST: usize = 6;

impl World<'_> {
    pub fn new_group(&mut self, set: usize) {
        if self.truth.groups.len() >= GROUPS {
            return;
        }
        let set = set % self.truth.sets.len();
        let number = self.truth.groups.iter().filter(|group| group.set == set).count();
        let size = self.truth.sets[set].size;
        let record = Record::default();
        self.truth.groups.push(Group { set, number, size, revision: 0, wanted: true, record });
        let name = self.truth.sets[set].name.clone();
        self.note(|| format!("group {name}-{number} of {size}"));
        self.create_claims(self.truth.groups.len() - 1, LARGEST);
    }

    /// Members that could be created now.
    fn missing(&self) -> Vec<(usize, usize)> {
        let mut missing = Vec::new();
        for (at, group) in self.truth.groups.iter().enumerate().filter(|(_, group)| group.wanted) {
            let kind = self.truth.sets[group.set].kind;
            let there = |index: usize| self.truth.members(at).find(move |pod| holds(pod, index));
            let led = there(0).is_some_and(|leader| leader.node.is_some());
            // Replicas of a LeaderWorkerSet have fixed names: the old one has to be gone.
            let name_free = |index| kind == Kind::Annotated || !self.name_is_taken(at, index);
            missing.extend(
                (0..group.size)
                    .filter(|index| {
                        let may = kind == Kind::Annotated || *index == 0 || led;
                        may && there(*index).is_none() && name_free(*index)
                    })
                    .map(|index| (at, index)),
            );
        }
        missing
    }

    fn name_is_taken(&self, group: usize, index: usize) -> bool {
        let same = |part: &Part| part.group == group && part.index == index;
        self.truth.pods.values().any(|pod| pod.part.as_ref().is_some_and(same))
    }

    /// Creates so many of the missing members; tells how many there were.
    pub fn reconcile(&mut self, first: usize, count: usize) -> usize {
        let mut created = 0;
        while created < count {
            let missing = self.missing();
            let Some((group, index)) = missing.get((first + created) % missing.len().max(1)) else { break };
            self.create_member(*group, *index);
            created += 1;
        }
        created
    }

    fn create_member(&mut self, at: usize, index: usize) {
        let group = &self.truth.groups[at];
        let set = &self.truth.sets[group.set];
        let serial = self.truth.created;
        let name = match set.kind {
            Kind::Annotated => format!("{}-{serial}", set.pod_name(group.number, index)),
            Kind::LeaderWorker => set.pod_name(group.number, index),
        };
        let part = Part { group: at, index, revision: group.revision, size: group.size };
        let pod = Pod {
            uid: format!("{}-{}-{index}.{serial}", set.name, group.number),
            name,
            namespace: set.namespace,
            team: set.name.clone(),
            part: Some(part),
            needs: group.needs_of(index, &self.truth.sets),
            priority: set.priority_of(index),
            node: None,
            leaving: false,
            finished: false,
            failures: 0,
            claim: set.claim_of(group.number, index),
            marks: Vec::new(),
        };
        self.create(pod);
    }

    pub fn new_single(&mut self, needs: Needs, priority: i32) {
        self.create_unrelated("red", needs, priority, Vec::new());
    }

    /// A pod of no honest group.
    pub fn create_unrelated(
        &mut self,
        namespace: &'static str,
        needs: Needs,
        priority: i32,
        marks: Vec<Mark>,
    ) {
        let team = if marks.is_empty() { "single" } else { namespace };
        let name = format!("{team}-{}", self.truth.created);
        self.create(Pod {
            uid: format!("{name}.u"),
            name,
            namespace,
            team: team.to_owned(),
            part: None,
            needs,
            priority,
            node: None,
            leaving: false,
            finished: false,
            failures: 0,
            claim: None,
            marks,
        });
    }

    fn create(&mut self, pod: Pod) {
        self.truth.created += 1;
        self.note(|| format!("create {} of priority {} with {} CPUs", pod.uid, pod.priority, pod.needs.cpu));
        let uid = pod.uid.clone();
        self.truth.pods.insert(uid.clone(), pod);
        self.show_pod(&uid);
    }

    pub fn end_single(&mut self, which: usize) {
        let singles = self.uids(|pod| pod.part.is_none());
        if let Some(uid) = nth(&singles, which) {
            self.note(|| format!("delete {uid}"));
            self.remove_pod(uid);
        }
    }

    pub fn finish(&mut self, which: usize) {
        let running = self.uids(|pod| pod.node.is_some() && !pod.leaving && !pod.finished);
        let Some(uid) = nth(&running, which) else { return };
        self.note(|| format!("{uid} has finished"));
        if let Some(pod) = self.truth.pods.get_mut(uid) {
            pod.finished = true;
            let group = pod.part.as_ref().map(|part| part.group);
            let is_first = |group| !self.truth.is_whole(group);
            self.seen.finished_in_pieces |= group.is_some_and(is_first);
            self.show_pod(uid);
        }
    }

    pub fn delete_member(&mut self, which: usize, graceful: bool) {
        let runs = |pod: &Pod| pod.node.is_some() || !which.is_multiple_of(4);
        let members = self.uids(|pod| pod.part.is_some() && !pod.leaving && !pod.finished && runs(pod));
        if let Some(uid) = nth(&members, which) {
            self.lose_member(uid);
            self.delete(uid, graceful);
        }
    }

    /// A pod on no node is gone at once.
    fn delete(&mut self, uid: &str, graceful: bool) {
        self.note(|| format!("delete {uid}, with grace: {graceful}"));
        let pod = self.truth.pods.get_mut(uid).filter(|pod| graceful && pod.node.is_some());
        if let Some(pod) = pod {
            pod.leaving = true;
            self.show_pod(uid);
        } else {
            self.remove_pod(uid);
        }
    }

    pub fn vanish(&mut self, which: usize) {
        let leaving = self.uids(|pod| pod.leaving);
        if let Some(uid) = nth(&leaving, which) {
            self.note(|| format!("{uid} is gone"));
            self.extend_recovery(uid);
            self.remove_pod(uid);
        }
    }

    pub fn vanish_all(&mut self) {
        for uid in self.uids(|pod| pod.leaving) {
            self.extend_recovery(&uid);
            self.remove_pod(&uid);
        }
    }

    pub fn delete_group(&mut self, which: usize) {
        let Some(at) = which.checked_rem(self.truth.groups.len()) else { return };
        self.note(|| format!("delete group {at}"));
        self.truth.groups[at].wanted = false;
        self.delete_members(at);
    }

    pub fn recreate_group(&mut self, which: usize, revised: bool) {
        let Some(at) = which.checked_rem(self.truth.groups.len()) else { return };
        self.note(|| format!("recreate group {at}, by a new revision: {revised}"));
        self.delete_members(at);
        if revised && self.truth.set_of(at).kind == Kind::LeaderWorker {
            self.truth.groups[at].revision += 1;
        }
    }

    fn delete_members(&mut self, group: usize) {
        for uid in self.uids(|pod| pod.part.as_ref().is_some_and(|part| part.group == group)) {
            self.delete(&uid, true);
        }
        self.truth.groups[group].record.excused = true;
    }

    /// Only where the annotation alone says how many there are.
    pub fn resize_group(&mut self, which: usize, up: bool) {
        let Some(at) = which.checked_rem(self.truth.groups.len()) else { return };
        if self.truth.set_of(at).kind != Kind::Annotated {
            return;
        }
        let group = &mut self.truth.groups[at];
        group.size = if up { (group.size + 1).min(LARGEST) } else { (group.size - 1).max(1) };
        group.record.excused = true;
        let size = group.size;
        self.note(|| format!("group {at} has {size} members from now on"));
        for uid in self.uids(|pod| pod.part.as_ref().is_some_and(|part| part.group == at)) {
            let part = self.truth.pods.get_mut(&uid).and_then(|pod| pod.part.as_mut());
            let Some(part) = part else { continue };
            part.size = size;
            if part.index >= size {
                self.delete(&uid, true);
            } else {
                self.show_resized_pod(&uid);
            }
        }
    }

    pub fn uids(&self, wanted: impl Fn(&Pod) -> bool) -> Vec<String> {
        self.truth.pods.values().filter(|pod| wanted(pod)).map(|pod| pod.uid.clone()).collect()
    }
}

fn holds(pod: &Pod, index: usize) -> bool {
    pod.part.as_ref().is_some_and(|part| part.index == index)
}

fn nth(uids: &[String], which: usize) -> Option<&String> {
    uids.get(which.checked_rem(uids.len())?)
}
