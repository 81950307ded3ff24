//! Which of several possible domains is best.

use std::hash::{DefaultHasher, Hash, Hasher};

use crate::decision::ChoiceRule;
use crate::model::{GroupKey, Name};
use crate::policy::preemption::Cost;

/// What choosing a domain costs. Compared field by field, in this order; less is better.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Rank {
    /// 1. What it costs that lower-priority pods leave, if they have to.
    pub evictions: Option<Cost>,
    /// 2. Whether the group would be in several domains of its preferred topology.
    pub beyond_preferred: bool,
    /// 3. Groups of the same set in the wider domain around it.
    pub groups_of_set: usize,
    /// 4. Room left over, so that large domains stay whole for large groups.
    pub left_over: usize,
    /// 5. A hash of group and domain, so that the answer is always the same.
    pub hash: u64,
}

impl Rank {
    /// By which rule this one is better than the next.
    pub fn rule_against(&self, next: &Rank) -> ChoiceRule {
        if self.evictions != next.evictions {
            ChoiceRule::CheaperEvictions
        } else if self.beyond_preferred != next.beyond_preferred {
            ChoiceRule::Preferred
        } else if self.groups_of_set != next.groups_of_set {
            ChoiceRule::FewerGroupsOfSet
        } else if self.left_over != next.left_over {
            ChoiceRule::BestFit
        } else {
            ChoiceRule::Hash
        }
    }
}

/// The hash of a group and a domain's value, or of several within each other.
pub fn hash(group: &GroupKey, domains: [Option<&Name>; 2]) -> u64 {
    let mut hasher = DefaultHasher::new();
    (group, domains).hash(&mut hasher);
    hasher.finish()
}

#[cfg(test)]
mod tests {
    use super::Rank;
    use crate::decision::ChoiceRule;
    use crate::policy::preemption::Cost;

    const COST: Cost = Cost { budget_violations: 0, groups_lost: 1, highest_priority: 0, pods_lost: 1 };
    const BASE: Rank =
        Rank { evictions: Some(COST), beyond_preferred: true, groups_of_set: 1, left_over: 1, hash: 1 };

    #[test]
    fn each_criterion_outweighs_all_that_follow() {
        let worst = Rank { left_over: 99, hash: 99, ..BASE };
        for (name, better, rule) in [
            (
                "no evictions",
                Rank { evictions: None, groups_of_set: 9, ..worst },
                ChoiceRule::CheaperEvictions,
            ),
            (
                "no group is lost",
                Rank {
                    evictions: Some(Cost { groups_lost: 0, pods_lost: 9, ..COST }),
                    groups_of_set: 9,
                    ..worst
                },
                ChoiceRule::CheaperEvictions,
            ),
            (
                "one preferred domain",
                Rank { beyond_preferred: false, groups_of_set: 9, ..worst },
                ChoiceRule::Preferred,
            ),
            ("fewer groups near", Rank { groups_of_set: 0, ..worst }, ChoiceRule::FewerGroupsOfSet),
            ("less left over", Rank { left_over: 0, hash: 99, ..BASE }, ChoiceRule::BestFit),
            ("the hash", Rank { hash: 0, ..BASE }, ChoiceRule::Hash),
        ] {
            assert!(better < BASE, "{name}");
            assert_eq!(better.rule_against(&BASE), rule, "{name}");
        }
    }
}
