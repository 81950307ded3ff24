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
//! | `BERTH_SPREAD_CASE`   | only the one with this number                               |
//! | `BERTH_SPREAD_REPLAY` | a file with one case, as a failure leaves it: only this one |
#![allow(clippy::expect_used, clippy::panic, reason = "a test says what is wrong by panicking")]

mod case;
mod generator;
mod outcome;
mod reference;
mod report;
mod shrink;
mod subject;
#[path = "../support/mod.rs"]
mod support;
mod tally;
mod variants;

use std::env;

use case::Case;
use outcome::Outcome;
use reference::Reference;
use support::random::{Cases, Seeds};

#[test]
fn berth_agrees_with_kube_scheduler() {
    let reference = Reference::locate();
    if let Ok(path) = env::var("BERTH_SPREAD_REPLAY") {
        let text = std::fs::read_to_string(&path).unwrap_or_else(|error| panic!("{path}: {error}"));
        return compare(&reference, &[Case::parse(&text)], |_| path.clone());
    }
    let cases = Cases::new("BERTH_SPREAD", 2_000, Seeds::HalfFresh);
    for origins in cases.batches() {
        let batch: Vec<Case> = origins.iter().map(|origin| generator::generate(*origin)).collect();
        compare(&reference, &batch, |at| cases.name(origins[at]));
    }
}

fn compare(reference: &Reference, cases: &[Case], origin: impl Fn(usize) -> String) {
    let answers = reference.answer(cases);
    let expected = |at: usize| Outcome::expected(&cases[at], &answers[at]);
    let differs = |at: &usize| subject::decide(&cases[*at]).as_ref() != Ok(&expected(*at));
    let different: Vec<usize> = (0..cases.len()).filter(differs).collect();
    if let Some(first) = different.first() {
        let small = shrink::smallest(&cases[*first], |cases| reference.answer(cases));
        let report = report::difference(&origin(*first), reference, &cases[*first], &small);
        panic!("{} of {} cases differ; the first: {report}", different.len(), cases.len());
    }
}

/// The generator is only worth what it reaches.
#[test]
fn random_cases_reach_every_branch() {
    let cases: Vec<Case> = Cases::always(1_000).each().map(generator::generate).collect();
    let reference = Reference::locate();
    let mut counts = tally::counts();
    variants::each(&cases, |cases| reference.answer(cases), |seen| tally::count(&mut counts, seen));
    println!("{counts}");
    counts.check();
}
