//! Random cases, and what can be left out of them.

use crate::case::{Candidate, Case, Mode};
use crate::cluster::{Group, NODES, Pod, node_name};
use crate::support::random::shrink::{with_smaller_items, without_pieces};
use crate::support::random::{Rng, Shrink};

pub fn any_case(rng: &mut Rng) -> Case {
    const CRITERIA: [&str; 6] =
        ["Nothing", "BudgetViolations", "GroupsLost", "HighestPriority", "PodsLost", "Node"];
    let pods: Vec<Pod> = (0..rng.within(4..16)).map(|number| pod(rng, number)).collect();
    let nodes: Vec<usize> = (0..=NODES).filter(|_| rng.chance(80)).collect();
    Case {
        candidates: nodes.into_iter().map(|node| candidate(rng, &pods, node)).collect(),
        pods,
        mode: rng.weighted(&[(4, Mode::Enforce), (1, Mode::Observe)]),
        decide_up_to: rng.pick(&CRITERIA),
        hard: rng.chance(75),
        whole_pods: rng.chance(50),
    }
}

fn pod(rng: &mut Rng, number: usize) -> Pod {
    let group = rng.pick(&[Group::Labelled, Group::Loose, Group::Annotated])(rng.pick(&[0, 1]));
    Pod {
        number,
        node: rng.below(NODES + 1),
        priority: rng.pick(&[-5, 0, 0, 7]),
        web: rng.chance(50),
        group: rng.chance(50).then_some(group),
        leaving: rng.chance(10),
    }
}

/// Any pods of the node for victims, in any of two orders, now and then with one that is not there.
fn candidate(rng: &mut Rng, pods: &[Pod], node: usize) -> Candidate {
    let here = pods.iter().filter(|pod| pod.node == node && rng.chance(50));
    let mut uids: Vec<String> = here.map(Pod::uid).collect();
    if rng.chance(50) {
        uids.reverse();
    }
    match rng.below(12) {
        0 => uids.push("nobody".to_owned()),
        1 => uids.extend(pods.iter().find(|pod| pod.node != node).map(Pod::uid)),
        _ => {}
    }
    Candidate { node: node_name(node), uids, budget_violations: rng.pick(&[0, 1, 2]) }
}

impl Shrink for Case {
    fn smaller(&self) -> impl Iterator<Item = Self> {
        let fewer = without_pieces(&self.candidates).chain(with_smaller_items(&self.candidates));
        let fewer = fewer.map(|candidates| Self { candidates, ..self.clone() });
        // A victim that is no pod of the cluster any more is one that Berth does not know.
        let emptier = without_pieces(&self.pods).chain(with_smaller_items(&self.pods));
        fewer.chain(emptier.map(|pods| Self { pods, ..self.clone() }))
    }
}

impl Shrink for Candidate {
    fn smaller(&self) -> impl Iterator<Item = Self> {
        let spared = without_pieces(&self.uids).map(|uids| Self { uids, ..self.clone() });
        let allowed = (self.budget_violations > 0).then(|| Self { budget_violations: 0, ..self.clone() });
        spared.chain(allowed)
    }
}

/// The plainest pod on its node.
impl Shrink for Pod {
    fn smaller(&self) -> impl Iterator<Item = Self> {
        let mut pods = Vec::new();
        if self.group.is_some() {
            pods.push(Self { group: None, ..self.clone() });
        }
        if self.leaving {
            pods.push(Self { leaving: false, ..self.clone() });
        }
        if self.web {
            pods.push(Self { web: false, ..self.clone() });
        }
        if self.priority != 0 {
            pods.push(Self { priority: 0, ..self.clone() });
        }
        pods.into_iter()
    }
}
