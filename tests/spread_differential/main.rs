//! Default spreading against kube-scheduler's own code, on random clusters, in which pods wait for nodes that
//! were nominated for them, and preemptions would evict others.
//!
//! ```text
//!                  +--> spread-reference (Go: framework, PodTopologySpread) --+
//!   seed --> case -+                                                          +--> the same outcome?
//!                  +--> Berth (filter, prioritize, preempt) ------------------+
//! ```
//!
//! | variable              | meaning                                                     |
//! |-----------------------|-------------------------------------------------------------|
//! | `BERTH_SPREAD_CASES`  | how many cases, instead of 2,000                            |
//! | `BERTH_SPREAD_SEED`   | the seed of the second half, instead of a fresh one         |
//! | `BERTH_SPREAD_REPLAY` | a file with one case, as a failure leaves it: only this one |
#![allow(clippy::expect_used, clippy::panic, reason = "a test says what is wrong by panicking")]

mod case;
mod generator;
mod outcome;
mod reference;
mod report;
mod rng;
mod shrink;
mod subject;
mod tally;
mod variants;

use std::env;
use std::time::{SystemTime, UNIX_EPOCH};

use case::Case;
use outcome::Outcome;
use reference::{Answer, Reference};
use tally::Tally;

/// The half of the cases that is always the same.
const FIXED_SEED: u64 = 36;
/// Cases in the air at a time; bounds memory in long runs.
const BATCH: u64 = 500;

fn number(variable: &str) -> Option<u64> {
    let text = env::var(variable).ok()?;
    Some(text.parse().unwrap_or_else(|_| panic!("{variable} must be a number, not {text:?}")))
}

fn fresh_seed() -> u64 {
    let now = SystemTime::now().duration_since(UNIX_EPOCH).expect("a clock after 1970");
    u64::try_from(now.as_micros()).expect("a clock before the year 500000")
}

fn batches(count: u64) -> impl Iterator<Item = std::ops::Range<u64>> {
    (0..count).step_by(usize::try_from(BATCH).expect("small")).map(move |at| at..count.min(at + BATCH))
}

#[test]
fn berth_agrees_with_kube_scheduler() {
    let reference = Reference::locate();
    if let Ok(path) = env::var("BERTH_SPREAD_REPLAY") {
        let text = std::fs::read_to_string(&path).unwrap_or_else(|error| panic!("{path}: {error}"));
        let case = Case::parse(&text);
        return compare(&reference, &path, &[case]);
    }
    let count = number("BERTH_SPREAD_CASES").unwrap_or(2_000);
    let fresh = number("BERTH_SPREAD_SEED").unwrap_or_else(fresh_seed);
    println!("{count} cases; the second half has BERTH_SPREAD_SEED={fresh}");
    for (seed, count) in [(FIXED_SEED, count - count / 2), (fresh, count / 2)] {
        for ids in batches(count) {
            let cases: Vec<Case> = ids.map(|id| generator::generate(seed, id)).collect();
            compare(&reference, &format!("seed {seed}"), &cases);
        }
    }
}

fn compare(reference: &Reference, origin: &str, cases: &[Case]) {
    let answers = reference.answer(cases);
    let differs = |(case, answer): &(&Case, &Answer)| {
        subject::decide(case).as_ref() != Ok(&Outcome::expected(case, answer))
    };
    let different: Vec<&Case> = cases.iter().zip(&answers).filter(differs).map(|(case, _)| case).collect();
    if let Some(first) = different.first() {
        let small = shrink::shrink(first, |cases| reference.answer(cases));
        let report = report::difference(origin, reference, first, &small);
        panic!("{} of {} cases differ; the first: {report}", different.len(), cases.len());
    }
}

/// The generator is only worth what it reaches.
#[test]
fn random_cases_reach_every_branch() {
    let cases: Vec<Case> = (0..1_000).map(|id| generator::generate(FIXED_SEED, id)).collect();
    let reference = Reference::locate();
    let mut tally = Tally::default();
    variants::each(&cases, |cases| reference.answer(cases), |seen| tally.count(seen));
    println!("{tally}");
    tally.check();
}
