//! From Kubernetes' JSON to the model: takes what Berth uses, passes over the rest.
//!
//! Only the fields named here are looked at, so an object is refused only if one of *those* is broken.

mod constraints;
mod group_objects;
pub mod interner;
mod limit_ranges;
mod priority_classes;
mod quantities;
mod resource_quotas;
mod resources;
mod services;
mod shapes;
mod volumes;

use std::hash::{DefaultHasher, Hash, Hasher};
use std::sync::Arc;

use k8s_openapi::jiff::Timestamp;

pub use self::interner::Interner;
use self::quantities::Quantities;
use self::shapes as json;
pub use self::shapes::{ListMeta, PodObject};
use crate::model::label_syntax::{is_label_key, is_label_value};
use crate::model::requirements::{Expression, Term, Toleration};
use crate::model::selector::Requirement;
use crate::model::{
    AffinityTerm, AntiAffinityTerm, Controller, Kind, Name, Namespace, Node, Object, ObjectKey, Pod,
    Requirements, Selector, Taint, Template, Workload,
};

/// What became of an object.
#[derive(Debug)]
pub enum Slimmed {
    /// It is of interest.
    Kept(Object),
    /// It is well-formed and of no interest, such as a pod that has failed.
    Uninteresting(ObjectKey),
}

/// An object that could not be read.
#[derive(Debug, thiserror::Error)]
#[error("undecodable {kind}{}: {source}", .key.as_ref().map(|key| format!(" {key}")).unwrap_or_default(), kind = .kind.label())]
pub struct Undecodable {
    /// Its kind.
    pub kind: Kind,
    /// Its key, if at least that could be read; a stale copy must be evicted.
    pub key: Option<ObjectKey>,
    /// What is wrong with it.
    pub source: serde_json::Error,
}

/// Reads one object.
pub fn slim(kind: Kind, text: &str, interner: &Interner) -> Result<Slimmed, Undecodable> {
    read(kind, text, interner).map_err(|source| {
        let identified = serde_json::from_str::<json::Identified>(text).ok();
        let key = identified.map(|json::Identified { metadata }| {
            let namespace = metadata.namespace.as_deref().unwrap_or_default();
            ObjectKey { namespace: interner.name(namespace), name: interner.name(&metadata.name) }
        });
        Undecodable { kind, key, source }
    })
}

fn read(kind: Kind, text: &str, interner: &Interner) -> Result<Slimmed, serde_json::Error> {
    let object = match kind {
        Kind::Node => Object::Node(Arc::new(node(&serde_json::from_str(text)?, interner))),
        Kind::Pod => {
            let object: PodObject = serde_json::from_str(text)?;
            if object.has_failed() {
                return Ok(Slimmed::Uninteresting(key_of(&object.metadata, interner)));
            }
            Object::Pod(Arc::new(pod(&object, interner)))
        }
        Kind::Namespace => {
            let object: json::Named = serde_json::from_str(text)?;
            let labels = interner.labels(object.metadata.labels.unwrap_or_default().0);
            let key = ObjectKey { namespace: Name::from(""), name: interner.name(&object.metadata.name) };
            Object::Namespace(Arc::new(Namespace { key, labels }))
        }
        Kind::Service => {
            let object: json::ServiceObject = serde_json::from_str(text)?;
            Object::Service(Arc::new(services::read(&object, interner)))
        }
        Kind::ReplicationController => {
            let object: json::ReplicationControllerObject = serde_json::from_str(text)?;
            let key = key_of(&object.metadata, interner);
            let spec = object.spec.unwrap_or_default();
            let selector = equalities(spec.selector.unwrap_or_default(), interner).collect();
            Object::Workload(kind, Arc::new(Workload { key, selector, replicas: replicas(spec.replicas) }))
        }
        Kind::ReplicaSet | Kind::StatefulSet => {
            let object: json::WorkloadObject = serde_json::from_str(text)?;
            let key = key_of(&object.metadata, interner);
            let spec = object.spec.unwrap_or_default();
            let selector = self::selector(spec.selector.unwrap_or_default(), interner)?;
            Object::Workload(kind, Arc::new(Workload { key, selector, replicas: replicas(spec.replicas) }))
        }
        Kind::PersistentVolumeClaim => Object::VolumeClaim(Arc::new(volumes::claim(text, interner)?)),
        Kind::PersistentVolume => Object::PersistentVolume(Arc::new(volumes::volume(text, interner)?)),
        Kind::StorageClass => Object::StorageClass(Arc::new(volumes::class(text, interner)?)),
        Kind::LimitRange => Object::LimitRange(Arc::new(limit_ranges::read(text, interner)?)),
        Kind::ResourceQuota => Object::ResourceQuota(Arc::new(resource_quotas::read(text, interner)?)),
        Kind::PriorityClass => Object::PriorityClass(Arc::new(priority_classes::read(text, interner)?)),
        Kind::Group(kind) => {
            let json::Named { metadata } = serde_json::from_str(text)?;
            let key = key_of(&metadata, interner);
            let labels = || metadata.labels.iter().flat_map(|labels| &labels.0);
            if kind.with_label().is_some_and(|wanted| !labels().any(|(label, _)| label == wanted)) {
                return Ok(Slimmed::Uninteresting(key));
            }
            Object::Group(kind, Arc::new(group_objects::read(kind, key, text, interner)?))
        }
    };
    Ok(Slimmed::Kept(object))
}

fn template(mut object: json::PodTemplate, namespace: &Name, interner: &Interner) -> Template {
    let labels = object.metadata.as_ref().and_then(|meta| meta.labels.as_ref());
    let pairs = labels.into_iter().flat_map(|labels| &labels.0).map(|(k, v)| (k, v));
    let labels = interner.labels(pairs);
    let annotations = object.metadata.as_ref().and_then(|meta| meta.annotations.as_ref());
    let pairs = annotations.into_iter().flat_map(|annotations| &annotations.0).map(|(k, v)| (k, v));
    let annotations = interner.labels(pairs);
    let Some(spec) = &mut object.spec else {
        return Template { labels, annotations, ..Template::default() };
    };
    resources::fill_in_requests(spec);
    constraints::fill_in_host_ports(spec);
    let by_container = resources::of_template(spec, interner);
    Template {
        labels,
        annotations,
        requests: interner.resources(by_container.to_resources()),
        named: by_container.named(),
        by_container: Arc::new(by_container),
        requirements: interner.requirements(requirements_of(spec)),
        anti_affinity: anti_affinity_terms(spec, namespace, interner),
        constraints: constraints::of_template(spec, namespace, interner),
        volumes: constraints::template_volumes(spec, interner),
        priority_class: priority_class(spec, interner),
        priority: spec.priority,
        may_preempt: spec.preemption_policy.as_deref().map(|policy| policy != "Never"),
        has_deadline: has_deadline(spec),
    }
}

fn has_deadline(spec: &json::PodSpec) -> bool {
    spec.active_deadline_seconds.is_some_and(|seconds| seconds >= 0)
}

/// Seconds since the epoch; 0 if nobody says.
fn created(meta: &json::Meta) -> u32 {
    let moment = meta.creation_timestamp.as_deref().and_then(|text| text.parse::<Timestamp>().ok());
    moment.and_then(|moment| moment.as_second().try_into().ok()).unwrap_or_default()
}

fn priority_class(spec: &json::PodSpec, interner: &Interner) -> Option<Name> {
    spec.priority_class_name.as_deref().filter(|name| !name.is_empty()).map(|name| interner.name(name))
}

/// The model of a pod, also used for the pod that comes with a call.
pub fn pod(object: &PodObject, interner: &Interner) -> Pod {
    let meta = &object.metadata;
    let spec = object.spec.as_ref();
    let status = object.status.as_ref();
    let name = |text: &Option<String>| {
        text.as_deref().filter(|text| !text.is_empty()).map(|text| interner.name(text))
    };
    let key = key_of(meta, interner);
    let labels = interner.labels(meta.labels.iter().flat_map(|labels| &labels.0).map(|(k, v)| (k, v)));
    let annotations = meta.annotations.iter().flat_map(|annotations| &annotations.0).map(|(k, v)| (k, v));
    let (requests, allocated, is_best_effort) = resources::of_pod(object, interner);
    let requests = interner.resources(requests);
    // Mostly the same, and then one look-up less.
    let allocated = if *requests == allocated { requests.clone() } else { interner.resources(allocated) };
    let node = spec.and_then(|spec| name(&spec.node_name));
    Pod {
        // Not interned: UIDs are all different.
        uid: meta.uid.as_deref().unwrap_or_default().into(),
        group: None,
        requirements: spec
            .map_or_else(Requirements::nothing, |spec| interner.requirements(requirements_of(spec))),
        anti_affinity: spec.and_then(|spec| anti_affinity_terms(spec, &key.namespace, interner)),
        constraints: spec.and_then(|spec| constraints::of_pod(spec, &key, interner)),
        key,
        labels,
        annotations: interner.labels(annotations),
        node,
        nominated_node: status.and_then(|status| name(&status.nominated_node_name)),
        terminating: meta.deletion_timestamp.is_some(),
        finished: object.has_succeeded(),
        created: created(meta),
        scheduler: spec.and_then(|spec| name(&spec.scheduler_name)),
        gated: spec.and_then(|spec| spec.scheduling_gates.as_ref()).is_some_and(|gates| !gates.is_empty()),
        priority_class: spec.and_then(|spec| priority_class(spec, interner)),
        priority: spec.and_then(|spec| spec.priority).unwrap_or_default(),
        controller: controller(meta, interner),
        is_best_effort,
        has_deadline: spec.is_some_and(has_deadline),
        may_preempt: spec.and_then(|spec| spec.preemption_policy.as_deref()) != Some("Never"),
        in_tree_group: spec.is_some_and(|spec| spec.scheduling_group.is_some()),
        has_spread_constraints: spec
            .and_then(|spec| spec.topology_spread_constraints.as_ref())
            .is_some_and(|constraints| !constraints.is_empty()),
        failed_attempt: status.and_then(failed_attempt),
        requests,
        allocated,
    }
}

/// What a pod asks of a node, wherever it may be.
pub fn requirements(object: &PodObject) -> Requirements {
    object.spec.as_ref().map(requirements_of).unwrap_or_default()
}

fn requirements_of(spec: &json::PodSpec) -> Requirements {
    let pairs = spec.node_selector.iter().flat_map(|selector| &selector.0);
    let required = spec
        .affinity
        .as_ref()
        .and_then(|affinity| affinity.node_affinity.as_ref())
        .and_then(|affinity| affinity.required_during_scheduling_ignored_during_execution.as_ref());
    let toleration = |toleration: &json::TolerationObject| {
        let text = |text: &Option<String>| Name::from(text.as_deref().unwrap_or_default());
        Toleration {
            key: text(&toleration.key),
            operator: text(&toleration.operator),
            value: text(&toleration.value),
            effect: text(&toleration.effect),
        }
    };
    Requirements {
        node_selector: pairs.map(|(k, v)| (Name::from(&**k), Name::from(&**v))).collect(),
        affinity: required.map(|s| s.node_selector_terms.iter().flatten().map(term).collect()),
        tolerations: spec.tolerations.iter().flatten().map(toleration).collect(),
    }
}

fn anti_affinity_terms(
    spec: &json::PodSpec,
    namespace: &Name,
    interner: &Interner,
) -> Option<Arc<[AntiAffinityTerm]>> {
    let terms = affinity_terms(spec.affinity.as_ref()?.pod_anti_affinity.as_ref()?, namespace, interner);
    (!terms.is_empty()).then(|| terms.into())
}

/// Required terms. One that cannot be understood is passed over: the API server admits none such.
fn affinity_terms(affinity: &json::PodAffinity, namespace: &Name, interner: &Interner) -> Vec<AffinityTerm> {
    let read = |selector: &Option<json::SelectorObject>| {
        selector.as_ref().map(|selector| self::selector(selector.clone(), interner)).transpose()
    };
    let term = |term: &json::PodAffinityTerm| {
        let named = term.namespaces.iter().flatten().map(|name| interner.name(name));
        let mut namespaces: Vec<_> = named.collect();
        if namespaces.is_empty() && term.namespace_selector.is_none() {
            namespaces.push(namespace.clone());
        }
        Some(AffinityTerm {
            topology_key: interner.name(&term.topology_key),
            selector: read(&term.label_selector).ok()?,
            namespaces: namespaces.into(),
            namespace_selector: read(&term.namespace_selector).ok()?,
        })
    };
    let required = affinity.required_during_scheduling_ignored_during_execution.iter().flatten();
    required.filter_map(term).collect()
}

fn term(object: &json::NodeSelectorTerm) -> Term {
    let expression = |object: &json::SelectorExpression| Expression {
        key: Name::from(&*object.key),
        operator: Name::from(&*object.operator),
        values: object.values.iter().flatten().map(|value| Name::from(&**value)).collect(),
    };
    Term {
        expressions: object.match_expressions.iter().flatten().map(expression).collect(),
        fields: object.match_fields.iter().flatten().map(expression).collect(),
    }
}

fn node(object: &json::NodeObject, interner: &Interner) -> Node {
    let spec = object.spec.as_ref();
    let labels = object.metadata.labels.iter().flat_map(|labels| &labels.0);
    let taint = |taint: &json::TaintObject| Taint {
        key: interner.name(&taint.key),
        value: interner.name(taint.value.as_deref().unwrap_or_default()),
        effect: interner.name(&taint.effect),
    };
    let (allocatable, allowed_pods) = resources::of_node(object, interner);
    Node {
        name: interner.name(&object.metadata.name),
        allocatable: interner.resources(allocatable),
        allowed_pods,
        labels: interner.labels(labels.map(|(k, v)| (k, v))),
        taints: spec.and_then(|spec| spec.taints.as_ref()).into_iter().flatten().map(taint).collect(),
        unschedulable: spec.and_then(|spec| spec.unschedulable).unwrap_or_default(),
    }
}

fn key_of(meta: &json::Meta, interner: &Interner) -> ObjectKey {
    ObjectKey {
        namespace: interner.name(meta.namespace.as_deref().unwrap_or_default()),
        // Pod names are all different, but Services and controllers share theirs with label values.
        name: interner.name(&meta.name),
    }
}

fn controller(meta: &json::Meta, interner: &Interner) -> Option<Arc<Controller>> {
    let owners = meta.owner_references.as_ref()?;
    let owner = owners.iter().find(|owner| owner.controller == Some(true))?;
    Some(interner.controller(Controller {
        api_version: interner.name(&owner.api_version),
        kind: interner.name(&owner.kind),
        name: interner.name(&owner.name),
        uid: interner.name(owner.uid.as_deref().unwrap_or_default()),
    }))
}

fn failed_attempt(status: &json::PodStatus) -> Option<u32> {
    let scheduled = status.conditions.as_ref()?.iter().find(|c| c.kind == "PodScheduled")?;
    (scheduled.status == "False").then(|| {
        let mut hasher = DefaultHasher::new();
        (&scheduled.reason, &scheduled.message, &scheduled.last_transition_time).hash(&mut hasher);
        // Half of it tells two of them apart as well, and there are many pods.
        (hasher.finish() >> 32) as u32
    })
}

/// One, if nothing is said; the API server takes no negative number.
fn replicas(stated: Option<i64>) -> u32 {
    stated.map_or(1, |count| u32::try_from(count.max(0)).unwrap_or(u32::MAX))
}

fn equalities(labels: json::StringMap, interner: &Interner) -> impl Iterator<Item = Requirement> {
    labels
        .0
        .into_iter()
        .map(|(key, value)| Requirement::In(interner.name(&key), Box::new([interner.name(&value)])))
}

fn selector(selector: json::SelectorObject, interner: &Interner) -> Result<Selector, serde_json::Error> {
    let invalid = || serde::de::Error::custom("invalid label selector");
    let labels = selector.match_labels.unwrap_or_default();
    if !labels.0.iter().all(|(key, value)| is_label_key(key) && is_label_value(value)) {
        return Err(invalid());
    }
    let equalities = equalities(labels, interner).map(Ok);
    let expressions = selector.match_expressions.unwrap_or_default().into_iter().map(|expression| {
        let key = interner.name(&expression.key);
        let mut values: Vec<Name> =
            expression.values.iter().flatten().map(|value| interner.name(value)).collect();
        values.sort();
        if !is_label_key(&key) || !values.iter().all(|value| is_label_value(value)) {
            return Err(invalid());
        }
        match expression.operator.as_str() {
            "In" if !values.is_empty() => Ok(Requirement::In(key, values.into())),
            "NotIn" if !values.is_empty() => Ok(Requirement::NotIn(key, values.into())),
            "Exists" if values.is_empty() => Ok(Requirement::Exists(key)),
            "DoesNotExist" if values.is_empty() => Ok(Requirement::DoesNotExist(key)),
            _ => Err(invalid()),
        }
    });
    equalities.chain(expressions).collect()
}

#[cfg(test)]
mod tests;
