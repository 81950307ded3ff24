//! The built-in cluster: what it starts from, and who is where as the story goes on.

use serde_json::{Value, json};

use super::workload::{self, CACHE, NAMESPACE, Pod, RACK, Workload};

/// How many pods fit on a node: the demo's whole idea of resources.
pub const ROOM: usize = 4;

const ZONES: [&str; 3] = ["a", "b", "c"];
const RACKS: usize = 4;
const NODES: usize = 5;

/// Where `cache` runs already: unevenly, as clusters are.
const RUNNING: [(&str, usize); 6] = [
    ("node-a1-1", 4),
    ("node-a1-2", 3),
    ("node-a2-4", 1),
    ("node-b1-1", 2),
    ("node-b3-5", 1),
    ("node-c4-3", 1),
];

/// Where a pod has finished. It keeps its `nodeName` but takes no room.
const FINISHED: &str = "node-b2-2";

/// The cluster as the demo's scheduler sees it.
#[derive(Clone, Debug)]
pub struct Cluster {
    /// By zone, then by rack.
    pub nodes: Vec<Node>,
}

/// One node.
#[derive(Clone, Debug)]
pub struct Node {
    /// Its name, and its label `kubernetes.io/hostname`.
    pub name: String,
    /// Its label `topology.kubernetes.io/zone`.
    pub zone: String,
    /// Its label `example.com/rack`.
    pub rack: String,
    /// What runs on it.
    pub pods: Vec<Pod>,
}

impl Cluster {
    /// The cluster at the beginning.
    pub fn built_in() -> Self {
        let mut nodes = Vec::with_capacity(ZONES.len() * RACKS * NODES);
        for zone in ZONES {
            for rack in 1..=RACKS {
                nodes.extend(empty_rack(zone, rack));
            }
        }
        let mut running = CACHE.pods();
        for (name, count) in RUNNING {
            let node = nodes.iter_mut().filter(|node| node.name == name);
            node.for_each(|node| node.pods.extend(running.by_ref().take(count)));
        }
        Self { nodes }
    }

    /// Sets up one more rack, with empty nodes, and gives back its name. It is in the first zone, whose column of the
    /// map may be the longest.
    pub fn grow(&mut self) -> String {
        let zone = self.nodes.iter().take_while(|node| node.zone == format!("zone-{}", ZONES[0])).count();
        let rack = empty_rack(ZONES[0], zone / NODES + 1);
        self.nodes.splice(zone..zone, rack.clone());
        rack.into_iter().map(|node| node.rack).next().unwrap_or_default()
    }

    /// The nodes of a rack.
    pub fn rack<'a>(&'a self, rack: &'a str) -> impl Iterator<Item = &'a Node> {
        self.nodes.iter().filter(move |node| node.rack == rack)
    }

    /// How many pods of a workload run.
    pub fn count(&self, workload: Workload) -> usize {
        self.pods().filter(|pod| pod.workload.app == workload.app).count()
    }

    /// The cluster as a JSON `List`, the way kubectl prints one.
    pub fn snapshot(&self) -> String {
        let mut items = vec![json!({
            "apiVersion": "v1", "kind": "Namespace", "metadata": {"name": NAMESPACE},
        })];
        items.extend(self.nodes.iter().map(Node::object));
        items.extend(workload::ALL.into_iter().flat_map(Workload::objects));
        for node in &self.nodes {
            items.extend(node.pods.iter().map(|pod| pod.on(&node.name, "Running")));
        }
        let finished = Pod { name: "cache-warmup".to_owned(), number: CACHE.replicas, workload: CACHE };
        items.push(finished.on(FINISHED, "Succeeded"));
        json!({"apiVersion": "v1", "kind": "List", "items": items}).to_string()
    }

    /// The node of that name.
    pub fn node(&self, name: &str) -> Option<&Node> {
        self.nodes.iter().find(|node| node.name == name)
    }

    /// The node of that name, to put a pod on it.
    pub fn node_mut(&mut self, name: &str) -> Option<&mut Node> {
        self.nodes.iter_mut().find(|node| node.name == name)
    }

    /// Takes a pod off its node.
    pub fn remove(&mut self, pod: &str) {
        for node in &mut self.nodes {
            node.pods.retain(|running| running.name != pod);
        }
    }

    /// All pods that run.
    pub fn pods(&self) -> impl Iterator<Item = &Pod> {
        self.nodes.iter().flat_map(|node| &node.pods)
    }
}

fn empty_rack(zone: &str, rack: usize) -> Vec<Node> {
    let node = |node| Node {
        name: format!("node-{zone}{rack}-{node}"),
        zone: format!("zone-{zone}"),
        rack: format!("rack-{zone}{rack}"),
        pods: Vec::new(),
    };
    (1..=NODES).map(node).collect()
}

impl Node {
    /// Whether one more pod fits.
    pub fn has_room(&self) -> bool {
        self.pods.len() < ROOM
    }

    /// How many pods still fit.
    pub fn room(&self) -> usize {
        ROOM.saturating_sub(self.pods.len())
    }

    /// The object.
    pub fn object(&self) -> Value {
        json!({
            "apiVersion": "v1", "kind": "Node",
            "metadata": {"name": self.name, "labels": {
                "kubernetes.io/hostname": self.name,
                "topology.kubernetes.io/zone": self.zone,
                (RACK): self.rack,
            }},
            "status": {"allocatable": {"pods": ROOM.to_string()}},
        })
    }
}

#[cfg(test)]
mod tests {
    use super::{Cluster, Node, ROOM};
    use crate::cluster::snapshot_file;
    use crate::demo::workload::CACHE;
    use crate::json::Interner;
    use crate::model::Kind;
    use crate::view::View;
    use crate::view::change::Change;

    #[test]
    fn every_pod_said_to_run_has_its_place() {
        let cluster = Cluster::built_in();
        assert_eq!(cluster.nodes.len(), 60);
        assert_eq!(cluster.pods().count(), CACHE.replicas);
        assert!(cluster.nodes.iter().all(|node| node.pods.len() <= ROOM));
    }

    #[test]
    fn berth_reads_all_of_the_snapshot_but_the_finished_pod() {
        let cluster = Cluster::built_in();
        let loaded = snapshot_file::parse(&cluster.snapshot(), &Interner::default()).expect("a snapshot");
        assert_eq!((loaded.other_kinds.total(), loaded.undecodable.total()), (0, 0));
        let mut view = View::default();
        let counted = [Kind::Pod, Kind::Node, Kind::Namespace].map(|kind| {
            loaded.objects.iter().cloned().for_each(|object| drop(view.apply(Change::Upsert(object))));
            view.count(kind)
        });
        assert_eq!(counted, [CACHE.replicas, 60, 1]);
        // One namespace, a service and a controller for each workload but the Job, and three LeaderWorkerSets.
        assert_eq!(loaded.objects.len(), 1 + 60 + 16 + 3 + CACHE.replicas + 1);
    }

    #[test]
    fn a_new_rack_is_the_last_of_the_first_zone() {
        let mut cluster = Cluster::built_in();
        assert_eq!(cluster.grow(), "rack-a5");
        assert_eq!(cluster.nodes.len(), 65);
        let zones: Vec<_> = cluster.nodes.chunk_by(|a, b| a.zone == b.zone).map(<[_]>::len).collect();
        assert_eq!(zones, [25, 20, 20]);
        assert_eq!(cluster.rack("rack-a5").map(Node::room).sum::<usize>(), 5 * ROOM);
    }
}
