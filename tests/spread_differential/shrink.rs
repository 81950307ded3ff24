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
    for (of, part) in [
        ("spec", "affinity"),
        ("spec", "nodeSelector"),
        ("spec", "tolerations"),
        ("status", "nominatedNodeName"),
    ] {
        let mut smaller = case.clone();
        if smaller.0["pod"][of].as_object_mut().is_some_and(|fields| fields.remove(part).is_some()) {
            cases.push(smaller);
        }
    }
    cases.extend(bare_nodes(case));
    cases.extend(reprieves(case));
    cases
}

fn len(value: &Value, path: &str) -> usize {
    value.pointer(path).and_then(Value::as_array).map_or(0, Vec::len)
}

/// Candidates have to be nodes, and there has to be one. Victims have to be pods on candidates.
fn without(case: &Case, path: &str, range: Range<usize>) -> Option<Case> {
    let Case(mut smaller) = case.clone();
    smaller.pointer_mut(path)?.as_array_mut()?.drain(range);
    let nodes: Vec<Value> =
        smaller["nodes"].as_array()?.iter().map(|node| node["metadata"]["name"].clone()).collect();
    let candidates = smaller["candidates"].as_array_mut()?;
    candidates.retain(|name| nodes.contains(name));
    if candidates.is_empty() {
        return None;
    }
    let remaining = Case(smaller.clone());
    let candidates = remaining.candidates();
    let pods = remaining.0["pods"].as_array()?;
    keep_victims(&mut smaller, |node, uid| {
        candidates.contains(&node) && pods.iter().any(|pod| pod["metadata"]["uid"] == *uid)
    });
    Some(Case(smaller))
}

/// Without all victims on one node, or without a single one.
fn reprieves(case: &Case) -> Vec<Case> {
    let mut spared: Vec<Vec<&str>> = case.victims().into_values().collect();
    let crowds = spared.clone().into_iter().filter(|uids| uids.len() > 1);
    spared.extend(crowds.flatten().map(|uid| vec![uid]));
    let reprieve = |spared: Vec<&str>| {
        let mut smaller = case.clone();
        keep_victims(&mut smaller.0, |_, uid| !spared.iter().any(|spared| uid == spared));
        smaller
    };
    spared.into_iter().map(reprieve).collect()
}

/// A node on which nobody is left to evict is no candidate for it.
fn keep_victims(case: &mut Value, keep: impl Fn(&str, &Value) -> bool) {
    let Some(victims) = case["victims"].as_object_mut() else { return };
    victims.retain(|node, uids| {
        let Some(uids) = uids.as_array_mut() else { return false };
        uids.retain(|uid| keep(node, uid));
        !uids.is_empty()
    });
}

/// Without the taints of one node.
fn bare_nodes(case: &Case) -> impl Iterator<Item = Case> {
    (0..len(&case.0, "/nodes")).filter_map(|at| {
        let mut smaller = case.clone();
        smaller.0["nodes"][at]["spec"].as_object_mut()?.remove("taints")?;
        Some(smaller)
    })
}
