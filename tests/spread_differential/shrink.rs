//! Makes a case that shows a difference small enough to read.

use serde_json::Value;

use crate::case::{Case, OBJECTS};
use crate::outcome::Outcome;
use crate::reference::Answer;
use crate::subject;
use crate::support::random::Shrink;
use crate::support::random::shrink::{shrink_in_batches, without_pieces};

/// The smallest case found on which the two sides differ.
pub fn smallest(case: &Case, answer: impl Fn(&[Case]) -> Vec<Answer>) -> Case {
    shrink_in_batches(case.clone(), |cases| {
        let answers = answer(cases);
        let differs = |(case, answer): (&Case, &Answer)| {
            subject::decide(case).as_ref() != Ok(&Outcome::expected(case, answer))
        };
        cases.iter().zip(&answers).position(differs)
    })
}

/// Without one of its parts, large ones first.
impl Shrink for Case {
    fn smaller(&self) -> impl Iterator<Item = Self> {
        let lists = OBJECTS.iter().map(|list| format!("/{list}"));
        let lists = lists.chain(["/args/defaultConstraints".to_owned(), "/candidates".to_owned()]);
        let shorter = lists.flat_map(move |path| {
            let list = self.0.pointer(&path).and_then(Value::as_array).map_or(&[][..], Vec::as_slice);
            without_pieces(list).filter_map(move |list| with_list(self, &path, list))
        });
        shorter.chain(plain_pods(self)).chain(bare_nodes(self)).chain(reprieves(self))
    }
}

/// Candidates have to be nodes, and there has to be one. Victims have to be pods on candidates.
fn with_list(case: &Case, path: &str, list: Vec<Value>) -> Option<Case> {
    let Case(mut smaller) = case.clone();
    *smaller.pointer_mut(path)? = list.into();
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

/// Without one of the pod's demands.
fn plain_pods(case: &Case) -> impl Iterator<Item = Case> {
    let parts = [
        ("spec", "affinity"),
        ("spec", "nodeSelector"),
        ("spec", "tolerations"),
        ("status", "nominatedNodeName"),
    ];
    parts.into_iter().filter_map(|(of, part)| {
        let mut smaller = case.clone();
        smaller.0["pod"][of].as_object_mut()?.remove(part)?;
        Some(smaller)
    })
}

/// Without the taints of one node.
fn bare_nodes(case: &Case) -> impl Iterator<Item = Case> {
    let count = case.0["nodes"].as_array().map_or(0, Vec::len);
    (0..count).filter_map(|at| {
        let mut smaller = case.clone();
        smaller.0["nodes"][at]["spec"].as_object_mut()?.remove("taints")?;
        Some(smaller)
    })
}
