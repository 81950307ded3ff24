//! What a pod asks of a node: node selector, required node affinity, tolerations.
//!
//! Meaning as in kube-scheduler, to the letter: a term that cannot be understood matches no node, an empty
//! term neither.

use std::sync::{Arc, LazyLock};

use super::label_syntax::{is_label_key, is_label_value};
use super::{Labels, Name, Node, Taint};

/// What a pod asks of a node.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct Requirements {
    /// `spec.nodeSelector`.
    pub node_selector: Labels,
    /// The terms of the required node affinity, any of which will do; `None` if there is no such affinity.
    pub affinity: Option<Vec<Term>>,
    /// `spec.tolerations`.
    pub tolerations: Vec<Toleration>,
}

/// One term: all its expressions and fields must match.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct Term {
    /// On labels.
    pub expressions: Vec<Expression>,
    /// On fields; there is only `metadata.name`.
    pub fields: Vec<Expression>,
}

/// One expression.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Expression {
    /// The label's or field's name.
    pub key: Name,
    /// The operator, as given.
    pub operator: Name,
    /// The values.
    pub values: Vec<Name>,
}

/// One toleration.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Toleration {
    /// Empty tolerates every key.
    pub key: Name,
    /// Empty means `Equal`.
    pub operator: Name,
    /// The value to equal.
    pub value: Name,
    /// Empty tolerates every effect.
    pub effect: Name,
}

impl Requirements {
    /// Nothing at all, one copy for everybody.
    pub fn nothing() -> Arc<Self> {
        static NOTHING: LazyLock<Arc<Requirements>> = LazyLock::new(Arc::default);
        NOTHING.clone()
    }

    /// Whether nothing is asked that depends on the node's labels or name.
    pub(crate) fn fit_every_node(&self) -> bool {
        self.node_selector.is_empty() && self.affinity.is_none()
    }

    /// Whether node selector and required affinity allow the node.
    pub fn allow(&self, node: &Node) -> bool {
        self.node_selector.iter().all(|(key, value)| node.labels.get(key) == Some(value))
            && self.affinity.as_ref().is_none_or(|terms| terms.iter().any(|term| term.matches(node)))
    }

    /// Whether every taint that keeps pods from being placed is tolerated.
    pub fn tolerate(&self, taints: &[Taint]) -> bool {
        let keeps_out = |taint: &&Taint| matches!(&*taint.effect, "NoSchedule" | "NoExecute");
        let tolerated = |taint: &Taint| self.tolerations.iter().any(|t| t.tolerates(taint));
        taints.iter().filter(keeps_out).all(tolerated)
    }
}

impl Term {
    fn matches(&self, node: &Node) -> bool {
        let empty = self.expressions.is_empty() && self.fields.is_empty();
        // An expression that cannot be understood holds for no node, and so spoils its term.
        let labels = || self.expressions.iter().all(|e| e.holds_for(&node.labels) == Some(true));
        let fields = || self.fields.iter().all(|e| e.holds_for_name(&node.name) == Some(true));
        !empty && labels() && fields()
    }
}

impl Expression {
    /// `None` if the expression cannot be understood.
    fn holds_for(&self, labels: &Labels) -> Option<bool> {
        let value = labels.get(&self.key);
        let listed = || value.is_some_and(|value| self.values.contains(value));
        let understood = is_label_key(&self.key) && self.values.iter().all(|value| is_label_value(value));
        if !understood {
            return None;
        }
        match &*self.operator {
            "In" if !self.values.is_empty() => Some(listed()),
            "NotIn" if !self.values.is_empty() => Some(!listed()),
            "Exists" if self.values.is_empty() => Some(value.is_some()),
            "DoesNotExist" if self.values.is_empty() => Some(value.is_none()),
            "Gt" | "Lt" => {
                let [bound] = &self.values[..] else { return None };
                let bound = parse_integer(bound)?;
                let greater = &*self.operator == "Gt";
                let beyond = |number: i64| if greater { number > bound } else { number < bound };
                Some(value.and_then(|value| parse_integer(value)).is_some_and(beyond))
            }
            _ => None,
        }
    }

    fn holds_for_name(&self, name: &Name) -> Option<bool> {
        let [value] = &self.values[..] else { return None };
        // A field that does not exist reads as empty.
        let actual: &str = if &*self.key == "metadata.name" { name } else { "" };
        match &*self.operator {
            "In" => Some(actual == &**value),
            "NotIn" => Some(actual != &**value),
            _ => None,
        }
    }
}

impl Toleration {
    fn tolerates(&self, taint: &Taint) -> bool {
        let effect = self.effect.is_empty() || self.effect == taint.effect;
        let key = self.key.is_empty() || self.key == taint.key;
        effect
            && key
            && match &*self.operator {
                "" | "Equal" => self.value == taint.value,
                "Exists" => true,
                // Comparisons (`Lt`, `Gt`) are behind a gate that is off by default.
                _ => false,
            }
    }
}

/// As Go's `ParseInt` in base ten: an optional sign and digits.
fn parse_integer(text: &str) -> Option<i64> {
    text.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::{Expression, Labels, Name, Requirements, Taint, Term, Toleration};
    use crate::fixtures::node;

    fn expression(key: &str, operator: &str, values: &[&str]) -> Expression {
        let values = values.iter().map(|value| Name::from(*value)).collect();
        Expression { key: key.into(), operator: operator.into(), values }
    }

    #[test]
    fn a_term_that_cannot_be_understood_matches_no_node() {
        let node = node("n").label("gpus", "8").build();
        for (name, expressions, expected) in [
            ("more than", vec![expression("gpus", "Gt", &["4"])], true),
            ("not less than", vec![expression("gpus", "Lt", &["4"])], false),
            ("missing label", vec![expression("cpus", "Gt", &["4"])], false),
            ("no number", vec![expression("gpus", "Gt", &["many"])], false),
            ("not in, label missing", vec![expression("cpus", "NotIn", &["4"])], true),
            ("in without values", vec![expression("gpus", "In", &[])], false),
            ("unknown operator", vec![expression("gpus", "Near", &["8"])], false),
            (
                "one of two is not understood",
                vec![expression("gpus", "Exists", &[]), expression("gpus", "Exists", &["8"])],
                false,
            ),
            ("empty", vec![], false),
        ] {
            let term = Term { expressions, fields: Vec::new() };
            let requirements = Requirements { affinity: Some(vec![term]), ..Requirements::default() };
            assert_eq!(requirements.allow(&node), expected, "{name}");
        }
    }

    #[test]
    fn names_selectors_and_terms_combine() {
        let node = node("n").label("disk", "ssd").build();
        let fields = vec![expression("metadata.name", "In", &["n"])];
        let by_name = Term { expressions: Vec::new(), fields };
        let selector = |value: &str| -> Labels { [("disk".into(), value.into())].into_iter().collect() };
        let requirements = |value: &str| Requirements {
            node_selector: selector(value),
            affinity: Some(vec![Term::default(), by_name.clone()]),
            ..Requirements::default()
        };
        assert!(requirements("ssd").allow(&node));
        assert!(!requirements("hdd").allow(&node));
        assert!(Requirements::default().allow(&node));
        let nothing = Requirements { affinity: Some(Vec::new()), ..Requirements::default() };
        assert!(!nothing.allow(&node), "affinity without terms matches nothing");
    }

    #[test]
    fn tolerations_of_every_shape() {
        let taint = |effect: &str| [Taint { key: "team".into(), value: "a".into(), effect: effect.into() }];
        for (name, (key, operator, value, effect), expected) in [
            ("equal", ("team", "", "a", "NoSchedule"), true),
            ("another value", ("team", "Equal", "b", ""), false),
            ("exists", ("team", "Exists", "", ""), true),
            ("everything", ("", "Exists", "", ""), true),
            ("another effect", ("team", "Exists", "", "NoExecute"), false),
            ("comparison", ("team", "Gt", "1", ""), false),
        ] {
            let toleration = Toleration {
                key: key.into(),
                operator: operator.into(),
                value: value.into(),
                effect: effect.into(),
            };
            let requirements = Requirements { tolerations: vec![toleration], ..Requirements::default() };
            assert_eq!(requirements.tolerate(&taint("NoSchedule")), expected, "{name}");
        }
        assert!(Requirements::default().tolerate(&taint("PreferNoSchedule")));
        assert!(!Requirements::default().tolerate(&taint("NoExecute")));
    }
}
