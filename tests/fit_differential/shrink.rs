//! Makes a case that shows a difference small enough to read.

use std::cmp::Reverse;

use serde_json::Value;

use crate::case::Case;
use crate::reference::Reference;
use crate::subject;
use crate::support::random::Shrink;
use crate::support::random::shrink::shrink_in_batches;

/// Nobody knows an object without these.
const IDENTITY: [&str; 6] =
    ["/metadata", "/metadata/name", "/metadata/namespace", "/metadata/uid", "/kind", "/apiVersion"];

/// The smallest case found on which the two sides differ.
pub fn smallest(case: &Case, reference: &Reference) -> Case {
    // A case that one side cannot even read is none.
    let differs = |case: &Case, expected: &Result<_, String>| match (expected, subject::decide(case)) {
        (Ok(expected), Ok(found)) => *expected != found,
        _ => false,
    };
    shrink_in_batches(case.clone(), |cases| {
        let expected = reference.try_outcomes(cases);
        cases.iter().zip(&expected).position(|(case, expected)| differs(case, expected))
    })
}

/// Without one of its parts, large ones first.
impl Shrink for Case {
    fn smaller(&self) -> impl Iterator<Item = Self> {
        let mut paths = Vec::new();
        collect(&self.0, "", &mut paths);
        paths.sort_by_key(|(size, _)| Reverse(*size));
        paths.into_iter().filter_map(|(_, path)| without(self, &path))
    }
}

/// Every part of the document that could be left out, with its size.
fn collect(value: &Value, path: &str, paths: &mut Vec<(usize, String)>) {
    let children: Vec<(String, &Value)> = match value {
        Value::Array(items) => items.iter().enumerate().map(|(at, item)| (at.to_string(), item)).collect(),
        Value::Object(fields) => {
            let escaped = |key: &String| key.replace('~', "~0").replace('/', "~1");
            fields.iter().map(|(key, field)| (escaped(key), field)).collect()
        }
        _ => Vec::new(),
    };
    if path.matches('/').count() > 1 && !IDENTITY.iter().any(|end| path.ends_with(end)) {
        paths.push((value.to_string().len(), path.to_owned()));
    }
    for (key, child) in children {
        collect(child, &format!("{path}/{key}"), paths);
    }
}

fn without(case: &Case, path: &str) -> Option<Case> {
    let mut smaller = case.clone();
    let (parent, key) = path.rsplit_once('/')?;
    match smaller.0.pointer_mut(parent)? {
        Value::Array(items) => {
            items.remove(key.parse().ok()?);
        }
        Value::Object(fields) => {
            fields.remove(&key.replace("~1", "/").replace("~0", "~"))?;
        }
        _ => return None,
    }
    Some(smaller)
}
