//! Checks of the spreading constraints, as kube-scheduler makes them of its own defaults.

use super::schema::{DefaultingType, SpreadConstraint, TopologySpread, WhenUnsatisfiable};
use super::selector;
use super::validate::Findings;
use crate::model::label_syntax::is_label_key;

/// Checks the whole section.
pub(crate) fn validate(spread: &TopologySpread, findings: &mut Findings) {
    findings.require(
        spread.defaulting_type == DefaultingType::List || spread.default_constraints.is_empty(),
        "topologySpread.defaultingType",
        "must be List when defaultConstraints are given",
    );
    constraints("topologySpread.defaultConstraints", &spread.default_constraints, findings);
    for (at, rule) in spread.overrides.iter().enumerate() {
        let path = format!("topologySpread.overrides[{at}]");
        for (field, selector) in
            [("namespaceSelector", &rule.namespace_selector), ("podSelector", &rule.pod_selector)]
        {
            if let Some(selector) = selector {
                selector::validate(&format!("{path}.{field}"), selector, findings);
            }
        }
        constraints(&format!("{path}.defaultConstraints"), &rule.default_constraints, findings);
    }
}

fn constraints(path: &str, constraints: &[SpreadConstraint], findings: &mut Findings) {
    for (at, constraint) in constraints.iter().enumerate() {
        let mut require = |holds: bool, field: &str, reason: &str| {
            findings.require(holds, format!("{path}[{at}]{field}"), reason);
        };
        require(constraint.max_skew > 0, ".maxSkew", "must be greater than 0");
        require(is_label_key(&constraint.topology_key), ".topologyKey", "must be the key of a node label");
        let forbidden = "is forbidden: the selector is deduced for each pod";
        require(constraint.label_selector.is_none(), ".labelSelector", forbidden);
        if let Some(min_domains) = constraint.min_domains {
            require(min_domains > 0, ".minDomains", "must be greater than 0");
            let is_hard = constraint.when_unsatisfiable == WhenUnsatisfiable::DoNotSchedule;
            require(is_hard, ".minDomains", "goes with whenUnsatisfiable: DoNotSchedule only");
        }
        let same = |other: &SpreadConstraint| {
            other.topology_key == constraint.topology_key
                && other.when_unsatisfiable == constraint.when_unsatisfiable
        };
        let repeated = constraints[..at].iter().any(same);
        require(!repeated, "", "repeats the topologyKey and whenUnsatisfiable of an earlier constraint");
    }
}
