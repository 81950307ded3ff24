//! Nodes that are one group's own (KEP-223 of `LeaderWorkerSet`): every member gets a node selector, and a toleration, whose
//! value names the group.
//!
//! | group | value |
//! |---|---|
//! | a replica of a `LeaderWorkerSet` | the name of its leader, for leader and workers alike |
//! | a job of a `JobSet` | the host name of its first pod, `JOB-0`: what its pods are called is left to chance |
//! | pods with `berth.dev/group` and `berth.dev/group-index` | the name of number 0, which has to be created before the others |
//! | all others | the name of the group, after that of its set: its members have no order, or names left to chance |
//!
//! Every member has to come to the same value without having seen the others, for they may be created at the same time.

use std::sync::Arc;

use serde_json::{Value, json};

use super::patch::Operation;
use super::{Change, Mutation, Refusal, Subject};
use crate::model::group::unique_nodes::is_asked_by_annotations;
use crate::model::group::{FirstMember, Said, UniqueNodes};
use crate::model::label_syntax::{is_label_key, is_label_value};
use crate::model::{GroupKey, Membership, Name, Pod};
use crate::view::View;

/// See the top of this file.
pub(super) const MUTATION: Mutation = Mutation { concerns, change };

const SELECTOR: [&str; 2] = ["spec", "nodeSelector"];
const TOLERATIONS: [&str; 2] = ["spec", "tolerations"];

/// The effects that a taint can have.
const EFFECTS: [&str; 3] = ["NoSchedule", "PreferNoSchedule", "NoExecute"];

fn concerns(subject: &Subject<'_>) -> bool {
    match subject.membership() {
        Some(membership) => membership.unique_nodes.is_some(),
        None => is_asked_by_annotations(subject.pod),
    }
}

fn change(subject: &Subject<'_>, object: &Value) -> Result<Change, Refusal> {
    let Some(membership) = subject.membership() else {
        return Ok(Change { warnings: in_no_group(subject), ..Change::default() });
    };
    let Some(asked) = &membership.unique_nodes else { return Ok(Change::default()) };
    let toleration = toleration_asked(asked)?;
    let selector = asked.selector.as_ref().map(label_key).transpose()?;
    let value = group_value(subject.pod, membership, subject.view)?;
    let mut change = Change::default();
    if let Some(key) = selector {
        others_with(key, &value, membership, subject.view)?;
        match subject.pod.requirements.node_selector.get(key) {
            Some(own) if *own == value => {}
            Some(own) => {
                return Err(refusal(format!(
                    "spec.nodeSelector has {key}={own}, and {} asks for {key}={value}: remove it from the pod template",
                    asked.selector.as_ref().map_or("the group", |said| said.by),
                )));
            }
            None => change.operations.push(Operation::add_pair(object, &SELECTOR, key, &value)),
        }
    }
    if let Some((key, effect)) = toleration {
        change.operations.extend(tolerated(subject.pod, object, key, &value, effect)?);
    }
    Ok(change)
}

/// The toleration that the pod lacks.
fn tolerated(
    pod: &Pod,
    object: &Value,
    key: &Said,
    value: &str,
    effect: &str,
) -> Result<Option<Operation>, Refusal> {
    let same_key = pod.requirements.tolerations.iter().filter(|toleration| toleration.key == key.value);
    let mut equal = same_key.filter(|toleration| matches!(&*toleration.operator, "" | "Equal"));
    let mut is_there = false;
    for own in equal.by_ref() {
        if &*own.value != value {
            return Err(refusal(format!(
                "spec.tolerations has {}={}, and {} asks for {}={value}: a pod that tolerates the taint of another group \
                 could run on its nodes; remove it from the pod template",
                key.value, own.value, key.by, key.value,
            )));
        }
        is_there |= own.effect.is_empty() || &*own.effect == effect;
    }
    let toleration = json!({"key": &*key.value, "operator": "Equal", "value": value, "effect": effect});
    Ok((!is_there).then(|| Operation::append(object, &TOLERATIONS, toleration)))
}

/// The key and the effect that are asked for, if they make sense. Both or none.
fn toleration_asked(asked: &UniqueNodes) -> Result<Option<(&Said, &'static str)>, Refusal> {
    let (key, effect) = match (&asked.toleration_key, &asked.toleration_effect) {
        (None, None) => return Ok(None),
        (Some(key), Some(effect)) => (key, effect),
        (Some(key), None) => {
            let other = key.by.replace("TolerationKey", "TolerationEffect");
            return Err(refusal(format!("{} goes with {other}, which is missing", key.by)));
        }
        (None, Some(effect)) => {
            let other = effect.by.replace("TolerationEffect", "TolerationKey");
            return Err(refusal(format!("{} goes with {other}, which is missing", effect.by)));
        }
    };
    label_key(key)?;
    match EFFECTS.into_iter().find(|known| *known == &*effect.value) {
        Some(known) => Ok(Some((key, known))),
        None => Err(refusal(format!(
            "{} must be one of {}, not {:?}",
            effect.by,
            EFFECTS.join(", "),
            &*effect.value
        ))),
    }
}

fn label_key(said: &Said) -> Result<&Name, Refusal> {
    let is_fine = is_label_key(&said.value);
    is_fine.then_some(&said.value).ok_or_else(|| {
        refusal(format!(
            "{} must be a label key such as example.com/node-group, not {:?}",
            said.by, &*said.value
        ))
    })
}

/// What all members of the group have as their value.
fn group_value(pod: &Pod, membership: &Membership, view: &View) -> Result<Name, Refusal> {
    let group = &membership.group;
    let value = match group.source.first_member(pod) {
        FirstMember::Called(name) => name,
        FirstMember::Numbered => match membership.index {
            Some(0) if pod.key.name.is_empty() => {
                return Err(refusal(
                    "the first member of the group, which its nodes are to be named after, has no name yet: give it \
                     metadata.name in place of generateName, or leave out berth.dev/group-index to name them after the \
                     group"
                        .to_owned(),
                ));
            }
            Some(0) => pod.key.name.clone(),
            Some(_) => first_seen(group, view)?,
            None => name_of(group),
        },
        FirstMember::Nobody => name_of(group),
    };
    if value.is_empty() || !is_label_value(&value) {
        return Err(refusal(format!(
            "the nodes of the group would have to be labelled with {:?}, which is no label value (63 characters at most): \
             shorten the name",
            &*value
        )));
    }
    Ok(value)
}

/// The name of the member with number 0, if it is there.
fn first_seen(group: &Arc<GroupKey>, view: &View) -> Result<Name, Refusal> {
    let first = view.members_of(group).find(|member| view.member_index(member) == Some(0));
    first.map(|first| first.key.name.clone()).ok_or_else(|| {
        refusal(format!(
            "the nodes of the group are named after its first member, and no pod with berth.dev/group: {} and \
             berth.dev/group-index: \"0\" has been seen yet: create that one first, or try again",
            name_of(group)
        ))
    })
}

/// The name of a group of which no member comes first.
fn name_of(group: &GroupKey) -> Name {
    match (&group.set.name, &group.index) {
        (set, index) if index.is_empty() => set.clone(),
        (set, index) => format!("{set}-{index}").into(),
    }
}

/// Leaders of one name in two namespaces would have one node group. Whoever comes second is told.
fn others_with(key: &Name, value: &Name, own: &Membership, view: &View) -> Result<(), Refusal> {
    let is_own = |group: &GroupKey| {
        let own = &own.group;
        group.source == own.source && group.set == own.set && group.index == own.index
    };
    let holds = |group: &Arc<GroupKey>| {
        // All members have the same: one is enough, for there may be many.
        !is_own(group) && view.members_of(group).next().and_then(Pod::own_nodes) == Some((key, value))
    };
    let mut groups = view.placed_groups().map(|(group, _)| group);
    let found = groups.find(|group| holds(group));
    let found = found.or_else(|| view.waiting_groups().map(|(group, _)| group).find(|group| holds(group)));
    found.map_or(Ok(()), |other| {
        Err(refusal(format!(
            "{key}={value} belongs to the group {} of namespace {} already: use another label key, or another name",
            name_of(other),
            other.set.namespace
        )))
    })
}

/// Who asks for nodes of a group and is in none is let in. Where some webhook is still to make it a member, it comes back.
fn in_no_group(subject: &Subject<'_>) -> Vec<String> {
    if subject.view.recogniser().may_become_member(subject.pod) {
        return Vec::new();
    }
    vec![
        "the pod asks for nodes of its group (replicaUniqueNodeSelector) and is in no replica group that Berth \
         recognises: it gets neither selector nor toleration"
            .to_owned(),
    ]
}

fn refusal(why: String) -> Refusal {
    Refusal(why.into())
}
