//! Label selectors as they stand in the configuration.

use super::schema::{LabelExpression, LabelOperator, LabelSelector};
use super::validate::Findings;
use crate::model::label_syntax::{is_label_key, is_label_value};
use crate::model::selector::Requirement;
use crate::model::{Name, Selector};

impl From<&LabelSelector> for Selector {
    fn from(config: &LabelSelector) -> Self {
        let equal = |(key, value): (&String, &String)| {
            Requirement::In(key.as_str().into(), Box::new([value.as_str().into()]))
        };
        let expression = |expression: &LabelExpression| {
            let key = Name::from(expression.key.as_str());
            let values = expression.values.iter().map(|value| Name::from(value.as_str())).collect();
            match expression.operator {
                LabelOperator::In => Requirement::In(key, values),
                LabelOperator::NotIn => Requirement::NotIn(key, values),
                LabelOperator::Exists => Requirement::Exists(key),
                LabelOperator::DoesNotExist => Requirement::DoesNotExist(key),
            }
        };
        let equalities = config.match_labels.iter().map(equal);
        equalities.chain(config.match_expressions.iter().map(expression)).collect()
    }
}

/// Checks a selector, as the API server would.
pub(crate) fn validate(path: &str, selector: &LabelSelector, findings: &mut Findings) {
    for (key, value) in &selector.match_labels {
        let is_label = is_label_key(key) && is_label_value(value);
        findings.require(is_label, format!("{path}.matchLabels.{key}"), "is no valid label");
    }
    for (at, expression) in selector.match_expressions.iter().enumerate() {
        let path = format!("{path}.matchExpressions[{at}]");
        findings.require(is_label_key(&expression.key), format!("{path}.key"), "must be the key of a label");
        let takes_values = matches!(expression.operator, LabelOperator::In | LabelOperator::NotIn);
        findings.require(
            takes_values != expression.values.is_empty(),
            format!("{path}.values"),
            "go with In and NotIn, which need at least one, and with no other operator",
        );
        let are_values = expression.values.iter().all(|value| is_label_value(value));
        findings.require(are_values, format!("{path}.values"), "must be values of a label");
    }
}
