//! Resource quotas: what pods of a namespace may use, and what they use already.

use serde::Deserialize;

use super::shapes::Meta;
use super::{Interner, Quantities, key_of};
use crate::model::resource_quota::{Counted, QuotaLimit, QuotaScope, ResourceQuota};
use crate::model::resources::is_scalar;
use crate::model::{Name, Quantity};

#[derive(Deserialize)]
struct QuotaObject {
    metadata: Meta,
    spec: Option<Spec>,
    status: Option<Status>,
}

#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase")]
struct Spec {
    hard: Option<Quantities>,
    scopes: Option<Vec<String>>,
    scope_selector: Option<ScopeSelector>,
}

#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase")]
struct ScopeSelector {
    match_expressions: Option<Vec<ScopeExpression>>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct ScopeExpression {
    #[serde(default)]
    scope_name: String,
    #[serde(default)]
    operator: String,
    values: Option<Vec<String>>,
}

#[derive(Default, Deserialize)]
struct Status {
    hard: Option<Quantities>,
    used: Option<Quantities>,
}

/// Reads one. What the API server enforces stands in the status; before its controller has looked at a new quota, only
/// the specification says how much it will be.
pub(super) fn read(text: &str, interner: &Interner) -> Result<ResourceQuota, serde_json::Error> {
    let QuotaObject { metadata, spec, status } = serde_json::from_str(text)?;
    let (spec, status) = (spec.unwrap_or_default(), status.unwrap_or_default());
    let used = status.used.unwrap_or_default();
    let mut limits = Vec::new();
    for (name, hard) in status.hard.or(spec.hard).unwrap_or_default().iter() {
        let Some(of) = counted(name, interner) else { continue };
        let amount = |quantity: Quantity| match of {
            Counted::Cpu => quantity.saturating_milli_value(),
            _ => quantity.saturating_value(),
        };
        let used = used.iter().find(|(known, _)| *known == name).map(|(_, used)| amount(used));
        limits.push(QuotaLimit { hard: amount(hard), used, of: of.clone() });
    }
    let named = spec.scopes.iter().flatten().map(|name| scope(name, "Exists", &[], interner));
    let expressions = spec.scope_selector.and_then(|selector| selector.match_expressions).unwrap_or_default();
    let selected = expressions.iter().map(|ScopeExpression { scope_name, operator, values }| {
        scope(scope_name, operator, values.as_deref().unwrap_or_default(), interner)
    });
    Ok(ResourceQuota {
        key: key_of(&metadata, interner),
        scopes: named.chain(selected).collect(),
        limits: limits.into(),
    })
}

/// What a limit of that name is on, if it is one on what pods request.
fn counted(name: &str, interner: &Interner) -> Option<Counted> {
    match name {
        "pods" | "count/pods" => return Some(Counted::Pods),
        "cpu" | "requests.cpu" => return Some(Counted::Cpu),
        "memory" | "requests.memory" => return Some(Counted::Memory),
        "ephemeral-storage" | "requests.ephemeral-storage" => return Some(Counted::EphemeralStorage),
        _ => {}
    }
    // Extended resources are counted under their names with the prefix only, huge pages under both.
    let requested = name.strip_prefix("requests.").filter(|resource| is_scalar(resource));
    let resource = requested.or(Some(name).filter(|name| name.starts_with("hugepages-")))?;
    Some(Counted::Scalar(interner.name(resource)))
}

fn scope(name: &str, operator: &str, values: &[String], interner: &Interner) -> QuotaScope {
    let classes = || -> Box<[Name]> { values.iter().map(|value| interner.name(value)).collect() };
    match (name, operator) {
        ("BestEffort", _) => QuotaScope::BestEffort,
        ("NotBestEffort", _) => QuotaScope::NotBestEffort,
        ("Terminating", _) => QuotaScope::Terminating,
        ("NotTerminating", _) => QuotaScope::NotTerminating,
        ("PriorityClass", "Exists") => QuotaScope::PriorityClass,
        ("PriorityClass", "DoesNotExist") => QuotaScope::NoPriorityClass,
        ("PriorityClass", "In") => QuotaScope::PriorityClassIn(classes()),
        ("PriorityClass", "NotIn") => QuotaScope::PriorityClassNotIn(classes()),
        _ => QuotaScope::Unknown,
    }
}

#[cfg(test)]
mod tests {
    use super::{Counted, Interner, QuotaScope, read};

    fn limits(text: &str) -> Vec<(String, i64, Option<i64>)> {
        let quota = read(text, &Interner::default()).expect("a quota");
        let name = |of: &Counted| match of {
            Counted::Scalar(name) => name.to_string(),
            other => format!("{other:?}"),
        };
        quota.limits.iter().map(|limit| (name(&limit.of), limit.hard, limit.used)).collect()
    }

    #[test]
    fn what_is_enforced_and_what_is_used_stand_in_the_status() {
        let text = r#"{"metadata":{"name":"q","namespace":"ns"},"spec":{"hard":{"pods":"9"}},"status":{
            "hard":{"pods":"8","requests.cpu":"1500m","limits.cpu":"3","requests.nvidia.com/gpu":"16",
                "hugepages-2Mi":"1Ki","requests.storage":"1Gi","count/configmaps":"3","memory":"1e40"},
            "used":{"pods":"2","requests.cpu":"1"}}}"#;
        let expected = [
            ("Pods", 8, Some(2)),
            ("Cpu", 1_500, Some(1_000)),
            ("nvidia.com/gpu", 16, None),
            ("hugepages-2Mi", 1_024, None),
            ("Memory", i64::MAX, None),
        ];
        let expected = expected.map(|(name, hard, used)| (name.to_owned(), hard, used));
        assert_eq!(limits(text), expected);
        let new = r#"{"metadata":{"name":"q"},"spec":{"hard":{"count/pods":"9"}},"status":{}}"#;
        assert_eq!(limits(new), [("Pods".to_owned(), 9, None)]);
        assert!(limits(r#"{"metadata":{"name":"q"}}"#).is_empty());
    }

    #[test]
    fn scopes_stand_in_a_list_or_a_selector() {
        let text = r#"{"metadata":{"name":"q"},"spec":{"scopes":["NotBestEffort","PriorityClass"],"scopeSelector":
            {"matchExpressions":[{"scopeName":"PriorityClass","operator":"In","values":["high"]},
            {"scopeName":"Terminating","operator":"Exists"},{"scopeName":"CrossNamespacePodAffinity","operator":"Exists"},
            {"scopeName":"PriorityClass","operator":"Unheard"}]}}}"#;
        let quota = read(text, &Interner::default()).expect("a quota");
        let high = QuotaScope::PriorityClassIn(["high".into()].into());
        let expected = [
            QuotaScope::NotBestEffort,
            QuotaScope::PriorityClass,
            high,
            QuotaScope::Terminating,
            QuotaScope::Unknown,
            QuotaScope::Unknown,
        ];
        assert_eq!(*quota.scopes, expected);
    }
}
