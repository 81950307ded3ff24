//! The node that preemption made room on comes first.
//!
//! A pod that preempted others carries the name of that node. If it is among the candidates and still fits, it is the
//! whole answer: nothing else needs to be looked at, and the room that an eviction paid for goes to the pod that it was
//! made for. If it does not fit any more, the others are looked at as for any pod.

use super::Question;

/// Where the pod's nominated node is among the candidates. One that is not known here is a node like any other.
pub fn position(question: &Question<'_>) -> Option<usize> {
    let nominated = question.pod.nominated_node.as_ref()?;
    question.view.node(nominated)?;
    question.candidates.iter().position(|name| **name == **nominated)
}
