//! What can happen. Pods and nodes are meant by small numbers, so that steps shrink well.

use proptest::prelude::{Just, Strategy, any};
use proptest::prop_oneof;

/// How many pod names and node names there are; few, so that histories collide often.
pub const PODS: usize = 4;
pub const NODES: usize = 4;

#[derive(Clone, Debug)]
pub enum Step {
    // At the API server.
    Create(usize),
    Relabel(usize, u8),
    BoundByOther(usize, usize),
    FailAttempt(usize, u64),
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

pub fn any_step() -> impl Strategy<Value = Step> {
    let pod = || 0..PODS;
    let node = || 0..NODES;
    // Mostly the pod of today, now and then one of the past.
    let age = || prop_oneof![8 => Just(0usize), 1 => Just(1), 1 => Just(2)];
    prop_oneof![
        10 => pod().prop_map(Step::Create),
        4 => (pod(), any::<u8>()).prop_map(|(p, l)| Step::Relabel(p, l)),
        3 => (pod(), node()).prop_map(|(p, n)| Step::BoundByOther(p, n)),
        4 => (pod(), 1..4u64).prop_map(|(p, m)| Step::FailAttempt(p, m)),
        4 => (pod(), node()).prop_map(|(p, n)| Step::Nominate(p, n)),
        2 => pod().prop_map(Step::Leave),
        5 => pod().prop_map(Step::Delete),
        2 => pod().prop_map(Step::Finish),
        3 => (node(), any::<u8>()).prop_map(|(n, l)| Step::SetNode(n, l)),
        2 => node().prop_map(Step::RemoveNode),
        1 => pod().prop_map(Step::SetService),
        1 => pod().prop_map(Step::RemoveService),
        14 => (1..5usize).prop_map(Step::Deliver),
        3 => (1..5usize).prop_map(Step::DeliverNodes),
        3 => Just(Step::RelistPods),
        1 => Just(Step::RelistNodes),
        12 => (pod(), age(), 0..4usize).prop_map(|(p, a, n)| Step::Filter(p, a, n)),
        10 => (pod(), age(), node()).prop_map(|(p, a, n)| Step::Bind(p, a, n)),
        8 => (0..4usize, prop_oneof![3 => Just(true), 1 => Just(false)])
            .prop_map(|(c, b)| Step::Execute(c, b)),
        8 => (0..4usize, prop_oneof![3 => Just(true), 1 => Just(false)])
            .prop_map(|(c, b)| Step::Answer(c, b)),
        4 => (0..8u64).prop_map(Step::Advance),
        2 => Just(Step::Provide),
        1 => Just(Step::Sweep),
    ]
}
