//! Reading a value in spite of what is wrong with it, so that all of it can be named at once.
//!
//! Whoever reads a value into a type stops at the first thing that is wrong. Here that thing is noted, taken out or replaced by
//! something that does, and the rest is read again.

use serde::de::DeserializeOwned;
use serde_json::{Value, json};
use serde_path_to_error::{Path, Segment};

use super::validate::Wrong;
use super::wording::{in_words, is_empty_section, names_in};

/// Whoever gets so many things wrong has enough to do with these.
const MOST: usize = 100;
/// How often a value is read at most; every round notes something or tries another stand-in.
const ROUNDS: usize = 10 * MOST;

/// What was read.
pub(super) struct Read<T> {
    /// The value with what is wrong replaced, if that was possible.
    pub(super) value: Option<T>,
    /// What is wrong.
    pub(super) wrong: Vec<Wrong>,
    /// The paths of what was replaced, or taken out though it is known. From an unknown field nothing follows for others.
    pub(super) replaced: Vec<String>,
}

/// Steps from the top of a value to a part of it.
type Steps = Vec<Step>;

#[derive(Clone, Debug, PartialEq, Eq)]
enum Step {
    Key(String),
    Index(usize),
}

/// Reads a value, and notes all that is wrong with it.
pub(super) fn read<T: DeserializeOwned>(mut value: Value) -> Read<T> {
    let mut wrong = Vec::new();
    // What was found wrong, and how many stand-ins were tried in its place.
    let mut replaced: Vec<(Steps, usize)> = Vec::new();
    let mut read = None;
    for _ in 0..ROUNDS {
        let error = match serde_path_to_error::deserialize::<_, T>(value.clone()) {
            Ok(good) => {
                read = Some(good);
                break;
            }
            Err(error) => error,
        };
        let mut at = steps(error.path(), &value);
        let reason = error.into_inner().to_string();
        // That is what is left when all of a section is commented out.
        if is_empty_section(&reason) && remove(&mut value, &at) {
            continue;
        }
        let missing = quoted_after(&reason, "missing field ");
        // Only the last step may name what is not there: an unknown field is named by its parent, too.
        let unknown = quoted_after(&reason, "unknown field ");
        if let Some(field) = missing.or(unknown)
            && at.last() != Some(&Step::Key(field.to_owned()))
        {
            at.push(Step::Key(field.to_owned()));
        }
        let known = replaced.iter().position(|(steps, _)| *steps == at);
        if known.is_none() {
            if wrong.len() == MOST {
                break;
            }
            let reason = match missing {
                Some(_) => "is missing".to_owned(),
                None => in_words(&reason, || names_expected::<T>(&value, &at)),
            };
            wrong.push(Wrong { path: shown(&at), reason });
        }
        if unknown.is_some() && remove(&mut value, &at) {
            continue;
        }
        let place = known.unwrap_or_else(|| {
            replaced.push((at.clone(), 0));
            replaced.len() - 1
        });
        if missing.is_none() && known.is_none() && remove(&mut value, &at) {
            continue;
        }
        let tried = replaced[place].1;
        replaced[place].1 += 1;
        if !stand_in(tried, &reason).is_some_and(|stand_in| put(&mut value, &at, stand_in)) {
            // Nothing does in its place: the whole of which it is part has to go, and if that is all, so be it.
            at.pop();
            if at.is_empty() || !(remove(&mut value, &at) || put(&mut value, &at, Value::Null)) {
                break;
            }
            replaced.push((at, 0));
        }
    }
    let replaced = replaced.iter().map(|(steps, _)| shown(steps)).collect();
    Read { value: read, wrong, replaced }
}

/// The names of which one has to stand in a place, found by putting there what is certainly none of them.
fn names_expected<T: DeserializeOwned>(value: &Value, at: &[Step]) -> Option<String> {
    let mut value = value.clone();
    if !put(&mut value, at, json!("")) {
        return None;
    }
    let error = serde_path_to_error::deserialize::<_, T>(&value).err()?;
    let is_there = steps(error.path(), &value) == at;
    names_in(&error.into_inner().to_string()).filter(|_| is_there).map(str::to_owned)
}

/// Values of all sorts; one of an enum is taken from what the error says was expected.
fn stand_in(tried: usize, reason: &str) -> Option<Value> {
    let variant = reason.split_once("expected").and_then(|(_, rest)| rest.split('`').nth(1));
    let variant = variant.filter(|_| reason.contains("unknown variant"));
    match (tried, variant) {
        (1.., Some(variant)) if tried < 8 => Some(json!(variant)),
        (0, _) => Some(json!("a")),
        (1, _) => Some(json!(1)),
        (2, _) => Some(json!({})),
        (3, _) => Some(json!([])),
        (4, _) => Some(json!("1s")),
        (5, _) => Some(json!(true)),
        _ => None,
    }
}

/// The way to what the error is about. Enums that hold a value are written as a mapping with one key.
fn steps(path: &Path, value: &Value) -> Steps {
    let mut at = value;
    let mut steps = Steps::new();
    for segment in path {
        let step = match segment {
            Segment::Seq { index } => Step::Index(*index),
            Segment::Map { key } => Step::Key(key.clone()),
            Segment::Enum { variant } if at.get(variant).is_some() => Step::Key(variant.clone()),
            Segment::Enum { .. } | Segment::Unknown => continue,
        };
        at = match &step {
            Step::Key(key) => &at[key.as_str()],
            Step::Index(index) => &at[*index],
        };
        steps.push(step);
    }
    steps
}

fn shown(steps: &[Step]) -> String {
    let mut path = String::new();
    for step in steps {
        match step {
            Step::Key(key) if path.is_empty() => path.push_str(key),
            Step::Key(key) => path = format!("{path}.{key}"),
            Step::Index(index) => path = format!("{path}[{index}]"),
        }
    }
    if path.is_empty() { "(top level)".to_owned() } else { path }
}

fn part<'a>(value: &'a mut Value, steps: &[Step]) -> Option<&'a mut Value> {
    steps.iter().try_fold(value, |value, step| match step {
        Step::Key(key) => value.get_mut(key),
        Step::Index(index) => value.get_mut(*index),
    })
}

/// Takes a field out. Elements of a list stay, so that the others keep their numbers.
fn remove(value: &mut Value, steps: &[Step]) -> bool {
    let Some((Step::Key(key), parent)) = steps.split_last() else { return false };
    let parent = part(value, parent).and_then(Value::as_object_mut);
    parent.is_some_and(|parent| parent.remove(key).is_some())
}

fn put(value: &mut Value, steps: &[Step], stand_in: Value) -> bool {
    let Some((last, parent)) = steps.split_last() else { return false };
    match (last, part(value, parent)) {
        (Step::Key(key), Some(Value::Object(parent))) => {
            parent.insert(key.clone(), stand_in);
            true
        }
        (Step::Index(index), Some(Value::Array(parent))) if *index < parent.len() => {
            parent[*index] = stand_in;
            true
        }
        _ => false,
    }
}

fn quoted_after<'a>(text: &'a str, beginning: &str) -> Option<&'a str> {
    text.strip_prefix(beginning)?.split('`').nth(1)
}
