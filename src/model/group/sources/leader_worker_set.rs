//! `LeaderWorkerSet`: one replica, a leader and its workers, is a group.

use std::sync::Arc;

use crate::model::group::fields::{Fields, Malformed};
use crate::model::group::source::{BackingObject, GroupSource, Mark, ObjectKind, Recognised, Told};
use crate::model::group::{GroupObject, Membership, Recogniser, Role, Scope, Subgroup, TopologyRequest};
use crate::model::{Name, ObjectKey, Pod, Template};

const FAMILY: &str = "leaderworkerset.sigs.k8s.io/";
const NAME: &str = "leaderworkerset.sigs.k8s.io/name";
const GROUP_INDEX: &str = "leaderworkerset.sigs.k8s.io/group-index";
const GROUP_KEY: &str = "leaderworkerset.sigs.k8s.io/group-key";
const WORKER_INDEX: &str = "leaderworkerset.sigs.k8s.io/worker-index";
const REVISION: &str = "leaderworkerset.sigs.k8s.io/template-revision-hash";
const SIZE: &str = "leaderworkerset.sigs.k8s.io/size";
const EXCLUSIVE: &str = "leaderworkerset.sigs.k8s.io/exclusive-topology";
const SUBGROUP_INDEX: &str = "leaderworkerset.sigs.k8s.io/subgroup-index";
const SUBGROUP_SIZE: &str = "leaderworkerset.sigs.k8s.io/subgroup-size";
const SUBGROUP_TYPE: &str = "leaderworkerset.sigs.k8s.io/subgroup-policy-type";
const SUBGROUP_EXCLUSIVE: &str = "leaderworkerset.sigs.k8s.io/subgroup-exclusive-topology";

/// See [`super::Source::LeaderWorkerSet`].
pub(super) struct LeaderWorkerSet;

impl GroupSource for LeaderWorkerSet {
    const MARK: Mark = Mark::Label(NAME);
    const ANNOTATIONS: &'static [&'static str] = &[FAMILY];
    const GROUP_LABELS: &'static [&'static str] = &[GROUP_INDEX, GROUP_KEY];

    type Object = Self;

    fn recognise(pod: &Told<'_>, _: &Recogniser) -> Option<Recognised> {
        let set = pod.labels.text(NAME)?;
        let index = Some(pod.labels.text(GROUP_INDEX)?);
        let required = pod.annotations.topology_key(EXCLUSIVE);
        // Its webhook keeps groups of one namespace apart.
        let exclusive = required.as_ref().map(|_| Scope::Namespace);
        Some(Recognised {
            set,
            index,
            revision: pod.labels.text(REVISION),
            size: pod.annotations.number(SIZE),
            member: pod.labels.number(WORKER_INDEX),
            topology: TopologyRequest { required, preferred: None, exclusive },
            subgroup: subgroup(pod),
        })
    }
}

impl BackingObject for LeaderWorkerSet {
    const KIND: Option<&'static ObjectKind> = Some(&ObjectKind {
        name: "LeaderWorkerSet",
        group: "leaderworkerset.x-k8s.io",
        plural: "leaderworkersets",
        built_in: false,
        with_label: None,
    });
    // They are the same on all members of a replica, but for those that number its pods.
    const SHARED_LABELS: &'static [&'static str] = &[FAMILY];

    fn behind(_: &Pod, membership: &Membership) -> Option<ObjectKey> {
        Some(membership.group.set.clone())
    }

    fn read(object: &dyn Fields, named: GroupObject) -> Result<GroupObject, Malformed> {
        let size = object.number("spec.leaderWorkerTemplate.size")?;
        let restart = object.text("spec.leaderWorkerTemplate.restartPolicy")?;
        let role = Role {
            name: Name::from(""),
            replicas: 1,
            size: size.unwrap_or_default(),
            leader: object.template("spec.leaderWorkerTemplate.leaderTemplate")?.map(Arc::new),
            worker: object.template("spec.leaderWorkerTemplate.workerTemplate")?.map(Arc::new),
        };
        // `Default` is the old name of `None`.
        let restarts_together = !matches!(restart.as_deref(), Some("None" | "Default"));
        Ok(GroupObject { size, restarts_together, roles: Box::new([role]), ..named })
    }

    fn size(_: &Pod, object: &GroupObject) -> Option<u32> {
        object.size
    }

    fn index(_: &Pod, _: &GroupObject) -> Option<u32> {
        None
    }

    fn template<'o>(_: &Pod, object: &'o GroupObject, index: u32) -> Option<&'o Template> {
        object.roles.first()?.template(index)
    }

    /// A set can say that it is not so, or that a leader has no workers.
    fn restarts_together(object: Option<&GroupObject>) -> bool {
        object.is_none_or(|set| set.restarts_together && set.size != Some(1))
    }
}

fn subgroup(pod: &Told<'_>) -> Option<Subgroup> {
    let kind = pod.annotations.text(SUBGROUP_TYPE);
    Some(Subgroup {
        size: pod.annotations.number(SUBGROUP_SIZE)?,
        topology: pod.annotations.topology_key(SUBGROUP_EXCLUSIVE)?,
        index: pod.labels.number(SUBGROUP_INDEX).unwrap_or_default(),
        leader_excluded: kind.is_some_and(|kind| &*kind == "LeaderExcluded"),
    })
}
