//! How complicated a group may be. What is beyond it is told so before anything is multiplied by the number of hosts.

use std::collections::HashSet;

use super::class::Class;
use crate::model::group::Subgroup;
use crate::model::{AffinityTerm, Name, Selector};

/// Ways in which missing members may differ.
pub const MOST_CLASSES: usize = 256;

/// Subgroups that a group may have; each of them is a class at least.
pub const MOST_SUBGROUPS: u32 = 256;

/// Terms of required anti-affinity that a member may have. Of pods that are in no group, or in another, no more are looked
/// at either: what they write must not cost this group its decision, and kube-scheduler looks at the rest.
pub const MOST_TERMS: usize = 16;

/// Topology keys that all members together may name in those terms. The domains of each are kept in the view.
pub const MOST_ANTI_AFFINITY_KEYS: usize = 16;

/// Lists of terms of required affinity that unlike members may have in all. The view counts pods for each of them.
pub const MOST_AFFINITIES: usize = 16;

/// Requirements and values in the selectors of a member's affinity: they are copied for each topology key and namespace.
pub const MOST_SELECTED: usize = 256;

/// What a group has too many of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Excess {
    /// Members that are unlike each other.
    Classes,
    /// Subgroups.
    Subgroups,
    /// Terms of required anti-affinity, or topology keys in them.
    Terms,
    /// Terms of required affinity, lists of them, or values in them.
    AffinityTerms,
    /// Members that do not exist yet, for what is left of the namespace's quotas.
    ForQuota,
}

/// Whether a group of so many members has too many subgroups.
pub fn has_too_many_subgroups(size: u32, subgroup: Option<&Subgroup>) -> bool {
    subgroup.is_some_and(|subgroup| size.div_ceil(subgroup.size.max(1)) > MOST_SUBGROUPS)
}

/// The terms of the members' affinity and anti-affinity, grown class by class.
#[derive(Default)]
pub struct Terms<'a> {
    anti_affinity_keys: HashSet<&'a Name>,
    affinities: Vec<&'a [AffinityTerm]>,
}

impl<'a> Terms<'a> {
    /// Takes in the terms of a class, unless they are too many.
    pub fn take_in(&mut self, class: &Class<'a>) -> Result<(), Excess> {
        let (apart, near) = (class.anti_affinity_terms(), class.affinity_terms());
        let is_within = apart.len() <= MOST_TERMS && {
            self.anti_affinity_keys.extend(apart.iter().map(|term| &term.topology_key));
            self.anti_affinity_keys.len() <= MOST_ANTI_AFFINITY_KEYS
        };
        if !is_within {
            return Err(Excess::Terms);
        }
        if near.is_empty() || self.affinities.contains(&near) {
            return Ok(());
        }
        self.affinities.push(near);
        let selectors = near.iter().filter_map(|term| term.selector.as_ref());
        let selected: usize =
            selectors.flat_map(Selector::requirements).map(|one| 1 + one.values().len()).sum();
        let is_within =
            near.len() <= MOST_TERMS && selected <= MOST_SELECTED && self.affinities.len() <= MOST_AFFINITIES;
        is_within.then_some(()).ok_or(Excess::AffinityTerms)
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::super::members::Members;
    use super::super::situation::{Situation, apart, cpus, member, near};
    use super::{
        Excess, MOST_AFFINITIES, MOST_ANTI_AFFINITY_KEYS, MOST_CLASSES, MOST_SELECTED, MOST_SUBGROUPS,
        MOST_TERMS,
    };
    use crate::decision::Reason;
    use crate::fixtures::{PodBuilder, pod};
    use crate::model::selector::Requirement;
    use crate::model::{AffinityTerm, Name, Pod, PodConstraints, Selector};
    use crate::policy::Budget;

    const LWS: &str = "leaderworkerset.sigs.k8s.io";

    fn worker(size: u32, subgroup_size: u32) -> PodBuilder {
        pod("llm-0-1")
            .label(&format!("{LWS}/name"), "llm")
            .label(&format!("{LWS}/group-index"), "0")
            .label(&format!("{LWS}/worker-index"), "1")
            .annotation(&format!("{LWS}/size"), &size.to_string())
            .annotation(&format!("{LWS}/subgroup-size"), &subgroup_size.to_string())
            .annotation(&format!("{LWS}/subgroup-exclusive-topology"), "rack")
    }

    /// A member with so many terms, each with a key of its own.
    fn with_terms(at: usize, terms: usize) -> Pod {
        let mut pod = apart("key", member("g", at, 9, 1));
        let term = pod.anti_affinity_terms()[0].clone();
        let keys = (0..terms).map(|key| format!("key-{at}-{key}"));
        pod.anti_affinity = Some(
            keys.map(|key| crate::model::AntiAffinityTerm {
                topology_key: key.as_str().into(),
                ..term.clone()
            })
            .collect(),
        );
        pod
    }

    /// A member that has to be near pods with a label, by so many terms, each with so many values.
    fn near_by(at: usize, (terms, values): (usize, usize)) -> Pod {
        let label = format!("l{at}");
        let mut pod = near("key", (&label, "v"), member("g", at, 99, 1));
        let values: Box<[Name]> = (0..values).map(|value| format!("v{value}").as_str().into()).collect();
        let selector = Selector::from_iter([Requirement::In(label.as_str().into(), values)]);
        let known = PodConstraints::affinity(pod.constraints.as_ref());
        let term = AffinityTerm { selector: Some(selector), ..known[0].clone() };
        let affinity = vec![term; terms].into();
        pod.constraints = Some(Arc::new(PodConstraints { affinity, ..PodConstraints::default() }));
        pod
    }

    #[test]
    fn a_group_beyond_a_limit_is_told_so_and_costs_nothing() {
        let unlike = |count: usize| {
            let unlike = |at: usize| {
                member("g", at, count, 1).requests(cpus(i64::try_from(at).expect("small"))).build()
            };
            (1..count).map(unlike).collect::<Vec<_>>()
        };
        let nearby = |count: usize| (1..=count).map(|at| near_by(at, (1, 1))).collect::<Vec<_>>();
        for (name, asking, others, expected) in [
            (
                "as many unlike members as there may be",
                member("g", 0, 256, 0).build(),
                unlike(MOST_CLASSES),
                None,
            ),
            ("one more", member("g", 0, 257, 0).build(), unlike(MOST_CLASSES + 1), Some(Excess::Classes)),
            ("subgroups of one", worker(MOST_SUBGROUPS + 1, 1).build(), vec![], Some(Excess::Subgroups)),
            ("subgroups of two", worker(MOST_SUBGROUPS + 1, 2).build(), vec![], None),
            ("as many terms as there may be", with_terms(0, MOST_TERMS), vec![], None),
            ("one term more", with_terms(0, MOST_TERMS + 1), vec![], Some(Excess::Terms)),
            ("as many keys in all", with_terms(0, 8), vec![with_terms(1, 8)], None),
            ("one key more", with_terms(0, 8), vec![with_terms(1, 9)], Some(Excess::Terms)),
            ("as many terms of affinity as there may be", near_by(0, (MOST_TERMS, 1)), vec![], None),
            ("one of them more", near_by(0, (MOST_TERMS + 1, 1)), vec![], Some(Excess::AffinityTerms)),
            ("as many values", near_by(0, (1, MOST_SELECTED - 1)), vec![], None),
            ("one value more", near_by(0, (1, MOST_SELECTED)), vec![], Some(Excess::AffinityTerms)),
            ("as many unlike ones", near_by(0, (1, 1)), nearby(MOST_AFFINITIES - 1), None),
            ("one unlike one more", near_by(0, (1, 1)), nearby(MOST_AFFINITIES), Some(Excess::AffinityTerms)),
        ] {
            let situation = others.into_iter().fold(Situation::racks(&[("a", &[8])]), Situation::with);
            let members = Members::of(&asking, &situation.view, Budget::unlimited()).expect("a member");
            assert_eq!(members.excess, expected, "{name}");
            assert!(members.missing.len() <= MOST_CLASSES, "{name}");
        }
    }

    #[test]
    fn what_people_read_names_the_limits() {
        for (reason, limits) in [
            (Reason::TooManyUnlikeMembers, [MOST_CLASSES, MOST_CLASSES]),
            (Reason::TooManySubgroups, [MOST_SUBGROUPS as usize; 2]),
            (Reason::TooManyAntiAffinityTerms, [MOST_TERMS, MOST_ANTI_AFFINITY_KEYS]),
            (Reason::TooManyAffinityTerms, [MOST_AFFINITIES, MOST_SELECTED]),
        ] {
            let meaning = reason.entry().meaning;
            assert!(limits.iter().all(|limit| meaning.contains(&format!("more than {limit} "))), "{meaning}");
        }
    }
}
