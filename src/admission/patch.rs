//! Steps of a JSON patch (RFC 6902): as much of it as is needed to add to a pod.

use serde::Serialize;
use serde_json::{Map, Value};

/// One step: adds a value to an object, or at the end of a list.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub(super) struct Operation {
    op: &'static str,
    path: String,
    value: Value,
    #[serde(skip)]
    steps: Vec<String>,
}

/// The place behind the last entry of a list.
const END: &str = "-";
/// That of the first entry.
const BEGINNING: &str = "0";

impl Operation {
    /// Adds `value` at the end of these steps. What is before the last one has to be there.
    pub(super) fn add(steps: &[&str], value: Value) -> Self {
        let path = steps.iter().fold(String::new(), |path, step| path + "/" + &escaped(step));
        Self { op: "add", path, value, steps: steps.iter().map(|step| (*step).to_owned()).collect() }
    }

    /// Adds a pair to the map of strings that stands in a field, which is made if it is not there.
    pub(super) fn add_pair(object: &Value, field: &[&str], key: &str, value: &str) -> Self {
        let value = Value::from(value);
        if is_there(object, field) {
            Self::add(&[field, &[key]].concat(), value)
        } else {
            Self::add(field, Value::Object(Map::from_iter([(key.to_owned(), value)])))
        }
    }

    /// Adds an entry to the list that stands in a field, which is made if it is not there.
    pub(super) fn append(object: &Value, field: &[&str], value: Value) -> Self {
        if is_there(object, field) {
            Self::add(&[field, &[END]].concat(), value)
        } else {
            Self::add(field, Value::Array(vec![value]))
        }
    }

    /// Adds an entry at the beginning of the list that stands in a field, which is made if it is not there.
    pub(super) fn prepend(object: &Value, field: &[&str], value: Value) -> Self {
        if is_there(object, field) {
            Self::add(&[field, &[BEGINNING]].concat(), value)
        } else {
            Self::add(field, Value::Array(vec![value]))
        }
    }

    /// Does it, as the API server will.
    pub(super) fn apply(&self, object: &mut Value) {
        let Some((last, before)) = self.steps.split_last() else { return };
        let parent = before.iter().try_fold(object, |at, step| match at {
            Value::Object(fields) => fields.get_mut(step),
            Value::Array(entries) => entries.get_mut(step.parse::<usize>().ok()?),
            _ => None,
        });
        match parent {
            Some(Value::Object(fields)) => {
                fields.insert(last.clone(), self.value.clone());
            }
            Some(Value::Array(entries)) if last == END => entries.push(self.value.clone()),
            Some(Value::Array(entries)) if last == BEGINNING => entries.insert(0, self.value.clone()),
            _ => {}
        }
    }
}

/// Whether anything stands in a field; `null` is nothing.
fn is_there(object: &Value, field: &[&str]) -> bool {
    let found = field.iter().try_fold(object, |at, step| match at {
        Value::Array(entries) => entries.get(step.parse::<usize>().ok()?),
        other => other.get(*step),
    });
    found.is_some_and(|found| !found.is_null())
}

fn escaped(step: &str) -> String {
    step.replace('~', "~0").replace('/', "~1")
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::Operation;

    #[test]
    fn what_is_missing_is_made_and_what_is_there_is_added_to() {
        let pair = |object: &Value| Operation::add_pair(object, &["spec", "nodeSelector"], "a.b/c~d", "v");
        let entry = |object: &Value| Operation::append(object, &["spec", "tolerations"], json!({"key": "k"}));
        for (object, operation, path, expected) in [
            (
                json!({"spec": {}}),
                pair as fn(&Value) -> Operation,
                "/spec/nodeSelector",
                json!({"spec": {"nodeSelector": {"a.b/c~d": "v"}}}),
            ),
            (
                json!({"spec": {"nodeSelector": null}}),
                pair,
                "/spec/nodeSelector",
                json!({"spec": {"nodeSelector": {"a.b/c~d": "v"}}}),
            ),
            (
                json!({"spec": {"nodeSelector": {"x": "y"}}}),
                pair,
                "/spec/nodeSelector/a.b~1c~0d",
                json!({"spec": {"nodeSelector": {"x": "y", "a.b/c~d": "v"}}}),
            ),
            (
                json!({"spec": {}}),
                entry,
                "/spec/tolerations",
                json!({"spec": {"tolerations": [{"key": "k"}]}}),
            ),
            (
                json!({"spec": {"tolerations": [{}]}}),
                entry,
                "/spec/tolerations/-",
                json!({"spec": {"tolerations": [{}, {"key": "k"}]}}),
            ),
        ] {
            let operation = operation(&object);
            let mut changed = object.clone();
            operation.apply(&mut changed);
            assert_eq!((operation.path.as_str(), changed), (path, expected), "{object}");
        }
    }

    #[test]
    fn entries_come_first_in_lists_within_lists_too() {
        for (container, expected) in [
            (json!({}), json!([1])),
            (json!({"env": null}), json!([1])),
            (json!({"env": []}), json!([1])),
            (json!({"env": [2, 3]}), json!([1, 2, 3])),
        ] {
            let mut pod = json!({"spec": {"containers": [{}, container]}});
            Operation::prepend(&pod, &["spec", "containers", "1", "env"], json!(1)).apply(&mut pod);
            assert_eq!(pod["spec"]["containers"][1]["env"], expected);
        }
    }

    #[test]
    fn entries_of_lists_are_found_by_their_number() {
        let mut pod = json!({"spec": {"containers": [{"name": "a"}, {"name": "b"}]}});
        Operation::add(&["spec", "containers", "1", "image"], json!("i")).apply(&mut pod);
        assert_eq!(pod, json!({"spec": {"containers": [{"name": "a"}, {"name": "b", "image": "i"}]}}));
    }
}
