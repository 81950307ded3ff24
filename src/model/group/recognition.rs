//! How groups are recognised: by what pods carry, as many hands write it.

use std::sync::Arc;

use super::{GroupKey, Membership, Scope, Source, Subgroup, TopologyRequest};
use crate::model::label_syntax::is_label_key;
use crate::model::{Labels, Name, ObjectKey, Pod, Selector};

// Annotations of Berth's own.
mod berth {
    pub const GROUP: &str = "berth.dev/group";
    pub const SET: &str = "berth.dev/group-set";
    pub const SIZE: &str = "berth.dev/group-size";
    pub const INDEX: &str = "berth.dev/group-index";
    pub const REQUIRED: &str = "berth.dev/required-topology";
    pub const PREFERRED: &str = "berth.dev/preferred-topology";
    pub const EXCLUSIVE: &str = "berth.dev/exclusive";
}

mod lws {
    pub const NAME: &str = "leaderworkerset.sigs.k8s.io/name";
    pub const GROUP_INDEX: &str = "leaderworkerset.sigs.k8s.io/group-index";
    pub const GROUP_KEY: &str = "leaderworkerset.sigs.k8s.io/group-key";
    pub const WORKER_INDEX: &str = "leaderworkerset.sigs.k8s.io/worker-index";
    pub const REVISION: &str = "leaderworkerset.sigs.k8s.io/template-revision-hash";
    pub const SIZE: &str = "leaderworkerset.sigs.k8s.io/size";
    pub const EXCLUSIVE: &str = "leaderworkerset.sigs.k8s.io/exclusive-topology";
    pub const SUBGROUP_INDEX: &str = "leaderworkerset.sigs.k8s.io/subgroup-index";
    pub const SUBGROUP_SIZE: &str = "leaderworkerset.sigs.k8s.io/subgroup-size";
    pub const SUBGROUP_TYPE: &str = "leaderworkerset.sigs.k8s.io/subgroup-policy-type";
    pub const SUBGROUP_EXCLUSIVE: &str = "leaderworkerset.sigs.k8s.io/subgroup-exclusive-topology";
}

mod job_set {
    pub const NAME: &str = "jobset.sigs.k8s.io/jobset-name";
    pub const JOB_KEY: &str = "jobset.sigs.k8s.io/job-key";
    pub const ATTEMPT: &str = "jobset.sigs.k8s.io/restart-attempt";
    pub const EXCLUSIVE: &str = "alpha.jobset.sigs.k8s.io/exclusive-topology";
    pub const INDEX: &str = "batch.kubernetes.io/job-completion-index";
}

mod kueue {
    pub const GROUP: &str = "kueue.x-k8s.io/pod-group-name";
    pub const SIZE: &str = "kueue.x-k8s.io/pod-group-total-count";
    pub const INDEX: &str = "kueue.x-k8s.io/pod-group-pod-index";
    pub const REQUIRED: &str = "kueue.x-k8s.io/podset-required-topology";
    pub const PREFERRED: &str = "kueue.x-k8s.io/podset-preferred-topology";
}

/// No group is larger: it would be a typing error, or meant to do harm.
pub const LARGEST: u32 = 10_000;

const POD_GROUP: &str = "scheduling.x-k8s.io/pod-group";

/// Whether an annotation may say something about a group. The others can be long and are passed over. Sizes may stand
/// under any key, and are numbers.
pub fn is_kept(key: &str, value: &str) -> bool {
    const FAMILIES: [&str; 4] =
        ["berth.dev/", "leaderworkerset.sigs.k8s.io/", "alpha.jobset.sigs.k8s.io/", "kueue.x-k8s.io/"];
    let number = value.len() <= 6 && !value.is_empty() && value.bytes().all(|byte| byte.is_ascii_digit());
    number || (FAMILIES.iter().any(|family| key.starts_with(family)) || key == job_set::INDEX)
}

/// Whether the label says which group a pod is in: who selects by it selects one group's pods only.
pub fn names_a_group(label: &str, recogniser: &Recogniser) -> bool {
    matches!(label, lws::GROUP_INDEX | lws::GROUP_KEY | job_set::JOB_KEY | kueue::GROUP | POD_GROUP)
        || recogniser.rules.iter().any(|rule| *rule.label == *label)
}

/// Whether the label is on the jobs of a `JobSet` only.
pub fn is_of_job_set(label: &str) -> bool {
    label == job_set::JOB_KEY
}

/// Which sources are listened to, and what the operator adds.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Recogniser {
    /// The sources that are listened to. [`Source::Rule`] is, if there are rules.
    pub sources: Vec<Source>,
    /// Groups by labels of one's own; the first that matches wins.
    pub rules: Vec<Rule>,
    /// Topology requests for groups that have none; the first that matches wins.
    pub defaults: Vec<DefaultTopologyRequest>,
}

impl Default for Recogniser {
    fn default() -> Self {
        Self { sources: Source::ALL.to_vec(), rules: Vec::new(), defaults: Vec::new() }
    }
}

impl Source {
    /// All sources, in the order in which they are asked.
    pub const ALL: [Source; 6] = [
        Source::Annotation,
        Source::LeaderWorkerSet,
        Source::JobSet,
        Source::Kueue,
        Source::PodGroup,
        Source::Rule,
    ];
}

/// Which pods something is meant for.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Audience {
    /// Those of these namespaces; none means all.
    pub namespaces: Vec<Name>,
    /// Those that this selects.
    pub pods: Selector,
}

/// Pods with one value of a label are a group.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Rule {
    /// For whom.
    pub audience: Audience,
    /// The label whose value names the group.
    pub label: Name,
    /// How many members it has.
    pub size: Size,
    /// Where it is to be.
    pub topology: TopologyRequest,
}

/// Where a group's size stands.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Size {
    /// Nowhere.
    Unknown,
    /// Here.
    Number(u32),
    /// In a label of each member.
    Label(Name),
    /// In an annotation of each member.
    Annotation(Name),
}

/// Topology requests for groups that have none of their own.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DefaultTopologyRequest {
    /// For whom.
    pub audience: Audience,
    /// For groups of these sources.
    pub sources: Vec<Source>,
    /// Where such groups are to be.
    pub topology: TopologyRequest,
}

impl Audience {
    fn includes(&self, pod: &Pod) -> bool {
        let namespace = self.namespaces.is_empty() || self.namespaces.contains(&pod.key.namespace);
        namespace && self.pods.matches(&pod.labels)
    }
}

/// A group as its source tells it.
struct Told {
    key: GroupKey,
    size: Option<u32>,
    index: Option<u32>,
    topology: TopologyRequest,
    subgroup: Option<Subgroup>,
}

impl Recogniser {
    /// The pod's part in a group, if it has one. The first source that speaks wins.
    pub fn recognise(&self, pod: &Pod) -> Option<Arc<Membership>> {
        // Groups that kube-scheduler places itself are left to it.
        if pod.in_tree_group || (pod.labels.is_empty() && pod.annotations.is_empty()) {
            return None;
        }
        let mut listening = Source::ALL.into_iter().filter(|source| self.sources.contains(source));
        let told = listening.find_map(|source| self.ask(source, pod))?;
        let said = Annotations(&pod.annotations);
        let topology = TopologyRequest {
            required: said.key(berth::REQUIRED).or(told.topology.required),
            preferred: said.key(berth::PREFERRED).or(told.topology.preferred),
            exclusive: said.scope(berth::EXCLUSIVE).or(told.topology.exclusive),
        };
        let meant = |default: &&DefaultTopologyRequest| {
            default.sources.contains(&told.key.source) && default.audience.includes(pod)
        };
        let default = self.defaults.iter().filter(|_| topology.is_none()).find(meant);
        // What the pod does say stands.
        let topology = default.map_or(topology.clone(), |default| TopologyRequest {
            exclusive: topology.exclusive.or(default.topology.exclusive),
            ..default.topology.clone()
        });
        Some(Arc::new(Membership {
            topology,
            size: said.number(berth::SIZE).or(told.size).filter(|size| *size > 0),
            index: said.number(berth::INDEX).or(told.index),
            subgroup: told.subgroup,
            group: Arc::new(told.key),
        }))
    }

    fn ask(&self, source: Source, pod: &Pod) -> Option<Told> {
        let (labels, said) = (Annotations(&pod.labels), Annotations(&pod.annotations));
        let group = |set: Name, index: Name, revision: Name| {
            let set = ObjectKey { namespace: pod.key.namespace.clone(), name: set };
            (!set.name.is_empty()).then_some(GroupKey { source, set, index, revision })
        };
        let nothing = || Name::from("");
        let plain = |key: GroupKey| Told {
            key,
            size: None,
            index: None,
            topology: TopologyRequest::default(),
            subgroup: None,
        };
        match source {
            Source::Annotation => {
                let name = said.text(berth::GROUP)?;
                let key = match said.text(berth::SET) {
                    Some(set) => group(set, name, nothing()),
                    None => group(name, nothing(), nothing()),
                };
                Some(plain(key?))
            }
            Source::LeaderWorkerSet => {
                let revision = labels.text(lws::REVISION).unwrap_or_else(nothing);
                let key = group(labels.text(lws::NAME)?, labels.text(lws::GROUP_INDEX)?, revision)?;
                let required = said.key(lws::EXCLUSIVE);
                // Its webhook keeps groups of one namespace apart.
                let exclusive = required.as_ref().map(|_| Scope::Namespace);
                Some(Told {
                    size: said.number(lws::SIZE),
                    index: labels.number(lws::WORKER_INDEX),
                    topology: TopologyRequest { required, preferred: None, exclusive },
                    subgroup: subgroup(&labels, &said),
                    key,
                })
            }
            Source::JobSet => {
                let job = labels.text(job_set::JOB_KEY)?;
                let attempt = labels.text(job_set::ATTEMPT).unwrap_or_else(nothing);
                let key = match labels.text(job_set::NAME) {
                    Some(set) => group(set, job, attempt),
                    None => group(job, nothing(), attempt),
                };
                let required = said.key(job_set::EXCLUSIVE);
                // Its webhook keeps jobs of all namespaces apart.
                let exclusive = required.as_ref().map(|_| Scope::Cluster);
                let index = labels.number(job_set::INDEX).or(said.number(job_set::INDEX));
                Some(Told {
                    topology: TopologyRequest { required, preferred: None, exclusive },
                    index,
                    ..plain(key?)
                })
            }
            Source::Kueue => {
                let key = group(labels.text(kueue::GROUP)?, nothing(), nothing())?;
                let (required, preferred) = (said.key(kueue::REQUIRED), said.key(kueue::PREFERRED));
                Some(Told {
                    size: said.number(kueue::SIZE),
                    index: labels.number(kueue::INDEX).or(said.number(kueue::INDEX)),
                    topology: TopologyRequest { required, preferred, exclusive: None },
                    ..plain(key)
                })
            }
            Source::PodGroup => Some(plain(group(labels.text(POD_GROUP)?, nothing(), nothing())?)),
            Source::Rule => {
                let applies =
                    |rule: &&Rule| rule.audience.includes(pod) && labels.text(&rule.label).is_some();
                let rule = self.rules.iter().find(applies)?;
                let key = group(labels.text(&rule.label)?, nothing(), nothing())?;
                let size = match &rule.size {
                    Size::Unknown => None,
                    Size::Number(size) => Some(*size),
                    Size::Label(label) => labels.number(label),
                    Size::Annotation(annotation) => said.number(annotation),
                };
                Some(Told { size, topology: rule.topology.clone(), ..plain(key) })
            }
        }
    }
}

fn subgroup(labels: &Annotations<'_>, said: &Annotations<'_>) -> Option<Subgroup> {
    let leader_excluded = said.text(lws::SUBGROUP_TYPE).is_some_and(|kind| &*kind == "LeaderExcluded");
    Some(Subgroup {
        size: said.number(lws::SUBGROUP_SIZE)?,
        topology: said.key(lws::SUBGROUP_EXCLUSIVE)?,
        index: labels.number(lws::SUBGROUP_INDEX).unwrap_or_default(),
        leader_excluded,
    })
}

/// What stands under a key, if it makes sense.
struct Annotations<'a>(&'a Labels);

impl Annotations<'_> {
    fn text(&self, key: &str) -> Option<Name> {
        self.0.get(key).filter(|text| !text.is_empty()).cloned()
    }

    fn number(&self, key: &str) -> Option<u32> {
        self.0.get(key)?.parse().ok()
    }

    fn key(&self, key: &str) -> Option<Name> {
        self.text(key).filter(|text| is_label_key(text))
    }

    fn scope(&self, key: &str) -> Option<Scope> {
        match &**self.0.get(key)? {
            "Set" => Some(Scope::Set),
            "Namespace" => Some(Scope::Namespace),
            "Cluster" => Some(Scope::Cluster),
            _ => None,
        }
    }
}

/// Why what a pod says about its group cannot be right. Berth's own annotations only: others answer for theirs.
pub fn flaw(pod: &Pod) -> Option<Flaw> {
    let said = Annotations(&pod.annotations);
    let wrong = |key: &str, fine: bool| pod.annotations.get(key).is_some() && !fine;
    if wrong(berth::SIZE, said.number(berth::SIZE).is_some_and(|size| (1..=LARGEST).contains(&size))) {
        Some(Flaw::Size)
    } else if wrong(berth::INDEX, said.number(berth::INDEX).is_some()) {
        Some(Flaw::Index)
    } else if wrong(berth::EXCLUSIVE, said.scope(berth::EXCLUSIVE).is_some()) {
        Some(Flaw::Exclusive)
    } else if [berth::REQUIRED, berth::PREFERRED].into_iter().any(|key| wrong(key, said.key(key).is_some())) {
        Some(Flaw::Topology)
    } else {
        None
    }
}

/// What may be wrong with Berth's annotations.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Flaw {
    /// The size is no number from 1 to [`LARGEST`].
    Size,
    /// The index is no number.
    Index,
    /// The scope is none of those there are.
    Exclusive,
    /// A topology is no label key.
    Topology,
}

#[cfg(test)]
mod tests;
