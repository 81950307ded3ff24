//! Compares the cache with the API server.

use std::collections::HashMap;
use std::time::Duration;

use serde::Serialize;

use super::api::{Api, ApiError};
use crate::model::{Kind, Object, ObjectKey};
use crate::store::Store;
use crate::view::View;

/// How often a difference must be seen before it is reported, and how long to wait in between: events
/// under way are no differences.
const ROUNDS: u32 = 4;
const PAUSE: Duration = Duration::from_millis(500);

/// One object on which cache and API server disagree.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Difference {
    /// Its kind.
    pub kind: &'static str,
    /// Namespace and name.
    pub object: String,
    /// `missing` in the cache, `extra` in the cache, or `differs`.
    pub what: &'static str,
}

/// The result of a comparison.
#[derive(Debug, Default, Serialize)]
pub struct Comparison {
    /// Objects compared.
    pub compared: usize,
    /// What differs; empty is good.
    pub differences: Vec<Difference>,
    /// Pods under way in the ledger, for whoever waits for it to run empty.
    pub ledger: usize,
}

/// Compares every kind. Differences that go away by themselves are not reported.
pub async fn compare(api: &Api, store: &Store) -> Result<Comparison, ApiError> {
    let mut comparison = once(api, store).await?;
    for _ in 1..ROUNDS {
        if comparison.differences.is_empty() {
            break;
        }
        tokio::time::sleep(PAUSE).await;
        let previous = std::mem::replace(&mut comparison, once(api, store).await?);
        comparison.differences.retain(|difference| previous.differences.contains(difference));
    }
    Ok(comparison)
}

async fn once(api: &Api, store: &Store) -> Result<Comparison, ApiError> {
    let mut comparison = Comparison::default();
    let recogniser = store.view().recogniser().clone();
    // What is not watched cannot differ.
    for kind in Kind::ALL.into_iter().filter(|kind| recogniser.reads(*kind)) {
        let served = match served(api, kind).await {
            Err(error) if !kind.is_built_in() && error.is_absent() => Vec::new(),
            served => served?,
        };
        comparison.compared += served.len();
        let served = served.into_iter().filter_map(|object| introduced(object, &store.view())).collect();
        diff(kind, served, store.view().objects(kind), &mut comparison.differences);
    }
    comparison.ledger = store.view().ledger().len();
    Ok(comparison)
}

/// What depends on settings, or on other objects, is filled in by the view only, and so is which of the finished pods are
/// kept.
fn introduced(object: Object, view: &View) -> Option<Object> {
    match object {
        Object::Pod(mut pod) => {
            view.recognise_group(&mut pod);
            pod.is_kept().then_some(Object::Pod(pod))
        }
        Object::Group(kind, mut group) => {
            view.fill_in_defaults(&mut group);
            Some(Object::Group(kind, group))
        }
        other => Some(other),
    }
}

async fn served(api: &Api, kind: Kind) -> Result<Vec<Object>, ApiError> {
    match api.locate(kind).await? {
        Some(path) => Ok(api.list(kind, &path).await?.0),
        None => Ok(Vec::new()),
    }
}

fn diff(kind: Kind, served: Vec<Object>, cached: Vec<Object>, into: &mut Vec<Difference>) {
    let mut report = |key: &ObjectKey, what| {
        into.push(Difference { kind: kind.label(), object: key.to_string(), what });
    };
    let mut cached: HashMap<ObjectKey, Object> =
        cached.into_iter().map(|object| (object.key(), object)).collect();
    for object in served {
        let key = object.key();
        match cached.remove(&key) {
            None => report(&key, "missing"),
            Some(known) if known != object => report(&key, "differs"),
            Some(_) => {}
        }
    }
    for key in cached.keys() {
        report(key, "extra");
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::diff;
    use crate::fixtures::node;
    use crate::model::{Kind, Object};

    #[test]
    fn every_kind_of_difference_is_named() {
        let object = |name: &str| Object::Node(Arc::new(node(name).build()));
        let relabelled = Object::Node(Arc::new(node("b").label("rack", "1").build()));
        let mut found = Vec::new();
        diff(
            Kind::Node,
            vec![object("a"), object("b"), object("c")],
            vec![object("b"), object("c"), object("d")],
            &mut found,
        );
        diff(Kind::Node, vec![object("b")], vec![relabelled], &mut found);
        let found: Vec<_> = found.iter().map(|d| (d.object.as_str(), d.what)).collect();
        assert_eq!(found, [("a", "missing"), ("d", "extra"), ("b", "differs")]);
    }
}
