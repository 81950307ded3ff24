//! Berth's side: the verbs, over the cluster of the case.

use std::collections::BTreeMap;

use berth::cluster::snapshot_file;
use berth::json::Interner;
use berth::verbs::{Verb, Verbs};
use serde::Deserialize;
use serde_json::{Map, Value};

use crate::case::Case;
use crate::outcome::{Outcome, Verdict};

#[derive(Deserialize)]
#[serde(rename_all = "PascalCase")]
struct FilterReply {
    node_names: Option<Vec<String>>,
    failed_nodes: Option<BTreeMap<String, String>>,
    failed_and_unresolvable_nodes: Option<BTreeMap<String, String>>,
    error: String,
}

#[derive(Deserialize)]
#[serde(rename_all = "PascalCase")]
struct HostScore {
    host: String,
    score: i64,
}

#[derive(Deserialize)]
#[serde(rename_all = "PascalCase")]
struct PreemptReply {
    node_name_to_meta_victims: Map<String, Value>,
}

/// Filters, prioritizes the same candidates, as in one scheduling cycle, and preempts where there are victims.
pub fn decide(case: &Case) -> Result<Outcome, String> {
    let config = berth::config::parse(&case.configuration()).map_err(|error| error.to_string())?;
    let cluster = snapshot_file::parse(&case.cluster(), &Interner::default());
    let cluster = cluster.map_err(|error| error.to_string())?;
    // A controller whose selector cannot be understood counts for nothing, upstream as well.
    if cluster.other_kinds.total() > 0 || cluster.undecodable.total() > case.void_selectors() {
        return Err("Berth does not read all objects of the cluster".to_owned());
    }
    let verbs = Verbs::in_memory(config, cluster.objects).map_err(|error| error.to_string())?;
    let ask = |verb, request: &[u8]| match verbs.decide(verb, request) {
        Ok(answer) => answer.ok_or_else(|| "no answer".to_owned()),
        Err(error) => Err(error.to_string()),
    };
    let request = case.request();
    let verdicts = verdicts(&case.candidates(), &ask(Verb::Filter, &request)?)?;
    let scores = scores(&case.candidates(), &ask(Verb::Prioritize, &request)?)?;
    // kube-scheduler does not ask where nobody is to go.
    let fits_after = if case.victims().is_empty() {
        vec![None; case.candidates().len()]
    } else {
        fits_after(case, &ask(Verb::Preempt, &case.preempt_request())?)?
    };
    Ok(Outcome { verdicts, scores, fits_after })
}

/// Every candidate is in exactly one of the three lists, and those that pass keep their order.
fn verdicts(candidates: &[&str], reply: &[u8]) -> Result<Vec<Verdict>, String> {
    let reply: FilterReply = serde_json::from_slice(reply).map_err(|error| error.to_string())?;
    if !reply.error.is_empty() {
        return Err(format!("filter answers an error: {}", reply.error));
    }
    let passing = reply.node_names.unwrap_or_default();
    let failed = reply.failed_nodes.unwrap_or_default();
    let unresolvable = reply.failed_and_unresolvable_nodes.unwrap_or_default();
    let mut in_order = passing.iter().peekable();
    let mut verdicts = Vec::with_capacity(candidates.len());
    for name in candidates {
        let passes = in_order.next_if(|next| next == name).is_some();
        let verdict = match (passes, failed.contains_key(*name), unresolvable.contains_key(*name)) {
            (true, false, false) => Verdict::Passes,
            (false, true, false) => Verdict::Failed,
            (false, false, true) => Verdict::Unresolvable,
            lists => return Err(format!("{name} is in other than one list: {lists:?}")),
        };
        verdicts.push(verdict);
    }
    let answered = passing.len() + failed.len() + unresolvable.len();
    if answered != candidates.len() {
        return Err(format!("{} candidates, but {answered} in the answer", candidates.len()));
    }
    Ok(verdicts)
}

fn scores(candidates: &[&str], reply: &[u8]) -> Result<Vec<i64>, String> {
    let reply: Vec<HostScore> = serde_json::from_slice(reply).map_err(|error| error.to_string())?;
    if !reply.iter().map(|scored| &*scored.host).eq(candidates.iter().copied()) {
        return Err("prioritize does not score every candidate once, in their order".to_owned());
    }
    Ok(reply.iter().map(|scored| scored.score).collect())
}

/// Those in the answer are as they were sent.
fn fits_after(case: &Case, reply: &[u8]) -> Result<Vec<Option<bool>>, String> {
    let reply: PreemptReply = serde_json::from_slice(reply).map_err(|error| error.to_string())?;
    let kept = reply.node_name_to_meta_victims;
    let sent = case.meta_victims();
    if let Some((node, victims)) = kept.iter().find(|(node, victims)| sent.get(*node) != Some(victims)) {
        return Err(format!("preempt answers with {victims} on {node}"));
    }
    let fits = |node: &&str| sent.contains_key(*node).then(|| kept.contains_key(*node));
    Ok(case.candidates().iter().map(fits).collect())
}
