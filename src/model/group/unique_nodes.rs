//! Nodes that are one group's own: a node selector and a toleration whose value names the group.
//!
//! Autoscalers never ask an extender. What makes them create nodes for one group is a selector that no existing node matches,
//! so it has to be there before the pod is scheduled. It is written when the pod is created; here is who asks for it.

use super::source::Values;
use super::{GroupObject, Source};
use crate::model::{Labels, Name, Pod};

/// What an annotation is called below its prefix, and the annotations themselves: Berth's own, and the proposal's.
const SELECTOR: [&str; 2] =
    ["berth.dev/replicaUniqueNodeSelector", "leaderworkerset.sigs.k8s.io/replicaUniqueNodeSelector"];
const TOLERATION_KEY: [&str; 2] =
    ["berth.dev/replicaUniqueTolerationKey", "leaderworkerset.sigs.k8s.io/replicaUniqueTolerationKey"];
const TOLERATION_EFFECT: [&str; 2] =
    ["berth.dev/replicaUniqueTolerationEffect", "leaderworkerset.sigs.k8s.io/replicaUniqueTolerationEffect"];

/// The setting that asks for it in place of annotations.
const SETTING: &str = "replicaGroups.uniqueNodes";

/// What each member of a group is to get, as it was asked for. Annotations may make no sense.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct UniqueNodes {
    /// The key of the node label that only nodes of the group carry.
    pub selector: Option<Said>,
    /// The key of the taint that only members of the group tolerate.
    pub toleration_key: Option<Said>,
    /// The effect of that taint.
    pub toleration_effect: Option<Said>,
}

/// A word, and where it stands.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Said {
    /// The annotation or setting.
    pub by: &'static str,
    /// What it says.
    pub value: Name,
}

/// Groups for which the operator asks.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UniqueNodesRule {
    /// Those of these namespaces; none means all.
    pub namespaces: Vec<Name>,
    /// Those of these sets; none means all.
    pub sets: Vec<Name>,
    /// What they get.
    pub nodes: UniqueNodes,
}

impl UniqueNodes {
    /// What the operator asks for.
    pub fn by_setting(selector: Option<&str>, toleration: Option<(&str, &str)>) -> Self {
        let said = |value: &str| Said { by: SETTING, value: value.into() };
        Self {
            selector: selector.map(said),
            toleration_key: toleration.map(|(key, _)| said(key)),
            toleration_effect: toleration.map(|(_, effect)| said(effect)),
        }
    }

    /// What annotations ask for; Berth's own count before the proposal's.
    pub(crate) fn annotated(annotations: &Labels) -> Option<Self> {
        let values = Values(annotations);
        let said = |keys: [&'static str; 2]| {
            keys.into_iter().find_map(|by| Some(Said { by, value: values.text(by)? }))
        };
        let asked = Self {
            selector: said(SELECTOR),
            toleration_key: said(TOLERATION_KEY),
            toleration_effect: said(TOLERATION_EFFECT),
        };
        (asked != Self::default()).then_some(asked)
    }
}

impl UniqueNodesRule {
    fn includes(&self, pod: &Pod, set: &Name) -> bool {
        let is_listed = |list: &[Name], name: &Name| list.is_empty() || list.contains(name);
        is_listed(&self.namespaces, &pod.key.namespace) && is_listed(&self.sets, set)
    }
}

/// What a member of a group of `set` is to get: by its own annotations, by those of any template of its group, by a rule.
pub(super) fn asked(
    pod: &Pod,
    source: Source,
    set: &Name,
    object: Option<&GroupObject>,
    rules: &[UniqueNodesRule],
) -> Option<UniqueNodes> {
    let by_template = || {
        let templates = source.templates(pod, object?);
        templates.iter().find_map(|template| UniqueNodes::annotated(&template.annotations))
    };
    let by_rule = || rules.iter().find(|rule| rule.includes(pod, set)).map(|rule| rule.nodes.clone());
    UniqueNodes::annotated(&pod.annotations).or_else(by_template).or_else(by_rule)
}

impl Pod {
    /// The label that only nodes of the pod's group carry, if it is to have nodes of its own and has got its selector.
    pub(crate) fn own_nodes(&self) -> Option<(&Name, &Name)> {
        let key = &self.group.as_ref()?.unique_nodes.as_ref()?.selector.as_ref()?.value;
        Some((key, self.requirements.node_selector.get(key)?))
    }
}

/// Whether a pod asks for it by its own annotations.
pub(crate) fn is_asked_by_annotations(pod: &Pod) -> bool {
    UniqueNodes::annotated(&pod.annotations).is_some()
}
