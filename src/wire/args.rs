//! Requests.

use std::borrow::Cow;
use std::fmt;
use std::marker::PhantomData;

use serde::de::{Deserialize, Deserializer, IgnoredAny, MapAccess, SeqAccess, Visitor};
use serde_json::value::RawValue;

use super::WireError;
use crate::json::PodObject;

/// The body of filter and prioritize.
#[derive(Debug)]
pub struct SchedulingArgs<'a> {
    /// The pod to place.
    pub pod: PodObject,
    /// The nodes to choose from.
    pub candidates: Candidates<'a>,
}

/// Candidate nodes, in the caller's order.
#[derive(Debug)]
pub struct Candidates<'a> {
    /// Their names.
    pub names: Vec<Cow<'a, str>>,
    /// The list of names as it came, if it was one.
    pub names_as_sent: Option<&'a RawValue>,
    /// Their whole objects, if the caller sent those: one per name, as they came.
    pub objects: Option<Vec<&'a RawValue>>,
}

/// The body of preempt.
#[derive(Debug)]
pub struct PreemptArgs<'a> {
    /// The pod that wants room.
    pub pod: PodObject,
    /// What each candidate node would lose, in the caller's order.
    pub candidates: Vec<NodeVictims<'a>>,
}

/// The victims on one node.
#[derive(Debug, PartialEq, Eq)]
pub struct NodeVictims<'a> {
    /// The node.
    pub node: Cow<'a, str>,
    /// UIDs of the victims, most important first; `None` if the caller sent `null`.
    pub uids: Option<Vec<Cow<'a, str>>>,
    /// Disruption budgets that would be violated.
    pub budget_violations: i64,
}

/// The body of bind.
#[derive(Debug)]
pub struct BindArgs<'a> {
    /// The pod's name.
    pub name: Cow<'a, str>,
    /// The pod's namespace.
    pub namespace: Cow<'a, str>,
    /// The pod's UID, possibly empty.
    pub uid: Cow<'a, str>,
    /// Where to.
    pub node: Cow<'a, str>,
}

impl<'a> SchedulingArgs<'a> {
    /// Reads a body.
    pub fn decode(body: &'a [u8]) -> Result<Self, WireError> {
        let Fields([pod, nodes, names]) = fields(body, ["Pod", "Nodes", "NodeNames"])?;
        let pod = required_pod(pod)?;
        let candidates = match (nodes, names) {
            (None, Some(names)) => {
                let Names(list) = serde_json::from_str(names.get())?;
                Candidates { names: list, names_as_sent: Some(names), objects: None }
            }
            (Some(list), None) => {
                let Fields([items]) = fields(list.get().as_bytes(), ["items"])?;
                let objects: Vec<&'a RawValue> =
                    items.map_or(Ok(Vec::new()), |items| serde_json::from_str(items.get()))?;
                let names = objects.iter().map(node_name).collect::<Result<_, _>>()?;
                Candidates { names, names_as_sent: None, objects: Some(objects) }
            }
            _ => return Err(WireError::NodeForms),
        };
        Ok(Self { pod, candidates })
    }
}

impl<'a> PreemptArgs<'a> {
    /// Reads a body.
    pub fn decode(body: &'a [u8]) -> Result<Self, WireError> {
        const FIELDS: [&str; 3] = ["Pod", "NodeNameToMetaVictims", "NodeNameToVictims"];
        let Fields([pod, meta, full]) = fields(body, FIELDS)?;
        let pod = required_pod(pod)?;
        let candidates = match (meta, full) {
            (Some(meta), None) => victims(meta, |pod| {
                let Fields([uid]) = fields(pod.get().as_bytes(), ["UID"])?;
                text_or_empty(uid)
            })?,
            (None, Some(full)) => victims(full, |pod| {
                let pod: PodObject = serde_json::from_str(pod.get())?;
                Ok(Cow::Owned(pod.uid().to_owned()))
            })?,
            _ => return Err(WireError::VictimForms),
        };
        Ok(Self { pod, candidates })
    }
}

impl<'a> BindArgs<'a> {
    /// Reads a body.
    pub fn decode(body: &'a [u8]) -> Result<Self, WireError> {
        const FIELDS: [&str; 4] = ["PodName", "PodNamespace", "PodUID", "Node"];
        let Fields([name, namespace, uid, node]) = fields(body, FIELDS)?;
        let required = |value: Option<&'a RawValue>, field| {
            let text = text_or_empty(value)?;
            if text.is_empty() { Err(WireError::MissingField(field)) } else { Ok(text) }
        };
        Ok(Self {
            name: required(name, "PodName")?,
            namespace: required(namespace, "PodNamespace")?,
            uid: text_or_empty(uid)?,
            node: required(node, "Node")?,
        })
    }
}

fn required_pod(pod: Option<&RawValue>) -> Result<PodObject, WireError> {
    let pod = pod.ok_or(WireError::MissingPod)?;
    Ok(serde_json::from_str(pod.get())?)
}

fn node_name<'a>(node: &&'a RawValue) -> Result<Cow<'a, str>, WireError> {
    let Fields([metadata]) = fields(node.get().as_bytes(), ["metadata"])?;
    let metadata = metadata.ok_or_else(|| WireError::WrongShape("a node has no metadata".to_owned()))?;
    let Fields([name]) = fields(metadata.get().as_bytes(), ["name"])?;
    text_or_empty(name)
}

fn victims<'a>(
    map: &'a RawValue,
    uid: impl Fn(&'a RawValue) -> Result<Cow<'a, str>, WireError>,
) -> Result<Vec<NodeVictims<'a>>, WireError> {
    let Entries(entries) = serde_json::from_str(map.get())?;
    let read = |(node, victims): (Cow<'a, str>, &'a RawValue)| {
        let victims = fields(victims.get().as_bytes(), ["Pods", "NumPDBViolations"]);
        let Fields([pods, violations]) = victims?;
        let uids = pods.map(|pods| {
            let pods: Vec<&'a RawValue> = serde_json::from_str(pods.get())?;
            pods.into_iter().map(&uid).collect::<Result<Vec<_>, WireError>>()
        });
        let budget_violations = violations.map_or(Ok(0), |number| serde_json::from_str(number.get()))?;
        Ok(NodeVictims { node, uids: uids.transpose()?, budget_violations })
    };
    entries.into_iter().map(read).collect()
}

fn text_or_empty(value: Option<&RawValue>) -> Result<Cow<'_, str>, WireError> {
    match value {
        Some(value) => Ok(serde_json::from_str::<Text<'_>>(value.get())?.0),
        None => Ok(Cow::Borrowed("")),
    }
}

/// The named fields of a JSON object, each as it stands in the text; `null` counts as absent.
fn fields<'a, const N: usize>(body: &'a [u8], names: [&'static str; N]) -> Result<Fields<'a, N>, WireError> {
    let text = std::str::from_utf8(body).map_err(|_| WireError::NotUtf8)?;
    let mut deserializer = serde_json::Deserializer::from_str(text);
    let fields = deserializer.deserialize_map(FieldsVisitor { names })?;
    deserializer.end()?;
    Ok(fields)
}

struct Fields<'a, const N: usize>([Option<&'a RawValue>; N]);

struct FieldsVisitor<const N: usize> {
    names: [&'static str; N],
}

impl<'de, const N: usize> Visitor<'de> for FieldsVisitor<N> {
    type Value = Fields<'de, N>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an object")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
        let mut found = [None; N];
        while let Some(Text(key)) = map.next_key()? {
            match self.names.iter().position(|name| name.eq_ignore_ascii_case(&key)) {
                Some(at) => {
                    let value: &'de RawValue = map.next_value()?;
                    found[at] = (value.get() != "null").then_some(value);
                }
                None => {
                    map.next_value::<IgnoredAny>()?;
                }
            }
        }
        Ok(Fields(found))
    }
}

/// A string, borrowed from the body where it holds no escapes.
struct Text<'a>(Cow<'a, str>);

impl<'de: 'a, 'a> Deserialize<'de> for Text<'a> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct TextVisitor<'a>(PhantomData<&'a ()>);
        impl<'de: 'a, 'a> Visitor<'de> for TextVisitor<'a> {
            type Value = Text<'a>;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a string")
            }

            fn visit_borrowed_str<E>(self, text: &'de str) -> Result<Text<'a>, E> {
                Ok(Text(Cow::Borrowed(text)))
            }

            fn visit_str<E>(self, text: &str) -> Result<Text<'a>, E> {
                Ok(Text(Cow::Owned(text.to_owned())))
            }
        }
        deserializer.deserialize_str(TextVisitor(PhantomData))
    }
}

/// A list of strings.
struct Names<'a>(Vec<Cow<'a, str>>);

impl<'de: 'a, 'a> Deserialize<'de> for Names<'a> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct NamesVisitor<'a>(PhantomData<&'a ()>);
        impl<'de: 'a, 'a> Visitor<'de> for NamesVisitor<'a> {
            type Value = Names<'a>;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a list of strings")
            }

            fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<Names<'a>, A::Error> {
                let mut names = Vec::with_capacity(256);
                while let Some(Text(name)) = list.next_element()? {
                    names.push(name);
                }
                Ok(Names(names))
            }
        }
        deserializer.deserialize_seq(NamesVisitor(PhantomData))
    }
}

/// A JSON object's members in the order of the text.
struct Entries<'a>(Vec<(Cow<'a, str>, &'a RawValue)>);

impl<'de: 'a, 'a> Deserialize<'de> for Entries<'a> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct EntriesVisitor<'a>(PhantomData<&'a ()>);
        impl<'de: 'a, 'a> Visitor<'de> for EntriesVisitor<'a> {
            type Value = Entries<'a>;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("an object")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Entries<'a>, A::Error> {
                let mut entries = Vec::new();
                while let Some((Text(key), value)) = map.next_entry()? {
                    entries.push((key, value));
                }
                Ok(Entries(entries))
            }
        }
        deserializer.deserialize_map(EntriesVisitor(PhantomData))
    }
}

#[cfg(test)]
mod tests {
    use super::{BindArgs, NodeVictims, PreemptArgs, SchedulingArgs};

    #[test]
    fn both_node_forms_are_read_in_any_casing() {
        let body = br#"{"pod":{"metadata":{"name":"p"}},"nodes":null,"NODENAMES":["a","b\u0063"]}"#;
        let args = SchedulingArgs::decode(body).expect("names");
        assert_eq!(args.candidates.names, ["a", "bc"]);
        assert!(args.candidates.objects.is_none());

        let body = br#"{"Pod":{"metadata":{"name":"p"}},"Nodes":{"metadata":{},"items":[
            {"metadata":{"name":"a"},"spec":{}}]},"NodeNames":null}"#;
        let args = SchedulingArgs::decode(body).expect("objects");
        assert_eq!(args.candidates.names, ["a"]);
        let objects = args.candidates.objects.expect("whole nodes");
        assert_eq!(objects[0].get(), r#"{"metadata":{"name":"a"},"spec":{}}"#);
    }

    #[test]
    fn both_victim_forms_mean_the_same() {
        let meta = br#"{"Pod":{"metadata":{"name":"p"}},"NodeNameToVictims":null,
            "NodeNameToMetaVictims":{"b":{"Pods":[{"UID":"1"},{"UID":"2"}],"NumPDBViolations":3},
            "a":{"Pods":null,"NumPDBViolations":0}}}"#;
        let full = br#"{"Pod":{"metadata":{"name":"p"}},"NodeNameToVictims":{"b":{"Pods":[
            {"metadata":{"uid":"1"}},{"metadata":{"uid":"2"}}],"NumPDBViolations":3},
            "a":{"Pods":null,"NumPDBViolations":0}}}"#;
        let expected = [
            NodeVictims { node: "b".into(), uids: Some(vec!["1".into(), "2".into()]), budget_violations: 3 },
            NodeVictims { node: "a".into(), uids: None, budget_violations: 0 },
        ];
        for body in [&meta[..], &full[..]] {
            assert_eq!(PreemptArgs::decode(body).expect("victims").candidates, expected);
        }
    }

    #[test]
    fn every_malformation_is_told_apart() {
        let pod = r#""Pod":{"metadata":{"name":"p"}}"#;
        let cases: [(&str, Vec<u8>, &str); 12] = [
            ("empty", vec![], "not_json"),
            ("no json", b"hello".to_vec(), "not_json"),
            ("cut off", br#"{"Pod":{"metadata":"#.to_vec(), "not_json"),
            ("trailing text", format!("{{{pod},\"NodeNames\":[]}}x").into(), "not_json"),
            ("a list", b"[]".to_vec(), "wrong_shape"),
            ("names of another type", format!("{{{pod},\"NodeNames\":[1]}}").into(), "wrong_shape"),
            ("pod of another type", br#"{"Pod":[],"NodeNames":[]}"#.to_vec(), "wrong_shape"),
            (
                "node without metadata",
                format!("{{{pod},\"Nodes\":{{\"items\":[{{}}]}}}}").into(),
                "wrong_shape",
            ),
            ("no pod", br#"{"Pod":null,"NodeNames":[]}"#.to_vec(), "missing_pod"),
            ("neither form", format!("{{{pod}}}").into(), "node_forms"),
            ("both forms", format!("{{{pod},\"NodeNames\":[],\"Nodes\":{{}}}}").into(), "node_forms"),
            ("invalid UTF-8 in a field nobody reads", b"{\"x\":\"\xff\"}".to_vec(), "not_utf8"),
        ];
        for (name, body, label) in cases {
            let error = SchedulingArgs::decode(&body).expect_err(name);
            assert_eq!(error.label(), label, "{name}: {error}");
        }
        let error = BindArgs::decode(br#"{"PodName":"p","PodNamespace":"d","PodUID":"u","Node":""}"#);
        assert_eq!(error.expect_err("no node").label(), "missing_field");
        let error = PreemptArgs::decode(format!("{{{pod}}}").as_bytes()).expect_err("no victims");
        assert_eq!(error.label(), "victim_forms");
    }
}
