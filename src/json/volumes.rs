//! Claims, persistent volumes and storage classes: from which nodes a volume can be reached, or where it can be made.

use std::sync::Arc;

use serde::Deserialize;

use super::Interner;
use super::shapes::{NodeSelector, StringMap};
use crate::model::requirements::{Expression, Term};
use crate::model::{Name, ObjectKey, PersistentVolume, Requirements, StorageClass, VolumeClaim};

/// Metadata, with the few annotations that say something about volumes.
#[derive(Deserialize)]
struct Meta {
    #[serde(default)]
    name: String,
    namespace: Option<String>,
    labels: Option<StringMap>,
    annotations: Option<Annotations>,
}

#[derive(Deserialize)]
struct Annotations {
    #[serde(rename = "volume.kubernetes.io/selected-node")]
    selected_node: Option<String>,
    /// How the storage class was named before it was a field. It still counts, and comes first.
    #[serde(rename = "volume.beta.kubernetes.io/storage-class")]
    storage_class: Option<String>,
}

#[derive(Deserialize)]
struct ClaimObject {
    metadata: Meta,
    spec: Option<ClaimSpec>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct ClaimSpec {
    volume_name: Option<String>,
    storage_class_name: Option<String>,
}

#[derive(Deserialize)]
struct VolumeObject {
    metadata: Meta,
    spec: Option<VolumeSpec>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct VolumeSpec {
    node_affinity: Option<VolumeNodeAffinity>,
}

#[derive(Deserialize)]
struct VolumeNodeAffinity {
    required: Option<NodeSelector>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct ClassObject {
    metadata: Meta,
    provisioner: Option<String>,
    volume_binding_mode: Option<String>,
    allowed_topologies: Option<Vec<TopologySelectorTerm>>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct TopologySelectorTerm {
    match_label_expressions: Option<Vec<TopologySelectorExpression>>,
}

#[derive(Deserialize)]
struct TopologySelectorExpression {
    key: String,
    values: Option<Vec<String>>,
}

/// Volumes of this class are not made for anybody: there are some, or there are none.
const NO_PROVISIONER: &str = "kubernetes.io/no-provisioner";

/// Labels that say where a volume is that has no node affinity, and the label of nodes that will do too.
const ZONE_LABELS: [(&str, Option<&str>); 4] = [
    ("failure-domain.beta.kubernetes.io/zone", Some("topology.kubernetes.io/zone")),
    ("failure-domain.beta.kubernetes.io/region", Some("topology.kubernetes.io/region")),
    ("topology.kubernetes.io/zone", None),
    ("topology.kubernetes.io/region", None),
];

/// Reads a claim.
pub(super) fn claim(text: &str, interner: &Interner) -> Result<VolumeClaim, serde_json::Error> {
    let ClaimObject { metadata, spec } = serde_json::from_str(text)?;
    let key = key_of(&metadata, interner);
    let given = |text: Option<String>| text.filter(|text| !text.is_empty());
    let annotations = metadata.annotations;
    let (old_class, selected) =
        annotations.map(|of| (of.storage_class, of.selected_node)).unwrap_or_default();
    let (volume, class) = spec.map(|spec| (spec.volume_name, spec.storage_class_name)).unwrap_or_default();
    let fields = given(selected).map(|node| expression("metadata.name", "In", [node]));
    let selected = fields.map(|field| Term { expressions: Vec::new(), fields: vec![field] });
    Ok(VolumeClaim {
        key,
        volume: given(volume).map(|name| interner.name(&name)),
        class: given(old_class.or(class)).map(|name| interner.name(&name)),
        selected_node: selected.map(|term| any_of(vec![term], interner)),
    })
}

/// Reads a volume.
pub(super) fn volume(text: &str, interner: &Interner) -> Result<PersistentVolume, serde_json::Error> {
    let VolumeObject { metadata, spec } = serde_json::from_str(text)?;
    let required = spec.and_then(|spec| spec.node_affinity?.required);
    let required = required.map(|selector| {
        any_of(selector.node_selector_terms.iter().flatten().map(super::term).collect(), interner)
    });
    let labels = metadata.labels.as_ref().map_or(&[][..], |labels| &labels.0);
    let zones = zone_terms(labels).map(|terms| any_of(terms, interner));
    let reachable = required.into_iter().chain(zones).collect();
    Ok(PersistentVolume { key: key_of(&metadata, interner), reachable })
}

/// Reads a storage class.
pub(super) fn class(text: &str, interner: &Interner) -> Result<StorageClass, serde_json::Error> {
    let object: ClassObject = serde_json::from_str(text)?;
    let terms = object.allowed_topologies.unwrap_or_default();
    let term = |term: TopologySelectorTerm| Term {
        expressions: term
            .match_label_expressions
            .into_iter()
            .flatten()
            .map(|of| expression(&of.key, "In", of.values.unwrap_or_default()))
            .collect(),
        fields: Vec::new(),
    };
    let is_made = object.provisioner.as_deref() != Some(NO_PROVISIONER);
    let terms: Vec<Term> = terms.into_iter().map(term).filter(|_| is_made).collect();
    Ok(StorageClass {
        key: key_of(&object.metadata, interner),
        waits_for_consumer: object.volume_binding_mode.as_deref() == Some("WaitForFirstConsumer"),
        allowed_topologies: (!terms.is_empty()).then(|| any_of(terms, interner)),
    })
}

/// What labels of a volume demand of a node, as the plugin `VolumeZone` reads them: one of the values that they list, and
/// nothing of a node that has none of these labels. An old label is looked for under its new name too.
fn zone_terms(labels: &[(String, String)]) -> Option<Vec<Term>> {
    let mut terms = vec![Term::default()];
    for (key, also) in ZONE_LABELS {
        let Some((_, value)) = labels.iter().find(|(label, _)| label == key) else { continue };
        let values: Vec<String> = value.split("__").map(str::to_owned).collect();
        let under_old_name = vec![expression(key, "In", values.clone())];
        let under_new_name =
            also.map(|also| vec![expression(key, "DoesNotExist", []), expression(also, "In", values)]);
        let ways: Vec<_> = [under_old_name].into_iter().chain(under_new_name).collect();
        terms = terms.iter().flat_map(|term| ways.iter().map(|way| with(term, way))).collect();
    }
    let is_none = terms.iter().all(|term| term.expressions.is_empty());
    let unlabelled = ZONE_LABELS.map(|(key, _)| expression(key, "DoesNotExist", []));
    terms.push(Term { expressions: unlabelled.into(), fields: Vec::new() });
    (!is_none).then_some(terms)
}

fn with(term: &Term, more: &[Expression]) -> Term {
    Term { expressions: term.expressions.iter().chain(more).cloned().collect(), fields: Vec::new() }
}

fn expression(key: &str, operator: &str, values: impl IntoIterator<Item = String>) -> Expression {
    let values = values.into_iter().map(Name::from).collect();
    Expression { key: key.into(), operator: operator.into(), values }
}

fn any_of(terms: Vec<Term>, interner: &Interner) -> Arc<Requirements> {
    interner.requirements(Requirements { affinity: Some(terms), ..Requirements::default() })
}

fn key_of(meta: &Meta, interner: &Interner) -> ObjectKey {
    let namespace = meta.namespace.as_deref().unwrap_or_default();
    ObjectKey { namespace: interner.name(namespace), name: interner.name(&meta.name) }
}

#[cfg(test)]
mod tests {
    use super::{Interner, claim, class, volume};
    use crate::fixtures::node;

    const ZONE: &str = "topology.kubernetes.io/zone";
    const REGION: &str = "topology.kubernetes.io/region";
    const OLD_ZONE: &str = "failure-domain.beta.kubernetes.io/zone";

    #[test]
    fn a_volume_is_reached_from_nodes_that_its_affinity_and_its_labels_allow() {
        let affinity = r#","spec":{"nodeAffinity":{"required":{"nodeSelectorTerms":[
            {"matchExpressions":[{"key":"rack","operator":"In","values":["a"]}]}]}}}"#;
        let labels = |labels: &str| format!(r#","labels":{{{labels}}}"#);
        let zones = labels(&format!(r#""{ZONE}":"z1__z2""#));
        let both = labels(&format!(r#""{ZONE}":"z1","{REGION}":"r1""#));
        let old = labels(&format!(r#""{OLD_ZONE}":"z1""#));
        for (name, labels, spec, on, expected) in [
            ("neither", "", "", &[][..], true),
            ("affinity", "", affinity, &[("rack", "a")][..], true),
            ("affinity to others", "", affinity, &[("rack", "b")], false),
            ("one of two zones", &zones, "", &[(ZONE, "z2")], true),
            ("another zone", &zones, "", &[(ZONE, "z3")], false),
            ("a node without zones", &zones, "", &[("rack", "b")], true),
            ("a node of which only the region is known", &zones, "", &[(REGION, "r1")], false),
            ("zone and region", &both, "", &[(ZONE, "z1"), (REGION, "r1")], true),
            ("the right zone of another region", &both, "", &[(ZONE, "z1"), (REGION, "r2")], false),
            ("an old label", &old, "", &[(OLD_ZONE, "z1")], true),
            ("an old label by its new name", &old, "", &[(ZONE, "z1")], true),
            ("an old label that says otherwise", &old, "", &[(OLD_ZONE, "z2"), (ZONE, "z1")], false),
            ("labels and affinity", &zones, affinity, &[("rack", "a"), (ZONE, "z3")], false),
        ] {
            let text = format!(r#"{{"metadata":{{"name":"v"{labels}}}{spec}}}"#);
            let volume = volume(&text, &Interner::default()).expect("a volume");
            let node = on.iter().fold(node("n"), |node, (key, value)| node.label(key, value)).build();
            assert_eq!(volume.reachable.iter().all(|of| of.allow(&node)), expected, "{name}");
        }
    }

    #[test]
    fn a_claim_knows_its_volume_its_class_and_the_node_that_was_selected_for_it() {
        let read = |text: &str| claim(text, &Interner::default()).expect("a claim");
        let bound = read(
            r#"{"metadata":{"name":"c","namespace":"ns","annotations":{"a":"b"}},
            "spec":{"volumeName":"v","storageClassName":"fast"}}"#,
        );
        assert_eq!((bound.volume.as_deref(), bound.class.as_deref()), (Some("v"), Some("fast")));
        assert!(bound.selected_node.is_none());
        let unbound = read(
            r#"{"metadata":{"name":"c","annotations":{"volume.beta.kubernetes.io/storage-class":"old",
            "volume.kubernetes.io/selected-node":"n"}},"spec":{"volumeName":"","storageClassName":"fast"}}"#,
        );
        assert_eq!((unbound.volume.as_deref(), unbound.class.as_deref()), (None, Some("old")));
        let selected = unbound.selected_node.expect("a node");
        assert!(selected.allow(&node("n").build()) && !selected.allow(&node("m").build()));
    }

    #[test]
    fn a_class_says_when_and_where_volumes_are_made() {
        let topologies =
            r#""allowedTopologies":[{"matchLabelExpressions":[{"key":"rack","values":["a","b"]}]}]"#;
        let read = |more: &str| {
            let text =
                format!(r#"{{"metadata":{{"name":"c"}},"volumeBindingMode":"WaitForFirstConsumer"{more}}}"#);
            class(&text, &Interner::default()).expect("a class")
        };
        let allowed = read(&format!(r#","provisioner":"x",{topologies}"#)).allowed_topologies.expect("some");
        assert!(allowed.allow(&node("n").label("rack", "b").build()));
        assert!(!allowed.allow(&node("n").label("rack", "c").build()) && !allowed.allow(&node("n").build()));
        assert!(read(r#","provisioner":"x""#).allowed_topologies.is_none());
        let local = read(&format!(r#","provisioner":"kubernetes.io/no-provisioner",{topologies}"#));
        assert!(local.waits_for_consumer && local.allowed_topologies.is_none(), "none are made");
    }
}
