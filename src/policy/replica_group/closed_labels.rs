//! Labels of nodes that are closed to a group, or to some of its members.

use std::collections::{HashMap, HashSet};

use crate::model::{Name, Node};

/// Keys and values, by key: a node is looked at once for each key, however many values are closed.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ClosedLabels(HashMap<Name, HashSet<Name>>);

impl ClosedLabels {
    /// Closes nodes with this label.
    pub fn close(&mut self, key: &Name, value: &Name) {
        match self.0.get_mut(key) {
            Some(values) if values.contains(value) => {}
            Some(values) => drop(values.insert(value.clone())),
            None => drop(self.0.insert(key.clone(), [value.clone()].into())),
        }
    }

    /// Takes back what closes this node.
    pub fn reopen(&mut self, node: &Node) {
        for (key, values) in &mut self.0 {
            if let Some(value) = node.labels.get(key) {
                values.remove(value);
            }
        }
        self.0.retain(|_, values| !values.is_empty());
    }

    /// Whether nothing is closed.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Whether a node carries such a label.
    pub fn cover(&self, node: &Node) -> bool {
        let carries = |(key, values): (&Name, &HashSet<Name>)| {
            node.labels.get(key).is_some_and(|value| values.contains(value))
        };
        self.0.iter().any(carries)
    }
}

#[cfg(test)]
mod tests {
    use super::ClosedLabels;
    use crate::fixtures::node;

    #[test]
    fn nodes_are_closed_by_any_of_their_labels_and_reopened_by_all() {
        let both = node("a").label("rack", "1").label("block", "x").build();
        let other = node("b").label("rack", "2").build();
        let mut closed = ClosedLabels::default();
        assert!(closed.is_empty() && !closed.cover(&both));
        for (key, value) in [("rack", "1"), ("rack", "1"), ("rack", "2"), ("block", "x")] {
            closed.close(&key.into(), &value.into());
        }
        assert!(closed.cover(&both) && closed.cover(&other));
        closed.reopen(&both);
        assert!(!closed.cover(&both) && closed.cover(&other));
        closed.reopen(&other);
        assert!(closed.is_empty());
    }
}
