//! A tenant that writes into its pods whatever might harm others. It has a namespace of its own, and pods of its own.

use crate::scenario::{BLOCK, Needs, RACK};
use crate::truth::Pod;
use crate::world::World;

pub const NAMESPACE: &str = "hostile";
/// So many pods are enough to do harm.
const PODS: usize = 24;

/// What it writes, by number. Numbers are taken modulo what there is to write.
#[derive(Clone, Copy, Debug)]
pub struct Provocation {
    pub source: usize,
    pub group: usize,
    pub size: usize,
    pub index: usize,
    pub required: usize,
    pub preferred: usize,
    pub exclusive: usize,
}

/// A label or an annotation.
#[derive(Clone, Debug)]
pub struct Mark {
    pub is_label: bool,
    pub key: String,
    pub value: String,
}

const GROUPS: [&str; 6] = ["h0", "h1", "h2", "s0", "s0-0", "s1-0"];
const SIZES: [&str; 14] =
    ["2", "3", "4", "5", "20", "60", "99", "101", "1024", "1025", "10000", "99999999999", "-1", "many"];
const INDEXES: [&str; 6] = ["0", "0", "1", "2", "4294967296", "first"];
const TOPOLOGIES: [&str; 9] = [
    RACK,
    RACK,
    BLOCK,
    "topology.kubernetes.io/zone",
    "kubernetes.io/hostname",
    "example.com/nonsense",
    "no label key!",
    "",
    "a/b/c",
];
const SCOPES: [&str; 5] = ["", "Cluster", "Cluster", "Namespace", "Everything"];

fn nth(list: &[&'static str], at: usize) -> &'static str {
    list[at % list.len()]
}

impl Provocation {
    pub fn marks(self) -> Vec<Mark> {
        let (group, size, index) =
            (nth(&GROUPS, self.group), nth(&SIZES, self.size), nth(&INDEXES, self.index));
        let mut marks = Vec::new();
        let mut add = |is_label, key: &str, value: &str| {
            if !value.is_empty() {
                marks.push(Mark { is_label, key: key.to_owned(), value: value.to_owned() });
            }
        };
        if self.source.is_multiple_of(2) {
            add(false, "berth.dev/group", group);
            add(false, "berth.dev/group-size", size);
            add(false, "berth.dev/group-index", index);
        }
        match self.source % 5 {
            1 | 2 => {
                let key = |name: &str| format!("leaderworkerset.sigs.k8s.io/{name}");
                add(true, &key("name"), group);
                add(true, &key("group-index"), index);
                add(true, &key("worker-index"), nth(&INDEXES, self.group));
                add(false, &key("size"), size);
                add(false, &key("subgroup-size"), nth(&SIZES, self.size + self.group));
                add(false, &key("subgroup-exclusive-topology"), nth(&TOPOLOGIES, self.preferred));
                add(false, &key("exclusive-topology"), nth(&TOPOLOGIES, self.required));
            }
            3 => {
                add(true, "kueue.x-k8s.io/pod-group-name", group);
                add(false, "kueue.x-k8s.io/pod-group-total-count", size);
                add(false, "kueue.x-k8s.io/podset-required-topology", nth(&TOPOLOGIES, self.required));
            }
            4 => {
                add(true, "jobset.sigs.k8s.io/job-key", group);
                add(true, "jobset.sigs.k8s.io/jobset-name", group);
                add(false, "alpha.jobset.sigs.k8s.io/exclusive-topology", nth(&TOPOLOGIES, self.required));
            }
            _ => {}
        }
        add(false, "berth.dev/required-topology", nth(&TOPOLOGIES, self.required));
        if self.preferred.is_multiple_of(3) {
            add(false, "berth.dev/preferred-topology", nth(&TOPOLOGIES, self.preferred));
        }
        add(false, "berth.dev/exclusive", nth(&SCOPES, self.exclusive));
        marks
    }
}

impl Pod {
    pub fn is_hostile(&self) -> bool {
        self.namespace == NAMESPACE
    }
}

impl World<'_> {
    pub fn provoke(&mut self, provocation: Provocation, needs: Needs, priority: i32) {
        if self.uids(Pod::is_hostile).len() < PODS {
            self.note(|| format!("{provocation:?}"));
            self.create_unrelated(NAMESPACE, needs, priority, provocation.marks());
        }
    }

    /// It writes something else into a pod that is there.
    pub fn rewrite(&mut self, which: usize, provocation: Provocation) {
        let pods = self.uids(|pod| pod.is_hostile() && !pod.leaving);
        let Some(at) = which.checked_rem(pods.len()) else { return };
        self.note(|| format!("{} is rewritten: {provocation:?}", pods[at]));
        if let Some(pod) = self.truth.pods.get_mut(&pods[at]) {
            pod.marks = provocation.marks();
            self.show_pod(&pods[at]);
        }
    }

    pub fn is_hostile_tenant_there(&self) -> bool {
        self.truth.pods.values().any(Pod::is_hostile)
    }

    /// Groups that want to be alone in the whole cluster cannot be where others are, whoever they are.
    pub fn evict_hostile_tenant(&mut self) {
        for uid in self.uids(Pod::is_hostile) {
            self.attempts.retain(|attempt| attempt.pod.uid != uid);
            self.remove_pod(&uid);
        }
    }
}
