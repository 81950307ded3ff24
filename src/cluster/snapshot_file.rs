//! A cluster from a file: a JSON `List` as kubectl prints it, or YAML documents.

use std::collections::BTreeMap;
use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use prometheus::IntCounterVec;
use serde::Deserialize;
use serde_json::value::RawValue;

use crate::json::{Interner, Slimmed, slim};
use crate::metrics::{Registry, create_series};
use crate::model::{Kind, Object, Pod};

/// Why a file could not be used.
#[derive(Debug, thiserror::Error)]
pub enum SnapshotError {
    /// It cannot be opened.
    #[error("cannot read snapshot {path}: {source}")]
    Unreadable {
        /// The file.
        path: PathBuf,
        /// Why.
        source: std::io::Error,
    },
    /// It is neither JSON nor YAML of the expected shape.
    #[error("snapshot is neither a JSON List nor YAML documents: {0}")]
    Malformed(String),
    /// It holds objects, and none of them can be read.
    #[error("none of the objects in the snapshot can be read: {0}")]
    NothingReadable(Counts),
}

/// How many objects there are of each kind.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Counts(BTreeMap<String, Count>);

#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct Count {
    number: usize,
    /// What is wrong with the first of them, if something is.
    first_error: Option<String>,
}

/// So many kinds are named one by one.
const MOST_NAMED: usize = 20;

impl Counts {
    fn add(&mut self, kind: &str, error: Option<&dyn fmt::Display>) {
        let count = self.0.entry(kind.to_owned()).or_default();
        count.number += 1;
        if let Some(error) = error.filter(|_| count.first_error.is_none()) {
            count.first_error = Some(error.to_string());
        }
    }

    /// How many there are in all.
    pub fn total(&self) -> usize {
        self.0.values().map(|count| count.number).sum()
    }

    fn of(&self, kind: Kind) -> usize {
        self.0.get(kind.label()).map_or(0, |count| count.number)
    }
}

impl fmt::Display for Counts {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.0.is_empty() {
            return f.write_str("none");
        }
        for (at, (kind, Count { number, first_error })) in self.0.iter().take(MOST_NAMED).enumerate() {
            write!(f, "{}{number} {kind}", if at == 0 { "" } else { ", " })?;
            if let Some(error) = first_error {
                write!(f, " (first: {error})")?;
            }
        }
        match self.0.len().saturating_sub(MOST_NAMED) {
            0 => Ok(()),
            more => write!(f, ", and {more} kinds more"),
        }
    }
}

/// Metrics of the snapshot file.
#[derive(Clone, Debug)]
pub struct SnapshotMetrics {
    skipped: IntCounterVec,
}

impl SnapshotMetrics {
    /// Registers them.
    pub fn register(registry: &Registry) -> Result<Self, prometheus::Error> {
        let skipped = registry.counter(
            "snapshot_skipped_total",
            "Objects of a snapshot file that were passed over.",
            &["reason"],
        )?;
        create_series(&skipped, [["other_kind"], ["undecodable"]]);
        Ok(Self { skipped })
    }

    /// Counts what was passed over.
    pub fn count(&self, loaded: &Loaded) {
        for (reason, counts) in [("other_kind", &loaded.other_kinds), ("undecodable", &loaded.undecodable)] {
            self.skipped.with_label_values(&[reason]).inc_by(counts.total() as u64);
        }
    }
}

/// What a file held.
#[derive(Debug, Default)]
pub struct Loaded {
    /// Objects of the kinds that Berth watches.
    pub objects: Vec<Object>,
    /// How many of each kind there are among them.
    pub kept: Counts,
    /// Objects of other kinds.
    pub other_kinds: Counts,
    /// Objects that could not be read.
    pub undecodable: Counts,
}

/// An object that does not say what it is.
const NO_KIND: &str = "object without apiVersion and kind";

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Header {
    api_version: Option<String>,
    kind: Option<String>,
    items: Option<Vec<Box<RawValue>>>,
}

/// Reads a snapshot file.
pub fn load(path: &Path, interner: &Interner) -> Result<Loaded, SnapshotError> {
    let unreadable = |source| SnapshotError::Unreadable { path: path.to_owned(), source };
    parse(&std::fs::read_to_string(path).map_err(unreadable)?, interner)
}

/// Reads the text of a snapshot.
pub fn parse(text: &str, interner: &Interner) -> Result<Loaded, SnapshotError> {
    let mut loaded = Loaded::default();
    let malformed = |error: &dyn std::fmt::Display| SnapshotError::Malformed(error.to_string());
    if text.trim_start().starts_with('{') {
        let raw: &RawValue = serde_json::from_str(text).map_err(|e| malformed(&e))?;
        loaded.take(raw, interner, None);
    } else {
        // `y` and `n` are fine names for nodes, and the file is as large as the cluster is.
        let options = serde_saphyr::options! { strict_booleans: true, budget: None };
        let documents: Vec<serde_json::Value> =
            serde_saphyr::from_multiple_with_options(text, options).map_err(|e| malformed(&e))?;
        for document in documents.iter().filter(|document| !document.is_null()) {
            let raw = serde_json::value::to_raw_value(document).map_err(|e| malformed(&e))?;
            loaded.take(&raw, interner, None);
        }
    }
    let nothing = loaded.objects.is_empty() && loaded.other_kinds.total() == 0;
    if nothing && loaded.undecodable.total() > 0 {
        return Err(SnapshotError::NothingReadable(loaded.undecodable));
    }
    Ok(loaded)
}

impl Loaded {
    /// Says in the log what the file held, and what may be missing from it.
    pub fn report(&self) {
        let Self { objects, kept, other_kinds, undecodable } = self;
        tracing::info!(
            objects = objects.len(), kinds = %kept, other_kinds = %other_kinds, undecodable = undecodable.total(),
            "snapshot loaded"
        );
        if undecodable.total() > 0 {
            tracing::warn!(skipped = %undecodable, "objects of the snapshot could not be read");
        }
        if objects.is_empty() {
            tracing::warn!(other_kinds = %other_kinds, "the snapshot is empty: it holds no object that Berth reads");
        } else if kept.of(Kind::Node) == 0 {
            tracing::warn!(kinds = %kept, "the snapshot holds no Node: no pod fits anywhere");
        }
    }

    /// Takes one document: an object, a `List`, or a typed list such as `PodList`, whose items need not
    /// repeat their kind.
    fn take(&mut self, raw: &RawValue, interner: &Interner, implied: Option<(&str, &str)>) {
        let header = match serde_json::from_str::<Header>(raw.get()) {
            Ok(header) => header,
            Err(error) => return self.undecodable.add(NO_KIND, Some(&error)),
        };
        let own = header.api_version.as_deref().zip(header.kind.as_deref());
        let Some((api_version, kind)) = own.or(implied) else {
            return self.undecodable.add(NO_KIND, None);
        };
        if let Some(items) = header.items.as_ref().filter(|_| kind.ends_with("List")) {
            let item_kind = kind.trim_end_matches("List");
            let implied = (!item_kind.is_empty()).then_some((api_version, item_kind));
            for item in items {
                self.take(item, interner, implied);
            }
            return;
        }
        let Some(known) = Kind::recognise(api_version, kind) else {
            return self.other_kinds.add(kind, None);
        };
        match slim(known, raw.get(), interner) {
            Ok(Slimmed::Kept(object)) => {
                self.kept.add(known.label(), None);
                self.objects.push(identified(object));
            }
            Ok(Slimmed::Uninteresting(_)) => {}
            Err(error) => self.undecodable.add(known.label(), Some(&error)),
        }
    }
}

/// A file need not name the UIDs of pods.
fn identified(object: Object) -> Object {
    match object {
        Object::Pod(pod) if pod.uid.is_empty() => {
            let uid = Pod::stand_in_uid(&pod.key);
            Object::Pod(Arc::new(Pod { uid, ..Pod::clone(&pod) }))
        }
        object => object,
    }
}

#[cfg(test)]
mod tests {
    use super::{Interner, parse};

    #[test]
    fn kubectl_output_and_yaml_documents_are_read_alike() {
        let json = r#"{"apiVersion":"v1","kind":"List","items":[
            {"apiVersion":"v1","kind":"Node","metadata":{"name":"n"}},
            {"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"c"}},
            {"apiVersion":"v1","kind":"Pod","metadata":{"name":"p","namespace":"d","uid":"u"}},
            {"apiVersion":"v1","kind":"Pod","metadata":{"name":7}}]}"#;
        let yaml = "apiVersion: v1\nkind: Node\nmetadata: {name: n}\n---\napiVersion: v1\nkind: \
            ConfigMap\nmetadata: {name: c}\n---\napiVersion: v1\nkind: PodList\nitems:\n- metadata: \
            {name: p, namespace: d, uid: u}\n- metadata: {name: [7]}\n";
        for text in [json, yaml] {
            let loaded = parse(text, &Interner::default()).expect(text);
            assert_eq!(loaded.objects.len(), 2, "{text}");
            assert_eq!(loaded.kept.to_string(), "1 Node, 1 Pod", "{text}");
            assert_eq!(loaded.other_kinds.to_string(), "1 ConfigMap", "{text}");
            assert!(loaded.undecodable.to_string().starts_with("1 Pod (first: "), "{text}");
        }
    }

    #[test]
    fn one_bad_object_is_called_that() {
        let pod = r#"{"apiVersion":"v1","kind":"Pod","metadata":{"name":7}}"#;
        let error = parse(pod, &Interner::default()).expect_err("nothing to serve").to_string();
        assert!(error.contains("none of the objects in the snapshot can be read: 1 Pod (first: "), "{error}");
        let kindless = parse(r#"{"items":[]}"#, &Interner::default()).expect_err("no kind").to_string();
        assert!(kindless.contains("1 object without apiVersion and kind"), "{kindless}");
    }

    #[test]
    fn what_is_no_snapshot_is_refused() {
        for text in ["{", "[1,2]", "a: [", "just words"] {
            assert!(parse(text, &Interner::default()).is_err(), "{text}");
        }
        assert!(parse("", &Interner::default()).is_ok_and(|loaded| loaded.objects.is_empty()));
    }
}
