//! Pods of the workload that count though they are on no node for certain.

use std::collections::HashMap;
use std::sync::Arc;

use crate::ledger::Phase;
use crate::model::{Pod, Uid};
use crate::policy::Question;
use crate::policy::topology_spread::Case;
use crate::policy::topology_spread::domain_counts::Key;
use crate::view::{HostDomain, HostId};

/// Pods of the workload that are on no node yet and for which preemption made room: a pod that ranks no higher must
/// leave it to them. kube-scheduler counts those of the very node that it looks at, and so does this.
pub struct NominatedPods(HashMap<HostId, i64>);

impl NominatedPods {
    pub fn of(case: &Case<'_>, question: &Question<'_>) -> Self {
        let view = question.view;
        let counts = |pod: &&Arc<Pod>| {
            let ranks = pod.priority >= question.pod.priority && pod.uid != question.pod.uid;
            let selected = pod.key.namespace == case.key.namespace && case.key.selector.matches(&pod.labels);
            // One that was offered nodes since is counted wherever it may have gone.
            ranks && selected && view.ledger().get(&pod.uid).is_none()
        };
        let mut nominated = HashMap::new();
        let mut add = |node: &str, pods: usize| {
            if let Some(host) = view.host_id(node).filter(|_| pods > 0) {
                nominated.insert(host, i64::try_from(pods).unwrap_or(i64::MAX));
            }
        };
        if view.nominated_nodes() <= question.candidates.len() {
            view.nominated().for_each(|(node, pods)| add(node, pods.filter(counts).count()));
        } else {
            question
                .candidates
                .iter()
                .for_each(|node| add(node, view.nominated_to(node).filter(counts).count()));
        }
        Self(nominated)
    }

    pub fn on(&self, host: HostId) -> i64 {
        if self.0.is_empty() { 0 } else { self.0.get(&host).copied().unwrap_or(0) }
    }
}

/// Pods of the workload that were offered nodes and whose bind calls have not come. A limit must hold wherever they
/// go, and also if they go nowhere after all.
pub struct OpenPlacements {
    /// Those that may be on any of several nodes: the worst is that they all went to the very domain in question.
    pub anywhere: i64,
    /// Where those are that had one node to choose from: counted there, but not to be relied on.
    doubtful: Vec<HostId>,
    /// Those whose bind call is still expected any moment.
    pub awaited: Vec<Uid>,
}

impl OpenPlacements {
    pub fn of(case: &Case<'_>, question: &Question<'_>) -> Self {
        let mut open = Self { anywhere: 0, doubtful: Vec::new(), awaited: Vec::new() };
        for entry in question.view.ledger().iter() {
            // The watch's copy is the one that is counted, if there is one.
            let pod = question.view.pod(&entry.pod.uid).unwrap_or(&entry.pod);
            if pod.uid == question.pod.uid || !case.key.counts(pod) {
                continue;
            }
            match &entry.phase {
                Phase::Offered => open.anywhere += 1,
                Phase::Assumed { node, binding: false } => {
                    open.doubtful.extend(question.view.host_id(node));
                }
                Phase::Assumed { binding: true, .. } => continue,
            }
            if !entry.overdue {
                open.awaited.push(entry.pod.uid.clone());
            }
        }
        open
    }

    /// The counts of a key's domains if only pods that are there for certain are counted; `None` if that is all of them.
    /// `counted` says on which hosts pods are counted at all.
    pub fn certain_pods(&self, key: &Key<'_>, counted: impl Fn(HostId) -> bool) -> Option<Vec<Option<i64>>> {
        if self.doubtful.is_empty() {
            return None;
        }
        let mut pods = key.pods.clone();
        for host in self.doubtful.iter().filter(|host| counted(**host)) {
            if let HostDomain::In(domain) = key.domains.of(*host)
                && let Some(pods) = &mut pods[domain.index()]
            {
                *pods -= 1;
            }
        }
        Some(pods)
    }
}
