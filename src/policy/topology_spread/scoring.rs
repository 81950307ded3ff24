//! `ScheduleAnyway`: how good the candidates are.

use super::{Case, DomainCounts};
use crate::policy::Question;
use crate::view::{HostDomain, HostId};

const MAX_NODE_SCORE: i64 = 100;

/// The normalised score of each candidate; `None` where kube-scheduler would skip scoring.
pub fn scores(case: &Case<'_>, question: &Question<'_>) -> Option<Vec<i64>> {
    let soft = &case.rules.soft;
    if soft.is_empty() || question.view.node_count() == 0 {
        return None;
    }
    let mut domain_counts = DomainCounts::prepare(case, soft, question)?;
    let hosts = rated(&domain_counts, case.rules.require_all_keys, question);

    // Only domains that a candidate lies in are counted, and their number is the constraint's weight.
    let mut in_question: Vec<Vec<bool>> =
        domain_counts.keys.iter().map(|key| vec![false; key.domains.len() + 1]).collect();
    for host in hosts.iter().flatten() {
        for (key, domains) in domain_counts.keys.iter().zip(&mut in_question) {
            domains[key.domain_or_unlabelled(*host).index()] = true;
        }
    }
    let weights: Vec<f64> = domain_counts
        .keys
        .iter()
        .zip(&in_question)
        .map(|(key, domains)| {
            let size = if key.constraint.is_per_host() {
                hosts.iter().flatten().count()
            } else {
                domains.iter().filter(|wanted| **wanted).count()
            };
            ((size + 2) as f64).ln()
        })
        .collect();
    domain_counts.count(question, case.rules.require_all_keys, |at, domain| in_question[at][domain.index()]);

    let raw = hosts.iter().map(|host| host.map(|host| raw_score(&domain_counts, &weights, host))).collect();
    Some(normalise(raw))
}

/// The candidates that take part; the others are known not to, or not known at all.
fn rated(
    domain_counts: &DomainCounts<'_>,
    require_all_keys: bool,
    question: &Question<'_>,
) -> Vec<Option<HostId>> {
    let rated = |name: &str| {
        question.view.host_id(name).filter(|host| domain_counts.takes_part(*host, require_all_keys))
    };
    question.candidates.iter().map(|name| rated(name)).collect()
}

/// The more of the workload's pods are near, the higher: normalisation turns it round. `maxSkew - 1` waters down
/// differences between domains.
fn raw_score(domain_counts: &DomainCounts<'_>, weights: &[f64], host: HostId) -> i64 {
    let mut score = 0.0;
    for (key, weight) in domain_counts.keys.iter().zip(weights) {
        let HostDomain::In(domain) = key.domains.of(host) else { continue };
        let matching = if key.constraint.is_per_host() {
            i64::from(domain_counts.counter.on(host))
        } else {
            key.pods[domain.index()].unwrap_or(0)
        };
        score += matching as f64 * weight + (key.constraint.max_skew - 1) as f64;
    }
    #[allow(clippy::cast_possible_truncation, reason = "pods times weights stay far below 2^53")]
    let rounded = score.round() as i64;
    rounded
}

fn normalise(raw: Vec<Option<i64>>) -> Vec<i64> {
    let max = raw.iter().flatten().copied().max().unwrap_or(0).max(0);
    let min = raw.iter().flatten().copied().min().unwrap_or(0);
    let normalised =
        |score: i64| if max == 0 { MAX_NODE_SCORE } else { MAX_NODE_SCORE * (max + min - score) / max };
    raw.into_iter().map(|score| score.map_or(0, normalised)).collect()
}
