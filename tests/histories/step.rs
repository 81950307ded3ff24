//! What can happen. Pods and nodes are meant by small numbers, so that steps shrink well.

use crate::support::random::{Rng, Shrink};

/// How many pod names and node names there are; few, so that histories collide often.
pub const PODS: usize = 4;
pub const NODES: usize = 4;

#[derive(Clone, Copy, Debug)]
pub enum Step {
    // At the API server.
    Create(usize),
    Relabel(usize, u8),
    BoundByOther(usize, usize),
    FailAttempt(usize, u32),
    /// Preemption makes room for the pod on a node.
    Nominate(usize, usize),
    /// The pod gets a deletion timestamp.
    Leave(usize),
    Delete(usize),
    /// The pod succeeds or fails, and occupies nothing from then on.
    Finish(usize),
    SetNode(usize, u8),
    RemoveNode(usize),
    SetService(usize),
    RemoveService(usize),
    // On the way to us.
    Deliver(usize),
    DeliverNodes(usize),
    RelistPods,
    RelistNodes,
    // Calls: pod, how many generations ago the caller's pod is, and so many nodes or this node.
    Filter(usize, usize, usize),
    Bind(usize, usize, usize),
    /// The API server carries out the n-th call under way, or refuses it.
    Execute(usize, bool),
    /// The answer to the n-th call under way arrives, or is lost.
    Answer(usize, bool),
    Advance(u64),
    /// A decision asks for counters and domains, which are kept from then on.
    Provide,
    /// Counters that nobody asked for are forgotten.
    Sweep,
}

/// A history of any length between 40 and 80 steps.
pub fn any_history(rng: &mut Rng) -> Vec<Step> {
    (0..rng.within(40..80)).map(|_| any_step(rng)).collect()
}

fn any_step(rng: &mut Rng) -> Step {
    let pod = rng.below(PODS);
    let node = rng.below(NODES);
    let call = rng.below(4);
    // Mostly the pod of today, now and then one of the past.
    let age = rng.weighted(&[(8, 0), (1, 1), (1, 2)]);
    let succeeds = rng.chance(75);
    let steps = [
        (10, Step::Create(pod)),
        (4, Step::Relabel(pod, rng.byte())),
        (3, Step::BoundByOther(pod, node)),
        (4, Step::FailAttempt(pod, rng.pick(&[1, 2, 3]))),
        (4, Step::Nominate(pod, node)),
        (2, Step::Leave(pod)),
        (5, Step::Delete(pod)),
        (2, Step::Finish(pod)),
        (3, Step::SetNode(node, rng.byte())),
        (2, Step::RemoveNode(node)),
        (1, Step::SetService(pod)),
        (1, Step::RemoveService(pod)),
        (14, Step::Deliver(rng.within(1..5))),
        (3, Step::DeliverNodes(rng.within(1..5))),
        (3, Step::RelistPods),
        (1, Step::RelistNodes),
        (12, Step::Filter(pod, age, rng.below(4))),
        (10, Step::Bind(pod, age, node)),
        (8, Step::Execute(call, succeeds)),
        (8, Step::Answer(call, succeeds)),
        (4, Step::Advance(rng.pick(&[0, 1, 2, 3, 4, 5, 6, 7]))),
        (2, Step::Provide),
        (1, Step::Sweep),
    ];
    rng.weighted(&steps)
}

impl Step {
    /// The numbers it names pods, nodes and calls by.
    fn numbers(&mut self) -> Vec<&mut usize> {
        match self {
            Step::Create(a)
            | Step::Relabel(a, _)
            | Step::FailAttempt(a, _)
            | Step::Leave(a)
            | Step::Delete(a)
            | Step::Finish(a)
            | Step::SetNode(a, _)
            | Step::RemoveNode(a)
            | Step::SetService(a)
            | Step::RemoveService(a)
            | Step::Deliver(a)
            | Step::DeliverNodes(a)
            | Step::Execute(a, _)
            | Step::Answer(a, _) => vec![a],
            Step::BoundByOther(a, b) | Step::Nominate(a, b) => vec![a, b],
            Step::Filter(a, b, c) | Step::Bind(a, b, c) => vec![a, b, c],
            Step::RelistPods | Step::RelistNodes | Step::Advance(_) | Step::Provide | Step::Sweep => {
                Vec::new()
            }
        }
    }
}

/// The same with one smaller number.
impl Shrink for Step {
    fn smaller(&self) -> impl Iterator<Item = Self> {
        let mut steps = Vec::new();
        for at in 0..self.clone().numbers().len() {
            for number in self.clone().numbers()[at].smaller() {
                let mut step = *self;
                *step.numbers()[at] = number;
                steps.push(step);
            }
        }
        steps.into_iter()
    }
}
