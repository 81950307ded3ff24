//! Who fits where: kube-scheduler's own filters, and whether a whole group fits into a domain, both exactly.
//!
//! A group has one leader and otherwise equal workers, but for where their volumes are. So for each place of the leader it
//! is enough to count how many workers each node can take, and to give those a place first that have the least choice: of
//! two sites, one is within the other or they have nothing in common. The search is complete.

use std::collections::HashMap;

use crate::scenario::{Level, Needs, NodeSpec};
use crate::storage::Site;
use crate::truth::{Pod, Truth};

/// What pods take of the nodes, the ones included that kube-scheduler has assumed there.
#[derive(Clone, Debug, Default)]
pub struct Occupancy {
    by_node: HashMap<String, Vec<Occupant>>,
}

#[derive(Clone, Debug)]
struct Occupant {
    uid: String,
    needs: Needs,
    side: Side,
}

/// Among whom a pod keeps apart.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Side {
    namespace: &'static str,
    team: String,
}

/// Members that still have to be placed.
#[derive(Clone, Debug)]
pub struct Crew {
    side: Side,
    leader: Option<(Needs, Option<Site>)>,
    worker: Needs,
    /// Where the volume of each is, those with the least choice first.
    workers: Vec<Option<Site>>,
}

/// What is left of a node, for one side.
#[derive(Clone, Copy)]
struct Left {
    cpu: i64,
    gpus: i64,
    places: i64,
    /// A pod of the same side is there.
    company: bool,
    /// One that wants no company is.
    hermit: bool,
    /// Ports of the host that are taken, one bit each.
    ports: u8,
}

impl Occupancy {
    /// Bound pods, also those that are leaving, and the assumed ones.
    pub fn new<'a>(truth: &Truth, assumed: impl Iterator<Item = (&'a Pod, &'a str)>) -> Self {
        let mut occupancy = Self::default();
        for pod in truth.pods.values() {
            if let Some(node) = pod.node.as_ref().filter(|_| !pod.finished) {
                occupancy.add(pod, node);
            }
        }
        for (pod, node) in assumed {
            occupancy.add(pod, node);
        }
        occupancy
    }

    fn add(&mut self, pod: &Pod, node: &str) {
        let occupant = Occupant { uid: pod.uid.clone(), needs: pod.needs, side: Side::of(pod) };
        self.by_node.entry(node.to_owned()).or_default().push(occupant);
    }

    /// The same with one pod more.
    pub fn with(&self, pod: &Pod, node: &str) -> Self {
        let mut more = self.clone();
        more.add(pod, node);
        more
    }

    /// The same without some pods.
    pub fn without(mut self, is_gone: impl Fn(&str) -> bool) -> Self {
        self.by_node.values_mut().for_each(|pods| pods.retain(|pod| !is_gone(&pod.uid)));
        self
    }

    fn left(&self, node: &NodeSpec, side: &Side) -> Left {
        let mut left = Left {
            cpu: node.cpu,
            gpus: node.gpus,
            places: node.places,
            company: false,
            hermit: false,
            ports: 0,
        };
        for occupant in self.by_node.get(&node.name).into_iter().flatten() {
            left.take(occupant.needs, occupant.side == *side);
        }
        left
    }

    /// Whether kube-scheduler's own filters let the pod in.
    pub fn admits(&self, pod: &Pod, node: &NodeSpec) -> bool {
        is_allowed(pod.needs, node) && self.left(node, &Side::of(pod)).slots(pod.needs) > 0
    }

    /// CPU that nobody has asked for, if there is a place as well.
    pub fn free_cpu(&self, node: &NodeSpec) -> i64 {
        let nobody = Side { namespace: "", team: String::new() };
        let left = self.left(node, &nobody);
        if left.places > 0 { left.cpu } else { 0 }
    }

    /// How many members like the crew's workers these nodes take.
    pub fn places_for(&self, crew: &Crew, nodes: &[&NodeSpec]) -> i64 {
        let allowed = nodes.iter().filter(|node| is_allowed(crew.worker, node));
        allowed.map(|node| self.left(node, &crew.side).slots(crew.worker)).sum()
    }

    /// Whether all of the crew can be on these nodes at once.
    pub fn packs(&self, crew: &Crew, nodes: &[&NodeSpec]) -> bool {
        let left: Vec<Left> = nodes.iter().map(|node| self.left(node, &crew.side)).collect();
        let Some((leader, site)) = &crew.leader else { return crew.workers_fit(nodes, &left, None) };
        (0..nodes.len()).any(|at| {
            is_allowed(*leader, nodes[at])
                && site.as_ref().is_none_or(|site| site.is_reached_from(nodes[at]))
                && left[at].slots(*leader) > 0
                && crew.workers_fit(nodes, &left, Some((at, *leader)))
        })
    }
}

impl Side {
    fn of(pod: &Pod) -> Self {
        Self { namespace: pod.namespace, team: pod.team.clone() }
    }
}

impl Left {
    fn take(&mut self, needs: Needs, same_side: bool) {
        self.cpu -= needs.cpu;
        self.gpus -= needs.gpus;
        self.places -= 1;
        self.company |= same_side;
        self.hermit |= same_side && needs.apart;
        self.ports |= port_bit(needs);
    }

    /// How many such pods of the same side find room.
    fn slots(&self, needs: Needs) -> i64 {
        if self.hermit || (needs.apart && self.company) || self.ports & port_bit(needs) != 0 {
            return 0;
        }
        let mut slots = self.places.min(self.cpu / needs.cpu);
        if needs.gpus > 0 {
            slots = slots.min(self.gpus / needs.gpus);
        }
        if needs.apart || needs.port.is_some() { slots.min(1) } else { slots }.max(0)
    }
}

fn port_bit(needs: Needs) -> u8 {
    needs.port.map_or(0, |port| 1 << port)
}

impl Crew {
    /// The members of a group that are neither bound nor among these.
    pub fn missing(truth: &Truth, group: usize, assumed: &[&Pod]) -> Self {
        let (set, size) = (truth.set_of(group), truth.groups[group].size);
        let placed = truth.bound_members(group).map(|(pod, _)| pod).chain(assumed.iter().copied());
        let mut missing = vec![true; size];
        for part in placed.filter_map(|pod| pod.part.as_ref()).filter(|part| part.group == group) {
            if let Some(missing) = missing.get_mut(part.index) {
                *missing = false;
            }
        }
        let number = truth.groups[group].number;
        let volume_at =
            |index: usize| truth.site_of_claim(set.namespace, &set.claim_of(number, index)?).cloned();
        let mut workers: Vec<_> = (1..size).filter(|index| missing[*index]).map(volume_at).collect();
        workers.sort_by_key(|site| (site.is_none(), site.clone()));
        Self {
            side: Side { namespace: set.namespace, team: set.name.clone() },
            leader: missing[0].then(|| (set.leader, volume_at(0))),
            worker: set.worker,
            workers,
        }
    }

    pub fn is_empty(&self) -> bool {
        self.leader.is_none() && self.workers.is_empty()
    }

    fn workers_fit(&self, nodes: &[&NodeSpec], left: &[Left], leader: Option<(usize, Needs)>) -> bool {
        let slots = |at: usize| {
            let mut left = left[at];
            if let Some((_, needs)) = leader.filter(|(place, _)| *place == at) {
                left.take(needs, true);
            }
            if is_allowed(self.worker, nodes[at]) { left.slots(self.worker) } else { 0 }
        };
        let mut slots: Vec<i64> = (0..nodes.len()).map(slots).collect();
        self.workers.iter().all(|site| {
            let reached = |at: usize| site.as_ref().is_none_or(|site| site.is_reached_from(nodes[at]));
            let place = (0..nodes.len()).find(|at| slots[*at] > 0 && reached(*at));
            place.inspect(|at| slots[*at] -= 1).is_some()
        })
    }
}

fn is_allowed(needs: Needs, node: &NodeSpec) -> bool {
    (node.ssd || !needs.ssd) && (!node.tainted || needs.tolerates)
}

/// The nodes of the domain that a node lies in.
pub fn around<'a>(truth: &'a Truth, level: Level, node: &'a NodeSpec) -> Vec<&'a NodeSpec> {
    node.domain(level).map(|domain| truth.nodes_in(level, domain).collect()).unwrap_or_default()
}
