//! What preempt promises, on random clusters with random candidates.
//!
//! What candidates cost, and whether filter would refuse them, is found out here in another way than Berth does it:
//! costs by reading through all pods, refusals by asking filter about a cluster that the victims have left.
//!
//! | variable                 | meaning                            |
//! |--------------------------|------------------------------------|
//! | `BERTH_PREEMPTION_CASES` | how many cases, instead of 1,500   |
//! | `BERTH_PREEMPTION_SEED`  | their seed, instead of a fresh one |
//! | `BERTH_PREEMPTION_CASE`  | only the one with this number      |
#![allow(clippy::expect_used, clippy::panic, reason = "a test fails by panicking")]

mod by_hand;
mod case;
mod cluster;
mod generator;
mod judgement;
#[path = "../support/mod.rs"]
mod support;

use std::collections::BTreeSet;

use berth::config::Criterion;
use berth::policy::preemption::{Cost, Rank};
use case::{Answer, Case, Mode};
use generator::any_case;
use judgement::{Fate, judge};
use support::random::{Cases, Seeds, check};

const CRITERIA: [Criterion; 6] = [
    Criterion::Nothing,
    Criterion::BudgetViolations,
    Criterion::GroupsLost,
    Criterion::HighestPriority,
    Criterion::PodsLost,
    Criterion::Node,
];

/// Everything that must hold for one case.
fn promises_hold(case: &Case) -> BTreeSet<Fate> {
    let answer = case.preempt();
    let fates = judge(case);
    assert_eq!(fates.len(), case.candidates.len());

    let passes = |fate: Fate| case.mode == Mode::Observe || !matches!(fate, Fate::Refused | Fate::Outranked);
    let kept = case.candidates.iter().zip(&fates).filter(|(_, fate)| passes(**fate));
    let expected = kept.map(|(candidate, _)| candidate.as_sent()).collect();
    // A subset, with victims, their order and the counts as given: all of that is in this one comparison.
    assert_eq!(answer, Answer(expected), "{case:#?}\n{fates:?}");

    assert_eq!(case.again(&answer).preempt(), answer, "asked again about the answer: {case:#?}");
    assert_eq!(case.in_the_other_form().preempt(), answer, "whole pods or UIDs: {case:#?}");
    fates.into_iter().collect()
}

#[test]
fn the_answer_is_the_best_class_of_what_is_not_in_vain() {
    check(&Cases::new("BERTH_PREEMPTION", 1_500, Seeds::Fresh), any_case, promises_hold);
}

/// The generator is only worth what it reaches.
#[test]
fn random_cases_reach_every_fate() {
    let reached = check(&Cases::always(300), any_case, |case| {
        (promises_hold(case), usize::from(case.is_turned_by_eviction()))
    });
    let seen: BTreeSet<Fate> = reached.iter().flat_map(|(fates, _)| fates).copied().collect();
    assert_eq!(seen.len(), 5, "{seen:?}");
    let turned: usize = reached.iter().map(|(_, turned)| turned).sum();
    assert!(turned > 10, "only {turned} evictions in 300 cases made filter change its mind");
}

/// Few enough to try them all.
#[test]
fn ranks_are_a_total_order_and_a_wider_class_never_turns_it_round() {
    let costs = some_costs();
    let ranks: Vec<Rank<'_>> =
        costs.iter().flat_map(|cost| ["a", "b"].map(|node| Rank { cost: *cost, node })).collect();
    for a in &ranks {
        for b in &ranks {
            assert_eq!(a.cmp(b), b.cmp(a).reverse(), "{a:?} {b:?}");
            assert_eq!(a == b, a.cmp(b).is_eq(), "{a:?} {b:?}");
            for criterion in CRITERIA {
                let wider = a.up_to(criterion) <= b.up_to(criterion);
                assert!(a > b || wider, "{criterion:?} {a:?} {b:?}");
            }
            for c in &ranks {
                assert!(!(a <= b && b <= c) || a <= c, "{a:?} {b:?} {c:?}");
            }
        }
    }
}

fn some_costs() -> Vec<Cost> {
    let mut costs = Vec::new();
    for budget_violations in 0..3 {
        for groups_lost in 0..3 {
            for highest_priority in [i32::MIN, i32::MAX] {
                for pods_lost in 0..3 {
                    costs.push(Cost { budget_violations, groups_lost, highest_priority, pods_lost });
                }
            }
        }
    }
    costs
}
