//! Groups that wait for nodes of their own.
//!
//! kube-scheduler finds no node that matches the selector of such a group, and asks nobody further: no call tells of it. So whoever
//! waits is found in the watch.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;
use std::time::Duration;

use super::Verbs;
use crate::model::{GroupKey, Name, Pod};
use crate::view::View;

/// What changes in so short a time is looked at together. An autoscaler takes minutes.
const PAUSE: Duration = Duration::from_millis(500);

/// How a group stands that is to have nodes of its own.
pub(super) enum Nodes<'a> {
    /// Nobody has a place, and no node carries the label. A member that waits is named.
    Awaited(&'a Arc<Pod>),
    /// Anything else.
    Found,
}

impl Verbs {
    /// Says of groups that they wait for nodes of their own, whenever one has come or nodes have.
    pub async fn report_groups_that_await_nodes(&self) {
        let mut changes = self.store.subscribe();
        let mut concerned: HashSet<Arc<GroupKey>> = HashSet::new();
        let mut everything = true;
        loop {
            let snapshot = self.store.snapshot();
            // Half a cluster tells nothing about what is missing.
            if self.trust_cache(&snapshot).is_ok() {
                let view = snapshot.view();
                if std::mem::take(&mut everything) {
                    concerned.extend(view.waiting_groups().map(|(group, _)| group.clone()));
                }
                concerned.extend(self.group_events.groups_that_await_nodes());
                self.look_for_nodes(std::mem::take(&mut concerned), view);
            }
            let wait = tokio::time::timeout(Duration::from_secs(1), changes.next());
            match wait.await {
                Ok(Some(next)) => {
                    everything |= next.is_incomplete || next.settings;
                    concerned.extend(next.groups.iter().cloned());
                }
                Ok(None) => return,
                Err(_) => continue,
            }
            tokio::time::sleep(PAUSE).await;
            while let Some(next) = changes.next_ready() {
                everything |= next.is_incomplete || next.settings;
                concerned.extend(next.groups.iter().cloned());
            }
        }
    }

    fn look_for_nodes(&self, groups: HashSet<Arc<GroupKey>>, view: &View) {
        let mut labels = Labels::default();
        for group in groups {
            match nodes_of(&group, view, &mut labels) {
                Nodes::Awaited(member) => self.group_events.awaits_nodes(member),
                Nodes::Found => self.group_events.has_nodes(&group),
            }
        }
    }
}

/// The values of node labels, looked up once for each key.
#[derive(Default)]
pub(super) struct Labels(HashMap<Name, HashSet<Name>>);

impl Labels {
    fn has(&mut self, key: &Name, value: &Name, view: &View) -> bool {
        let values = self.0.entry(key.clone()).or_insert_with(|| {
            let nodes = view.hosts().filter_map(|host| host.node.as_ref());
            nodes.filter_map(|node| node.labels.get(key).cloned()).collect()
        });
        values.contains(value)
    }
}

pub(super) fn nodes_of<'a>(group: &GroupKey, view: &'a View, labels: &mut Labels) -> Nodes<'a> {
    let waiting = view.waiting_members(group).filter(|pod| pod.own_nodes().is_some());
    let first = waiting.min_by(|a, b| a.key.cmp(&b.key)).filter(|_| view.placed_members(group).len() == 0);
    let Some((first, (key, value))) = first.and_then(|first| Some((first, first.own_nodes()?))) else {
        return Nodes::Found;
    };
    if labels.has(key, value, view) { Nodes::Found } else { Nodes::Awaited(first) }
}

#[cfg(test)]
mod tests {
    use super::{Labels, Nodes, nodes_of};
    use crate::fixtures::object;
    use crate::view::View;
    use crate::view::change::Change;

    const NODE: &str =
        r#"{"apiVersion":"v1","kind":"Node","metadata":{"name":"n","labels":{"pool":"VALUE"}}}"#;
    const POD: &str = r#"{"apiVersion":"v1","kind":"Pod","metadata":{"name":"p","namespace":"default","uid":"p","labels":
        {"leaderworkerset.sigs.k8s.io/name":"llm","leaderworkerset.sigs.k8s.io/group-index":"0"},
        "annotations":{"berth.dev/replicaUniqueNodeSelector":"pool"}},
        "spec":{"nodeName":"","nodeSelector":{"pool":"llm-0"}}}"#;

    #[test]
    fn a_group_awaits_nodes_until_one_carries_its_label() {
        let unselected = POD.replace(r#""nodeSelector":{"pool":"llm-0"}"#, r#""x":0"#);
        let placed = POD.replace(r#""nodeName":"""#, r#""nodeName":"n""#);
        for (what, pod, value, expected) in [
            ("no node has it", POD, "other", true),
            ("one has", POD, "llm-0", false),
            ("a member runs", &placed, "other", false),
            ("it has got no selector", &unselected, "other", false),
        ] {
            let mut view = View::default();
            for text in [NODE.replace("VALUE", value), pod.to_owned()] {
                drop(view.apply(Change::Upsert(object(&text))));
            }
            let group = view.pod("p").and_then(|pod| pod.group.clone()).expect("a member").group.clone();
            let awaited = matches!(nodes_of(&group, &view, &mut Labels::default()), Nodes::Awaited(_));
            assert_eq!(awaited, expected, "{what}");
        }
    }
}
