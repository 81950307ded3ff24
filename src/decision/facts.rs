//! Facts: the numbers behind a reason code, worked out only for a question that asks for them.

use std::sync::Arc;

use super::Reason;
use crate::model::{GroupKey, Name};

/// How much a question wants to know.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub enum Detail {
    /// Reason codes only: what kube-scheduler's calls need.
    #[default]
    Codes,
    /// Also the numbers behind them.
    Facts,
}

/// What a decision is based on.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Facts {
    /// How a replica group fares in each domain that was looked at, in the order in which they were ranked.
    pub domains: Vec<DomainFact>,
    /// How the pod's workload is spread over the domains of each hard constraint.
    pub skews: Vec<SkewFact>,
    /// What was chosen, among what, by which rule.
    pub choice: Option<Choice>,
}

/// How a replica group fares in one domain.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DomainFact {
    /// The topology key and its value; absent if the whole cluster was looked at.
    pub domain: Option<(Name, Name)>,
    /// How many of the missing members find room.
    pub fits: usize,
    /// How many are missing.
    pub of: usize,
    /// Why the domain is none for the group, if it is none.
    pub reason: Option<Reason>,
    /// The resource of which most is missing, and how much of it.
    pub short: Option<Shortage>,
    /// The groups for which room is reserved there.
    pub reserved_for: Vec<Arc<GroupKey>>,
}

/// What a domain lacks.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Shortage {
    /// The resource, as Kubernetes names it; `pods` for the number of pods.
    pub resource: Name,
    /// By how much, in the resource's own unit (thousandths for CPU).
    pub by: i64,
}

/// How a workload is spread in one domain of a constraint.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SkewFact {
    /// The topology key.
    pub topology_key: Name,
    /// Its value.
    pub domain: Name,
    /// How many pods of the workload the domain holds.
    pub pods: i64,
    /// How many the emptiest domain holds.
    pub minimum: i64,
    /// By how much they may differ.
    pub max_skew: i64,
}

/// What was chosen.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Choice {
    /// The domain, if the group is to be in one.
    pub domain: Option<(Name, Name)>,
    /// How many domains would have done.
    pub among: usize,
    /// What decided.
    pub rule: ChoiceRule,
}

/// What decided between domains.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ChoiceRule {
    /// Slots are reserved there already.
    Reserved,
    /// Members are running there already.
    Anchored,
    /// It was the only one.
    OnlyOne,
    /// Its evictions cost less.
    CheaperEvictions,
    /// The group is within one domain of its preferred topology there.
    Preferred,
    /// Fewer groups of the same set are near.
    FewerGroupsOfSet,
    /// Least room is left over.
    BestFit,
    /// A stable hash, between equals.
    Hash,
}
