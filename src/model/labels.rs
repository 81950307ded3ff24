//! A label set: sorted, shared, compared by content.

use std::sync::Arc;

use super::Name;

/// The labels of an object, sorted by key.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Labels(Arc<[(Name, Name)]>);

impl Labels {
    /// The value of `key`, if the object carries it.
    pub fn get(&self, key: &str) -> Option<&Name> {
        self.0.binary_search_by(|(k, _)| (**k).cmp(key)).ok().map(|at| &self.0[at].1)
    }

    /// All pairs, by key.
    pub fn iter(&self) -> impl Iterator<Item = (&Name, &Name)> {
        self.0.iter().map(|(k, v)| (k, v))
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Whether somebody else holds this very set too.
    pub(crate) fn is_shared(&self) -> bool {
        Arc::strong_count(&self.0) > 1
    }
}

impl Default for Labels {
    fn default() -> Self {
        Self(Arc::new([]))
    }
}

impl FromIterator<(Name, Name)> for Labels {
    /// A repeated key keeps its last value, as a JSON object does.
    fn from_iter<I: IntoIterator<Item = (Name, Name)>>(pairs: I) -> Self {
        let mut pairs: Vec<_> = pairs.into_iter().collect();
        pairs.sort_by(|a, b| a.0.cmp(&b.0));
        pairs.dedup_by(|later, earlier| {
            let same = later.0 == earlier.0;
            if same {
                std::mem::swap(later, earlier);
            }
            same
        });
        Self(pairs.into())
    }
}

#[cfg(test)]
mod tests {
    use super::{Labels, Name};

    #[test]
    fn labels_are_found_by_key_and_the_last_value_wins() {
        let labels: Labels = [("b", "1"), ("a", "2"), ("b", "3")]
            .into_iter()
            .map(|(k, v)| (Name::from(k), Name::from(v)))
            .collect();
        assert_eq!(labels.get("b").map(|v| &**v), Some("3"));
        assert_eq!(labels.get("a").map(|v| &**v), Some("2"));
        assert_eq!(labels.get("c"), None);
        assert_eq!(labels.iter().count(), 2);
    }
}
