//! Label selectors with the API server's meaning.

use super::{Labels, Name};

/// A label selector. All requirements must hold; none at all selects everything.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct Selector {
    /// The requirements, in a canonical order.
    requirements: Box<[Requirement]>,
}

/// One requirement of a selector.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Requirement {
    /// The label is there and has one of these values.
    In(Name, Box<[Name]>),
    /// The label is missing or has none of these values.
    NotIn(Name, Box<[Name]>),
    /// The label is there.
    Exists(Name),
    /// The label is missing.
    DoesNotExist(Name),
}

impl Requirement {
    /// The label that it looks at.
    pub fn key(&self) -> &Name {
        match self {
            Requirement::In(key, _)
            | Requirement::NotIn(key, _)
            | Requirement::Exists(key)
            | Requirement::DoesNotExist(key) => key,
        }
    }

    /// The values that it names.
    pub fn values(&self) -> &[Name] {
        match self {
            Requirement::In(_, values) | Requirement::NotIn(_, values) => values,
            _ => &[],
        }
    }

    fn holds(&self, labels: &Labels) -> bool {
        match self {
            Requirement::In(key, values) => labels.get(key).is_some_and(|value| values.contains(value)),
            Requirement::NotIn(key, values) => labels.get(key).is_none_or(|value| !values.contains(value)),
            Requirement::Exists(key) => labels.get(key).is_some(),
            Requirement::DoesNotExist(key) => labels.get(key).is_none(),
        }
    }
}

impl Selector {
    /// Whether an object with these labels is selected.
    pub fn matches(&self, labels: &Labels) -> bool {
        self.requirements.iter().all(|requirement| requirement.holds(labels))
    }

    /// The requirements.
    pub fn requirements(&self) -> impl Iterator<Item = &Requirement> {
        self.requirements.iter()
    }

    /// The keys that must have one certain value, with that value.
    pub(crate) fn equalities(&self) -> impl Iterator<Item = (&Name, &Name)> {
        self.requirements.iter().filter_map(|requirement| match requirement {
            Requirement::In(key, values) => match &values[..] {
                [value] => Some((key, value)),
                _ => None,
            },
            _ => None,
        })
    }

    /// Whether it selects everything.
    pub fn is_empty(&self) -> bool {
        self.requirements.is_empty()
    }
}

impl FromIterator<Requirement> for Selector {
    fn from_iter<I: IntoIterator<Item = Requirement>>(requirements: I) -> Self {
        let mut requirements: Vec<_> = requirements.into_iter().collect();
        requirements.sort();
        requirements.dedup();
        Self { requirements: requirements.into() }
    }
}

#[cfg(test)]
mod tests {
    use super::{Labels, Name, Requirement, Selector};

    #[test]
    fn requirements_hold_as_in_the_api_server() {
        let labels: Labels = [(Name::from("app"), Name::from("web"))].into_iter().collect();
        let values = |v: &[&str]| v.iter().map(|v| Name::from(*v)).collect::<Box<[Name]>>();
        for (name, requirement, expected) in [
            ("value listed", Requirement::In("app".into(), values(&["web", "db"])), true),
            ("value not listed", Requirement::In("app".into(), values(&["db"])), false),
            ("label missing", Requirement::In("tier".into(), values(&["db"])), false),
            ("value excluded", Requirement::NotIn("app".into(), values(&["web"])), false),
            ("excluded label missing", Requirement::NotIn("tier".into(), values(&["web"])), true),
            ("label there", Requirement::Exists("app".into()), true),
            ("label not there", Requirement::Exists("tier".into()), false),
            ("label unwanted", Requirement::DoesNotExist("app".into()), false),
            ("unwanted label missing", Requirement::DoesNotExist("tier".into()), true),
        ] {
            let selector: Selector = [requirement].into_iter().collect();
            assert_eq!(selector.matches(&labels), expected, "{name}");
        }
        assert!(Selector::default().matches(&labels), "an empty selector selects everything");
    }
}
