//! Checks of the spreading constraints, as kube-scheduler makes them of its own defaults.

use super::schema::{DefaultingType, SpreadConstraint, TopologySpread, WhenUnsatisfiable};
use super::selector;
use super::validate::Wrong;
use crate::model::label_syntax::is_label_key;

/// Checks the whole section.
pub(crate) fn validate(spread: &TopologySpread) -> Result<(), Wrong> {
    let path = "topologySpread.defaultConstraints";
    if spread.defaulting_type == DefaultingType::System && !spread.default_constraints.is_empty() {
        let reason = "must be List when defaultConstraints are given";
        return Err(Wrong::new("topologySpread.defaultingType", reason));
    }
    constraints(path, &spread.default_constraints)?;
    for (at, rule) in spread.overrides.iter().enumerate() {
        let path = format!("topologySpread.overrides[{at}]");
        for (field, selector) in
            [("namespaceSelector", &rule.namespace_selector), ("podSelector", &rule.pod_selector)]
        {
            if let Some(selector) = selector {
                selector::validate(&format!("{path}.{field}"), selector)?;
            }
        }
        constraints(&format!("{path}.defaultConstraints"), &rule.default_constraints)?;
    }
    Ok(())
}

fn constraints(path: &str, constraints: &[SpreadConstraint]) -> Result<(), Wrong> {
    for (at, constraint) in constraints.iter().enumerate() {
        let wrong = |field: &str, reason: &str| Err(Wrong::new(&format!("{path}[{at}]{field}"), reason));
        if constraint.max_skew <= 0 {
            return wrong(".maxSkew", "must be greater than 0");
        }
        if !is_label_key(&constraint.topology_key) {
            return wrong(".topologyKey", "must be the key of a node label");
        }
        if constraint.label_selector.is_some() {
            return wrong(".labelSelector", "is forbidden: the selector is deduced for each pod");
        }
        if let Some(min_domains) = constraint.min_domains {
            if min_domains <= 0 {
                return wrong(".minDomains", "must be greater than 0");
            }
            if constraint.when_unsatisfiable == WhenUnsatisfiable::ScheduleAnyway {
                return wrong(".minDomains", "goes with whenUnsatisfiable: DoNotSchedule only");
            }
        }
        let same = |other: &SpreadConstraint| {
            other.topology_key == constraint.topology_key
                && other.when_unsatisfiable == constraint.when_unsatisfiable
        };
        if constraints[..at].iter().any(same) {
            return wrong("", "repeats the topologyKey and whenUnsatisfiable of an earlier constraint");
        }
    }
    Ok(())
}
