//! Limit ranges: what they make containers request that say nothing.

use serde::Deserialize;

use super::shapes::Meta;
use super::{Interner, Quantities, key_of};
use crate::model::LimitRange;

#[derive(Deserialize)]
struct LimitRangeObject {
    metadata: Meta,
    spec: Option<Spec>,
}

#[derive(Deserialize)]
struct Spec {
    limits: Option<Vec<Limit>>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Limit {
    #[serde(rename = "type")]
    kind: Option<String>,
    default: Option<Quantities>,
    default_request: Option<Quantities>,
}

/// Reads one. Who has no default for requests gets the one for limits, so the API server completes it. Of several items the
/// last one counts, as in its admission plugin.
pub(super) fn read(text: &str, interner: &Interner) -> Result<LimitRange, serde_json::Error> {
    let LimitRangeObject { metadata, spec } = serde_json::from_str(text)?;
    let limits = spec.and_then(|spec| spec.limits).unwrap_or_default();
    let mut range =
        LimitRange { key: key_of(&metadata, interner), default_requests: std::collections::BTreeMap::new() };
    for limit in limits.iter().filter(|limit| limit.kind.as_deref() == Some("Container")) {
        let mut requests = limit.default_request.clone().unwrap_or_default();
        limit.default.iter().for_each(|limits| requests.fill_in(limits));
        range.default_requests.extend(requests.iter().map(|(name, amount)| (interner.name(name), amount)));
    }
    Ok(range)
}

#[cfg(test)]
mod tests {
    use super::{Interner, read};

    #[test]
    fn containers_that_say_nothing_request_the_defaults() {
        let text = r#"{"metadata":{"name":"l","namespace":"ns"},"spec":{"limits":[
            {"type":"Pod","max":{"cpu":"9"}},
            {"type":"Container","default":{"cpu":"2","memory":"1Ki"},"defaultRequest":{"cpu":"500m"}},
            {"type":"PersistentVolumeClaim","min":{"storage":"1Gi"}}]}}"#;
        let range = read(text, &Interner::default()).expect("a limit range");
        let found: Vec<_> = range.default_requests.iter().map(|(k, v)| (&**k, v.milli_value())).collect();
        assert_eq!(found, [("cpu", 500), ("memory", 1_024_000)]);
        let nothing = read(r#"{"metadata":{"name":"l"}}"#, &Interner::default()).expect("a limit range");
        assert!(nothing.default_requests.is_empty());
    }
}
