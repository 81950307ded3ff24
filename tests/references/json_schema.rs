//! As much of JSON Schema as the schema of the configuration uses. A keyword that is not known here is a failure, so that
//! nothing passes because it was not looked at.

use serde_json::Value;

/// Annotations: they say nothing about what is valid.
const SAYS_NOTHING: [&str; 7] = ["$schema", "$id", "$defs", "title", "description", "default", "format"];

/// The one pattern there is.
const DURATION: &str = "^[0-9]+(ms|s|m|h)$";

/// What of the value the schema does not allow, with its path.
pub fn violations(schema: &Value, value: &Value) -> Vec<String> {
    let mut found = Vec::new();
    check(schema, schema, value, "", &mut found);
    found
}

fn check(root: &Value, schema: &Value, value: &Value, path: &str, found: &mut Vec<String>) {
    let Some(keywords) = schema.as_object() else {
        assert_eq!(*schema, Value::Bool(true), "a schema at {path}");
        return;
    };
    for (keyword, wanted) in keywords {
        let mut wrong = |what: String| found.push(format!("{path}: {what}"));
        match keyword.as_str() {
            keyword if SAYS_NOTHING.contains(&keyword) => {}
            "$ref" => {
                let pointer =
                    wanted.as_str().and_then(|path| path.strip_prefix('#')).expect("a local reference");
                check(root, root.pointer(pointer).expect("what is referred to"), value, path, found);
            }
            "type" => {
                let kinds: Vec<_> = wanted.as_array().map_or(vec![wanted], |kinds| kinds.iter().collect());
                if !kinds.iter().any(|kind| is_of(value, kind.as_str().expect("a name"))) {
                    wrong(format!("is not of type {wanted}"));
                }
            }
            "const" => {
                if value != wanted {
                    wrong(format!("is not {wanted}"));
                }
            }
            "enum" => {
                if !wanted.as_array().expect("a list").contains(value) {
                    wrong(format!("is none of {wanted}"));
                }
            }
            "minimum" => {
                if value.as_f64().is_some_and(|value| value < wanted.as_f64().expect("a number")) {
                    wrong(format!("is less than {wanted}"));
                }
            }
            "maximum" => {
                if value.as_f64().is_some_and(|value| value > wanted.as_f64().expect("a number")) {
                    wrong(format!("is more than {wanted}"));
                }
            }
            "pattern" => {
                assert_eq!(wanted, DURATION, "a pattern that this test knows");
                if value.as_str().is_some_and(|text| !is_duration(text)) {
                    wrong("is no duration".to_owned());
                }
            }
            "required" => {
                for field in wanted.as_array().expect("a list") {
                    if value.is_object() && value.get(field.as_str().expect("a name")).is_none() {
                        wrong(format!("lacks {field}"));
                    }
                }
            }
            "properties" => {
                for (name, schema) in wanted.as_object().expect("an object") {
                    if let Some(value) = value.get(name) {
                        check(root, schema, value, &below(path, name), found);
                    }
                }
            }
            "additionalProperties" => {
                let known = schema["properties"].as_object();
                for (name, value) in value.as_object().into_iter().flatten() {
                    if known.is_some_and(|known| known.contains_key(name)) {
                        continue;
                    }
                    if *wanted == Value::Bool(false) {
                        found.push(format!("{}: is unknown", below(path, name)));
                    } else {
                        check(root, wanted, value, &below(path, name), found);
                    }
                }
            }
            "items" => {
                for (at, value) in value.as_array().into_iter().flatten().enumerate() {
                    check(root, wanted, value, &format!("{path}[{at}]"), found);
                }
            }
            "anyOf" | "oneOf" => {
                let options = wanted.as_array().expect("a list");
                let valid = options.iter().filter(|option| {
                    let mut inner = Vec::new();
                    check(root, option, value, path, &mut inner);
                    inner.is_empty()
                });
                let valid = valid.count();
                if valid == 0 || (keyword == "oneOf" && valid > 1) {
                    wrong(format!("fits {valid} of {} options", options.len()));
                }
            }
            other => panic!("{path}: the keyword {other} is not known to this test"),
        }
    }
}

fn below(path: &str, name: &str) -> String {
    if path.is_empty() { name.to_owned() } else { format!("{path}.{name}") }
}

fn is_of(value: &Value, kind: &str) -> bool {
    match kind {
        "null" => value.is_null(),
        "boolean" => value.is_boolean(),
        "object" => value.is_object(),
        "array" => value.is_array(),
        "string" => value.is_string(),
        "integer" => value.is_i64() || value.is_u64(),
        "number" => value.is_number(),
        other => panic!("the type {other}"),
    }
}

fn is_duration(text: &str) -> bool {
    let unit = text.trim_start_matches(|c: char| c.is_ascii_digit());
    unit.len() < text.len() && ["ms", "s", "m", "h"].contains(&unit)
}
