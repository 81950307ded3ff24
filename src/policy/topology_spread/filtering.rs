//! `DoNotSchedule`: which candidates would skew too much.

use super::{Case, Census, NAME};
use crate::ledger::Phase;
use crate::policy::{Question, Rejection, Verdicts};
use crate::view::Lies;

const TOO_MUCH_SKEW: Rejection =
    Rejection { policy: NAME, reason: "default topology spread: too much skew", resolvable: true };
const NO_LABEL: Rejection =
    Rejection { policy: NAME, reason: "default topology spread: topology label missing", resolvable: false };
/// Our watch is a moment behind kube-scheduler's; the node will be known at the next attempt.
const UNKNOWN_NODE: Rejection =
    Rejection { policy: NAME, reason: "default topology spread: node not known yet", resolvable: true };

pub fn filter(case: &Case<'_>, question: &Question<'_>, verdicts: &mut Verdicts) {
    let hard = &case.rules.hard;
    if hard.is_empty() {
        return;
    }
    let Some(mut census) = Census::prepare(case, hard, question) else { return };
    census.count(question, true, |_, _| true);
    let own = i64::from(case.key.selector.matches(&question.pod.labels));
    let open = OpenPlacements::of(case, question);
    let least: Vec<i64> =
        census.keys.iter().map(|key| least(key.constraint.min_domains, &key.pods)).collect();

    for (at, name) in question.candidates.iter().enumerate() {
        let Some(host) = question.view.host_id(name) else {
            verdicts.reject(at, UNKNOWN_NODE);
            continue;
        };
        for (key, least) in census.keys.iter().zip(&least) {
            let domain = match key.domains.of(host) {
                Lies::In(domain) => domain,
                Lies::Unlabelled => {
                    verdicts.reject(at, NO_LABEL);
                    break;
                }
                Lies::Nowhere => {
                    verdicts.reject(at, UNKNOWN_NODE);
                    break;
                }
            };
            let skew = key.pods[domain].unwrap_or(0) + own - least;
            if skew + open.count > key.constraint.max_skew {
                if skew <= key.constraint.max_skew && open.awaited {
                    verdicts.contest();
                }
                verdicts.reject(at, TOO_MUCH_SKEW);
                break;
            }
        }
    }
}

/// Pods of the workload that were offered nodes and may be on any of them by now. A limit must hold wherever they
/// go: the worst is that all of them went to the very domain in question, and none to the emptiest one.
struct OpenPlacements {
    count: i64,
    /// Whether the choice of one of them is still expected any moment.
    awaited: bool,
}

impl OpenPlacements {
    fn of(case: &Case<'_>, question: &Question<'_>) -> Self {
        let mut open = Self { count: 0, awaited: false };
        for entry in question.view.ledger().iter() {
            if let Phase::Offered { overdue } = entry.phase
                && entry.pod.uid != question.pod.uid
                && case.key.counts(&entry.pod)
            {
                open.count += 1;
                open.awaited |= !overdue;
            }
        }
        open
    }
}

/// What the fullest domain is compared with: the least count of all domains, or 0 if there are too few of them.
fn least(min_domains: usize, pods: &[Option<i64>]) -> i64 {
    let known = || pods.iter().flatten();
    if known().count() < min_domains { 0 } else { known().min().copied().unwrap_or(0) }
}
