//! Kueue's groups of plain pods.

use crate::model::Pod;
use crate::model::group::service_terms::ServiceTerms;
use crate::model::group::source::{GroupSource, Mark, NoObject, Recognised, Told};
use crate::model::group::{FirstMember, GroupKey, Recogniser, TopologyRequest};

const GROUP: &str = "kueue.x-k8s.io/pod-group-name";
const SIZE: &str = "kueue.x-k8s.io/pod-group-total-count";
const INDEX: &str = "kueue.x-k8s.io/pod-group-pod-index";
const REQUIRED: &str = "kueue.x-k8s.io/podset-required-topology";
const PREFERRED: &str = "kueue.x-k8s.io/podset-preferred-topology";

/// See [`super::Source::Kueue`].
pub(super) struct Kueue;

impl GroupSource for Kueue {
    const MARK: Mark = Mark::Label(GROUP);
    const ANNOTATIONS: &'static [&'static str] = &["kueue.x-k8s.io/"];
    const GROUP_LABELS: &'static [&'static str] = &[GROUP];

    type Object = NoObject;

    fn recognise(pod: &Told<'_>, _: &Recogniser) -> Option<Recognised> {
        let group = pod.labels.text(GROUP)?;
        let (required, preferred) =
            (pod.annotations.topology_key(REQUIRED), pod.annotations.topology_key(PREFERRED));
        Some(Recognised {
            size: pod.annotations.number(SIZE),
            member: pod.labels.number(INDEX).or(pod.annotations.number(INDEX)),
            topology: TopologyRequest { required, preferred, exclusive: None },
            ..Recognised::named(group)
        })
    }

    fn service(pod: &Told<'_>, group: &GroupKey, _: &Recogniser) -> ServiceTerms {
        ServiceTerms::of(group, pod.labels.pairs(&[GROUP]))
    }

    fn first_member(_: &Pod) -> FirstMember {
        FirstMember::Nobody
    }
}
