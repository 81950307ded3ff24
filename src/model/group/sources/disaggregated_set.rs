//! `DisaggregatedSet`: one slice, with all its roles (prefill, decode), is a group.
//!
//! Taken from the v1 API of `disaggregatedset.x-k8s.io` and its controller: the labels of pods; that each role of a slice is a
//! `LeaderWorkerSet` with `replicas` times `size` pods; that a pod without the slice label is of slice 0; the meaning of
//! `placementPolicy`. Pods of all revisions of a slice are one group, for its affinity knows no revisions either. It has
//! not been tried with the real controller.
//!
//! What is not known or not done:
//! - The replicas of a role with `scaling.mode: External` stand in another object, which is not watched. Such a role
//!   counts for as many pods as have been seen.
//! - A replica that asks for a topology of its own, with the annotations of `LeaderWorkerSet`, is left to that source: it
//!   stays together by itself, and it is the affinity of the controller that keeps the slice together.

use std::sync::Arc;

use crate::model::group::fields::{Fields, Malformed};
use crate::model::group::service_terms::ServiceTerms;
use crate::model::group::source::{
    BackingObject, DescribedBy, GroupSource, Mark, ObjectKind, Recognised, Told,
};
use crate::model::group::{
    FirstMember, GroupKey, GroupObject, Membership, Recogniser, Role, Scope, TopologyRequest,
};
use crate::model::label_syntax::is_label_key;
use crate::model::{Name, ObjectKey, Pod, Template};

const NAME: &str = "disaggregatedset.x-k8s.io/name";
const SLICE: &str = "disaggregatedset.x-k8s.io/slice";
const ROLE: &str = "disaggregatedset.x-k8s.io/role";
const REVISION: &str = "disaggregatedset.x-k8s.io/revision";
/// Which replica of its role a pod belongs to, and which pod of that replica it is.
const REPLICA: &str = "leaderworkerset.sigs.k8s.io/group-index";
const WORKER: &str = "leaderworkerset.sigs.k8s.io/worker-index";
/// Topologies that a replica asks for by itself.
const OF_REPLICA: [&str; 2] = [
    "leaderworkerset.sigs.k8s.io/exclusive-topology",
    "leaderworkerset.sigs.k8s.io/subgroup-exclusive-topology",
];

/// See [`super::Source::DisaggregatedSet`].
pub(super) struct DisaggregatedSet;

impl GroupSource for DisaggregatedSet {
    const MARK: Mark = Mark::Label(NAME);
    const ANNOTATIONS: &'static [&'static str] = &OF_REPLICA;
    const GROUP_LABELS: &'static [&'static str] = &[SLICE];

    type Object = Self;

    fn recognise(pod: &Told<'_>, _: &Recogniser) -> Option<Recognised> {
        let set = pod.labels.text(NAME)?;
        if OF_REPLICA.iter().any(|key| pod.annotations.topology_key(key).is_some()) {
            return None;
        }
        let slice = pod.labels.text(SLICE).unwrap_or_else(|| Name::from("0"));
        Some(Recognised { index: Some(slice), ..Recognised::named(set) })
    }

    fn service(pod: &Told<'_>, group: &GroupKey, _: &Recogniser) -> ServiceTerms {
        ServiceTerms::of(group, pod.labels.pairs(&[NAME, SLICE]))
    }

    /// A slice has a leader in each replica of each role.
    fn first_member(_: &Pod) -> FirstMember {
        FirstMember::Nobody
    }
}

impl BackingObject for DisaggregatedSet {
    const KIND: Option<&'static ObjectKind> = Some(&ObjectKind {
        name: "DisaggregatedSet",
        group: "disaggregatedset.x-k8s.io",
        plural: "disaggregatedsets",
        built_in: false,
        with_label: None,
    });
    const SHARED_LABELS: &'static [&'static str] = &[NAME, SLICE, REVISION];
    const SIZE_INCLUDES_FINISHED: bool = true;
    const DESCRIBED_BY: DescribedBy = DescribedBy::Object;
    const NUMBER_LABEL: Option<&'static str> = None;

    fn behind(_: &Pod, membership: &Membership) -> Option<ObjectKey> {
        Some(membership.group.set.clone())
    }

    fn read(object: &dyn Fields, named: GroupObject) -> Result<GroupObject, Malformed> {
        let roles = object.list("spec.roles")?;
        let roles = roles.iter().map(|fields| role(&**fields)).collect::<Result<Box<[Role]>, _>>()?;
        let size = roles.iter().fold(0, |sum: u32, role| sum.saturating_add(role.members()));
        Ok(GroupObject {
            size: (size > 0).then_some(size),
            // A replica that loses a pod starts anew, the others go on.
            restarts_together: false,
            topology: placement(object)?,
            roles,
            ..named
        })
    }

    fn size(_: &Pod, object: &GroupObject) -> Option<u32> {
        object.size
    }

    /// Members are numbered role by role, and replica by replica within a role.
    fn index(pod: &Pod, object: &GroupObject) -> Option<u32> {
        let told = Told::by(pod);
        let at = object.roles.iter().position(|role| Some(&role.name) == pod.labels.get(ROLE))?;
        let (replica, worker) = (told.labels.number(REPLICA)?, told.labels.number(WORKER)?);
        let (before, role) = (&object.roles[..at], &object.roles[at]);
        let first: u32 = before.iter().fold(0, |sum: u32, role| sum.saturating_add(role.members()));
        let within = replica.checked_mul(role.size)?.checked_add(worker)?;
        // A surge during a rollout has numbers beyond those of its role: it takes nobody's place.
        (within < role.members()).then(|| first.saturating_add(within))
    }

    fn template<'o>(_: &Pod, object: &'o GroupObject, index: u32) -> Option<&'o Template> {
        let mut left = index;
        for role in &object.roles {
            match left.checked_sub(role.members()) {
                Some(beyond) => left = beyond,
                None => return role.template(left % role.size.max(1)),
            }
        }
        None
    }

    fn templates<'o>(_: &Pod, object: &'o GroupObject) -> Vec<&'o Template> {
        object.templates().collect()
    }

    /// How the controller names the sets of its roles is its own affair.
    fn pod_name(_: &Pod, _: u32) -> Option<Name> {
        None
    }

    fn restarts_together(_: Option<&GroupObject>) -> bool {
        false
    }
}

fn role(fields: &dyn Fields) -> Result<Role, Malformed> {
    let name = fields.text("name")?.unwrap_or_else(|| Name::from(""));
    // What tells roles apart is added to the labels of a role's templates when its pods are made.
    let labelled = |mut template: Template| {
        let own = (Name::from(ROLE), name.clone());
        let given = template.labels.iter().map(|(key, value)| (key.clone(), value.clone()));
        template.labels = given.chain([own]).collect();
        Arc::new(template)
    };
    let external = fields.text("scaling.mode")?.is_some_and(|mode| &*mode == "External");
    Ok(Role {
        replicas: if external { 0 } else { fields.number("spec.replicas")?.unwrap_or_default() },
        size: fields.number("spec.leaderWorkerTemplate.size")?.unwrap_or(1),
        leader: fields.template("spec.leaderWorkerTemplate.leaderTemplate")?.map(labelled),
        worker: fields.template("spec.leaderWorkerTemplate.workerTemplate")?.map(labelled),
        name,
    })
}

fn placement(object: &dyn Fields) -> Result<TopologyRequest, Malformed> {
    let kind = object.text("spec.placementPolicy.type")?;
    let key = object.text("spec.placementPolicy.topology")?.filter(|key| is_label_key(key));
    let exclusive = match kind.as_deref() {
        Some("ExclusiveSlice") => Scope::Set,
        // Slices of all sets, but the anti-affinity of its pods does not look into other namespaces.
        Some("ExclusiveTopology") => Scope::Namespace,
        _ => return Ok(TopologyRequest::default()),
    };
    let exclusive = key.as_ref().map(|_| exclusive);
    Ok(TopologyRequest { required: key, preferred: None, exclusive })
}

#[cfg(test)]
mod tests {
    use super::{BackingObject, DisaggregatedSet};
    use crate::fixtures::{NoObjects, group_object, pod};
    use crate::model::group::{Scope, Source, TopologyRequest};
    use crate::model::{GroupObject, Membership, Pod, Recogniser};

    const LWS: &str = "leaderworkerset.sigs.k8s.io";

    fn member(role: &str, replica: &str, worker: &str) -> Pod {
        let set = pod("p").label(super::NAME, "llm").label(super::SLICE, "1").label(super::ROLE, role);
        let replica = set.label(super::REPLICA, replica).label(super::WORKER, worker);
        replica.label(&format!("{LWS}/name"), "llm-1-prefill").annotation(&format!("{LWS}/size"), "2").build()
    }

    fn set(more: &str) -> GroupObject {
        let role = |name: &str, replicas: u32, size: u32, more: &str| {
            let worker = format!(r#"{{"spec":{{"overhead":{{"cpu":"{size}"}}}}}}"#);
            format!(
                r#"{{"name":"{name}","spec":{{"replicas":{replicas},"leaderWorkerTemplate":
                    {{"size":{size},"workerTemplate":{worker}{more}}}}}}}"#
            )
        };
        let leader = r#","leaderTemplate":{"metadata":{"labels":{"a":"b"}}}"#;
        let roles = [role("prefill", 2, 2, ""), role("decode", 1, 3, leader)].join(",");
        group_object(
            Source::DisaggregatedSet,
            &format!(r#"{{"metadata":{{"name":"llm"}},"spec":{{"slices":2,"roles":[{roles}]{more}}}}}"#),
        )
    }

    fn recognised(pod: &Pod) -> Membership {
        let found = Recogniser::default().recognise(pod, &NoObjects).expect("a member");
        Membership::clone(&found)
    }

    #[test]
    fn a_slice_is_a_group_whatever_role_or_replica_its_pods_are_of() {
        let (prefill, decode) =
            (recognised(&member("prefill", "1", "0")), recognised(&member("decode", "0", "2")));
        assert_eq!(prefill.group, decode.group);
        assert_eq!((prefill.group.source, &*prefill.group.index), (Source::DisaggregatedSet, "1"));
        assert_eq!((prefill.size, prefill.index), (None, None), "those of a replica mean nothing here");
        let early = pod("p").label(super::NAME, "llm").label(super::ROLE, "decode").build();
        assert_eq!(&*recognised(&early).group.index, "0", "before there were slices");
    }

    #[test]
    fn a_replica_with_a_topology_of_its_own_stays_a_group() {
        let replica = pod("p").label(super::NAME, "llm").label(&format!("{LWS}/name"), "llm-prefill");
        let replica = replica.label(super::REPLICA, "0").annotation(super::OF_REPLICA[0], "example.com/rack");
        assert_eq!(recognised(&replica.build()).group.source, Source::LeaderWorkerSet);
    }

    #[test]
    fn placement_policies_and_what_they_ask_for() {
        let required = |scope| TopologyRequest {
            required: Some("example.com/rack".into()),
            preferred: None,
            exclusive: Some(scope),
        };
        for (kind, key, expected) in [
            ("None", "example.com/rack", TopologyRequest::default()),
            ("ExclusiveSlice", "example.com/rack", required(Scope::Set)),
            ("ExclusiveTopology", "example.com/rack", required(Scope::Namespace)),
            ("ExclusiveSlice", "", TopologyRequest::default()),
            ("Unheard", "example.com/rack", TopologyRequest::default()),
        ] {
            let policy = format!(r#","placementPolicy":{{"type":"{kind}","topology":"{key}"}}"#);
            assert_eq!(set(&policy).topology, expected, "{kind} {key:?}");
        }
        assert_eq!(set("").topology, TopologyRequest::default());
    }

    #[test]
    fn members_are_numbered_role_by_role_and_made_from_their_templates() {
        let set = set("");
        assert_eq!(set.size, Some(2 * 2 + 3));
        let index = |role, replica, worker| DisaggregatedSet::index(&member(role, replica, worker), &set);
        assert_eq!([index("prefill", "0", "0"), index("prefill", "1", "1")], [Some(0), Some(3)]);
        assert_eq!([index("decode", "0", "0"), index("decode", "0", "2")], [Some(4), Some(6)]);
        assert_eq!([index("decode", "1", "0"), index("router", "0", "0")], [None, None]);

        let like = member("prefill", "0", "0");
        let template = |index| DisaggregatedSet::template(&like, &set, index);
        let cpu = |index| template(index).map(|template| template.requests.milli_cpu);
        let cpus: Vec<_> = (0..8).map(cpu).collect();
        let (small, large) = (Some(2_000), Some(3_000));
        assert_eq!(cpus, [small, small, small, small, Some(0), large, large, None]);
        let role = template(5).and_then(|template| template.labels.get(super::ROLE).cloned());
        assert_eq!(role.as_deref(), Some("decode"));
    }

    #[test]
    fn a_role_that_is_scaled_from_outside_does_not_count() {
        let text = r#"{"metadata":{"name":"llm"},"spec":{"roles":[{"name":"decode","scaling":{"mode":"External"},
            "spec":{"replicas":5,"leaderWorkerTemplate":{"size":2}}}]}}"#;
        assert_eq!(group_object(Source::DisaggregatedSet, text).size, None);
    }
}
