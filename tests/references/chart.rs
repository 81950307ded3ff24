//! What the chart knows of Berth's configuration.

use serde_json::{Map, Value};

/// The schema of the chart's values, with what it says of `config` made from the schema of the configuration file.
pub fn values_schema(current: &str, configuration: &Value) -> String {
    let mut values: Value = serde_json::from_str(current).expect("JSON");
    let mut sections = inlined(configuration, &configuration["properties"]);
    let given_by_the_chart = sections.as_object_mut().expect("properties");
    for field in ["apiVersion", "kind"] {
        given_by_the_chart.remove(field).expect(field);
    }
    let config = &mut values["properties"]["config"];
    config["properties"] = sections;
    config["additionalProperties"] = configuration["additionalProperties"].clone();
    serde_json::to_string_pretty(&values).expect("printable") + "\n"
}

/// A schema with everything that it refers to in its place, for helm knows another dialect, with other places for definitions.
fn inlined(root: &Value, schema: &Value) -> Value {
    match schema {
        Value::Object(keywords) => {
            let mut all = Map::new();
            if let Some(reference) = keywords.get("$ref").and_then(Value::as_str) {
                let pointer = reference.strip_prefix('#').expect("a local reference");
                let referred = inlined(root, root.pointer(pointer).expect("what is referred to"));
                all.extend(referred.as_object().expect("a schema").clone());
            }
            // What stands beside a reference says more than what is referred to.
            let beside = keywords.iter().filter(|(keyword, _)| *keyword != "$ref");
            all.extend(beside.map(|(keyword, value)| (keyword.clone(), inlined(root, value))));
            Value::Object(all)
        }
        Value::Array(items) => items.iter().map(|item| inlined(root, item)).collect(),
        plain => plain.clone(),
    }
}
