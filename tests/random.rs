//! What property tests count on: cases that can be had again, and failing ones made small.
#![allow(clippy::expect_used, clippy::panic, reason = "a test fails by panicking")]

mod support;

use std::cell::Cell;
use std::collections::BTreeSet;

use support::random::caught::caught;
use support::random::shrink::{Shrink, shrink, shrink_in_batches, without_pieces};
use support::random::{Cases, Origin, Rng, Seeds, check};

fn numbers(rng: &mut Rng) -> Vec<usize> {
    (0..rng.within(20..60)).map(|_| rng.below(1_000)).collect()
}

/// Fails if there are two numbers above 500 with one between 100 and 200 in between.
fn property(list: &[usize]) -> bool {
    let high = |range: &[usize]| range.iter().any(|number| *number > 500);
    !(0..list.len()).any(|at| (100..200).contains(&list[at]) && high(&list[..at]) && high(&list[at..]))
}

#[test]
fn a_case_depends_on_its_seed_and_number_alone() {
    let of = |seed, number| numbers(&mut Origin { seed, number }.rng());
    assert_eq!(of(1, 2), of(1, 2));
    let different: BTreeSet<Vec<usize>> =
        (0..10).flat_map(|seed| (0..10).map(move |number| of(seed, number))).collect();
    assert_eq!(different.len(), 100);
}

#[test]
fn every_choice_is_made_about_as_often_as_it_should() {
    let rng = &mut Rng::of(1, 2);
    let mut count = |choose: &dyn Fn(&mut Rng) -> bool| (0..10_000).filter(|_| choose(rng)).count();
    let about = |expected: usize, found: usize| {
        assert!(found.abs_diff(expected) < 300, "{found} of 10,000 instead of {expected}");
    };
    about(2_500, count(&|rng| rng.below(4) == 3));
    about(2_500, count(&|rng| rng.within(5..9) == 5));
    about(3_000, count(&|rng| rng.chance(30)));
    about(1_000, count(&|rng| rng.one_in(10)));
    about(2_000, count(&|rng| rng.pick(&["a", "b", "c", "d", "e"]) == "c"));
    about(6_000, count(&|rng| rng.weighted(&[(3, 'a'), (6, 'b'), (1, 'c')]) == 'b'));
    about(5_000, count(&|rng| rng.byte() >= 0x80));
    about(
        2_500,
        count(&|rng| {
            let mut items = [0, 1, 2, 3];
            rng.shuffle(&mut items);
            items[3] == 0
        }),
    );
}

/// The seeds, in their order, and how many cases each of them has.
fn seeds(cases: &Cases) -> Vec<(u64, usize)> {
    let origins: Vec<Origin> = cases.each().collect();
    assert_eq!(cases.batches().concat(), origins);
    assert!(cases.batches().iter().all(|batch| batch.len() <= 500));
    origins.chunk_by(|a, b| a.seed == b.seed).map(|part| (part[0].seed, part.len())).collect()
}

#[test]
fn cases_are_fixed_fresh_or_half_of_each() {
    let [fixed, half, fresh] = [Seeds::Fixed, Seeds::HalfFresh, Seeds::Fresh]
        .map(|origin| seeds(&Cases::new("BERTH_NOBODY", 1_001, origin)));
    let always = seeds(&Cases::always(1_001));
    let [(seed, 1_001)] = always[..] else { panic!("{always:?}") };
    assert_eq!(fixed, always);
    assert!(matches!(fresh[..], [(other, 1_001)] if other != seed), "{fresh:?}");
    assert!(matches!(half[..], [(first, 501), (other, 500)] if first == seed && other != seed), "{half:?}");
}

#[test]
fn what_is_left_of_a_failing_case_is_as_small_as_it_gets() {
    let failing = (0..100).map(|number| numbers(&mut Rng::of(1, number))).filter(|list| !property(list));
    let small: BTreeSet<Vec<usize>> = failing.map(|list| shrink(list, |list| !property(list))).collect();
    assert_eq!(small, [vec![501, 100, 501]].into(), "from wherever it starts");
}

#[test]
fn asking_about_many_at_once_finds_the_same() {
    let list =
        (0..100).map(|number| numbers(&mut Rng::of(2, number))).find(|list| !property(list)).expect("one");
    let rounds = Cell::new(0);
    let small = shrink_in_batches(list, |lists| {
        rounds.set(rounds.get() + 1);
        lists.iter().position(|list| !property(list))
    });
    assert_eq!(small, [501, 100, 501]);
    assert!(rounds.get() < 50, "{} rounds", rounds.get());
}

/// Breaks the rule that none may lead back.
#[derive(Clone, Debug)]
struct Endless;

impl Shrink for Endless {
    fn smaller(&self) -> impl Iterator<Item = Self> {
        std::iter::repeat(Endless)
    }
}

#[test]
fn shrinking_takes_few_questions_and_ends_in_any_case() {
    let questions = Cell::new(0);
    let counted = |fails: bool| {
        questions.set(questions.get() + 1);
        fails
    };
    let long: Vec<usize> = vec![0; 1_000];
    assert_eq!(shrink(long.clone(), |list| counted(list.len() > 500)).len(), 501);
    assert!(questions.get() < 3_000, "{} questions", questions.get());
    assert_eq!(shrink(long.clone(), |_| false), long);
    questions.set(0);
    shrink(Endless, |_| counted(true));
    assert_eq!(questions.get(), 3_000);
}

#[test]
fn a_list_loses_every_piece_once() {
    let lists: Vec<String> = without_pieces(&['a', 'b', 'c', 'd', 'e']).map(String::from_iter).collect();
    assert_eq!(lists, ["", "cde", "abe", "abcd", "bcde", "acde", "abde", "abce", "abcd"]);
    assert_eq!(without_pieces::<char>(&[]).count(), 0);
}

#[test]
fn a_property_that_fails_is_reported_with_its_origin_and_made_small() {
    let cases = Cases::new("BERTH_NOBODY", 1_000, Seeds::Fixed);
    let runs = Cell::new(0);
    let report = caught(|| {
        check(&cases, numbers, |list| {
            runs.set(runs.get() + 1);
            assert!(property(list), "not this one");
        })
    });
    let report = report.expect_err("one of them fails");
    let failing = cases.each().find(|origin| !property(&numbers(&mut origin.rng()))).expect("one");
    let Origin { seed, number } = failing;
    for part in [
        format!("seed {seed}, case {number} (alone: BERTH_NOBODY_SEED={seed} BERTH_NOBODY_CASE={number})\n"),
        "tests/random.rs:".to_owned(),
        "not this one\n".to_owned(),
        "made small: [501, 100, 501]".to_owned(),
    ] {
        assert!(report.contains(&part), "{part:?} is not in: {report}");
    }
}

#[test]
fn a_property_that_holds_shows_what_it_saw_of_every_case() {
    let lengths = check(&Cases::always(50), numbers, Vec::len);
    assert_eq!(lengths.len(), 50);
    assert!(lengths.iter().all(|length| (20..60).contains(length)), "{lengths:?}");
}
