//! Lists of resources.

use serde_json::{Map, Value};

use super::quantities;
use crate::support::random::Rng;

/// What a cluster is like.
#[derive(Clone, Copy)]
pub struct Taste {
    /// How many of a hundred quantities are odd ones.
    odd: usize,
    /// How many of a hundred pods on nodes report what is in force.
    pub resizing: usize,
}

impl Taste {
    pub fn any(rng: &mut Rng) -> Self {
        Self { odd: rng.weighted(&[(75, 0), (15, 10), (10, 60)]), resizing: rng.pick(&[0, 30, 80]) }
    }
}

const CPU: [&str; 14] =
    ["0", "1n", "1u", "1500u", "50m", "100m", "250m", "0.1", "0.5", "1", "1500m", "1.0001", "2", "1e0"];
const MEMORY: [&str; 14] = [
    "0",
    "1",
    "64Mi",
    "128Mi",
    "0.3Gi",
    "256Mi",
    "1Gi",
    "1.5Gi",
    "500M",
    "0.5G",
    "1e9",
    "128974848",
    "134217728000m",
    "1Ki",
];
const STORAGE: [&str; 5] = ["0", "100Mi", "1Gi", "1G", "2.5G"];
const COUNT: [&str; 7] = ["0", "1", "1", "1", "2", "500m", "3"];

/// Requests by name, and how often they are made.
const REQUESTS: [(&str, usize, &[&str]); 12] = [
    ("cpu", 75, &CPU),
    ("memory", 65, &MEMORY),
    ("ephemeral-storage", 20, &STORAGE),
    ("a.com/gpu", 18, &COUNT),
    ("hugepages-2Mi", 8, &["2Mi", "4Mi", "64Mi"]),
    ("attachable-volumes-x", 3, &COUNT),
    ("x.kubernetes.io/y", 3, &COUNT),
    ("Bad.kubernetes.io/y", 2, &COUNT),
    // Names that count for nothing.
    ("oddity", 3, &COUNT),
    ("requests.a.com/gpu", 2, &COUNT),
    ("Bad.com/x", 2, &COUNT),
    ("pods", 2, &COUNT),
];

/// What nodes have, and how often.
const ALLOCATABLE: [(&str, usize, &[&str]); 10] = [
    ("cpu", 97, &["500m", "1", "2", "3920m", "4", "8"]),
    ("memory", 97, &["128Mi", "512Mi", "1Gi", "2Gi", "4Gi", "3.5Gi"]),
    ("ephemeral-storage", 85, &["1Gi", "2.5G", "10Gi", "0"]),
    ("pods", 96, &["1", "3", "5", "8", "110", "110", "0"]),
    ("a.com/gpu", 60, &["0", "1", "2", "4"]),
    ("hugepages-2Mi", 50, &["0", "4Mi", "64Mi"]),
    ("attachable-volumes-x", 50, &["1", "4"]),
    ("x.kubernetes.io/y", 50, &["2"]),
    ("Bad.kubernetes.io/y", 50, &["1"]),
    ("oddity", 20, &["1"]),
];

pub fn requests(rng: &mut Rng, taste: Taste) -> Value {
    list(rng, taste, &REQUESTS)
}

/// Requests that kube-scheduler keeps in short form, see the list of deviations.
pub fn short_requests(rng: &mut Rng, taste: Taste) -> Value {
    let mut requests = list(rng, Taste { odd: 0, ..taste }, &REQUESTS);
    if let Some(requests) = requests.as_object_mut() {
        let is_long = |text: &str| text.contains('.') && text.ends_with('i');
        requests.retain(|_, amount| !amount.as_str().is_some_and(is_long));
    }
    requests
}

pub fn allocatable(rng: &mut Rng, taste: Taste) -> Value {
    list(rng, taste, &ALLOCATABLE)
}

fn list(rng: &mut Rng, taste: Taste, of: &[(&str, usize, &[&str])]) -> Value {
    let mut list = Map::new();
    for (name, frequency, amounts) in of {
        if rng.chance(*frequency) {
            list.insert((*name).to_owned(), amount(rng, taste, amounts));
        }
    }
    list.into()
}

/// Mostly a text, but a number will do.
fn amount(rng: &mut Rng, taste: Taste, among: &[&str]) -> Value {
    if rng.chance(taste.odd) {
        return quantities::bounded(rng).into();
    }
    let text = rng.pick(among);
    match text.parse::<u64>() {
        Ok(number) if rng.chance(10) => number.into(),
        _ => text.into(),
    }
}
