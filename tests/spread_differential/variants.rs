//! The same case, had one thing been otherwise: what it changes was decided by that thing.

use serde_json::Value;

use crate::case::{Case, is_terminating, is_waiting, priority};
use crate::reference::Answer;

/// What kube-scheduler says of a case, and would say of its variants.
pub struct Seen<'a> {
    pub case: &'a Case,
    pub answer: &'a Answer,
    /// Had nobody been nominated.
    pub without_nominated: &'a Answer,
    /// Had no terminating pod been nominated.
    pub without_terminating: &'a Answer,
    /// Had no nominated pod been less important than the incoming one.
    pub with_equals: &'a Answer,
}

/// Asks about all variants of these cases.
pub fn each(cases: &[Case], answer: impl Fn(&[Case]) -> Vec<Answer>, mut see: impl FnMut(&Seen<'_>)) {
    let ask = |variant: fn(&Case) -> Case| answer(&cases.iter().map(variant).collect::<Vec<_>>());
    let answers = answer(cases);
    let without_nominated = ask(|case| without(case, is_waiting));
    let without_terminating = ask(|case| without(case, |pod| is_waiting(pod) && is_terminating(pod)));
    let with_equals = ask(with_equals);
    for (at, case) in cases.iter().enumerate() {
        see(&Seen {
            case,
            answer: &answers[at],
            without_nominated: &without_nominated[at],
            without_terminating: &without_terminating[at],
            with_equals: &with_equals[at],
        });
    }
}

fn without(case: &Case, unwanted: fn(&Value) -> bool) -> Case {
    let Case(mut variant) = case.clone();
    variant["pods"].as_array_mut().expect("a list of pods").retain(|pod| !unwanted(pod));
    Case(variant)
}

fn with_equals(case: &Case) -> Case {
    let Case(mut variant) = case.clone();
    for pod in variant["pods"].as_array_mut().expect("a list of pods") {
        if is_waiting(pod) && priority(pod) < priority(case.pod()) {
            pod["spec"]["priority"] = priority(case.pod()).into();
        }
    }
    Case(variant)
}
