//! The last word before a bind: it must not tear a group or a subgroup apart, nor put it into a domain that another has to itself.
//!
//! Filter let the pod in a while ago. Meanwhile its volumes may have taken longer than anybody waited, and the others may
//! have gone elsewhere, or strangers have come.

use std::sync::Arc;

use super::agreement::claim;
use super::host_set::most_common;
use super::members::{Members, subgroup_of};
use super::other_groups::Exclusion;
use crate::ledger::Entry;
use crate::model::{GroupKey, Membership, Name, Pod};
use crate::policy::Budget;
use crate::view::{HostDomain, View};

/// What it may cost to find out who is still to come, in steps. Whoever costs more is looked at again.
const STEPS: u64 = 100_000;

/// Why a bind would break what groups are promised, if it would.
pub fn breach(pod: &Pod, node: &str, view: &View) -> Option<&'static str> {
    let (group, subgroup) = (Fellowship::of_group(pod, view), Fellowship::of_subgroup(pod, view));
    let is_elsewhere =
        |of: &Option<Fellowship<'_>>| of.as_ref().is_some_and(|of| of.is_elsewhere(node, view));
    let is_in_none =
        |of: &Option<Fellowship<'_>>| of.as_ref().is_some_and(|of| of.is_in_no_domain(node, view));
    if is_elsewhere(&group) {
        Some("the replica group is in another domain of its required topology by now")
    } else if is_elsewhere(&subgroup) {
        Some("the subgroup of the replica group is in another domain of its topology by now")
    } else if is_in_none(&group) {
        Some("the node has lost the label of the replica group's required topology by now")
    } else if is_in_none(&subgroup) {
        Some("the node has lost the label of the topology of the replica group's subgroups by now")
    } else if trespasses(pod, node, view) {
        Some("a replica group that must not share the domain is there by now")
    } else {
        None
    }
}

/// Whether a member would be the first of its group, or of its subgroup, in place, and nobody has decided lately that it may begin on this node: its
/// attempt took longer than it is remembered, the node has changed domains since, or another Berth was asked; or what was kept
/// for the others has been given up since, for whatever cause. Then the group has to be looked at again.
pub fn begins_unforeseen(pod: &Pod, node: &str, view: &View) -> bool {
    let Some(membership) = pod.group.as_ref().filter(|_| pod.is_placed_with_its_group()) else {
        return false;
    };
    let mut others = view.placed_members(&membership.group).filter(|member| member.uid != pod.uid);
    // Where a subgroup is to be follows from its own members.
    let is_first_of_subgroup =
        || Fellowship::of_subgroup(pod, view).is_some_and(|subgroup| subgroup.others.is_empty());
    let is_first = others.next().is_none() || is_first_of_subgroup();
    is_first && !view.ledger().get(&pod.uid).is_some_and(|entry| is_foreseen(entry, pod, node, view))
}

/// Whether a first member comes to the domain that it was let into, and finds there what was kept for the others then. A
/// reservation has a time of its own: it runs from the first attempt on, and may be shorter than attempts are remembered.
fn is_foreseen(entry: &Entry, pod: &Pod, node: &str, view: &View) -> bool {
    let Some(membership) = pod.group.as_ref() else { return true };
    let is_let_in = |domain: &Option<(Name, Name)>, asks_for_one: bool| match domain {
        Some((key, value)) => view.node(node).is_none_or(|node| node.labels.get(key) == Some(value)),
        None => !asks_for_one,
    };
    let is_let_in = is_let_in(&entry.domain, membership.topology.required.is_some())
        && is_let_in(&entry.subgroup_domain, subgroup_seen(pod, view).is_some());
    let kept = view.ledger().reservations().of(&membership.group);
    let is_room_kept = kept.is_some_and(|kept| kept.domain == entry.domain);
    is_let_in && (is_room_kept || !has_others_to_come(pod, view))
}

/// Whether the group of a first member lacks more than this one, as far as is known.
fn has_others_to_come(pod: &Pod, view: &View) -> bool {
    let budget = Budget::of_steps(STEPS);
    let members = Members::of(pod, view, &budget).filter(|members| members.excess.is_none());
    budget.is_spent() || members.is_none_or(|members| members.missing() > 1)
}

/// Whether a member on this node would be the first of its group in a domain where one of another group is, and one of both
/// groups does not want the other there.
fn trespasses(pod: &Pod, node: &str, view: &View) -> bool {
    let (Some(own), Some(node)) = (pod.group.as_ref(), view.node(node)) else { return false };
    let label_at = |member: &Pod, key: &Name| view.node(view.place_of(&member.uid)?)?.labels.get(key);
    let meets = |stranger: &Pod, key: &Name| {
        let shared = node.labels.get(key).filter(|value| label_at(stranger, key) == Some(*value));
        // A group stays where it is, whoever else is there.
        let mut members = view.placed_members(&own.group).filter(|member| member.uid != pod.uid);
        shared.is_some() && !members.any(|member| label_at(member, key) == shared)
    };
    // As filter has it: no member speaks for its group alone.
    let minds_us = |group: &GroupKey| {
        let claim = claim(view.placed_members(group)).filter(|(scope, _)| scope.covers(group, &own.group));
        claim.is_some_and(|(_, key)| view.placed_members(group).any(|stranger| meets(stranger, key)))
    };
    let we_mind = |stranger: &Pod| {
        let key = stranger.group.as_ref().and_then(|theirs| Exclusion::key_against(own, theirs));
        !stranger.terminating && key.is_some_and(|key| meets(stranger, key))
    };
    let mut exclusive = view.exclusive_groups().filter(|(group, _)| **group != own.group);
    exclusive.any(|(group, _)| minds_us(group))
        || own.topology.exclusive.is_some() && neighbours(own, &node.name, view).any(|pod| we_mind(pod))
}

/// The pods in the domain of a node, of the topology that a group requires. Where its domains are not known, the members in
/// place of all groups.
fn neighbours<'v>(own: &Membership, node: &str, view: &'v View) -> impl Iterator<Item = &'v Arc<Pod>> {
    let domains = own.topology.required.as_ref().and_then(|key| view.domains(key));
    let domain = domains.zip(view.host_id(node)).and_then(|(domains, host)| match domains.of(host) {
        HostDomain::In(domain) => Some(domains.hosts(domain)),
        HostDomain::MissingLabel | HostDomain::UnknownNode => None,
    });
    let everywhere = domain.is_none().then(|| view.placed_groups().flat_map(|(_, members)| members));
    let hosts = domain.into_iter().flatten().filter_map(|host| view.host_numbered(*host));
    let here = hosts.flat_map(|host| host.pods.iter());
    here.chain(everywhere.into_iter().flatten())
}

/// A pod and those of its group with whom it has to be in one domain of a topology key.
struct Fellowship<'v> {
    key: &'v Name,
    others: Vec<&'v Arc<Pod>>,
}

impl<'v> Fellowship<'v> {
    /// The whole group, if it requires a topology.
    fn of_group(pod: &'v Pod, view: &'v View) -> Option<Self> {
        let membership = pod.group.as_ref()?;
        let key = membership.topology.required.as_ref()?;
        Some(Self {
            key,
            others: view.placed_members(&membership.group).filter(|other| other.uid != pod.uid).collect(),
        })
    }

    /// The subgroup, if the pod is in one.
    fn of_subgroup(pod: &'v Pod, view: &'v View) -> Option<Self> {
        let membership = pod.group.as_ref()?;
        let (key, subgroup) = (&membership.subgroup.as_ref()?.topology, subgroup_seen(pod, view)?);
        let all = view.placed_members(&membership.group).filter(|other| other.uid != pod.uid);
        Some(Self { key, others: all.filter(|other| subgroup_seen(other, view) == Some(subgroup)).collect() })
    }

    /// Whether a node that is known is in no domain.
    fn is_in_no_domain(&self, node: &str, view: &View) -> bool {
        view.node(node).is_some_and(|node| node.labels.get(self.key).is_none())
    }

    /// Whether a node is in another domain than those who are in place.
    fn is_elsewhere(&self, node: &str, view: &'v View) -> bool {
        let domain_of = |node: &str| view.node(node).and_then(|node| node.labels.get(self.key));
        let domains = self.others.iter().filter_map(|member| domain_of(view.place_of(&member.uid)?));
        most_common(domains).0.is_some_and(|anchor| domain_of(node) != Some(anchor))
    }
}

/// The subgroup that a member belongs to, if its group has subgroups.
fn subgroup_seen(pod: &Pod, view: &View) -> Option<u32> {
    subgroup_of(pod, view.group_size(pod)?)
}

#[cfg(test)]
mod tests {
    use super::super::situation::{Situation, member};
    use super::{Fellowship, breach, trespasses};
    use crate::fixtures::{PodBuilder, pod};
    use crate::model::Pod;
    use crate::view::View;

    #[test]
    fn a_member_joins_the_others_or_is_not_bound() {
        let racks = || Situation::racks(&[("a", &[8]), ("b", &[8, 8])]);
        let placed = |index: usize, node: &str| member("g", index, 4, 1).on(node).build();
        let asking = member("g", 0, 4, 1).build();
        let tears_apart = |pod: &Pod, node: &str, view: &View| {
            Fellowship::of_group(pod, view).is_some_and(|group| group.is_elsewhere(node, view))
        };
        for (name, situation, node, expected) in [
            ("nobody is in place", racks(), "b0", false),
            ("the others are there", racks().with(placed(1, "b0")), "b1", false),
            ("the others are elsewhere", racks().with(placed(1, "a0")), "b1", true),
            (
                "most are",
                racks().with(placed(1, "a0")).with(placed(2, "b0")).with(placed(3, "b1")),
                "a0",
                true,
            ),
            ("the node is not known", racks().with(placed(1, "a0")), "c0", true),
            ("it is bound already", racks().with(placed(0, "a0")), "b0", false),
        ] {
            assert_eq!(tears_apart(&asking, node, &situation.view), expected, "{name}");
        }
        assert!(breach(&asking, "b1", &racks().with(placed(1, "a0")).view).is_some());
        let single = pod("single").build();
        assert!(!tears_apart(&single, "a0", &racks().with(placed(1, "b0")).view));
    }

    #[test]
    fn a_member_joins_its_subgroup_or_is_not_bound() {
        const LWS: &str = "leaderworkerset.sigs.k8s.io";
        let bare = || {
            let racks = Situation::racks(&[("a", &[8]), ("b", &[8])]);
            racks.with_object(r#"{"apiVersion":"v1","kind":"Node","metadata":{"name":"bare"}}"#)
        };
        // Subgroups of two; a leader that is one too many joins the first of them, unless it is in none.
        let member = |index: usize, kind: &str| {
            let pod = pod(&format!("llm-0-{index}"))
                .label(&format!("{LWS}/name"), "llm")
                .label(&format!("{LWS}/group-index"), "0")
                .label(&format!("{LWS}/worker-index"), &index.to_string())
                .annotation(&format!("{LWS}/size"), "5");
            pod.annotation(&format!("{LWS}/subgroup-size"), "2")
                .annotation(&format!("{LWS}/subgroup-policy-type"), kind)
                .annotation(&format!("{LWS}/subgroup-exclusive-topology"), super::super::situation::RACK)
        };
        let worker = |index: usize| member(index, "LeaderWorker");
        let another = Some("another domain of its topology");
        for (name, situation, asking, node, expected) in [
            ("nobody is in place", bare(), worker(1), "a0", None),
            ("the other one is there", bare().with(worker(2).on("a0").build()), worker(1), "a0", None),
            ("the other one is elsewhere", bare().with(worker(2).on("b0").build()), worker(1), "a0", another),
            ("so is the leader", bare().with(worker(0).on("b0").build()), worker(1), "a0", another),
            (
                "the leader is in no subgroup",
                bare().with(member(0, "LeaderExcluded").on("b0").build()),
                member(1, "LeaderExcluded"),
                "a0",
                None,
            ),
            ("another subgroup is elsewhere", bare().with(worker(3).on("b0").build()), worker(1), "a0", None),
            (
                "the node is in no rack",
                bare(),
                worker(1),
                "bare",
                Some("topology of the replica group's subgroups"),
            ),
            (
                "nor needs a leader be that is in no subgroup",
                bare(),
                member(0, "LeaderExcluded"),
                "bare",
                None,
            ),
        ] {
            let found = breach(&asking.build(), node, &situation.view);
            assert_eq!(found.is_some(), expected.is_some(), "{name}: {found:?}");
            assert!(
                found.is_none_or(|found| found.contains(expected.unwrap_or_default())),
                "{name}: {found:?}"
            );
        }
    }

    #[test]
    fn a_member_is_not_bound_to_a_node_that_has_lost_its_label() {
        let racks = || {
            let nodes = Situation::racks(&[("a", &[8, 8])]);
            nodes.with_object(r#"{"apiVersion":"v1","kind":"Node","metadata":{"name":"a0"}}"#)
        };
        let member = member("g", 0, 4, 1);
        for (name, pod, node, expected) in [
            ("a member", member.clone().build(), "a0", true),
            ("to a node that has it", member.clone().build(), "a1", false),
            ("to a node that is not known, which the API server shall judge", member.build(), "c0", false),
            ("a single pod", pod("single").build(), "a0", false),
        ] {
            assert_eq!(breach(&pod, node, &racks().view).is_some(), expected, "{name}");
        }
    }

    #[test]
    fn a_group_is_not_bound_into_a_domain_that_another_has_to_itself() {
        let racks = || Situation::racks(&[("a", &[8, 8]), ("b", &[8])]);
        let alone = |member: PodBuilder| member.annotation("berth.dev/exclusive", "Namespace").build();
        let asking = || member("g", 0, 2, 1);
        let other = |node: &str| member("h", 0, 2, 1).on(node);
        for (name, asking, situation, expected) in [
            ("nobody is there", alone(asking()), racks(), false),
            ("it wants to be alone", alone(asking()), racks().with(other("a1").build()), true),
            ("the other one does", asking().build(), racks().with(alone(other("a1"))), true),
            ("nobody minds", asking().build(), racks().with(other("a1").build()), false),
            ("the other one is elsewhere", alone(asking()), racks().with(alone(other("b0"))), false),
            (
                "one of the others does, and another does not",
                asking().build(),
                racks().with(other("a1").build()).with(alone(member("h", 1, 2, 1).on("a1"))),
                false,
            ),
            (
                "it is there already",
                alone(asking()),
                racks().with(other("a1").build()).with(member("g", 1, 2, 1).on("a0").build()),
                false,
            ),
        ] {
            for view in [&situation.view, &situation.with_domains()] {
                assert_eq!(trespasses(&asking, "a0", view), expected, "{name}");
                assert_eq!(breach(&asking, "a0", view).is_some(), expected, "{name}");
            }
        }
    }
}
