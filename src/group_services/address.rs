//! What a pod that is being created has to know of its group's Service.

use super::desired::in_use;
use super::name::Names;
use super::request::{is_made_already, is_wanted};
use crate::model::managed_service::GroupName;
use crate::model::{Name, ObjectKey, Pod};
use crate::view::View;

/// How the members of a group find each other.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Address {
    /// The group's Service, which is the subdomain of its members.
    pub(crate) service: Name,
    /// The host name of the first member, where that is certain.
    pub(crate) leader: Option<Name>,
    /// The variable in which members look for the leader's address, where they have one of their own.
    pub(crate) variable: Option<&'static str>,
    /// The subdomain that the controller gives its pods, if nobody asks for another one.
    pub(crate) default_subdomain: Option<Name>,
}

/// The address of a pod's group, if it is to have a Service of its own that Berth makes. The pod has been recognised as a
/// member; the view need not show it yet.
pub(crate) fn address(pod: &Pod, view: &View) -> Option<Address> {
    let group = &pod.group.as_ref()?.group;
    let others = || view.members_of(group).chain(view.leaving_members(group).map(|pod| &**pod));
    let terms = group.source.service(pod, group, view.recogniser());
    terms.labels.as_ref()?;
    if !is_wanted([pod].into_iter().chain(others()), view)
        || is_made_already(pod, terms.is_made_already, view)
    {
        return None;
    }
    let made_for = GroupName(group).to_string();
    let namespace = &pod.key.namespace;
    let names = Names::of(group, &terms.name);
    let in_use = in_use(&names, &made_for, namespace, [pod].into_iter().chain(others()), view);
    let is_taken = |name: &Name| {
        let key = ObjectKey { namespace: namespace.clone(), name: name.clone() };
        let service = view.service(&key);
        let is_own = |service: &std::sync::Arc<crate::model::Service>| {
            service.managed.as_ref().is_some_and(|managed| *managed.made_for == *made_for)
        };
        service.is_some_and(|service| !is_own(service))
    };
    let service = names.choose(in_use, is_taken)?;
    let leader = terms.leader.or_else(|| in_stateful_set(pod, view));
    Some(Address {
        service,
        leader,
        variable: terms.leader_variable,
        default_subdomain: terms.default_subdomain,
    })
}

/// Pods of a `StatefulSet` are numbered and bear their names as host names: so many before this one is the first.
fn in_stateful_set(pod: &Pod, view: &View) -> Option<Name> {
    let controller = pod.controller.as_ref().filter(|owner| &*owner.kind == "StatefulSet")?;
    let number = pod.key.name.strip_prefix(&*controller.name)?.strip_prefix('-')?.parse::<u32>().ok()?;
    let first = number.checked_sub(view.member_index(pod)?)?;
    Some(format!("{}-{first}", controller.name).into())
}
