//! Checks of the spreading constraints, as kube-scheduler makes them of its own defaults.

use super::schema::{
    DefaultingType, LabelOperator, LabelSelector, SpreadConstraint, TopologySpread, WhenUnsatisfiable,
};
use super::validate::Wrong;
use crate::model::label_syntax::{is_label_key, is_label_value};

/// Checks the whole section.
pub fn validate(spread: &TopologySpread) -> Result<(), Wrong> {
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
                self::selector(&format!("{path}.{field}"), selector)?;
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

fn selector(path: &str, selector: &LabelSelector) -> Result<(), Wrong> {
    for (key, value) in &selector.match_labels {
        if !is_label_key(key) || !is_label_value(value) {
            return Err(Wrong::new(&format!("{path}.matchLabels.{key}"), "is no valid label"));
        }
    }
    for (at, expression) in selector.match_expressions.iter().enumerate() {
        let wrong = |field: &str, reason: &str| {
            Err(Wrong::new(&format!("{path}.matchExpressions[{at}].{field}"), reason))
        };
        if !is_label_key(&expression.key) {
            return wrong("key", "must be the key of a label");
        }
        let takes_values = matches!(expression.operator, LabelOperator::In | LabelOperator::NotIn);
        if takes_values == expression.values.is_empty() {
            return wrong(
                "values",
                "go with In and NotIn, which need at least one, and with no other operator",
            );
        }
        if !expression.values.iter().all(|value| is_label_value(value)) {
            return wrong("values", "must be values of a label");
        }
    }
    Ok(())
}
