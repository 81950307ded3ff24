//! Grove: a `PodGang` is a group.
//!
//! Taken from the v1alpha1 API of `scheduler.grove.io` and from Grove's operator, which labels pods with the name of their
//! gang; the topology keys in it are node labels, as the operator translates the names of levels. It has not been tried
//! with the real operator.
//!
//! What is not done: constraints of single pod groups within the gang, or of several of them, are passed over. More pods
//! than `minReplicas` may come; they are placed with the gang, and no room is kept for them beforehand.

use crate::model::group::fields::{Fields, Malformed};
use crate::model::group::service_terms::{ServiceOwner, ServiceTerms};
use crate::model::group::source::{
    BackingObject, DescribedBy, GroupSource, Mark, ObjectKind, Recognised, Told,
};
use crate::model::group::{FirstMember, GroupKey, GroupObject, Membership, Recogniser, TopologyRequest};
use crate::model::label_syntax::is_label_key;
use crate::model::{Name, ObjectKey, Pod, Template};

const GANG: &str = "grove.io/podgang";

/// See [`super::Source::Grove`].
pub(super) struct Grove;

impl GroupSource for Grove {
    const MARK: Mark = Mark::Label(GANG);
    const ANNOTATIONS: &'static [&'static str] = &[];
    const GROUP_LABELS: &'static [&'static str] = &[GANG];

    type Object = Self;

    fn recognise(pod: &Told<'_>, _: &Recogniser) -> Option<Recognised> {
        Some(Recognised::named(pod.labels.text(GANG)?))
    }

    fn service(pod: &Told<'_>, group: &GroupKey, _: &Recogniser) -> ServiceTerms {
        let terms = ServiceTerms::of(group, pod.labels.pairs(&[GANG]));
        ServiceTerms { owner: ServiceOwner::Object, ..terms }
    }

    fn first_member(_: &Pod) -> FirstMember {
        FirstMember::Nobody
    }
}

impl BackingObject for Grove {
    const KIND: Option<&'static ObjectKind> = Some(&ObjectKind {
        name: "PodGang",
        group: "scheduler.grove.io",
        plural: "podgangs",
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
        let mut size: u32 = 0;
        for pods in object.list("spec.podgroups")? {
            size = size.saturating_add(pods.number("minReplicas")?.unwrap_or_default());
        }
        let key = |path: &str| Ok(object.text(path)?.filter(|key| is_label_key(key)));
        let topology = TopologyRequest {
            required: key("spec.topologyConstraint.packConstraint.required")?,
            preferred: key("spec.topologyConstraint.packConstraint.preferred")?,
            exclusive: None,
        };
        Ok(GroupObject { size: (size > 0).then_some(size), topology, ..named })
    }

    fn size(_: &Pod, object: &GroupObject) -> Option<u32> {
        object.size
    }

    fn index(_: &Pod, _: &GroupObject) -> Option<u32> {
        None
    }

    /// A gang refers to its pods and has no templates. Its operator makes all of them before it lets any be scheduled.
    fn template<'o>(_: &Pod, _: &'o GroupObject, _: u32) -> Option<&'o Template> {
        None
    }

    fn templates<'o>(_: &Pod, _: &'o GroupObject) -> Vec<&'o Template> {
        Vec::new()
    }

    /// Its operator makes all pods before it lets any be scheduled.
    fn pod_name(_: &Pod, _: u32) -> Option<Name> {
        None
    }

    /// A gang that has too few pods for some time is terminated as a whole.
    fn restarts_together(_: Option<&GroupObject>) -> bool {
        true
    }
}

#[cfg(test)]
mod tests {
    use crate::fixtures::{NoObjects, group_object, pod};
    use crate::model::Recogniser;
    use crate::model::group::{Source, TopologyRequest};

    #[test]
    fn the_pods_of_a_gang_are_a_group() {
        for (gang, expected) in [("serve-0", Some("serve-0")), ("", None)] {
            let member = pod("p").label(super::GANG, gang).label("grove.io/podclique", "serve-0-prefill");
            let found = Recogniser::default().recognise(&member.build(), &NoObjects);
            assert!(found.iter().all(|found| found.group.source == Source::Grove));
            assert_eq!(found.as_ref().map(|found| &*found.group.set.name), expected);
        }
    }

    #[test]
    fn a_gang_says_how_many_it_needs_and_where() {
        let gang = |spec: &str| {
            let object =
                group_object(Source::Grove, &format!(r#"{{"metadata":{{"name":"g"}},"spec":{spec}}}"#));
            (object.size, object.topology)
        };
        let packed = |required: Option<&str>, preferred: Option<&str>| TopologyRequest {
            required: required.map(Into::into),
            preferred: preferred.map(Into::into),
            exclusive: None,
        };
        let (block, rack) = (Some("example.com/block"), Some("example.com/rack"));
        for (spec, expected) in [
            ("{}", (None, packed(None, None))),
            (r#"{"podgroups":[{"minReplicas":2},{"minReplicas":3},{}]}"#, (Some(5), packed(None, None))),
            (
                r#"{"topologyConstraint":{"packConstraint":{"required":"example.com/block",
                    "preferred":"example.com/rack"}}}"#,
                (None, packed(block, rack)),
            ),
            (
                r#"{"topologyConstraint":{"packConstraint":{"required":"no key","preferred":null}}}"#,
                (None, packed(None, None)),
            ),
        ] {
            assert_eq!(gang(spec), expected, "{spec}");
        }
    }
}
