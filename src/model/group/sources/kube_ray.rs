//! `KubeRay`: one replica of a worker group with several hosts is a group.
//!
//! Taken from the v1 API of `ray.io` and from its operator: it labels the pods of such replicas, where its feature of
//! indexing hosts is on, and deletes what is left of a replica that has lost a host. Pods of worker groups with one host per
//! replica carry no such label and are no group. It has not been tried with the real operator.

use std::sync::Arc;

use crate::model::group::fields::{Fields, Malformed};
use crate::model::group::service_terms::ServiceTerms;
use crate::model::group::source::{
    BackingObject, DescribedBy, GroupSource, Mark, ObjectKind, Recognised, Told,
};
use crate::model::group::{FirstMember, GroupKey, GroupObject, Membership, Recogniser, Role};
use crate::model::{Name, ObjectKey, Pod, Template};

const REPLICA: &str = "ray.io/worker-group-replica-name";
const HOST: &str = "ray.io/replica-host-index";
const CLUSTER: &str = "ray.io/cluster";
const WORKER_GROUP: &str = "ray.io/group";

/// See [`super::Source::KubeRay`].
pub(super) struct KubeRay;

impl GroupSource for KubeRay {
    const MARK: Mark = Mark::Label(REPLICA);
    const ANNOTATIONS: &'static [&'static str] = &[];
    const GROUP_LABELS: &'static [&'static str] = &[REPLICA];

    type Object = Self;

    fn recognise(pod: &Told<'_>, _: &Recogniser) -> Option<Recognised> {
        let replica = pod.labels.text(REPLICA)?;
        let group = match pod.labels.text(CLUSTER) {
            Some(cluster) => Recognised { index: Some(replica), ..Recognised::named(cluster) },
            None => Recognised::named(replica),
        };
        Some(Recognised { member: pod.labels.number(HOST), ..group })
    }

    fn service(pod: &Told<'_>, group: &GroupKey, _: &Recogniser) -> ServiceTerms {
        let of_cluster = pod.labels.text(CLUSTER).is_some();
        let wanted: &[&str] = if of_cluster { &[CLUSTER, REPLICA] } else { &[REPLICA] };
        ServiceTerms::of(group, pod.labels.pairs(wanted))
    }

    fn first_member(_: &Pod) -> FirstMember {
        FirstMember::Nobody
    }
}

impl BackingObject for KubeRay {
    const KIND: Option<&'static ObjectKind> = Some(&ObjectKind {
        name: "RayCluster",
        group: "ray.io",
        plural: "rayclusters",
        built_in: false,
        with_label: None,
    });
    // They are the same on all hosts of a replica, but for the one that numbers them.
    const SHARED_LABELS: &'static [&'static str] = &["ray.io/"];
    const SIZE_INCLUDES_FINISHED: bool = true;
    const DESCRIBED_BY: DescribedBy = DescribedBy::Object;
    const NUMBER_LABEL: Option<&'static str> = Some(HOST);

    fn behind(pod: &Pod, _: &Membership) -> Option<ObjectKey> {
        let name = pod.labels.get(CLUSTER)?.clone();
        Some(ObjectKey { namespace: pod.key.namespace.clone(), name })
    }

    fn read(object: &dyn Fields, named: GroupObject) -> Result<GroupObject, Malformed> {
        let groups = object.list("spec.workerGroupSpecs")?;
        let role = |group: &dyn Fields| {
            Ok(Role {
                name: group.text("groupName")?.unwrap_or_else(|| Name::from("")),
                // Each replica is a group of its own.
                replicas: 1,
                // The operator takes 0 for 1.
                size: group.number("numOfHosts")?.unwrap_or(1).max(1),
                leader: None,
                worker: group.template("template")?.map(Arc::new),
            })
        };
        let roles = groups.iter().map(|group| role(&**group)).collect::<Result<Box<[Role]>, _>>()?;
        Ok(GroupObject { roles, ..named })
    }

    fn size(pod: &Pod, object: &GroupObject) -> Option<u32> {
        Some(worker_group(pod, object)?.size)
    }

    fn index(_: &Pod, _: &GroupObject) -> Option<u32> {
        None
    }

    fn template<'o>(like: &Pod, object: &'o GroupObject, index: u32) -> Option<&'o Template> {
        worker_group(like, object)?.template(index)
    }

    fn templates<'o>(pod: &Pod, object: &'o GroupObject) -> Vec<&'o Template> {
        worker_group(pod, object).into_iter().flat_map(Role::templates).collect()
    }

    /// Its operator makes names up.
    fn pod_name(_: &Pod, _: u32) -> Option<Name> {
        None
    }

    fn restarts_together(_: Option<&GroupObject>) -> bool {
        true
    }
}

fn worker_group<'o>(pod: &Pod, cluster: &'o GroupObject) -> Option<&'o Role> {
    cluster.role(pod.labels.get(WORKER_GROUP)?)
}

#[cfg(test)]
mod tests {
    use super::{BackingObject, KubeRay};
    use crate::fixtures::{NoObjects, group_object, pod};
    use crate::model::group::Source;
    use crate::model::{Pod, Recogniser};

    fn worker(group: &str, replica: &str, host: &str) -> Pod {
        let worker = pod("p").label(super::CLUSTER, "ray").label(super::WORKER_GROUP, group);
        worker.label(super::REPLICA, replica).label(super::HOST, host).build()
    }

    #[test]
    fn a_replica_with_several_hosts_is_a_group() {
        let found = Recogniser::default().recognise(&worker("tpu", "tpu-x7", "2"), &NoObjects);
        let found = found.expect("a member");
        let key = &found.group;
        assert_eq!((key.source, &*key.set.name, &*key.index), (Source::KubeRay, "ray", "tpu-x7"));
        assert_eq!((found.size, found.index), (None, Some(2)));
        let single = pod("p").label(super::CLUSTER, "ray").label(super::WORKER_GROUP, "cpu").build();
        assert!(Recogniser::default().recognise(&single, &NoObjects).is_none());
    }

    #[test]
    fn the_cluster_says_how_many_hosts_each_of_its_worker_groups_has() {
        let cluster = group_object(
            Source::KubeRay,
            r#"{"metadata":{"name":"ray"},"spec":{"workerGroupSpecs":[{"groupName":"cpu"},
                {"groupName":"tpu","numOfHosts":4,"template":{"spec":{"overhead":{"cpu":"3"}}}}]}}"#,
        );
        for (group, size, cpu) in
            [("cpu", Some(1), None), ("tpu", Some(4), Some(3_000)), ("elsewhere", None, None)]
        {
            let worker = worker(group, "r", "0");
            assert_eq!(KubeRay::size(&worker, &cluster), size, "{group}");
            let template = KubeRay::template(&worker, &cluster, 1);
            assert_eq!(template.map(|template| template.requests.milli_cpu), cpu, "{group}");
        }
    }
}
