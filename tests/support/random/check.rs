//! Runs a property on many cases.

use std::fmt::Debug;

use super::cases::{Cases, Origin};
use super::caught::caught;
use super::rng::Rng;
use super::shrink::{Shrink, shrink};

/// Runs the property, which fails by panicking, on every case; returns what each of them showed. Panics at the first
/// case that fails, and tells which it is and what is left of it when made small.
pub fn check<T: Shrink + Debug, R>(
    cases: &Cases,
    generate: impl Fn(&mut Rng) -> T,
    property: impl Fn(&T) -> R,
) -> Vec<R> {
    let run = |origin: Origin| {
        let case = generate(&mut origin.rng());
        caught(|| property(&case)).unwrap_or_else(|first| {
            let small = shrink(case, |case| caught(|| property(case)).is_err());
            // A property that hangs on more than its case may hold by now.
            let why = caught(|| property(&small)).err().unwrap_or(first);
            panic!("{}\n{why}\nmade small: {small:?}", cases.name(origin))
        })
    };
    cases.each().map(run).collect()
}
