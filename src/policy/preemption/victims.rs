//! Who would have to leave a node, as far as is known here.

use std::borrow::Cow;
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
    /// Somebody who is not on that node as far as is known here: kube-scheduler is ahead of our watch.
    Unknown,
}

impl Victims {
    /// Finds the pods that are named by their UIDs.
    pub fn find(node: &str, uids: &[Cow<'_, str>], view: &View) -> Self {
        let mut found: Vec<Arc<Pod>> = Vec::with_capacity(uids.len());
        for uid in uids {
            match view.placement(uid) {
                Some((place, pod)) if **place == *node => {
                    if !found.iter().any(|known| known.uid == pod.uid) {
                        found.push(pod.clone());
                    }
                }
                _ => return Victims::Unknown,
            }
        }
        if found.is_empty() { Victims::None } else { Victims::Known(found) }
    }

    /// The pods, if they are known.
    pub fn pods(&self) -> &[Arc<Pod>] {
        match self {
            Victims::Known(pods) => pods,
            Victims::None | Victims::Unknown => &[],
        }
    }
}
