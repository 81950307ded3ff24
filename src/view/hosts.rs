//! Hosts: nodes and the pods placed on them, under dense, stable numbers.

use std::collections::HashMap;
use std::sync::Arc;

use imbl::{OrdSet, Vector};

use super::HostId;
use crate::model::{Name, Node, Pod, Used};

/// A place for pods.
///
/// It exists while its Node is known or a pod is placed on it: pods may be seen before their node,
/// and outlive it.
#[derive(Clone, Debug)]
pub struct Host {
    /// The node's name.
    pub name: Name,
    /// The node, if the watch shows it.
    pub node: Option<Arc<Node>>,
    /// The pods placed here, shown or assumed, in no particular order.
    pub pods: Arc<Vec<Arc<Pod>>>,
    /// What they take together. A pod of which only the identity is known takes a place and nothing else.
    pub used: Arc<Used>,
    /// How many of them are members of replica groups that are placed together.
    pub members: u32,
}

/// All hosts. Cheap to clone.
#[derive(Clone, Debug, Default)]
pub struct Hosts {
    /// Copied when a host comes or goes, which is rare; looked up for every candidate of every call.
    ids: Arc<HashMap<Name, HostId, ahash::RandomState>>,
    by_id: Vector<Option<Host>>,
    vacant: Vector<HostId>,
    /// Hosts with members of replica groups that are placed together.
    with_members: OrdSet<HostId>,
    nodes: usize,
}

impl Hosts {
    pub fn id(&self, name: &str) -> Option<HostId> {
        self.ids.get(name).copied()
    }

    pub fn get(&self, id: HostId) -> Option<&Host> {
        self.by_id.get(id.index())?.as_ref()
    }

    pub fn iter(&self) -> impl Iterator<Item = &Host> {
        self.by_id.iter().flatten()
    }

    /// How many hosts have a Node.
    pub fn nodes(&self) -> usize {
        self.nodes
    }

    /// All hosts, by number.
    pub fn by_id(&self) -> impl ExactSizeIterator<Item = &Option<Host>> {
        self.by_id.iter()
    }

    /// Whether there is a new node, or one with other labels. Most updates of a node are signs of life only.
    pub fn set_node(&mut self, node: Arc<Node>) -> bool {
        let name = node.name.clone();
        let known = self.id(&name).and_then(|id| self.get(id)).and_then(|host| host.node.as_ref());
        if known.is_some_and(|known| *known == node) {
            return false;
        }
        let relabelled = known.is_none_or(|known| known.labels != node.labels);
        let newcomer = self.with(&name, |host| host.node.replace(node).is_none());
        self.nodes += usize::from(newcomer);
        relabelled
    }

    pub fn remove_node(&mut self, name: &str) {
        if let Some(host) = self.id(name).and_then(|id| self.get(id)) {
            let name = host.name.clone();
            let known = self.with(&name, |host| host.node.take().is_some());
            self.nodes -= usize::from(known);
        }
    }

    /// Those with members of replica groups that are placed together.
    pub fn with_members(&self) -> impl Iterator<Item = HostId> {
        self.with_members.iter().copied()
    }

    pub fn add_pod(&mut self, node: &Name, pod: Arc<Pod>) {
        let is_member = pod.is_placed_with_its_group();
        self.with(node, |host| {
            Arc::make_mut(&mut host.used).arrive(&pod.allocated);
            host.members += u32::from(is_member);
            Arc::make_mut(&mut host.pods).push(pod);
        });
        if let Some(id) = self.id(node).filter(|_| is_member) {
            self.with_members.insert(id);
        }
    }

    pub fn remove_pod(&mut self, node: &Name, uid: &str) {
        let id = self.id(node);
        let members = self.with(node, |host| {
            if let Some(at) = host.pods.iter().position(|pod| *pod.uid == *uid) {
                // The copy that is kept here: the very one that was added.
                let pod = Arc::make_mut(&mut host.pods).swap_remove(at);
                Arc::make_mut(&mut host.used).leave(&pod.allocated);
                host.members -= u32::from(pod.is_placed_with_its_group());
            }
            host.members
        });
        if let Some(id) = id.filter(|_| members == 0) {
            self.with_members.remove(&id);
        }
    }

    /// Changes one host, which is made on first use and given up when nothing is left of it.
    fn with<R>(&mut self, name: &Name, change: impl FnOnce(&mut Host) -> R) -> R {
        let id = self.id(name);
        let empty = || Host {
            name: name.clone(),
            node: None,
            pods: Arc::default(),
            used: Arc::default(),
            members: 0,
        };
        let mut host = id.and_then(|id| self.get(id).cloned()).unwrap_or_else(empty);
        let result = change(&mut host);
        let worth_keeping = host.node.is_some() || !host.pods.is_empty();
        match (id, worth_keeping) {
            (Some(id), true) => {
                self.by_id.set(id.index(), Some(host));
            }
            (Some(id), false) => {
                self.by_id.set(id.index(), None);
                self.vacant.push_back(id);
                Arc::make_mut(&mut self.ids).remove(name);
            }
            (None, true) => {
                let id = if let Some(id) = self.vacant.pop_back() {
                    self.by_id.set(id.index(), Some(host));
                    id
                } else {
                    self.by_id.push_back(Some(host));
                    HostId::at(self.by_id.len() - 1)
                };
                Arc::make_mut(&mut self.ids).insert(name.clone(), id);
            }
            (None, false) => {}
        }
        result
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::{Hosts, Name};
    use crate::fixtures::{node, pod};
    use crate::model::Resources;

    #[test]
    fn a_host_lives_while_it_has_a_node_or_a_pod() {
        let mut hosts = Hosts::default();
        let name = Name::from("a");
        hosts.add_pod(&name, Arc::new(pod("p").build()));
        let id = hosts.id("a");
        assert!(id.is_some(), "a pod may be seen before its node");
        assert_eq!(hosts.nodes(), 0);

        hosts.set_node(Arc::new(node("a").build()));
        hosts.set_node(Arc::new(node("a").label("x", "y").build()));
        assert_eq!((hosts.id("a"), hosts.nodes()), (id, 1));

        hosts.remove_node("a");
        hosts.remove_node("a");
        assert_eq!((hosts.id("a"), hosts.nodes()), (id, 0), "the pod is still there");
        hosts.remove_pod(&name, "p");
        assert_eq!(hosts.id("a"), None);

        hosts.set_node(Arc::new(node("b").build()));
        assert_eq!(hosts.id("b"), id, "numbers are used again");
    }
    #[test]
    fn what_is_used_follows_the_pods() {
        let mut hosts = Hosts::default();
        let name = Name::from("a");
        let cpu = |amount| Resources::new(amount, 0, 0, []);
        let used = |hosts: &Hosts| {
            let host = hosts.id("a").and_then(|id| hosts.get(id));
            host.map(|host| (host.used.resources.milli_cpu, host.used.pods))
        };
        hosts.add_pod(&name, Arc::new(pod("p").requests(cpu(5)).build()));
        hosts.add_pod(&name, Arc::new(pod("identity-only").build()));
        assert_eq!(used(&hosts), Some((5, 2)));
        hosts.remove_pod(&name, "nobody");
        hosts.set_node(Arc::new(node("a").build()));
        assert_eq!(used(&hosts), Some((5, 2)));
        hosts.remove_pod(&name, "p");
        assert_eq!(used(&hosts), Some((0, 1)));
    }
}
