//! A cluster from a file: a JSON `List` as kubectl prints it, or YAML documents.

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
        for (reason, count) in [("other_kind", loaded.other_kinds), ("undecodable", loaded.undecodable)] {
            self.skipped.with_label_values(&[reason]).inc_by(count as u64);
        }
    }
}

/// What a file held.
#[derive(Debug, Default)]
pub struct Loaded {
    /// Objects of the kinds that Berth watches.
    pub objects: Vec<Object>,
    /// Objects of other kinds.
    pub other_kinds: usize,
    /// Objects that could not be read.
    pub undecodable: usize,
}

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
    let nothing = loaded.objects.is_empty() && loaded.other_kinds == 0;
    if nothing && loaded.undecodable > 0 {
        return Err(SnapshotError::Malformed("no object in it has a kind".to_owned()));
    }
    Ok(loaded)
}

impl Loaded {
    /// Takes one document: an object, a `List`, or a typed list such as `PodList`, whose items need not
    /// repeat their kind.
    fn take(&mut self, raw: &RawValue, interner: &Interner, implied: Option<(&str, &str)>) {
        let Ok(header) = serde_json::from_str::<Header>(raw.get()) else {
            self.undecodable += 1;
            return;
        };
        let own = header.api_version.as_deref().zip(header.kind.as_deref());
        let Some((api_version, kind)) = own.or(implied) else {
            self.undecodable += 1;
            return;
        };
        if let Some(items) = header.items.as_ref().filter(|_| kind.ends_with("List")) {
            let item_kind = kind.trim_end_matches("List");
            let implied = (!item_kind.is_empty()).then_some((api_version, item_kind));
            for item in items {
                self.take(item, interner, implied);
            }
            return;
        }
        match Kind::recognise(api_version, kind).map(|kind| slim(kind, raw.get(), interner)) {
            None => self.other_kinds += 1,
            Some(Ok(Slimmed::Kept(Object::Pod(pod)))) if pod.uid.is_empty() => {
                let uid = Pod::stand_in_uid(&pod.key);
                self.objects.push(Object::Pod(Arc::new(Pod { uid, ..Pod::clone(&pod) })));
            }
            Some(Ok(Slimmed::Kept(object))) => self.objects.push(object),
            Some(Ok(Slimmed::Uninteresting(_))) => {}
            Some(Err(error)) => {
                tracing::warn!(%error, "object of the snapshot skipped");
                self.undecodable += 1;
            }
        }
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
            assert_eq!((loaded.other_kinds, loaded.undecodable), (1, 1), "{text}");
        }
    }

    #[test]
    fn what_is_no_snapshot_is_refused() {
        for text in ["{", "[1,2]", "a: [", "just words"] {
            assert!(parse(text, &Interner::default()).is_err(), "{text}");
        }
        assert!(parse("", &Interner::default()).is_ok_and(|loaded| loaded.objects.is_empty()));
    }
}
