//! The words that clusters are made of: few, so that they meet.

use serde_json::{Map, Value};

use crate::support::random::Rng;

pub const NAMESPACES: [&str; 3] = ["shop", "web", "ops"];

/// Labels of pods: key, values, how often a pod has it.
pub const POD_LABELS: [(&str, [&str; 3], usize); 3] = [
    ("app", ["cart", "search", "mail"], 92),
    ("tier", ["front", "back", ""], 60),
    ("track", ["stable", "canary", "7"], 40),
];

/// Labels for a pod.
pub fn pod_labels(rng: &mut Rng) -> Map<String, Value> {
    let mut labels = Map::new();
    for (key, values, frequency) in POD_LABELS {
        if rng.chance(frequency) {
            labels.insert(key.to_owned(), rng.pick(&values).into());
        }
    }
    labels
}

/// A key that pods carry.
pub fn pod_key(rng: &mut Rng) -> &'static str {
    rng.pick(&POD_LABELS).0
}

/// A value that pods carry under this key.
pub fn pod_value(rng: &mut Rng, key: &str) -> &'static str {
    let (_, values, _) = POD_LABELS.iter().find(|(known, ..)| *known == key).expect("a known key");
    rng.pick(values)
}
