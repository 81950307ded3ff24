//! How groups are recognised: the sources are asked about a pod one after another, and what Berth's own annotations and
//! the operator say is added to what they answer.

mod request;

use std::sync::Arc;

use super::source::{Mark, Recognised, Told};
use super::sources::{is_name, keys as berth};
use super::{
    GroupKey, GroupObject, Membership, Overruled, Scope, Source, TopologyRequest, UniqueNodesRule,
    unique_nodes,
};
use crate::model::{Kind, Name, ObjectKey, Pod, Selector};

/// No group is larger: it would be a typing error, or meant to do harm.
pub const LARGEST: u32 = 10_000;

/// Whether an annotation may say something about a group. The others can be long and are passed over. Sizes may stand
/// under any key, and are numbers.
pub fn is_kept(key: &str, value: &str) -> bool {
    let number = value.len() <= 6 && !value.is_empty() && value.bytes().all(|byte| byte.is_ascii_digit());
    number || Source::ALL.into_iter().any(|source| source.reads_annotation(key))
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
    /// From whom groups may keep a domain to themselves at most.
    pub exclusive_limits: ExclusiveLimits,
    /// Groups that are to have nodes of their own; the first that matches wins.
    pub unique_nodes: Vec<UniqueNodesRule>,
}

impl Default for Recogniser {
    fn default() -> Self {
        Self {
            sources: Source::ALL.to_vec(),
            rules: Vec::new(),
            defaults: Vec::new(),
            exclusive_limits: ExclusiveLimits { widest: Scope::Namespace, by_namespace: Vec::new() },
            unique_nodes: Vec::new(),
        }
    }
}

/// From whom groups may keep a domain to themselves at most, when their pods ask for it. What the operator asks for in the
/// configuration is not limited.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ExclusiveLimits {
    /// In all namespaces but these.
    pub widest: Scope,
    /// In some namespaces; the first that matches wins.
    pub by_namespace: Vec<(Vec<Name>, Scope)>,
}

impl ExclusiveLimits {
    fn widest_in(&self, namespace: &Name) -> Scope {
        let own = self.by_namespace.iter().find(|(names, _)| names.contains(namespace));
        own.map_or(self.widest, |(_, scope)| *scope)
    }
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

impl Rule {
    fn may_concern(&self, pod: &Pod) -> bool {
        pod.labels.get(&self.label).is_some()
    }
}

impl Audience {
    pub(super) fn includes(&self, pod: &Pod) -> bool {
        let namespace = self.namespaces.is_empty() || self.namespaces.contains(&pod.key.namespace);
        namespace && self.pods.matches(&pod.labels)
    }
}

/// The objects that stand behind groups, as far as they are known.
pub(crate) trait GroupObjects {
    /// The object of that name.
    fn find(&self, kind: Kind, key: &ObjectKey) -> Option<&GroupObject>;
}

impl Recogniser {
    /// Whether any pod can be a member of a group.
    pub fn listens(&self) -> bool {
        !self.sources.is_empty()
    }

    /// Whether anything depends on objects of a kind. Those behind the groups of a source do not matter while nobody listens
    /// to it, nor what only members of groups demand while there can be none.
    pub fn reads(&self, kind: Kind) -> bool {
        match kind {
            Kind::Group(kind) => self.sources.contains(&kind.source()),
            kind => !kind.is_for_members() || self.listens(),
        }
    }

    /// Whether a pod that is in no group carries a mark of one: a webhook may be about to add the rest.
    pub(crate) fn may_become_member(&self, pod: &Pod) -> bool {
        !pod.in_tree_group && self.listens() && is_marked(pod)
    }

    /// The pod's part in a group, if it has one. The first source that speaks wins.
    pub(crate) fn recognise(&self, pod: &Pod, objects: &impl GroupObjects) -> Option<Arc<Membership>> {
        // Groups that kube-scheduler places itself are left to it.
        if pod.in_tree_group || !(is_marked(pod) || self.rules.iter().any(|rule| rule.may_concern(pod))) {
            return None;
        }
        let told = Told::by(pod);
        let mut listening = Source::ALL.into_iter().filter(|source| self.sources.contains(source));
        let (source, found) = listening.find_map(|source| Some((source, source.recognise(&told, self)?)))?;
        let Recognised { set, index, revision, size, member, topology, subgroup } = found;
        let empty = || Name::from("");
        let group = Arc::new(GroupKey {
            source,
            set: ObjectKey { namespace: pod.key.namespace.clone(), name: set },
            index: index.unwrap_or_else(empty),
            revision: revision.unwrap_or_else(empty),
        });
        let said = &told.annotations;
        let mut membership = Membership {
            size: said.number(berth::SIZE).or(size).filter(|size| *size > 0),
            index: said.number(berth::INDEX).or(member),
            topology,
            subgroup,
            overruled: None,
            unique_nodes: None,
            group,
        };
        let kind = source.kind();
        let object = kind.and_then(|kind| objects.find(kind, &source.object_behind(pod, &membership)?));
        let asked = request::asked(&told, source, &membership.topology, object, membership.index);
        membership.unique_nodes =
            unique_nodes::asked(pod, source, &membership.group.set.name, object, &self.unique_nodes);
        let in_vain = asked.topology.exclusive.is_some();
        membership.topology = self.topology_for(pod, &told, source, asked.topology);
        let in_vain =
            (in_vain && membership.topology.required.is_none()).then_some(Overruled::ExclusiveOfNothing);
        membership.overruled = asked.overruled.or(in_vain);
        Some(Arc::new(membership))
    }

    /// What is asked for where, as far as the operator allows it; if nothing is, what the operator decides.
    fn topology_for(
        &self,
        pod: &Pod,
        told: &Told<'_>,
        source: Source,
        asked: TopologyRequest,
    ) -> TopologyRequest {
        // A rule is the operator's word.
        let is_by_rule = source == Source::Rule && told.annotations.scope(berth::EXCLUSIVE).is_none();
        let widest = self.exclusive_limits.widest_in(&pod.key.namespace);
        let allowed = |asked: Scope| if is_by_rule { asked } else { asked.min(widest) };
        let topology = TopologyRequest { exclusive: asked.exclusive.map(allowed), ..asked };
        let meant = |default: &&DefaultTopologyRequest| {
            default.sources.contains(&source) && default.audience.includes(pod)
        };
        match self.defaults.iter().filter(|_| topology.is_none()).find(meant) {
            // What the pod does say stands.
            Some(default) => TopologyRequest {
                exclusive: topology.exclusive.or(default.topology.exclusive),
                ..default.topology.clone()
            },
            None => topology,
        }
    }

    /// Whether the label says which group a pod is in: who selects by it selects one group's pods only.
    pub(crate) fn names_a_group(&self, label: &str) -> bool {
        Source::ALL.into_iter().any(|source| source.names_a_group(label))
            || self.rules.iter().any(|rule| *rule.label == *label)
    }
}

/// The lengths of all marks, one bit each: most labels are told from a mark by their length alone.
const MARK_LENGTHS: u64 = {
    let (mut at, mut lengths) = (0, 0);
    while at < Source::ALL.len() {
        match Source::ALL[at].mark() {
            Mark::Label(key) | Mark::Annotation(key) => lengths |= 1 << key.len(),
            Mark::ByRule => {}
        }
        at += 1;
    }
    lengths
};

/// Whether a pod carries the mark of any source. Most pods do not, and are asked nothing else.
fn is_marked(pod: &Pod) -> bool {
    let possible = |key: &str| key.len() < 64 && MARK_LENGTHS >> key.len() & 1 == 1;
    let of_label = |key: &str| {
        Source::ALL.into_iter().any(|source| matches!(source.mark(), Mark::Label(mark) if mark == key))
    };
    let of_annotation = |key: &str| {
        Source::ALL.into_iter().any(|source| matches!(source.mark(), Mark::Annotation(mark) if mark == key))
    };
    pod.labels.iter().any(|(key, _)| possible(key) && of_label(key))
        || pod.annotations.iter().any(|(key, _)| possible(key) && of_annotation(key))
}

/// Whether a pod says where its group is to be, with Berth's own annotations.
pub fn names_topology(pod: &Pod) -> bool {
    [berth::REQUIRED, berth::PREFERRED, berth::EXCLUSIVE]
        .into_iter()
        .any(|key| pod.annotations.get(key).is_some())
}

/// Why what a pod says about its group cannot be right. Berth's own annotations only: others answer for theirs.
pub fn flaw(pod: &Pod) -> Option<Flaw> {
    let said = Told::by(pod).annotations;
    let wrong = |key: &str, fine: bool| pod.annotations.get(key).is_some() && !fine;
    if [berth::GROUP, berth::SET].into_iter().any(|key| said.text(key).is_some_and(|name| !is_name(&name))) {
        Some(Flaw::Name)
    } else if wrong(berth::SIZE, said.number(berth::SIZE).is_some_and(|size| (1..=LARGEST).contains(&size))) {
        Some(Flaw::Size)
    } else if wrong(berth::INDEX, said.number(berth::INDEX).is_some()) {
        Some(Flaw::Index)
    } else if wrong(berth::EXCLUSIVE, said.scope(berth::EXCLUSIVE).is_some()) {
        Some(Flaw::Exclusive)
    } else if [berth::REQUIRED, berth::PREFERRED]
        .into_iter()
        .any(|key| wrong(key, said.topology_key(key).is_some()))
    {
        Some(Flaw::Topology)
    } else {
        None
    }
}

/// What may be wrong with Berth's annotations.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Flaw {
    /// The name of the group, or of its set, is none.
    Name,
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
