//! Selectors that match the pod, mostly.

use serde_json::{Map, Value, json};

use super::vocabulary::{pod_key, pod_value};
use crate::support::differential::demands::NO_LABEL_VALUE;
use crate::support::random::Rng;

/// Labels that the pod has: some of them, at least one if it has any.
pub fn some_of(rng: &mut Rng, pod: &Value) -> Map<String, Value> {
    let labels = pod["metadata"]["labels"].as_object().cloned().unwrap_or_default();
    let mut entries: Vec<_> = labels.into_iter().collect();
    rng.shuffle(&mut entries);
    if !entries.is_empty() {
        entries.truncate(1 + rng.below(entries.len()));
    }
    entries.into_iter().collect()
}

/// Labels that the pod may or may not have.
pub fn any(rng: &mut Rng) -> Map<String, Value> {
    (0..=rng.below(2))
        .map(|_| {
            let key = pod_key(rng);
            (key.to_owned(), pod_value(rng, key).into())
        })
        .collect()
}

/// A `LabelSelector`; nothing at all and an empty one included.
pub fn label_selector(rng: &mut Rng, pod: &Value) -> Option<Value> {
    if rng.chance(4) {
        return None;
    }
    let mut selector = Map::new();
    if rng.chance(70) {
        let labels = if rng.chance(85) { some_of(rng, pod) } else { any(rng) };
        selector.insert("matchLabels".to_owned(), labels.into());
    }
    if rng.chance(45) {
        let expressions: Vec<Value> = (0..=rng.below(2)).map(|_| expression(rng, pod)).collect();
        selector.insert("matchExpressions".to_owned(), expressions.into());
    }
    Some(selector.into())
}

fn expression(rng: &mut Rng, pod: &Value) -> Value {
    let key = pod_key(rng);
    let has = pod["metadata"]["labels"].get(key);
    // Half of the time whatever comes, else what the pod satisfies.
    let operator = match (rng.chance(40), has) {
        (true, _) => rng.pick(&["In", "NotIn", "Exists", "DoesNotExist"]),
        (false, Some(_)) => rng.pick(&["In", "Exists", "NotIn"]),
        (false, None) => rng.pick(&["NotIn", "DoesNotExist"]),
    };
    if operator == "Exists" || operator == "DoesNotExist" {
        return json!({"key": key, "operator": operator});
    }
    let mut values: Vec<Value> = (0..=rng.below(2)).map(|_| pod_value(rng, key).into()).collect();
    if let Some(value) = has.filter(|_| operator == "In") {
        values.push(value.clone());
    }
    if rng.chance(6) {
        values.push(NO_LABEL_VALUE.into());
    }
    json!({"key": key, "operator": operator, "values": values})
}
