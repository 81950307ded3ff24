//! What preempt promises, on random clusters with random candidates.
//!
//! What candidates cost, and whether filter would refuse them, is found out here in another way than Berth does it:
//! costs by reading through all pods, refusals by asking filter about a cluster that the victims have left.
#![allow(clippy::expect_used, clippy::panic, reason = "a test fails by panicking")]

mod by_hand;
mod case;
mod cluster;
mod judgement;

use std::collections::BTreeSet;

use berth::config::Criterion;
use berth::policy::preemption::{Cost, Rank};
use case::{Answer, Case, Mode};
use judgement::{Fate, judge};
use proptest::prelude::{ProptestConfig, any, prop_assert, prop_assert_eq, proptest};
use proptest::strategy::{Strategy, ValueTree};
use proptest::test_runner::TestRunner;

const CRITERIA: [Criterion; 6] = [
    Criterion::Nothing,
    Criterion::BudgetViolations,
    Criterion::GroupsLost,
    Criterion::HighestPriority,
    Criterion::PodsLost,
    Criterion::Node,
];

/// Everything that must hold for one case.
fn check(case: &Case) -> BTreeSet<Fate> {
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

proptest! {
    #![proptest_config(ProptestConfig { cases: 1_500, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn the_answer_is_the_best_class_of_what_is_not_in_vain(case in case::any_case()) {
        check(&case);
    }

    #[test]
    fn ranks_are_a_total_order_and_a_wider_class_never_turns_it_round(
        (a, b, c) in (any_rank(), any_rank(), any_rank()),
    ) {
        let [a, b, c] = [&a, &b, &c].map(|(cost, node)| Rank { cost: *cost, node });
        prop_assert_eq!(a.cmp(&b), b.cmp(&a).reverse());
        prop_assert_eq!(a == b, a.cmp(&b).is_eq());
        prop_assert!(!(a <= b && b <= c) || a <= c);
        for criterion in CRITERIA {
            prop_assert!(a > b || a.up_to(criterion) <= b.up_to(criterion));
        }
    }
}

fn any_rank() -> impl Strategy<Value = (Cost, String)> {
    (0..3i64, 0..3usize, any::<bool>(), 0..3usize, "[ab]").prop_map(
        |(violations, groups, important, pods, node)| {
            let cost = Cost {
                budget_violations: violations,
                groups_lost: groups,
                highest_priority: if important { i32::MAX } else { i32::MIN },
                pods_lost: pods,
            };
            (cost, node)
        },
    )
}

/// The generator is only worth what it reaches.
#[test]
fn random_cases_reach_every_fate() {
    let mut runner = TestRunner::deterministic();
    let mut seen = BTreeSet::new();
    let mut turned = 0;
    for _ in 0..300 {
        let case = case::any_case().new_tree(&mut runner).expect("no filters, so always a value").current();
        seen.extend(check(&case));
        turned += usize::from(case.is_turned_by_eviction());
    }
    assert_eq!(seen.len(), 5, "{seen:?}");
    assert!(turned > 10, "only {turned} evictions in 300 cases made filter change its mind");
}
