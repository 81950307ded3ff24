//! Which pods form a group, and how much of each is where.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use anyhow::{Context, Result, ensure};
use k8s_openapi::api::core::v1::Node;

use crate::fixtures::{Labels, RACK, SeenPod};

pub const SET: &str = "leaderworkerset.sigs.k8s.io/name";
pub const INDEX: &str = "leaderworkerset.sigs.k8s.io/group-index";
const REVISION: &str = "leaderworkerset.sigs.k8s.io/template-revision-hash";
/// Labels whose value alone names a group: those of others, and one for groups by Berth's annotation.
const OTHERS: [&str; 3] =
    ["jobset.sigs.k8s.io/job-key", "kueue.x-k8s.io/pod-group-name", "example.com/group"];

/// The rack of each node.
#[derive(Debug)]
pub struct Racks(HashMap<String, String>);

impl Racks {
    pub fn of(nodes: &[Node]) -> Self {
        let rack = |node: &Node| {
            Some((node.metadata.name.clone()?, node.metadata.labels.as_ref()?.get(RACK)?.clone()))
        };
        Self(nodes.iter().filter_map(rack).collect())
    }

    pub fn rack(&self, node: &str) -> &str {
        self.0.get(node).map_or("no rack", String::as_str)
    }
}

/// `SET/INDEX`, or what else the labels call the group.
pub fn group_of(labels: &Labels) -> Option<String> {
    if let (Some(set), Some(index)) = (labels.get(SET), labels.get(INDEX)) {
        return Some(format!("{set}/{index}"));
    }
    OTHERS.iter().find_map(|label| labels.get(*label).cloned())
}

/// The incarnation of a group that a pod belongs to; empty where there is but one.
pub fn revision_of(labels: &Labels) -> String {
    labels.get(REVISION).cloned().unwrap_or_default()
}

/// One group at one moment.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Group {
    /// Members that have a node, and their rack.
    pub bound: BTreeMap<String, String>,
    pub pending: BTreeSet<String>,
    pub revisions: BTreeSet<String>,
}

impl Group {
    pub fn racks(&self) -> BTreeSet<&str> {
        self.bound.values().map(String::as_str).collect()
    }

    /// All members run, in one rack, and there are no others.
    pub fn is_whole(&self, size: usize) -> bool {
        self.bound.len() == size && self.pending.is_empty() && self.racks().len() == 1
    }

    /// Some run and some do not.
    pub fn is_partial(&self, size: usize) -> bool {
        !self.bound.is_empty() && self.bound.len() < size
    }
}

/// All groups at one moment, by name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Groups(pub BTreeMap<String, Group>);

impl Groups {
    pub fn of(pods: Vec<SeenPod>, racks: &Racks) -> Self {
        let mut groups: BTreeMap<String, Group> = BTreeMap::new();
        for pod in pods {
            let Some(name) = group_of(&pod.labels) else {
                continue;
            };
            let group = groups.entry(name).or_default();
            group.revisions.insert(revision_of(&pod.labels));
            match pod.node {
                Some(node) => drop(group.bound.insert(pod.name, racks.rack(&node).to_owned())),
                None => drop(group.pending.insert(pod.name)),
            }
        }
        Self(groups)
    }

    pub fn get(&self, name: &str) -> Result<&Group> {
        self.0.get(name).with_context(|| format!("there is no group {name}"))
    }

    pub fn whole(&self, size: usize) -> usize {
        self.0.values().filter(|group| group.is_whole(size)).count()
    }

    pub fn partial(&self, size: usize) -> usize {
        self.0.values().filter(|group| group.is_partial(size)).count()
    }

    /// So many groups, all of them whole.
    pub fn are_whole(&self, count: usize, size: usize) -> bool {
        self.0.len() == count && self.whole(size) == count
    }

    /// In how many racks how many groups are: fails if one is in several.
    pub fn per_rack(&self) -> Result<BTreeMap<&str, usize>> {
        let mut racks = BTreeMap::new();
        for (name, group) in &self.0 {
            let own = group.racks();
            ensure!(own.len() <= 1, "group {name} is in several racks: {group:?}");
            for rack in own {
                *racks.entry(rack).or_default() += 1;
            }
        }
        Ok(racks)
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use crate::leader_worker_sets::racks::rack;

    fn seen(name: &str, group: &str, node: Option<&str>) -> SeenPod {
        let labels = Labels::from([("example.com/group".to_owned(), group.to_owned())]);
        SeenPod { name: name.to_owned(), labels: Arc::new(labels), node: node.map(str::to_owned) }
    }

    #[test]
    fn whole_partial_and_torn_groups_are_told_apart() {
        let racks = Racks::of(&[rack("a", 2), rack("b", 2)].concat());
        let pods = vec![
            seen("w-0", "whole", Some("a-0")),
            seen("w-1", "whole", Some("a-1")),
            seen("p-0", "partial", Some("b-0")),
            seen("p-1", "partial", None),
            seen("n-0", "nowhere", None),
        ];
        let groups = Groups::of(pods.clone(), &racks);
        assert_eq!((groups.0.len(), groups.whole(2), groups.partial(2)), (3, 1, 1));
        assert_eq!(groups.per_rack().unwrap(), BTreeMap::from([("a", 1), ("b", 1)]));

        let torn = Groups::of([pods, vec![seen("w-2", "whole", Some("b-1"))]].concat(), &racks);
        assert!(torn.per_rack().is_err() && torn.whole(3) == 0);
    }
}
