//! Which pods a pod is spread among.

use crate::model::selector::Requirement;
use crate::model::{Kind, Labels, Name, Pod, Selector, Service};
use crate::view::View;

/// The selector deduced for a pod: the Services of its namespace that select it, merged with the selector of its
/// controlling `ReplicationController`, `ReplicaSet` or `StatefulSet`. Empty if there is nothing to go by.
pub fn selector(pod: &Pod, view: &View) -> Selector {
    let mut labels: Vec<(Name, Name)> = Vec::new();
    // A Service per replica group selects one group's members: not those among whom they are to be spread.
    let of_one_group = |service: &Service| {
        let names = |label: &Name| view.recogniser().names_a_group(label);
        pod.group.is_some() && service.selector.iter().any(|(label, _)| names(label))
    };
    for service in view.services(&pod.key.namespace).filter(|service| !of_one_group(service)) {
        if selects(&service.selector, &pod.labels) {
            merge(&mut labels, service.selector.iter());
        }
    }
    let Some((kind, key)) = pod.workload() else { return equalities(labels) };
    let Some(workload) = view.workload(kind, &key) else { return equalities(labels) };
    if kind == Kind::ReplicationController {
        // A plain map of labels, which overrides what Services say about the same keys.
        merge(&mut labels, workload.selector.equalities());
        return equalities(labels);
    }
    let requirements = equalities(labels);
    requirements.requirements().chain(workload.selector.requirements()).cloned().collect()
}

fn selects(selector: &Labels, labels: &Labels) -> bool {
    selector.iter().all(|(key, value)| labels.get(key) == Some(value))
}

fn merge<'a>(into: &mut Vec<(Name, Name)>, pairs: impl Iterator<Item = (&'a Name, &'a Name)>) {
    for (key, value) in pairs {
        match into.iter_mut().find(|(known, _)| known == key) {
            Some((_, known)) => *known = value.clone(),
            None => into.push((key.clone(), value.clone())),
        }
    }
}

fn equalities(labels: Vec<(Name, Name)>) -> Selector {
    labels.into_iter().map(|(key, value)| Requirement::In(key, Box::new([value]))).collect()
}
