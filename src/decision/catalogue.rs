//! What each code means and what helps: the text of `docs/reasons.md`, which a test keeps current.

use std::fmt::Write;

use super::{Reason, Undecided};

/// What a code means for people.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Entry {
    /// What is the case.
    pub meaning: &'static str,
    /// What helps.
    pub remedy: &'static str,
}

const fn entry(meaning: &'static str, remedy: &'static str) -> Entry {
    Entry { meaning, remedy }
}

impl Reason {
    /// What it means and what helps.
    #[expect(clippy::too_many_lines, reason = "a table, one row per code")]
    pub const fn entry(self) -> Entry {
        match self {
            Reason::SkewExceeded => entry(
                "One more pod of the workload in this domain would exceed `maxSkew` of a `DoNotSchedule` default.",
                "Add nodes to the emptier domains, raise `maxSkew`, or exempt the workload with an override.",
            ),
            Reason::SkewUndecided => entry(
                "The limit would be exceeded if pods of the workload that are being placed right now went to this domain.",
                "Nothing: the pod is tried again within a second.",
            ),
            Reason::SpreadLabelMissing => entry(
                "The node lacks the label that a `DoNotSchedule` default spreads over.",
                "Label the node, or choose a key that all nodes carry.",
            ),
            Reason::SpreadOutsideSample => entry(
                "kube-scheduler offers a sample of the nodes, and only others keep within `maxSkew`.",
                "Nothing: the pod is nominated to such a node and tried again within seconds.",
            ),
            Reason::SpreadNodeUnknown => entry(
                "kube-scheduler knows the node and Berth's watch does not show it yet.",
                "Nothing, if it passes within seconds; otherwise look at `berth_cache_staleness_seconds`.",
            ),
            Reason::GroupInOtherDomain => entry(
                "Members of the group run in another domain of the required topology, and the rest has to join them.",
                "Nothing for this node; look at the reason of nodes in the group's own domain.",
            ),
            Reason::OutsideGroupDomain => entry(
                "The group fits as a whole into another domain, which was chosen for it.",
                "Nothing: the pod goes to the chosen domain.",
            ),
            Reason::GroupLabelMissing => entry(
                "The node lacks the label of the group's required topology, so it is in no domain.",
                "Label the node, or correct the key in `berth.dev/required-topology`.",
            ),
            Reason::SlotsOfOtherMembers => entry(
                "The node is in the group's domain, but its room is reserved for other members of the group.",
                "Nothing: another node of the domain is offered.",
            ),
            Reason::GroupUndecided => entry(
                "Whether the group fits depends on a pod that was offered nodes and whose bind call has not come.",
                "Nothing: the pod is tried again within a second.",
            ),
            Reason::GroupDomainUnknown => entry(
                "A member runs on a node that is gone or lacks the label of the required topology, so that nobody can tell \
                 which domain the others have to join.",
                "Nothing, if the node comes back or its pods are cleaned up; otherwise label the node or delete the member.",
            ),
            Reason::GroupSizeUnknown => entry(
                "How many members the group has is told by an object (a Job, a PodGroup, a RayCluster, a PodGang) that is not there, or \
                 that the watch does not show yet. The group begins only when it is known.",
                "Nothing, if it passes within seconds; otherwise create that object, or annotate the pods with `berth.dev/group-size`.",
            ),
            Reason::MembersNotCreated => entry(
                "The group is to have more members than there are, and nobody tells what the others will ask for: no object behind \
                 the group, no controller of a member that makes all its pods from one template. The group begins only when \
                 they have all been created.",
                "Create all members at once, or correct the group's size.",
            ),
            Reason::MemberVolumeUnknown => entry(
                "A member that waits uses a claim that does not exist, is not bound although it does not wait for a pod, or is \
                 bound to a volume that is not there: nobody can tell where it will have to be, and kube-scheduler would not let \
                 it in. The group begins only when that is known.",
                "Nothing, if the claim is about to be bound; otherwise `kubectl describe pvc` tells what it waits for.",
            ),
            Reason::MemberGated => entry(
                "A member that waits has a scheduling gate, so that kube-scheduler does not try it yet. The group begins only when \
                 all its members that exist may be scheduled.",
                "Find out who is to remove the gate: `kubectl get pod -o jsonpath={.spec.schedulingGates}` names it.",
            ),
            Reason::OutsideSample => entry(
                "kube-scheduler offers a sample of the nodes, and the group's room is on others.",
                "Nothing: the pod is nominated to a node of its group's domain and tried again within seconds.",
            ),
            Reason::CacheContradicted => entry(
                "kube-scheduler sees room for the pod on this node, and Berth's watch shows the node full or not at all.",
                "Nothing, if it passes within seconds; otherwise look at `berth_cache_staleness_seconds`.",
            ),
            Reason::ReservedForGroup => entry(
                "The room on this node is reserved for members of a replica group of the same or a higher priority.",
                "Wait until the group is complete or its reservation expires (`replicaGroups.reservationTtl`).",
            ),
            Reason::ReservationUndecided => entry(
                "The reserved room would be touched if a pod that is being placed right now went to this node.",
                "Nothing: the pod is tried again within a second.",
            ),
            Reason::MemberDoesNotFitHere => entry(
                "The whole group fits into the domain, but not if this member takes this node.",
                "Check the member's own node selector, affinity, tolerations, anti-affinity, host ports and volumes.",
            ),
            Reason::OwnDomainExclusive => entry(
                "Running members fix the group's domain, and another group has that domain to itself.",
                "Delete the group so that it is placed anew, or the one that is exclusive.",
            ),
            Reason::OwnDomainReserved => entry(
                "Running members fix the group's domain, and its free room is reserved for another group.",
                "Wait until the other group is complete or its reservation expires.",
            ),
            Reason::OwnDomainNeedsPreemption => entry(
                "Running members fix the group's domain, and the rest fits only if lower-priority pods leave.",
                "Nothing, if kube-scheduler may preempt; otherwise free room in that domain.",
            ),
            Reason::OwnDomainTooSmall => entry(
                "Running members fix the group's domain, and there is no room for the missing ones.",
                "Free room or add nodes in that domain, or delete the group so that it is placed anew.",
            ),
            Reason::DomainExclusive => entry(
                "Another group has the domain to itself, or this group wants it to itself and is not alone there.",
                "Add a domain, or allow the groups to share one (`berth.dev/exclusive`).",
            ),
            Reason::DomainReserved => entry(
                "The whole group would fit into the domain but for room that is reserved for another group.",
                "Wait until the other group is complete or its reservation expires.",
            ),
            Reason::DomainNeedsPreemption => entry(
                "The whole group would fit into the domain if lower-priority pods left.",
                "Nothing, if kube-scheduler may preempt; otherwise free room in one domain.",
            ),
            Reason::DomainTooSmall => entry(
                "The whole group does not fit into this domain.",
                "Free room or add nodes in one domain, make the group smaller, or require a wider topology.",
            ),
            Reason::AwaitsOwnNodes => entry(
                "The group is to have nodes of its own (`replicaUniqueNodeSelector`), and none carries its label yet, or too few do \
                 for the whole group.",
                "Nothing, if an autoscaler is about to add them: all nodes of the group at once where a topology is required. \
                 Otherwise label nodes with the pod's node selector.",
            ),
            Reason::ClusterExclusive => entry(
                "Every node on which the group would fit belongs to a domain that another group has to itself.",
                "Add nodes outside of those domains.",
            ),
            Reason::ClusterReserved => entry(
                "The whole group would fit into the cluster but for room that is reserved for another group.",
                "Wait until the other group is complete or its reservation expires.",
            ),
            Reason::ClusterNeedsPreemption => entry(
                "The whole group would fit into the cluster if lower-priority pods left.",
                "Nothing, if kube-scheduler may preempt; otherwise free room.",
            ),
            Reason::ClusterTooSmall => entry(
                "The whole group does not fit into the cluster.",
                "Add nodes, free room, or make the group smaller.",
            ),
            Reason::GroupTooLarge => entry(
                "The group has more members than `replicaGroups.limits.members` allows.",
                "Make the group smaller, or ask the operator to raise the limit.",
            ),
            Reason::NamespaceSlotsUsedUp => entry(
                "Room for `replicaGroups.limits.slotsPerNamespace` members still to come is kept in this namespace already.",
                "Wait until a group of the namespace is complete, or ask the operator to raise the limit.",
            ),
            Reason::QuotaTooSmall => entry(
                "The ResourceQuotas of the namespace do not let all members of the group be created that are still to come.",
                "Raise the quota, make the group smaller, or delete what uses the quota.",
            ),
            Reason::InvalidGroupName => entry(
                "The annotation `berth.dev/group` or `berth.dev/group-set` is longer than 253 bytes, or has control characters in it.",
                "Correct the annotation.",
            ),
            Reason::InvalidGroupSize => entry(
                "The annotation `berth.dev/group-size` is no number from 1 to 10000.",
                "Correct the annotation.",
            ),
            Reason::InvalidGroupIndex => {
                entry("The annotation `berth.dev/group-index` is no number.", "Correct the annotation.")
            }
            Reason::InvalidExclusive => entry(
                "The annotation `berth.dev/exclusive` is none of `Set`, `Namespace`, `Cluster`.",
                "Correct the annotation.",
            ),
            Reason::InvalidTopologyKey => entry(
                "The annotation `berth.dev/required-topology` or `berth.dev/preferred-topology` is no label key.",
                "Correct the annotation.",
            ),
            Reason::TooManyUnlikeMembers => entry(
                "The missing members of the group differ in requests, requirements or anti-affinity in more than 256 ways.",
                "Let members share templates, or divide the group.",
            ),
            Reason::TooManySubgroups => {
                entry("The group has more than 256 subgroups.", "Make subgroups larger, or divide the group.")
            }
            Reason::TooManyAffinityTerms => entry(
                "A member has more than 16 terms of required affinity to other pods, or more than 256 values in them, or the members have \
                 more than 16 different lists of such terms.",
                "Use fewer terms and values; a label that the pods have in common does for many values.",
            ),
            Reason::TooManyAntiAffinityTerms => entry(
                "A member has more than 16 terms of required anti-affinity, or all members together name more than 16 topology keys in them.",
                "Use fewer terms; one selector can match several values.",
            ),
        }
    }
}

impl Undecided {
    /// What it means and what helps.
    pub const fn entry(self) -> Entry {
        match self {
            Undecided::CacheNotSynced => entry(
                "Berth has just started and has not listed every kind yet.",
                "Wait; if it stays, `/readyz?verbose` names the kind, and the log says why its list fails.",
            ),
            Undecided::CacheStale => entry(
                "A watch has been cut for longer than `server.stalenessLimit`.",
                "Look at the connection to the API server; `/readyz?verbose` names the kind.",
            ),
            Undecided::PlacementUnknown => entry(
                "Every node that is left depends on a pod whose bind call has not come, or on a node not shown yet.",
                "Nothing: kube-scheduler tries again after its backoff.",
            ),
            Undecided::GroupSizeUnknown => entry(
                "The object that tells how many members the pod's group has is not known yet.",
                "Nothing, if it passes within seconds; otherwise create it. kube-scheduler tries again after its backoff.",
            ),
            Undecided::MembersNotCreated => entry(
                "The pod's group is to have more members than there are, and nobody tells what the others will ask for.",
                "Create all members at once, or correct the group's size. kube-scheduler tries again after its backoff.",
            ),
            Undecided::MemberVolumeUnknown => entry(
                "A waiting member of the pod's group uses a claim that does not exist or is not bound yet.",
                "Nothing, if it is about to be; otherwise `kubectl describe pvc`. kube-scheduler tries again after its backoff.",
            ),
            Undecided::GroupDomainUnknown => entry(
                "A member of the pod's group runs on a node that is gone or lacks the label of the required topology.",
                "Nothing, if the node comes back or its pods are cleaned up; otherwise label the node or delete the member.",
            ),
            Undecided::MemberGated => entry(
                "A waiting member of the pod's group has a scheduling gate.",
                "Find out who is to remove it. kube-scheduler tries again after its backoff.",
            ),
            Undecided::ReservationsNotReady => entry(
                "Berth has begun, or recognises groups in another way, a moment ago: it is still working out which room is to be kept for replica groups.",
                "Nothing: it takes ten seconds at most. kube-scheduler tries again after its backoff.",
            ),
            Undecided::DecisionTimeout => entry(
                "The decision would have taken longer than `server.timeouts.decision`.",
                "Make the pod's group simpler: fewer unlike members, fewer anti-affinity terms. kube-scheduler tries again after its backoff.",
            ),
            Undecided::InternalError => entry(
                "A policy failed. The log has the place, `berth_panics_total` counts it.",
                "Report it as a bug.",
            ),
        }
    }
}

/// The page `docs/reasons.md`.
pub fn page() -> String {
    let mut page = String::from(
        "# Reason codes\n\nGenerated from `src/decision/catalogue.rs`; `tests/reasons.rs` keeps it current \
         (`BERTH_WRITE_DOCS=1 cargo test --test reasons` writes it).\n\n\
         The codes are the label `reason` of metrics, part of Events, and as stable as an API. \"Eviction helps\" tells \
         whether kube-scheduler is told that preemption on the node may help.\n\n\
         ## Why a node is rejected\n\n\
         | code | policy | eviction helps | meaning | what helps |\n|---|---|---|---|---|\n",
    );
    // Writing to a string does not fail.
    for reason in Reason::ALL {
        let Entry { meaning, remedy } = reason.entry();
        let (code, policy) = (reason.code(), reason.policy());
        let helps = if reason.is_resolvable() { "yes" } else { "no" };
        let _ = writeln!(page, "| `{code}` | `{policy}` | {helps} | {meaning} | {remedy} |");
    }
    page.push_str(
        "\n## Why there is no decision\n\nFilter answers with an `Error`, and kube-scheduler asks again soon.\n\n\
         | code | meaning | what helps |\n|---|---|---|\n",
    );
    for undecided in Undecided::ALL {
        let Entry { meaning, remedy } = undecided.entry();
        let _ = writeln!(page, "| `{}` | {meaning} | {remedy} |", undecided.code());
    }
    page
}
