//! What happens to nodes.

use berth::model::{Kind as ObjectKind, ObjectKey};

use crate::truth::Pod;
use crate::watch::{Event, News};
use crate::world::World;

impl World<'_> {
    pub fn lose_node(&mut self, which: usize) {
        if self.truth.nodes.len() < 2 {
            return;
        }
        let Some(name) = self.truth.nodes.keys().nth(which % self.truth.nodes.len()).cloned() else { return };
        self.note(|| format!("{name} is lost"));
        self.disturb(&name);
        self.give_up_attempts(&name);
        self.lost.extend(self.truth.nodes.remove(&name));
        let event = Event::Gone(ObjectKind::Node, ObjectKey::new("", &*name));
        self.tell(News { since: self.now, event, about: None });
    }

    /// kube-scheduler notices, and says so. Nobody else could know that its pods will not be there.
    fn give_up_attempts(&mut self, node: &str) {
        self.attempts.retain(|attempt| attempt.node != node);
        let under_way = |uid: &&String| self.attempts.iter().any(|attempt| attempt.pod.uid == **uid);
        for uid in self.offers.keys().filter(|uid| !under_way(uid)).cloned().collect::<Vec<_>>() {
            self.fail(&uid);
        }
        self.deliver(ObjectKind::Pod, usize::MAX);
    }

    pub fn return_node(&mut self, which: usize) {
        let Some(at) = which.checked_rem(self.lost.len()) else { return };
        let node = self.lost.remove(at);
        self.note(|| format!("{} is back", node.name));
        self.show_node(&node);
        self.truth.nodes.insert(node.name.clone(), node);
    }

    /// Pods whose node is gone are deleted.
    pub fn collect_lost(&mut self) {
        let nodes = &self.truth.nodes;
        let stranded =
            |pod: &crate::truth::Pod| pod.node.as_ref().is_some_and(|node| !nodes.contains_key(node));
        for uid in self.uids(stranded) {
            self.note(|| format!("{uid} went with its node"));
            if let Some(part) = &self.truth.pods[&uid].part {
                self.truth.groups[part.group].record.excused = true;
            }
            self.remove_pod(&uid);
        }
    }

    /// A node moves to the rack of another one.
    pub fn relabel_node(&mut self, which: usize, like: usize) {
        let count = self.truth.nodes.len();
        let Some(model) = self.truth.nodes.values().nth(like % count).cloned() else { return };
        let Some(name) = self.truth.nodes.keys().nth(which % count).cloned() else { return };
        let Some(node) = self.truth.nodes.get_mut(&name).filter(|node| node.rack != model.rack) else {
            return;
        };
        node.rack.clone_from(&model.rack);
        node.block.clone_from(&model.block);
        let node = node.clone();
        self.note(|| format!("{name} is in {:?} of {} now", node.rack, node.block));
        self.disturb(&name);
        self.show_node(&node);
    }

    /// Groups on the node may end up in pieces, and others may lose room they count on.
    fn disturb(&mut self, node: &str) {
        self.upset = Some(self.now);
        for at in 0..self.truth.groups.len() {
            // Berth may not know yet of one that is leaving.
            let is_there = |pod: &Pod| {
                pod.node.as_deref() == Some(node) && pod.part.as_ref().is_some_and(|part| part.group == at)
            };
            let there = self.placed_members(at).any(|(_, place)| place == node)
                || self.truth.pods.values().any(is_there);
            let begun = self.has_begun(at);
            let record = &mut self.truth.groups[at].record;
            record.disturbed |= there;
            record.excused |= begun;
        }
    }
}
