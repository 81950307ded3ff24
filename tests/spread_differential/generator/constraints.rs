//! The settings: every field of a constraint.

use serde_json::{Map, Value, json};

use crate::support::differential::nodes::{HOSTNAME, RACK, ZONE};
use crate::support::random::Rng;

const KEYS: [(usize, &str); 5] =
    [(32, ZONE), (26, HOSTNAME), (32, RACK), (6, "disk"), (3, "example.com/nowhere")];

/// `PodTopologySpreadArgs`, always valid.
pub fn args(rng: &mut Rng) -> Value {
    if rng.chance(15) {
        return match rng.below(3) {
            0 => json!({}),
            1 => json!({"defaultingType": "System"}),
            _ => json!({"defaultingType": "System", "defaultConstraints": []}),
        };
    }
    let wanted = rng.weighted(&[(4, 0), (26, 1), (40, 2), (30, 3)]);
    let mut constraints: Vec<Value> = Vec::new();
    while constraints.len() < wanted {
        let new = constraint(rng);
        let same =
            |old: &Value| ["topologyKey", "whenUnsatisfiable"].iter().all(|part| old[*part] == new[*part]);
        if !constraints.iter().any(same) {
            constraints.push(new);
        }
    }
    json!({"defaultingType": "List", "defaultConstraints": constraints})
}

/// One constraint without a selector.
pub fn constraint(rng: &mut Rng) -> Value {
    let hard = rng.chance(55);
    let mut fields = Map::new();
    let mut field = |name: &str, value: Value| fields.insert(name.to_owned(), value);
    field("topologyKey", rng.weighted(&KEYS).into());
    field("whenUnsatisfiable", if hard { "DoNotSchedule" } else { "ScheduleAnyway" }.into());
    field("maxSkew", rng.weighted(&[(55, 1), (20, 2), (14, 3), (10, 5), (1, i32::MAX)]).into());
    if hard && rng.chance(35) {
        field("minDomains", (1 + rng.below(6)).into());
    }
    // Each is left out at times, and set to what is not its default more often than to what is.
    for (policy, choices) in [
        ("nodeAffinityPolicy", ["Honor", "Ignore", "Ignore"]),
        ("nodeTaintsPolicy", ["Honor", "Honor", "Ignore"]),
    ] {
        if rng.chance(65) {
            field(policy, rng.pick(&choices).into());
        }
    }
    fields.into()
}
