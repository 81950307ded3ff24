//! Whether a pod fits on a node, and every number that hangs on, against kube-scheduler's own code, on random clusters.
//!
//! ```text
//!                  +--> fit-reference (Go: framework, four plugins) --+
//!   seed --> case -+                                                  +--> the same outcome?
//!                  +--> Berth (slimming, view, policy::fit) ----------+
//! ```
//!
//! | variable           | meaning                                                     |
//! |--------------------|-------------------------------------------------------------|
//! | `BERTH_FIT_CASES`  | how many cases, instead of 2,000                            |
//! | `BERTH_FIT_SEED`   | the seed of the second half, instead of a fresh one         |
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
#[path = "../support/differential/mod.rs"]
mod differential;
mod generator;
mod outcome;
mod reference;
mod report;
mod shrink;
mod subject;
mod tally;

use std::env;

use case::Case;
use differential::seeds::{FIXED_SEED, batches};
use reference::Reference;

#[test]
fn berth_agrees_with_kube_scheduler() {
    let reference = Reference::locate();
    if let Ok(path) = env::var("BERTH_FIT_REPLAY") {
        let text = std::fs::read_to_string(&path).unwrap_or_else(|error| panic!("{path}: {error}"));
        return compare(&reference, &path, &[Case::parse(&text)]);
    }
    for (seed, ids) in batches("BERTH_FIT", 2_000) {
        let cases: Vec<Case> = ids.map(|id| generator::generate(seed, id)).collect();
        compare(&reference, &format!("seed {seed}"), &cases);
    }
}

fn compare(reference: &Reference, origin: &str, cases: &[Case]) {
    let expected = reference.outcomes(cases);
    let different: Vec<&Case> = cases
        .iter()
        .zip(&expected)
        .filter(|(case, expected)| subject::decide(case).as_ref() != Ok(*expected))
        .map(|(case, _)| case)
        .collect();
    if let Some(first) = different.first() {
        let small = shrink::shrink(first, reference);
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
    for (case, outcome) in cases.iter().zip(reference.outcomes(&cases)) {
        tally::count(&mut counts, &tally::Seen { case, outcome: &outcome });
    }
    println!("{counts}");
    counts.check();
}
