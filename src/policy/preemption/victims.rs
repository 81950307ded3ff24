//! Who would have to leave a node, as far as is known here.

use std::borrow::Cow;
use std::collections::HashSet;
use std::sync::Arc;

use crate::model::Pod;
use crate::view::View;

/// One node, and who would have to leave it.
#[derive(Clone, Debug)]
pub struct Candidate {
    /// Who would have to leave.
    pub victims: Victims,
    /// How many evictions a disruption budget forbids, as kube-scheduler counts them.
    pub budget_violations: i64,
}

/// Who would have to leave a node.
#[derive(Clone, Debug)]
pub enum Victims {
    /// Nobody.
    None,
    /// These, each of them once, all of them on the node.
    Known(Vec<Arc<Pod>>),
    /// Somebody who is not on that node as far as is known here, or the node is not known: kube-scheduler and our
    /// watch are not at the same point.
    Unknown,
}

impl Victims {
    /// Finds the pods that are named by their UIDs.
    pub fn find(node: &str, uids: &[Cow<'_, str>], view: &View) -> Self {
        if uids.is_empty() {
            return Victims::None;
        }
        if view.node(node).is_none() {
            return Victims::Unknown;
        }
        let (mut found, mut seen) = (Vec::with_capacity(uids.len()), HashSet::with_capacity(uids.len()));
        for uid in uids {
            match view.placement(uid) {
                Some((place, pod)) if **place == *node => {
                    if seen.insert(&**uid) {
                        found.push(pod.clone());
                    }
                }
                _ => return Victims::Unknown,
            }
        }
        Victims::Known(found)
    }

    /// The pods, if they are known.
    pub fn pods(&self) -> &[Arc<Pod>] {
        match self {
            Victims::Known(pods) => pods,
            Victims::None | Victims::Unknown => &[],
        }
    }
}
