//! Which groups ask for a Service of their own.

use crate::model::group::keys;
use crate::model::{Labels, Pod};
use crate::view::View;

/// Whether the group of these members is to have one. The pods' word comes first, then that of their templates, then
/// that of the object behind the group; of several that speak, one that says yes is enough.
pub(super) fn is_wanted<'a>(members: impl IntoIterator<Item = &'a Pod>, view: &View) -> bool {
    let mut by_object = None;
    let mut by_pod = None;
    for pod in members {
        by_pod = by_pod.max(said(&pod.annotations));
        if by_pod.is_none() && by_object.is_none() {
            by_object = Some(of_object(pod, view));
        }
    }
    by_pod.or(by_object.flatten()).unwrap_or_default()
}

/// Whether the controller of a member makes one for each group by itself.
pub(super) fn is_made_already(pod: &Pod, is_by_pod: bool, view: &View) -> bool {
    let membership = pod.group.as_ref();
    let object = membership.and_then(|membership| view.group_object_of(pod, membership));
    is_by_pod || object.is_some_and(|object| object.makes_services)
}

fn of_object(pod: &Pod, view: &View) -> Option<bool> {
    let membership = pod.group.as_ref()?;
    let object = view.group_object_of(pod, membership)?;
    let templates = membership.group.source.templates(pod, object);
    let by_template = templates.iter().map(|template| said(&template.annotations)).max();
    by_template.flatten().or(object.wants_services)
}

/// Anything but `true` is a no.
fn said(annotations: &Labels) -> Option<bool> {
    annotations.get(keys::SERVICE).map(|value| &**value == "true")
}
