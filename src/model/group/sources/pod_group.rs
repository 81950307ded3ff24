//! The pod groups of the coscheduling plugin.

use crate::model::group::fields::{Fields, Malformed};
use crate::model::group::service_terms::{ServiceOwner, ServiceTerms};
use crate::model::group::source::{
    BackingObject, DescribedBy, GroupSource, Mark, ObjectKind, Recognised, Told,
};
use crate::model::group::{FirstMember, GroupKey, GroupObject, Membership, Recogniser};
use crate::model::{Name, ObjectKey, Pod, Template};

const GROUP: &str = "scheduling.x-k8s.io/pod-group";

/// See [`super::Source::PodGroup`].
pub(super) struct PodGroup;

impl GroupSource for PodGroup {
    const MARK: Mark = Mark::Label(GROUP);
    const ANNOTATIONS: &'static [&'static str] = &[];
    const GROUP_LABELS: &'static [&'static str] = &[GROUP];

    type Object = Self;

    fn recognise(pod: &Told<'_>, _: &Recogniser) -> Option<Recognised> {
        Some(Recognised::named(pod.labels.text(GROUP)?))
    }

    fn service(pod: &Told<'_>, group: &GroupKey, _: &Recogniser) -> ServiceTerms {
        let terms = ServiceTerms::of(group, pod.labels.pairs(&[GROUP]));
        ServiceTerms { owner: ServiceOwner::Object, ..terms }
    }

    fn first_member(_: &Pod) -> FirstMember {
        FirstMember::Nobody
    }
}

impl BackingObject for PodGroup {
    const KIND: Option<&'static ObjectKind> = Some(&ObjectKind {
        name: "PodGroup",
        group: "scheduling.x-k8s.io",
        plural: "podgroups",
        built_in: false,
        with_label: None,
    });
    const SHARED_LABELS: &'static [&'static str] = &[];
    const SIZE_INCLUDES_FINISHED: bool = true;
    const DESCRIBED_BY: DescribedBy = DescribedBy::Controllers;
    const NUMBER_LABEL: Option<&'static str> = None;

    fn behind(_: &Pod, membership: &Membership) -> Option<ObjectKey> {
        Some(membership.group.set.clone())
    }

    fn read(object: &dyn Fields, named: GroupObject) -> Result<GroupObject, Malformed> {
        Ok(GroupObject { size: object.number("spec.minMember")?, ..named })
    }

    fn size(_: &Pod, object: &GroupObject) -> Option<u32> {
        object.size
    }

    fn index(_: &Pod, _: &GroupObject) -> Option<u32> {
        None
    }

    fn template<'o>(_: &Pod, _: &'o GroupObject, _: u32) -> Option<&'o Template> {
        None
    }

    fn templates<'o>(_: &Pod, _: &'o GroupObject) -> Vec<&'o Template> {
        Vec::new()
    }

    fn pod_name(_: &Pod, _: u32) -> Option<Name> {
        None
    }

    fn restarts_together(_: Option<&GroupObject>) -> bool {
        true
    }
}
