//! `LeaderWorkerSet`: one replica, a leader and its workers, is a group.

use std::sync::Arc;

use crate::model::group::fields::{Fields, Malformed};
use crate::model::group::service_terms::{ServiceOwner, ServiceTerms};
use crate::model::group::source::{
    BackingObject, DescribedBy, GroupSource, Mark, ObjectKind, Recognised, Told,
};
use crate::model::group::{
    FirstMember, GroupKey, GroupObject, Membership, Recogniser, Role, Scope, Subgroup, TopologyRequest,
};
use crate::model::label_syntax::is_label_key;
use crate::model::{ClaimName, Name, ObjectKey, Pod, Template, TemplateVolume};

const FAMILY: &str = "leaderworkerset.sigs.k8s.io/";
const NAME: &str = "leaderworkerset.sigs.k8s.io/name";
const GROUP_INDEX: &str = "leaderworkerset.sigs.k8s.io/group-index";
const GROUP_KEY: &str = "leaderworkerset.sigs.k8s.io/group-key";
const WORKER_INDEX: &str = "leaderworkerset.sigs.k8s.io/worker-index";
const REVISION: &str = "leaderworkerset.sigs.k8s.io/template-revision-hash";
const SIZE: &str = "leaderworkerset.sigs.k8s.io/size";
const EXCLUSIVE: &str = "leaderworkerset.sigs.k8s.io/exclusive-topology";
/// What its webhook calls the variable with the leader's address.
const LEADER_ADDRESS: &str = "LWS_LEADER_ADDRESS";
/// Whether each replica has a subdomain, and a Service, of its own.
const SUBDOMAIN_POLICY: &str = "leaderworkerset.sigs.k8s.io/subdomainPolicy";
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
        Some(Recognised {
            set,
            index,
            revision: pod.labels.text(REVISION),
            size: pod.annotations.number(SIZE),
            member: pod.labels.number(WORKER_INDEX),
            topology: exclusive_topology(pod.annotations.topology_key(EXCLUSIVE)),
            subgroup: subgroup(pod),
        })
    }

    fn service(pod: &Told<'_>, group: &GroupKey, _: &Recogniser) -> ServiceTerms {
        let terms = ServiceTerms::of(group, pod.labels.pairs(&[NAME, GROUP_INDEX]));
        let policy = pod.annotations.text(SUBDOMAIN_POLICY);
        ServiceTerms {
            // Both the leader and the Service that the controller would make are called so.
            leader: Some(terms.name.as_str().into()),
            leader_variable: Some(LEADER_ADDRESS),
            default_subdomain: Some(group.set.name.clone()),
            is_made_already: policy.is_some_and(|policy| is_unique(&policy)),
            owner: ServiceOwner::Leader,
            ..terms
        }
    }

    /// The leader.
    fn first_member(pod: &Pod) -> FirstMember {
        Self::pod_name(pod, 0).map_or(FirstMember::Nobody, FirstMember::Called)
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
    const SIZE_INCLUDES_FINISHED: bool = true;
    const DESCRIBED_BY: DescribedBy = DescribedBy::Object;
    const NUMBER_LABEL: Option<&'static str> = Some(WORKER_INDEX);

    fn behind(_: &Pod, membership: &Membership) -> Option<ObjectKey> {
        Some(membership.group.set.clone())
    }

    fn read(object: &dyn Fields, named: GroupObject) -> Result<GroupObject, Malformed> {
        let size = object.number("spec.leaderWorkerTemplate.size")?;
        let restart = object.text("spec.leaderWorkerTemplate.restartPolicy")?;
        let claims = claim_templates(object)?;
        let template = |path: &str| {
            let template = object.template(path)?;
            Ok(template.map(|template| Arc::new(with_claims(template, &claims))))
        };
        let role = Role {
            name: Name::from(""),
            replicas: 1,
            size: size.unwrap_or_default(),
            leader: template("spec.leaderWorkerTemplate.leaderTemplate")?,
            worker: template("spec.leaderWorkerTemplate.workerTemplate")?,
        };
        // `Default` is the old name of `None`.
        let restarts_together = !matches!(restart.as_deref(), Some("None" | "Default"));
        // Its controller copies the annotation to all pods.
        let required = object.annotation(EXCLUSIVE)?.filter(|key| is_label_key(key));
        let topology = exclusive_topology(required);
        let policy = object.text("spec.networkConfig.subdomainPolicy")?;
        let makes_services = policy.is_some_and(|policy| is_unique(&policy));
        let roles = Box::new([role]);
        Ok(GroupObject { size, restarts_together, topology, roles, makes_services, ..named })
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

    fn templates<'o>(_: &Pod, object: &'o GroupObject) -> Vec<&'o Template> {
        object.templates().collect()
    }

    /// A replica's leader and its workers are pods of stateful sets.
    fn pod_name(like: &Pod, index: u32) -> Option<Name> {
        let (set, group) = (like.labels.get(NAME)?, like.labels.get(GROUP_INDEX)?);
        Some(if index == 0 { format!("{set}-{group}") } else { format!("{set}-{group}-{index}") }.into())
    }

    /// A set can say that it is not so, or that a leader has no workers.
    fn restarts_together(object: Option<&GroupObject>) -> bool {
        object.is_none_or(|set| set.restarts_together && set.size != Some(1))
    }
}

/// Whether its controller makes a Service for each replica.
fn is_unique(subdomain_policy: &str) -> bool {
    subdomain_policy == "UniquePerReplica"
}

/// What the annotation asks for: its webhook keeps groups of one namespace apart.
fn exclusive_topology(required: Option<Name>) -> TopologyRequest {
    let exclusive = required.as_ref().map(|_| Scope::Namespace);
    TopologyRequest { required, preferred: None, exclusive }
}

/// The names of the templates from which every pod gets claims of its own.
fn claim_templates(object: &dyn Fields) -> Result<Vec<Name>, Malformed> {
    let claims = object.list("spec.leaderWorkerTemplate.volumeClaimTemplates")?;
    let names: Result<Vec<_>, _> = claims.iter().map(|claim| claim.text("metadata.name")).collect();
    Ok(names?.into_iter().flatten().collect())
}

/// A claim that is made for a pod takes the place of a volume that has the same name.
fn with_claims(template: Template, claims: &[Name]) -> Template {
    let stays = |volume: &TemplateVolume| !claims.contains(&volume.name);
    let made = claims
        .iter()
        .map(|claim| TemplateVolume { name: claim.clone(), claim: ClaimName::BeforePod(claim.clone()) });
    let volumes = template.volumes.iter().filter(|volume| stays(volume)).cloned().chain(made).collect();
    Template { volumes, ..template }
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

#[cfg(test)]
mod tests {
    use super::{BackingObject, LeaderWorkerSet};
    use crate::fixtures::{group_object, pod};
    use crate::model::group::Source;

    #[test]
    fn members_to_come_are_known_by_name_and_number() {
        let leader = pod("llm-3").label(super::NAME, "llm").label(super::GROUP_INDEX, "3");
        let leader = leader.label(super::WORKER_INDEX, "0").label("app", "leader").build();
        let name = |index| LeaderWorkerSet::pod_name(&leader, index).map(|name| name.to_string());
        assert_eq!([name(0), name(2)], [Some("llm-3".to_owned()), Some("llm-3-2".to_owned())]);
        assert_eq!(LeaderWorkerSet::pod_name(&pod("p").build(), 1), None);

        let set = group_object(
            Source::LeaderWorkerSet,
            r#"{"metadata":{"name":"llm"},"spec":{"leaderWorkerTemplate":{"workerTemplate":
                {"metadata":{"labels":{"app":"worker"}}}}}}"#,
        );
        let template = LeaderWorkerSet::template(&leader, &set, 2).expect("a template");
        let labels = Source::LeaderWorkerSet.labels_of(template, &leader, 2);
        let label = |key: &str| labels.get(key).map(|value| &**value);
        assert_eq!((label(super::WORKER_INDEX), label("app")), (Some("2"), Some("worker")));
        assert_eq!(label(super::GROUP_INDEX), Some("3"), "all members of a replica share it");
    }
}
