//! Whether a pod fits on a node, and every number that it depends on, against kube-scheduler's own code, on random clusters.
//!
//! ```text
//!                  +--> fit-reference (Go: framework, five plugins) --+
//!   seed --> case -+                                                  +--> the same outcome?
//!                  +--> Berth (slimming, view, policy::fit) ----------+
//! ```
//!
//! | variable           | meaning                                                     |
//! |--------------------|-------------------------------------------------------------|
//! | `BERTH_FIT_CASES`  | how many cases, instead of 2,000                            |
//! | `BERTH_FIT_SEED`   | the seed of the second half, instead of a fresh one         |
//! | `BERTH_FIT_CASE`   | only the one with this number                               |
//! | `BERTH_FIT_REPLAY` | a file with one case, as a failure leaves it: only this one |
//!
//! Where Berth is known to say something else, and what is therefore not among the cases:
//!
//! | what | why |
//! |---|---|
//! | extended resources that a `DeviceClass` offers (`DRAExtendedResource`) | kube-scheduler leaves them to another plugin, which hands out devices; Berth does not know device classes |
//! | quantities of more than 38 digits when written in thousand millionths | kube-scheduler takes the lowest 64 bits of them, Berth the largest number |
//! | overhead and a request of the pod as a whole in long form (`1.5Gi`, which the API server turns into `1536Mi`) | kube-scheduler adds the overhead to its own copy of the pod each time it computes, so that it grows; Berth adds it once |
//! | node affinity that the profile adds (`addedAffinity`), resources it ignores (`ignoredResources`) | settings of another process |
//! | `DRANodeAllocatableResources`, `TaintTolerationComparisonOperators` | off by default |
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

use std::env;

use case::Case;
use reference::Reference;
use support::random::{Cases, Seeds};

#[test]
fn berth_agrees_with_kube_scheduler() {
    let reference = Reference::locate();
    if let Ok(path) = env::var("BERTH_FIT_REPLAY") {
        let text = std::fs::read_to_string(&path).unwrap_or_else(|error| panic!("{path}: {error}"));
        return compare(&reference, &[Case::parse(&text)], |_| path.clone());
    }
    let cases = Cases::new("BERTH_FIT", 2_000, Seeds::HalfFresh);
    for origins in cases.batches() {
        let batch: Vec<Case> = origins.iter().map(|origin| generator::generate(*origin)).collect();
        compare(&reference, &batch, |at| cases.name(origins[at]));
    }
}

fn compare(reference: &Reference, cases: &[Case], origin: impl Fn(usize) -> String) {
    let expected = reference.outcomes(cases);
    let differs = |at: &usize| subject::decide(&cases[*at]).as_ref() != Ok(&expected[*at]);
    let different: Vec<usize> = (0..cases.len()).filter(differs).collect();
    if let Some(first) = different.first() {
        let small = shrink::smallest(&cases[*first], reference);
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
    for (case, outcome) in cases.iter().zip(reference.outcomes(&cases)) {
        tally::count(&mut counts, &tally::Seen { case, outcome: &outcome });
    }
    println!("{counts}");
    counts.check();
}
