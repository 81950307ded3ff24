//! What an eviction costs: the one comparator by which candidates for preemption are ranked.

use std::collections::HashMap;
use std::sync::Arc;

use crate::config::Criterion;
use crate::model::Pod;
use crate::view::View;

/// What evicting some pods costs. Compared field by field, in this order; less is better.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Cost {
    /// 1. Evictions that a disruption budget forbids.
    pub budget_violations: i64,
    /// 2. Replica groups that will have to start anew, for they run only as a whole. One that is broken already does not run.
    pub groups_lost: usize,
    /// 3. The priority of the most important victim; the lowest there is if all are leaving already.
    pub highest_priority: i32,
    /// 4. Pods that stop in all: the victims, and the other members of their groups wherever they run.
    pub pods_lost: usize,
}

impl Cost {
    /// The cost of evicting these pods, each of them once. Who is leaving already costs nothing more.
    pub fn of(victims: &[Arc<Pod>], budget_violations: i64, view: &View) -> Self {
        let (mut groups, mut singles, mut highest_priority) = (HashMap::new(), 0, i32::MIN);
        let mut live = 0;
        for pod in victims.iter().filter(|pod| !pod.terminating) {
            live += 1;
            highest_priority = highest_priority.max(pod.priority);
            match &pod.group {
                Some(membership) if view.restarts_together(pod, membership) => {
                    let size = view.group_size(pod).unwrap_or_default() as usize;
                    groups.insert(&membership.group, size);
                }
                _ => singles += 1,
            }
        }
        // A victim that is a member is among the members that have a place.
        let in_place = |group| view.placed_members(group).len();
        let members: usize = groups.keys().map(|group| in_place(group)).sum();
        let groups_lost = groups.iter().filter(|(group, size)| in_place(group) >= **size).count();
        // kube-scheduler counts also those that are leaving.
        let budget_violations = budget_violations.min(live);
        Self { budget_violations, groups_lost, highest_priority, pods_lost: singles + members }
    }
}

/// A candidate's place in the ranking: its cost, then its name, so that no two are equal.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Rank<'a> {
    /// What it costs.
    pub cost: Cost,
    /// 5. The node's name.
    pub node: &'a str,
}

impl Rank<'_> {
    /// The rank as far as it is looked at: what comes after the criterion is the same for all. Two candidates are in
    /// one class, among which kube-scheduler chooses, if these are equal.
    #[must_use]
    pub fn up_to(mut self, criterion: Criterion) -> Self {
        let Self { cost, node } = &mut self;
        if criterion < Criterion::Node {
            *node = "";
        }
        if criterion < Criterion::PodsLost {
            cost.pods_lost = 0;
        }
        if criterion < Criterion::HighestPriority {
            cost.highest_priority = 0;
        }
        if criterion < Criterion::GroupsLost {
            cost.groups_lost = 0;
        }
        if criterion < Criterion::BudgetViolations {
            cost.budget_violations = 0;
        }
        self
    }
}
