//! `DoNotSchedule`: which candidates would skew too much.

use super::census::Key;
use super::{Case, Census, NAME};
use crate::ledger::Phase;
use crate::model::Uid;
use crate::policy::{Question, Rejection, Verdicts};
use crate::view::{HostId, Lies};

const TOO_MUCH_SKEW: Rejection =
    Rejection { policy: NAME, reason: "default topology spread: too much skew", resolvable: true };
const NO_LABEL: Rejection =
    Rejection { policy: NAME, reason: "default topology spread: topology label missing", resolvable: false };
/// Our watch is a moment behind kube-scheduler's. If no other node will do, the pod is to be tried again soon.
const UNKNOWN_NODE: Rejection =
    Rejection { policy: NAME, reason: "default topology spread: node not known yet", resolvable: true };

pub fn filter(case: &Case<'_>, question: &Question<'_>, verdicts: &mut Verdicts) {
    let hard = &case.rules.hard;
    let open = OpenPlacements::of(case, question);
    if hard.is_empty() {
        // Scores follow, and are the better the more is known; the bind call is usually under way already.
        verdicts.await_placement_of(open.awaited);
        return;
    }
    let Some(mut census) = Census::prepare(case, hard, question) else {
        // Not to be expected; but a limit that cannot be checked must not pass for one that holds.
        verdicts.mark_uncertain();
        (0..question.candidates.len()).for_each(|at| verdicts.reject(at, UNKNOWN_NODE));
        return;
    };
    census.count(question, true, |_, _| true);
    let own = i64::from(case.key.selector.matches(&question.pod.labels));
    // What a domain is compared with: if all goes as it seems, and in the worst case.
    let least: Vec<(i64, i64)> = census
        .keys
        .iter()
        .map(|key| {
            let seemingly = least(key.constraint.min_domains, &key.pods);
            (seemingly, open.certain_least(key).unwrap_or(seemingly))
        })
        .collect();

    for (at, name) in question.candidates.iter().enumerate() {
        let Some(host) = question.view.host_id(name) else {
            verdicts.mark_uncertain();
            verdicts.reject(at, UNKNOWN_NODE);
            continue;
        };
        for (key, (least, certain)) in census.keys.iter().zip(&least) {
            let domain = match key.domains.of(host) {
                Lies::In(domain) => domain,
                Lies::Unlabelled => {
                    verdicts.reject(at, NO_LABEL);
                    break;
                }
                Lies::Nowhere => {
                    verdicts.mark_uncertain();
                    verdicts.reject(at, UNKNOWN_NODE);
                    break;
                }
            };
            let pods = key.pods[domain].unwrap_or(0) + own;
            if pods + open.anywhere - certain > key.constraint.max_skew {
                if pods - least <= key.constraint.max_skew {
                    verdicts.mark_uncertain();
                }
                verdicts.reject(at, TOO_MUCH_SKEW);
                break;
            }
        }
    }
    verdicts.await_placement_of(open.awaited);
}

/// Pods of the workload that were offered nodes and whose bind calls have not come. A limit must hold wherever they
/// go, and also if they go nowhere after all.
struct OpenPlacements {
    /// Those that may be on any of several nodes: the worst is that they all went to the very domain in question.
    anywhere: i64,
    /// Where those are that had one node to choose from: counted there, but not to be relied on.
    doubtful: Vec<HostId>,
    /// Those whose bind call is still expected any moment.
    awaited: Vec<Uid>,
}

impl OpenPlacements {
    fn of(case: &Case<'_>, question: &Question<'_>) -> Self {
        let mut open = Self { anywhere: 0, doubtful: Vec::new(), awaited: Vec::new() };
        for entry in question.view.ledger().iter() {
            if entry.pod.uid == question.pod.uid || !case.key.counts(&entry.pod) {
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

    /// The least count if only pods that are there for certain are counted; `None` if that is all of them.
    fn certain_least(&self, key: &Key<'_>) -> Option<i64> {
        if self.doubtful.is_empty() {
            return None;
        }
        let mut pods = key.pods.clone();
        for host in &self.doubtful {
            if let Lies::In(domain) = key.domains.of(*host)
                && let Some(pods) = &mut pods[domain]
            {
                *pods -= 1;
            }
        }
        Some(least(key.constraint.min_domains, &pods))
    }
}

/// What the fullest domain is compared with: the least count of all domains, or 0 if there are too few of them.
fn least(min_domains: usize, pods: &[Option<i64>]) -> i64 {
    let known = || pods.iter().flatten();
    if known().count() < min_domains { 0 } else { known().min().copied().unwrap_or(0) }
}
