//! What the pod demands of nodes: selector, affinity, tolerations.

use serde_json::{Map, Value, json};

use super::nodes::{HOSTNAME, NODE_LABELS, RACK, ZONE};
use crate::support::random::Rng;

/// Admitted as a label value by API servers of old, and none all the same.
pub const NO_LABEL_VALUE: &str = "_x_";

/// A pod spec with demands, often none.
pub fn spec(rng: &mut Rng) -> Value {
    let mut spec = Map::new();
    if rng.chance(12) {
        spec.insert("nodeSelector".to_owned(), node_selector(rng));
    }
    if rng.chance(32) {
        spec.insert("affinity".to_owned(), affinity(rng));
    }
    if rng.chance(60) {
        let tolerations: Vec<Value> = (0..=rng.below(3)).map(|_| toleration(rng)).collect();
        spec.insert("tolerations".to_owned(), tolerations.into());
    }
    spec.into()
}

fn node_selector(rng: &mut Rng) -> Value {
    match rng.below(5) {
        0 => json!({"disk": "ssd"}),
        1 => json!({ZONE: "z0"}),
        2 => json!({"disk": "ssd", "cores": "8"}),
        3 => json!({"disk": ""}),
        _ => json!({}),
    }
}

fn affinity(rng: &mut Rng) -> Value {
    let mut node = Map::new();
    if rng.chance(92) {
        let terms: Vec<Value> = (0..rng.weighted(&[(60, 1), (30, 2), (10, 3)])).map(|_| term(rng)).collect();
        let required = json!({"nodeSelectorTerms": terms});
        node.insert("requiredDuringSchedulingIgnoredDuringExecution".to_owned(), required);
    }
    if rng.chance(15) {
        // A preference is no demand.
        let preferred = json!([{"weight": 5, "preference": {"matchExpressions": [expression(rng)]}}]);
        node.insert("preferredDuringSchedulingIgnoredDuringExecution".to_owned(), preferred);
    }
    json!({"nodeAffinity": node})
}

fn term(rng: &mut Rng) -> Value {
    if rng.chance(10) {
        return if rng.chance(50) { json!({}) } else { json!({"matchExpressions": [], "matchFields": []}) };
    }
    let mut term = Map::new();
    let by_field = rng.chance(20);
    if !by_field || rng.chance(40) {
        let expressions: Vec<Value> = (0..=rng.below(2)).map(|_| expression(rng)).collect();
        term.insert("matchExpressions".to_owned(), expressions.into());
    }
    if by_field {
        let operator = rng.pick(&["In", "NotIn", "NotIn"]);
        let name = rng.pick(&["n0", "n1", "n2", "gone"]);
        let field = json!({"key": "metadata.name", "operator": operator, "values": [name]});
        term.insert("matchFields".to_owned(), json!([field]));
    }
    term.into()
}

fn expression(rng: &mut Rng) -> Value {
    let key = rng.pick(&[ZONE, RACK, HOSTNAME, "disk", "disk", "cores", "example.com/nowhere"]);
    match rng.below(6) {
        0 => json!({"key": key, "operator": "In", "values": values(rng, key)}),
        1 => json!({"key": key, "operator": "NotIn", "values": values(rng, key)}),
        2 => json!({"key": key, "operator": "Exists"}),
        3 => json!({"key": key, "operator": "DoesNotExist"}),
        at => {
            let operator = if at == 4 { "Gt" } else { "Lt" };
            let key = if rng.chance(80) { "cores" } else { key };
            // The API server looks at the number of values, not at the number in them.
            let value = rng.pick(&["4", "7", "8", "8", "016", "7", "many", "-5", "", "9223372036854775808"]);
            json!({"key": key, "operator": operator, "values": [value]})
        }
    }
}

fn values(rng: &mut Rng, key: &str) -> Vec<Value> {
    let known = NODE_LABELS.iter().find(|(known, ..)| *known == key);
    (0..=rng.below(3))
        .map(|_| match (key, known) {
            (ZONE, _) => rng.pick(&["z0", "z1", "z2", ""]).into(),
            (RACK, _) => rng.pick(&["r0", "r1", "r2", "r3"]).into(),
            (HOSTNAME, _) => rng.pick(&["n0", "n1", "n2", "n3", "n4"]).into(),
            (_, Some((_, values, _))) => rng.pick(values).into(),
            // No label value: the whole term is void.
            _ => rng.pick(&["a", NO_LABEL_VALUE]).into(),
        })
        .collect()
}

fn toleration(rng: &mut Rng) -> Value {
    let mut toleration = Map::new();
    let mut field = |name: &str, value: &str| toleration.insert(name.to_owned(), value.into());
    let key = rng.pick(&["dedicated", "gpu", "node.kubernetes.io/unschedulable"]);
    match rng.weighted(&[(30, "Equal"), (15, ""), (25, "Exists"), (15, "everything"), (8, "Lt"), (7, "Gt")]) {
        "everything" => {
            field("operator", "Exists");
        }
        "Exists" => {
            field("key", key);
            field("operator", "Exists");
        }
        operator => {
            field("key", key);
            if !operator.is_empty() || rng.chance(50) {
                field("operator", operator);
            }
            if rng.chance(80) {
                let numbers = operator == "Lt" || operator == "Gt";
                field("value", if numbers { rng.pick(&["3", "9"]) } else { rng.pick(&["", "a", "b", "5"]) });
            }
        }
    }
    if rng.chance(60) {
        field("effect", rng.pick(&["", "NoSchedule", "NoSchedule", "NoExecute", "PreferNoSchedule"]));
    }
    toleration.into()
}
