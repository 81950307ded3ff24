//! Which of several possible domains is best.

use std::hash::{DefaultHasher, Hash, Hasher};

use crate::decision::ChoiceRule;
use crate::model::{GroupKey, Name};

/// What choosing a domain costs. Compared field by field, in this order; less is better.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Rank {
    /// 1. Lower-priority pods that would have to leave.
    pub evictions: usize,
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
            ChoiceRule::FewerEvictions
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

    const BASE: Rank = Rank { evictions: 1, beyond_preferred: true, groups_of_set: 1, left_over: 1, hash: 1 };

    #[test]
    fn each_criterion_outweighs_all_that_follow() {
        let worst = Rank { left_over: 99, hash: 99, ..BASE };
        for (name, better, rule) in [
            ("fewer evictions", Rank { evictions: 0, groups_of_set: 9, ..worst }, ChoiceRule::FewerEvictions),
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
