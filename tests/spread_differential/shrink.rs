//! Makes a case that shows a difference small enough to read.

use std::ops::Range;

use serde_json::Value;

use crate::case::{Case, OBJECTS};
use crate::outcome::Outcome;
use crate::reference::Answer;
use crate::subject;

/// Leaves out one thing after the other for as long as the two sides differ.
pub fn shrink(case: &Case, answer: impl Fn(&[Case]) -> Vec<Answer>) -> Case {
    let mut smallest = case.clone();
    loop {
        let smaller = smaller(&smallest);
        let answers = answer(&smaller);
        let differs = |(case, answer): &(&Case, &Answer)| {
            subject::decide(case).as_ref() != Ok(&Outcome::expected(case, answer))
        };
        match smaller.iter().zip(&answers).find(differs) {
            Some((case, _)) => smallest = case.clone(),
            None => return smallest,
        }
    }
}

/// The case without one of its parts, for every part; large parts first.
fn smaller(case: &Case) -> Vec<Case> {
    let mut cases = Vec::new();
    let lists = OBJECTS.iter().map(|list| format!("/{list}"));
    for path in lists.chain(["/args/defaultConstraints".to_owned(), "/candidates".to_owned()]) {
        let count = len(&case.0, &path);
        if count > 3 {
            cases.extend(without(case, &path, 0..count / 2));
            cases.extend(without(case, &path, count / 2..count));
        }
        cases.extend((0..count).filter_map(|at| without(case, &path, at..at + 1)));
    }
    for part in ["affinity", "nodeSelector", "tolerations"] {
        let mut smaller = case.clone();
        if smaller.0["pod"]["spec"].as_object_mut().is_some_and(|spec| spec.remove(part).is_some()) {
            cases.push(smaller);
        }
    }
    cases.extend(bare_nodes(case));
    cases
}

fn len(value: &Value, path: &str) -> usize {
    value.pointer(path).and_then(Value::as_array).map_or(0, Vec::len)
}

/// Candidates have to be nodes, and there has to be one.
fn without(case: &Case, path: &str, range: Range<usize>) -> Option<Case> {
    let Case(mut smaller) = case.clone();
    smaller.pointer_mut(path)?.as_array_mut()?.drain(range);
    let nodes: Vec<Value> =
        smaller["nodes"].as_array()?.iter().map(|node| node["metadata"]["name"].clone()).collect();
    let candidates = smaller["candidates"].as_array_mut()?;
    candidates.retain(|name| nodes.contains(name));
    (!candidates.is_empty()).then_some(Case(smaller))
}

/// Without the taints of one node.
fn bare_nodes(case: &Case) -> impl Iterator<Item = Case> {
    (0..len(&case.0, "/nodes")).filter_map(|at| {
        let mut smaller = case.clone();
        smaller.0["nodes"][at]["spec"].as_object_mut()?.remove("taints")?;
        Some(smaller)
    })
}
