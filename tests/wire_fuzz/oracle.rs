//! What an answer must look like, judged from the input by other means than Berth's own decoder.
//!
//! Where plain `serde_json::Value` cannot hold the input (lone surrogates, numbers out of range, deep
//! nesting in parts that nobody reads), only the answer's shape is judged.

use berth::verbs::Verb;
use serde_json::{Map, Value, json};

type Judgement = Result<(), String>;

pub fn judge(verb: Verb, input: &[u8], reply: &[u8]) -> Judgement {
    let reply = match serde_json::from_slice::<Value>(reply) {
        Ok(reply) => reply,
        // The nodes of the answer are those of the request, so they may be as odd.
        Err(_) if verb == Verb::Filter && serde_json::from_slice::<Value>(input).is_err() => return Ok(()),
        Err(error) => return Err(format!("answer is not JSON: {error}")),
    };
    let input = serde_json::from_slice::<Value>(input).ok();
    match verb {
        Verb::Filter => filter(input.as_ref(), &reply),
        Verb::Prioritize => prioritize(input.as_ref(), &reply),
        Verb::Preempt => preempt(input.as_ref(), &reply),
        Verb::Bind => keys(&reply, &["Error"]).and_then(|()| check(reply["Error"].is_string(), "no Error")),
    }
}

pub fn judge_refusal(reply: &[u8]) -> Judgement {
    let value: Value = serde_json::from_slice(reply).map_err(|error| format!("refusal: {error}"))?;
    keys(&value, &["error"])?;
    check(value["error"].as_str().is_some_and(|text| !text.is_empty()), "refusal without a reason")?;
    check(!reply.contains(&b'\n'), "a reason is one line")
}

fn filter(input: Option<&Value>, reply: &Value) -> Judgement {
    keys(reply, &["Error", "FailedAndUnresolvableNodes", "FailedNodes", "NodeNames", "Nodes"])?;
    check(reply["Error"] == "", "an Error although nothing is wrong")?;
    for failed in ["FailedNodes", "FailedAndUnresolvableNodes"] {
        check(
            reply[failed].as_object().is_some_and(Map::is_empty),
            "no policy is active, yet a node failed",
        )?;
    }
    check(reply["Nodes"].is_null() != reply["NodeNames"].is_null(), "exactly one form in the answer")?;
    let Some(input) = input else { return Ok(()) };
    match candidates(input)? {
        Some(Candidates::Names(names)) => same(&reply["NodeNames"], &json!(names)),
        Some(Candidates::Objects(objects)) => same(&reply["Nodes"]["items"], &json!(objects)),
        None => subset(input, reply["NodeNames"].as_array().into_iter().flatten()),
    }
}

fn prioritize(input: Option<&Value>, reply: &Value) -> Judgement {
    let entries = reply.as_array().ok_or("no list")?;
    for entry in entries {
        keys(entry, &["Host", "Score"])?;
        check(entry["Score"].as_i64().is_some_and(|score| (0..=10).contains(&score)), "score out of range")?;
    }
    let hosts: Vec<&Value> = entries.iter().map(|entry| &entry["Host"]).collect();
    let Some(input) = input else { return Ok(()) };
    match candidates(input)? {
        Some(Candidates::Names(names)) => same(&json!(hosts), &json!(names)),
        Some(Candidates::Objects(objects)) => check(hosts.len() == objects.len(), "not one entry per node"),
        None => subset(input, hosts.into_iter()),
    }
}

fn preempt(input: Option<&Value>, reply: &Value) -> Judgement {
    keys(reply, &["NodeNameToMetaVictims"])?;
    let nodes = reply["NodeNameToMetaVictims"].as_object().ok_or("no map")?;
    let mut named: Vec<Value> = nodes.keys().map(|node| json!(node)).collect();
    for victims in nodes.values() {
        keys(victims, &["NumPDBViolations", "Pods"])?;
        check(victims["NumPDBViolations"].is_i64(), "no number of violations")?;
        check(victims["Pods"].is_array() || victims["Pods"].is_null(), "no list of victims")?;
        for pod in victims["Pods"].as_array().into_iter().flatten() {
            keys(pod, &["UID"])?;
            named.push(pod["UID"].clone());
        }
    }
    let Some(input) = input else { return Ok(()) };
    // An absent UID is an empty one.
    subset(input, named.iter().filter(|name| *name != ""))?;
    let meta = members(input, "NodeNameToMetaVictims");
    match (meta.as_slice(), members(input, "NodeNameToVictims").as_slice()) {
        ([Value::Object(offered)], [] | [Value::Null]) => pass_through(offered, nodes, |pod| {
            let uids = members(pod, "UID");
            (uids.len() < 2).then(|| uids.first().map_or(json!(""), |uid| or_empty(uid)))
        }),
        ([] | [Value::Null], [Value::Object(offered)]) => {
            pass_through(offered, nodes, |pod| Some(or_empty(&pod["metadata"]["uid"])))
        }
        _ => Ok(()),
    }
}

/// With no policy active, every candidate comes back with its victims in their order.
fn pass_through(
    offered: &Map<String, Value>,
    answered: &Map<String, Value>,
    uid: impl Fn(&Value) -> Option<Value>,
) -> Judgement {
    let names = |map: &Map<String, Value>| map.keys().cloned().collect::<Vec<_>>();
    check(names(offered) == names(answered), "not the candidates that were offered")?;
    for (node, victims) in offered {
        let pods = members(victims, "Pods");
        let ([] | [_], false) = (pods.as_slice(), victims.is_null()) else { continue };
        let expected = match pods.first().and_then(|pods| pods.as_array()) {
            None => Some(Value::Null),
            Some(pods) => pods.iter().map(|pod| Some(json!({"UID": uid(pod)?}))).collect(),
        };
        if let Some(expected) = expected {
            same(&answered[node]["Pods"], &expected)?;
        }
    }
    Ok(())
}

enum Candidates<'a> {
    Names(&'a Vec<Value>),
    Objects(&'a [Value]),
}

/// The candidates, if the input leaves no doubt which they are.
fn candidates(input: &Value) -> Result<Option<Candidates<'_>>, String> {
    let (names, nodes) = (members(input, "NodeNames"), members(input, "Nodes"));
    match (names.as_slice(), nodes.as_slice()) {
        ([Value::Array(names)], [] | [Value::Null]) => Ok(Some(Candidates::Names(names))),
        ([] | [Value::Null], [list @ Value::Object(_)]) => match members(list, "items").as_slice() {
            [Value::Array(items)] => Ok(Some(Candidates::Objects(items))),
            [] | [Value::Null] => Ok(Some(Candidates::Objects(&[]))),
            [_] => Err("items of another type accepted".to_owned()),
            _ => Ok(None),
        },
        ([_], [_]) => Err("both node forms, or another type, accepted".to_owned()),
        ([], []) => Err("neither node form accepted".to_owned()),
        _ => Ok(None),
    }
}

/// The values of a key in any casing.
fn members<'a>(value: &'a Value, key: &str) -> Vec<&'a Value> {
    let object = value.as_object().into_iter().flatten();
    object.filter(|(name, _)| name.eq_ignore_ascii_case(key)).map(|(_, value)| value).collect()
}

fn or_empty(value: &Value) -> Value {
    if value.is_null() { json!("") } else { value.clone() }
}

/// Nothing is named in the answer that is not somewhere in the input.
fn subset<'a>(input: &Value, mut named: impl Iterator<Item = &'a Value>) -> Judgement {
    fn holds(input: &Value, wanted: &Value) -> bool {
        match input {
            Value::Array(items) => items.iter().any(|item| holds(item, wanted)),
            Value::Object(members) => {
                members.iter().any(|(key, value)| wanted == key.as_str() || holds(value, wanted))
            }
            other => other == wanted,
        }
    }
    match named.find(|name| !holds(input, name)) {
        None => Ok(()),
        Some(name) => Err(format!("{name} was never offered")),
    }
}

fn same(answered: &Value, expected: &Value) -> Judgement {
    check(answered == expected, &format!("answered {answered}, expected {expected}"))
}

fn keys(value: &Value, expected: &[&str]) -> Judgement {
    let mut keys: Vec<&str> = value.as_object().ok_or("no object")?.keys().map(String::as_str).collect();
    keys.sort_unstable();
    check(keys == expected, &format!("keys {keys:?}, expected {expected:?}"))
}

fn check(holds: bool, otherwise: &str) -> Judgement {
    if holds { Ok(()) } else { Err(otherwise.to_owned()) }
}
