//! Whether the quotas of its namespace let all members of a group be created that do not exist yet.
//!
//! Members that exist have passed their quotas. Whoever could not be created would have room kept in vain, and the first
//! member would have been let in for nothing: so it is all of them or none.
//!
//! What is left of a quota is what it has left by what is seen (see [`View::quota_left`]), less what other groups of the
//! namespace have slots for that do not exist either. In doubt the members may be created, for a quota that is wrongly
//! taken to be too small would stop an honest group: scopes that look at what is not kept of pods apply to nobody, and
//! for quotas with scopes the slots of others are left out, for these do not say who will come.

use super::class::Class;
use crate::ledger::Reservation;
use crate::model::pod_requests::Named;
use crate::model::resource_quota::{Counted, QuotaLimit};
use crate::model::{GroupKey, Pod, QuotaTraits, ResourceQuota};
use crate::view::{ExpectedPriority, View};

/// Members that do not exist yet and are alike.
pub struct Expected<'a> {
    /// What they ask for, and how many they are.
    pub class: Class<'a>,
    /// How important each will be.
    pub priority: ExpectedPriority,
    /// Whether they request neither CPU nor memory.
    pub is_best_effort: bool,
    /// Whether they may run for a certain time only.
    pub has_deadline: bool,
    /// What their containers say, if none of them has been created yet.
    pub named: Option<Named>,
}

impl<'a> Expected<'a> {
    /// One like a pod that exists.
    pub fn like(pod: &Pod, class: Class<'a>, priority: ExpectedPriority) -> Self {
        let Pod { is_best_effort, has_deadline, .. } = *pod;
        Self { class, priority, is_best_effort, has_deadline, named: None }
    }

    /// By what quotas will tell them apart.
    fn traits(&self) -> QuotaTraits {
        let (is_best_effort, has_deadline) = (self.is_best_effort, self.has_deadline);
        QuotaTraits { priority_class: self.priority.class.clone(), is_best_effort, has_deadline }
    }
}

/// Whether all of them may be created.
pub fn allows(expected: &[Expected<'_>], own: &GroupKey, view: &View) -> bool {
    let mut quotas = view.quotas(&own.set.namespace);
    expected.is_empty() || quotas.all(|quota| admits(quota, expected, own, view))
}

fn admits(quota: &ResourceQuota, expected: &[Expected<'_>], own: &GroupKey, view: &View) -> bool {
    let counted = || expected.iter().filter(|expected| quota.counts(&expected.traits()));
    quota.limits.iter().all(|limit| {
        let amounts = counted().map(|expected| {
            i128::from(limit.of.of_pod(expected.class.requests)) * (expected.class.count as i128)
        });
        let asked: i128 = amounts.sum();
        let left = || i128::from(view.quota_left(quota, limit));
        let beside = || if quota.scopes.is_empty() { kept_beside(own, &limit.of, view) } else { 0 };
        let is_named = counted().all(|expected| is_named(limit, expected.named));
        // A pod that uses nothing of it is created also where more is used than may be.
        is_named && (asked <= 0 || asked + beside() <= left())
    })
}

/// Under a quota on CPU or memory every container has to say what it requests of it.
fn is_named(limit: &QuotaLimit, named: Option<Named>) -> bool {
    named.is_none_or(|named| match limit.of {
        Counted::Cpu => named.cpu_by_all,
        Counted::Memory => named.memory_by_all,
        Counted::Pods | Counted::EphemeralStorage | Counted::Scalar(_) => true,
    })
}

/// What members of other groups of the namespace will use that do not exist yet and have slots.
fn kept_beside(own: &GroupKey, of: &Counted, view: &View) -> i128 {
    let others = view.ledger().reservations().iter().filter(|kept| *kept.group != *own);
    let others = others.filter(|kept| kept.group.set.namespace == own.set.namespace);
    others.map(|kept| still_to_come(kept, of, view)).sum()
}

/// Slots are not bound to members, and some may be to spare: those of members that wait are taken away from the sum.
fn still_to_come(kept: &Reservation, of: &Counted, view: &View) -> i128 {
    let amount = |requests| i128::from(of.of_pod(requests).max(0));
    let slots: i128 = kept.slots.iter().map(|slot| amount(&slot.requests)).sum();
    let needed = slots * (kept.missing.min(kept.slots.len()) as i128) / (kept.slots.len().max(1) as i128);
    let waiting: i128 = view.waiting_members(&kept.group).map(|pod| amount(&pod.requests)).sum();
    (needed - waiting).max(0)
}

#[cfg(test)]
mod tests {
    use super::super::limits::Excess;
    use super::super::members::Members;
    use super::super::situation::{Situation, member};
    use crate::fixtures::pod;
    use crate::policy::Budget;

    /// With a quota on what this says, of which so much is used by what the API server says.
    fn with_quota(situation: Situation, hard: &str, used: &str, more: &str) -> Situation {
        let text = format!(
            r#"{{"apiVersion":"v1","kind":"ResourceQuota","metadata":{{"name":"q","namespace":"default"}},
            "spec":{{{more}}},"status":{{"hard":{{{hard}}},"used":{{{used}}}}}}}"#
        );
        situation.with_object(&text)
    }

    #[test]
    fn members_to_come_count_together_and_those_that_exist_do_not() {
        let racks = || Situation::racks(&[("a", &[32])]);
        let waits = |situation: Situation, count: usize| {
            (1..=count).fold(situation, |situation, at| situation.with(member("g", at, 4, 2).build()))
        };
        let selected = |class: &str| {
            format!(
                r#""scopeSelector":{{"matchExpressions":[{{"scopeName":"PriorityClass","operator":"In","values":["{class}"]}}]}}"#
            )
        };
        let (pods, cpu) = (r#""pods":"3""#, r#""requests.cpu":"6""#);
        for (name, situation, (hard, used, more), expected) in vec![
            ("three of three pods", racks(), (pods, "", ""), None),
            ("three of two pods", racks(), (r#""pods":"2""#, "", ""), Some(Excess::ForQuota)),
            ("as many CPUs as are left", racks(), (cpu, "", ""), None),
            ("one too few", racks(), (r#""cpu":"5""#, "", ""), Some(Excess::ForQuota)),
            ("of which they request none", racks(), (r#""requests.x.com/gpu":"0""#, "", ""), None),
            ("those that exist do not count", waits(racks(), 2), (r#""requests.cpu":"6""#, "", ""), None),
            (
                "but for what they use",
                waits(racks(), 2),
                (r#""requests.cpu":"5""#, r#""requests.cpu":"4""#, ""),
                Some(Excess::ForQuota),
            ),
            ("all are there", waits(racks(), 3), (r#""pods":"0""#, r#""pods":"4""#, ""), None),
            (
                "another uses it",
                racks().with(pod("x").build()),
                (pods, r#""pods":"1""#, ""),
                Some(Excess::ForQuota),
            ),
            (
                "so the API server believes still, but nobody is there",
                racks(),
                (pods, r#""pods":"1""#, ""),
                None,
            ),
            (
                "it will be used by another group",
                racks().with_reserved("h", &[("a0", 1)]),
                (pods, "", ""),
                Some(Excess::ForQuota),
            ),
            (
                "whose members are all there",
                racks().with_reserved("h", &[("a0", 1)]).with(member("h", 0, 1, 1).build()),
                (r#""pods":"4""#, r#""pods":"1""#, ""),
                None,
            ),
            ("of another class", racks(), (r#""pods":"0""#, "", &*selected("high")), None),
            (
                "of their own scope",
                racks(),
                (r#""pods":"0""#, "", r#""scopes":["NotTerminating"]"#),
                Some(Excess::ForQuota),
            ),
            (
                "of a scope that nobody can tell",
                racks(),
                (r#""pods":"0""#, "", r#""scopes":["CrossNamespacePodAffinity"]"#),
                None,
            ),
        ] {
            let situation = with_quota(situation, hard, used, more);
            let asking = member("g", 0, 4, 2).build();
            let members = Members::of(&asking, &situation.view, Budget::unlimited()).expect("a member");
            assert_eq!(members.excess, expected, "{name}");
        }
    }

    #[test]
    fn with_members_in_place_those_that_cannot_be_created_are_left_out() {
        let situation = Situation::racks(&[("a", &[32])]).with(member("g", 0, 4, 2).on("a0").build());
        let situation = with_quota(situation.with(member("g", 1, 4, 2).build()), r#""pods":"3""#, "", "");
        let asking = member("g", 1, 4, 2).build();
        let members = Members::of(&asking, &situation.view, Budget::unlimited()).expect("a member");
        assert_eq!((members.excess, members.are_not_creatable, members.missing()), (None, true, 1));
    }
}
