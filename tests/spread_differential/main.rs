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
#[path = "../support/differential/mod.rs"]
mod differential;
mod generator;
mod outcome;
mod reference;
mod report;
mod shrink;
mod subject;
mod tally;
mod variants;

use std::env;

use case::Case;
use differential::seeds::{FIXED_SEED, batches};
use outcome::Outcome;
use reference::{Answer, Reference};

#[test]
fn berth_agrees_with_kube_scheduler() {
    let reference = Reference::locate();
    if let Ok(path) = env::var("BERTH_SPREAD_REPLAY") {
        let text = std::fs::read_to_string(&path).unwrap_or_else(|error| panic!("{path}: {error}"));
        let case = Case::parse(&text);
        return compare(&reference, &path, &[case]);
    }
    for (seed, ids) in batches("BERTH_SPREAD", 2_000) {
        let cases: Vec<Case> = ids.map(|id| generator::generate(seed, id)).collect();
        compare(&reference, &format!("seed {seed}"), &cases);
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
    let mut counts = tally::counts();
    variants::each(&cases, |cases| reference.answer(cases), |seen| tally::count(&mut counts, seen));
    println!("{counts}");
    counts.check();
}
