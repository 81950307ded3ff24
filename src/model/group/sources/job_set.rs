//! `JobSet`: each of its jobs is a group. The object behind it is the Job, which says how many pods it runs.

use std::sync::Arc;

use crate::model::group::fields::{Fields, Malformed};
use crate::model::group::service_terms::ServiceTerms;
use crate::model::group::source::{
    BackingObject, DescribedBy, GroupSource, Mark, ObjectKind, Recognised, Told, Values,
};
use crate::model::group::{
    FirstMember, GroupKey, GroupObject, Membership, Recogniser, Role, Scope, TopologyRequest,
};
use crate::model::{Name, ObjectKey, Pod, Template};

const NAME: &str = "jobset.sigs.k8s.io/jobset-name";
const JOB_KEY: &str = "jobset.sigs.k8s.io/job-key";
const ATTEMPT: &str = "jobset.sigs.k8s.io/restart-attempt";
const EXCLUSIVE: &str = "alpha.jobset.sigs.k8s.io/exclusive-topology";
const INDEX: &str = "batch.kubernetes.io/job-completion-index";
const JOB: &str = "batch.kubernetes.io/job-name";

/// See [`super::Source::JobSet`].
pub(super) struct JobSet;

impl GroupSource for JobSet {
    const MARK: Mark = Mark::Label(JOB_KEY);
    const ANNOTATIONS: &'static [&'static str] = &["alpha.jobset.sigs.k8s.io/", INDEX];
    const GROUP_LABELS: &'static [&'static str] = &[JOB_KEY];

    type Object = Self;

    fn recognise(pod: &Told<'_>, _: &Recogniser) -> Option<Recognised> {
        let job = pod.labels.text(JOB_KEY)?;
        let group = match pod.labels.text(NAME) {
            Some(set) => Recognised { index: Some(job), ..Recognised::named(set) },
            None => Recognised::named(job),
        };
        Some(Recognised {
            revision: pod.labels.text(ATTEMPT),
            member: pod.labels.number(INDEX).or(pod.annotations.number(INDEX)),
            topology: exclusive_topology(pod.annotations.topology_key(EXCLUSIVE)),
            ..group
        })
    }

    fn service(pod: &Told<'_>, group: &GroupKey, _: &Recogniser) -> ServiceTerms {
        let terms = ServiceTerms::of(group, pod.labels.pairs(&[JOB_KEY]));
        // The key is a hash: the name of the Job tells people more, and tells jobs apart as well.
        let job = pod.pod.controller.as_ref().filter(|owner| &*owner.kind == "Job").map(|owner| &owner.name);
        let is_indexed = pod.labels.number(INDEX).or(pod.annotations.number(INDEX)).is_some();
        let leader = job.filter(|_| is_indexed).map(|job| format!("{job}-0").into());
        ServiceTerms { name: job.map_or(terms.name, ToString::to_string), leader, ..terms }
    }

    /// Pods of a Job are named by chance. Known to each other they are by their host names: the Job's and their number.
    fn first_member(pod: &Pod) -> FirstMember {
        let job = pod.labels.get(JOB).filter(|job| !job.is_empty());
        job.map_or(FirstMember::Nobody, |job| FirstMember::Called(format!("{job}-0").into()))
    }
}

impl BackingObject for JobSet {
    const KIND: Option<&'static ObjectKind> = Some(&ObjectKind {
        name: "Job",
        group: "batch",
        plural: "jobs",
        built_in: true,
        with_label: Some(JOB_KEY),
    });
    const SHARED_LABELS: &'static [&'static str] = &[];
    const SIZE_INCLUDES_FINISHED: bool = false;
    const DESCRIBED_BY: DescribedBy = DescribedBy::AnyMember;
    const NUMBER_LABEL: Option<&'static str> = Some(INDEX);

    fn behind(pod: &Pod, _: &Membership) -> Option<ObjectKey> {
        let job = pod.controller.as_ref().filter(|owner| &*owner.kind == "Job")?;
        Some(ObjectKey { namespace: pod.key.namespace.clone(), name: job.name.clone() })
    }

    fn read(object: &dyn Fields, named: GroupObject) -> Result<GroupObject, Malformed> {
        // Absent means 1, as the API server fills it in. Who has finished does not come back.
        let parallelism = object.number("spec.parallelism")?.unwrap_or(1);
        let done = object.number("status.succeeded")?.unwrap_or_default();
        let left = object.number("spec.completions")?.map_or(u32::MAX, |all| all.saturating_sub(done));
        // It cannot be changed once the Job is there, so it tells what pods were made from.
        let template = object.template("spec.template")?;
        let required =
            template.as_ref().and_then(|template| Values(&template.annotations).topology_key(EXCLUSIVE));
        let worker = template.map(Arc::new);
        let role = Role { name: Name::from(""), replicas: 1, size: parallelism, leader: None, worker };
        let topology = exclusive_topology(required);
        Ok(GroupObject { size: Some(parallelism.min(left)), topology, roles: Box::new([role]), ..named })
    }

    fn size(_: &Pod, object: &GroupObject) -> Option<u32> {
        object.size
    }

    fn index(_: &Pod, _: &GroupObject) -> Option<u32> {
        None
    }

    /// All pods of a Job are made from one template, so that one that is there tells enough.
    fn template<'o>(_: &Pod, _: &'o GroupObject, _: u32) -> Option<&'o Template> {
        None
    }

    fn templates<'o>(_: &Pod, object: &'o GroupObject) -> Vec<&'o Template> {
        object.templates().collect()
    }

    /// A Job makes names up.
    fn pod_name(_: &Pod, _: u32) -> Option<Name> {
        None
    }

    fn restarts_together(_: Option<&GroupObject>) -> bool {
        true
    }
}

/// What the annotation asks for: its webhook keeps jobs of all namespaces apart.
fn exclusive_topology(required: Option<Name>) -> TopologyRequest {
    let exclusive = required.as_ref().map(|_| Scope::Cluster);
    TopologyRequest { required, preferred: None, exclusive }
}
