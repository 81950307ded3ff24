//! Which cases to run: half of them always the same, half of them new.

use std::env;
use std::ops::Range;
use std::time::{SystemTime, UNIX_EPOCH};

/// The half of the cases that is always the same.
pub const FIXED_SEED: u64 = 36;
/// Cases in the air at a time; bounds memory in long runs.
const BATCH: u64 = 500;

/// Batches of cases, each with its seed. The environment may name the number of cases and the seed of the second half;
/// `prefix` is how these variables begin.
#[allow(dead_code, reason = "not every test that includes this wants new cases")]
pub fn batches(prefix: &str, cases: u64) -> impl Iterator<Item = (u64, Range<u64>)> {
    let cases = number(&format!("{prefix}_CASES")).unwrap_or(cases);
    let variable = format!("{prefix}_SEED");
    let fresh = number(&variable).unwrap_or_else(fresh_seed);
    println!("{cases} cases; the second half has {variable}={fresh}");
    let halves = [(FIXED_SEED, cases - cases / 2), (fresh, cases / 2)];
    halves.into_iter().flat_map(|(seed, count)| split(count).map(move |ids| (seed, ids)))
}

/// The same batches every time, unless the environment names another seed. For tests with a known gap: a history that
/// falls into it is for who goes looking, not for who changes something else.
#[allow(dead_code, reason = "not every test that includes this has such a subject")]
pub fn repeated_batches(prefix: &str, cases: u64) -> impl Iterator<Item = (u64, Range<u64>)> {
    let cases = number(&format!("{prefix}_CASES")).unwrap_or(cases);
    let variable = format!("{prefix}_SEED");
    let seed = number(&variable).unwrap_or(FIXED_SEED);
    println!("{cases} cases with {variable}={seed}");
    split(cases).map(move |ids| (seed, ids))
}

fn split(count: u64) -> impl Iterator<Item = Range<u64>> {
    (0..count).step_by(usize::try_from(BATCH).expect("small")).map(move |at| at..count.min(at + BATCH))
}

fn number(variable: &str) -> Option<u64> {
    let text = env::var(variable).ok()?;
    Some(text.parse().unwrap_or_else(|_| panic!("{variable} must be a number, not {text:?}")))
}

#[allow(dead_code, reason = "see `batches`")]
fn fresh_seed() -> u64 {
    let now = SystemTime::now().duration_since(UNIX_EPOCH).expect("a clock after 1970");
    u64::try_from(now.as_micros()).expect("a clock before the year 500000")
}
