//! Makes a case that shows a difference small enough to read.

use serde_json::Value;

use crate::case::Case;
use crate::reference::Reference;
use crate::subject;

/// Nobody knows an object without these.
const IDENTITY: [&str; 6] =
    ["/metadata", "/metadata/name", "/metadata/namespace", "/metadata/uid", "/kind", "/apiVersion"];

/// Leaves out one thing after the other for as long as the two sides differ.
pub fn shrink(case: &Case, reference: &Reference) -> Case {
    let mut smallest = case.clone();
    loop {
        let mut paths = Vec::new();
        collect(&smallest.0, "", &mut paths);
        // Large parts first.
        paths.sort_by_key(|(size, _)| std::cmp::Reverse(*size));
        let smaller: Vec<Case> = paths.iter().filter_map(|(_, path)| without(&smallest, path)).collect();
        let expected = reference.try_outcomes(&smaller);
        // A case that one side cannot even read is none.
        let differs = |case: &Case, expected: &Result<_, String>| match (expected, subject::decide(case)) {
            (Ok(expected), Ok(found)) => *expected != found,
            _ => false,
        };
        match smaller.iter().zip(&expected).find(|(case, expected)| differs(case, expected)) {
            Some((case, _)) => smallest = case.clone(),
            None => return smallest,
        }
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
