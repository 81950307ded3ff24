//! With whom a group's Service is garbage-collected.
//!
//! An owner has to be the group's own, so that the Service goes when the group does, also while Berth is away.

use std::collections::HashMap;

use crate::model::group::service_terms::ServiceOwner;
use crate::model::{Name, Owner, Pod};
use crate::view::View;

use super::desired::Incarnations;

/// So many members are owners where the group has no object of its own. The Service goes when the last of them has gone.
const MOST_MEMBERS: usize = 8;

/// Whose members a controller makes.
#[derive(Default)]
pub(super) struct Controllers<'a>(HashMap<&'a Name, Option<Incarnations<'a>>>);

impl<'a> Controllers<'a> {
    /// Notes a member of a group.
    pub(super) fn add(&mut self, pod: &'a Pod, group: Incarnations<'a>) {
        if let Some(controller) = &pod.controller {
            let known = self.0.entry(&controller.uid).or_insert(Some(group));
            if *known != Some(group) {
                *known = None;
            }
        }
    }

    /// The controller of all members, if it makes no others.
    fn of_all(&self, members: &[&Pod], group: Incarnations<'_>) -> Option<Owner> {
        let controller = members.first()?.controller.as_ref()?;
        let is_same = |pod: &&Pod| pod.controller.as_ref().is_some_and(|other| other.uid == controller.uid);
        let is_own = self.0.get(&controller.uid).is_some_and(|of| *of == Some(group));
        (is_own && !controller.uid.is_empty() && members.iter().all(is_same)).then(|| Owner {
            api_version: controller.api_version.clone(),
            kind: controller.kind.clone(),
            name: controller.name.clone(),
            uid: controller.uid.clone(),
        })
    }
}

/// The owners of the Service of a group with these members, in their order; none while there is nobody to own it.
pub(super) fn owners(
    members: &[&Pod],
    group: Incarnations<'_>,
    owner: ServiceOwner,
    controllers: &Controllers<'_>,
    view: &View,
) -> Box<[Owner]> {
    let own = match owner {
        ServiceOwner::Leader => {
            let leader = members.iter().filter(|pod| view.member_index(pod) == Some(0));
            // Two leaders are two incarnations: the Service is the later one's.
            return leader
                .max_by_key(|pod| (pod.created, &pod.uid))
                .map(|pod| of_pod(pod))
                .into_iter()
                .collect();
        }
        ServiceOwner::Object => members.first().and_then(|pod| of_object(pod, view)),
        ServiceOwner::Controller => None,
    };
    match own.or_else(|| controllers.of_all(members, group)) {
        Some(own) => Box::new([own]),
        None => members.iter().take(MOST_MEMBERS).map(|pod| of_pod(pod)).collect(),
    }
}

fn of_pod(pod: &Pod) -> Owner {
    Owner { api_version: "v1".into(), kind: "Pod".into(), name: pod.key.name.clone(), uid: pod.uid.clone() }
}

fn of_object(pod: &Pod, view: &View) -> Option<Owner> {
    let membership = pod.group.as_ref()?;
    let object = view.group_object_of(pod, membership)?;
    let identity = object.identity.as_ref()?;
    Some(Owner {
        api_version: identity.api_version.clone(),
        kind: membership.group.source.kind()?.label().into(),
        name: object.key.name.clone(),
        uid: identity.uid.clone(),
    })
}
