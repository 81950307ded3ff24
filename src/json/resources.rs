//! What pods ask for and nodes have, out of their many fields.
//!
//! ```text
//!   containers, each:  spec                     to be placed
//!                      max(spec, status)        on a node; without spec if its resize cannot be done
//!   the pod:           as [`PodRequests`] adds them up
//! ```

use super::Quantities;
use super::shapes::{
    ContainerObject, ContainerStatus, NodeObject, PodObject, PodSpec, PodStatus, ResourcesObject,
};
use crate::json::Interner;
use crate::model::pod_requests::{self, InitContainer, raise};
use crate::model::{Name, PodRequests, Quantity, Resources};

type Amounts<'a> = pod_requests::Amounts<&'a str>;

/// What a pod asks for while it is to be placed, what it takes once it is, and whether it asks for neither CPU nor memory.
/// What it is limited to it asks for: the API server sees to that.
pub fn of_pod(pod: &PodObject, interner: &Interner) -> (Resources, Resources, bool) {
    let Some(spec) = &pod.spec else { return (Resources::default(), Resources::default(), true) };
    let by_container = requests(spec, None);
    let specified = by_container.total();
    let asked = resources(&specified, interner, |amount| amount.max(0));
    let told = pod.status.as_ref().filter(|status| status.tells_of_resources());
    let in_force = told.map_or(specified, |_| requests(spec, told).total());
    let taken = resources(&in_force, interner, |amount| amount);
    (asked, taken, by_container.named().is_best_effort)
}

/// Requests that are not given are what the limits say: so the API server completes a pod when it is created, but not the
/// template of a custom resource.
pub fn fill_in_requests(spec: &mut PodSpec) {
    let containers = spec.containers.iter_mut().chain(&mut spec.init_containers).flatten();
    for resources in containers.filter_map(|container| container.resources.as_mut()) {
        if let Some(limits) = &resources.limits {
            resources.requests.get_or_insert_default().fill_in(limits);
        }
    }
}

/// What the containers of a pod made from this will ask for.
pub fn of_template(spec: &PodSpec, interner: &Interner) -> PodRequests<Name> {
    requests(spec, None).with_names(|name| interner.name(name))
}

/// What a node has to give, and to how many pods.
pub fn of_node(node: &NodeObject, interner: &Interner) -> (Resources, i64) {
    let allocatable = node.status.as_ref().and_then(|status| status.allocatable.as_ref());
    let amounts = allocatable.into_iter().flat_map(Quantities::iter).collect();
    let pods = |amounts: &Amounts<'_>| amounts.get("pods").map_or(0, |pods| pods.value());
    (resources(&amounts, interner, |amount| amount), pods(&amounts))
}

fn resources(amounts: &Amounts<'_>, interner: &Interner, keep: impl Fn(i64) -> i64) -> Resources {
    pod_requests::to_resources(amounts, |name| interner.name(name), keep)
}

/// `told` is what the status has to say about resources, for a pod on a node.
fn requests<'a>(spec: &'a PodSpec, told: Option<&'a PodStatus>) -> PodRequests<&'a str> {
    let init_container = |container: &'a ContainerObject| {
        let is_sidecar = container.is_sidecar();
        // Containers that end are not resized.
        InitContainer { is_sidecar, requests: effective(container, told.filter(|_| is_sidecar)) }
    };
    PodRequests {
        containers: spec.containers.iter().flatten().map(|container| effective(container, told)).collect(),
        init_containers: spec.init_containers.iter().flatten().map(init_container).collect(),
        as_a_whole: as_a_whole(spec, told),
        overhead: amounts(spec.overhead.as_ref()),
    }
}

/// Requests of the pod as a whole replace those of its containers.
fn as_a_whole<'a>(spec: &'a PodSpec, told: Option<&'a PodStatus>) -> Amounts<'a> {
    let counts = |name: &str| matches!(name, "cpu" | "memory") || name.starts_with("hugepages-");
    let specified = amounts(spec.resources.as_ref().and_then(|resources| resources.requests.as_ref()));
    let told = told.and_then(|status| Some((status, status.resources.as_ref()?)));
    let effective = told.map(|(status, actual)| {
        largest(status, specified.clone(), actual, status.allocated_resources.as_ref())
    });
    let counted = specified.into_iter().filter(|(name, _)| counts(name));
    counted
        .map(|(name, amount)| match &effective {
            Some(effective) => (name, effective.get(name).copied().unwrap_or(Quantity::ZERO)),
            None => (name, amount),
        })
        .collect()
}

/// What one container asks for, or takes if its status says so.
fn effective<'a>(container: &'a ContainerObject, told: Option<&'a PodStatus>) -> Amounts<'a> {
    let specified = amounts(container.resources.as_ref().and_then(|resources| resources.requests.as_ref()));
    let found = told.and_then(|status| {
        let container = status_of(container, status)?;
        Some((status, container.resources.as_ref()?, container.allocated_resources.as_ref()))
    });
    match found {
        Some((status, actual, allocated)) => largest(status, specified, actual, allocated),
        None => specified,
    }
}

/// Of several statuses under one name the last one counts, and init containers come after the others.
fn status_of<'a>(container: &ContainerObject, status: &'a PodStatus) -> Option<&'a ContainerStatus> {
    let init = status.init_container_statuses.iter().flatten().rev();
    let others = status.container_statuses.iter().flatten().rev();
    let name = container.name.as_deref().unwrap_or_default();
    init.chain(others).find(|status| status.name.as_deref().unwrap_or_default() == name)
}

/// During a resize the largest of what is requested, granted and in force counts. A request that cannot be granted does
/// not.
fn largest<'a>(
    status: &PodStatus,
    specified: Amounts<'a>,
    actual: &'a ResourcesObject,
    allocated: Option<&'a Quantities>,
) -> Amounts<'a> {
    let mut largest = if status.cannot_be_resized() { Amounts::new() } else { specified };
    raise(&mut largest, &amounts(actual.requests.as_ref()));
    raise(&mut largest, &amounts(allocated));
    largest
}

fn amounts(list: Option<&Quantities>) -> Amounts<'_> {
    list.into_iter().flat_map(Quantities::iter).collect()
}
