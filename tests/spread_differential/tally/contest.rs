//! Nominated pods and victims.

use super::Row;
use crate::case::{is_waiting, nominated_node};
use crate::outcome::Verdict::{self, Failed, Passes, Unresolvable};
use crate::variants::Seen;

pub const ROWS: [Row; 15] = [
    ("nominated: to a candidate", 250, |seen| {
        let candidates = seen.case.candidates();
        waiting_for(seen).any(|node| candidates.contains(&node))
    }),
    ("nominated: to a node that is gone", 100, |seen| waiting_for(seen).any(|node| node == "gone")),
    ("nominated: and placed already", 100, |seen| {
        pods(seen).any(|pod| nominated_node(pod).is_some() && !is_waiting(pod))
    }),
    ("nominated: the incoming pod", 40, |seen| nominated_node(seen.case.pod()).is_some()),
    ("nominated: decides a verdict", 30, |seen| seen.answer.filter != seen.without_nominated.filter),
    ("nominated: terminating, decides a verdict", 2, |seen| {
        seen.answer.filter != seen.without_terminating.filter
    }),
    ("nominated: would decide, were it more important", 10, |seen| {
        seen.answer.filter != seen.with_equals.filter
    }),
    ("nominated: decides with victims gone", 5, |seen| {
        seen.answer.afterwards != seen.without_nominated.afterwards
    }),
    ("victims gone: passes now", 25, |seen| turns(seen, Failed, Passes).any(|_| true)),
    ("victims gone: the dry run counts wrong", 5, |seen| seen.answer.dry_run != seen.answer.afterwards),
    ("victims gone: still fails", 40, |seen| turns(seen, Failed, Failed).any(|_| true)),
    ("victims gone: still fails, all were of other namespaces", 6, |seen| {
        let is_foreign = |uid: &&str| {
            seen.case.pod_of(uid)["metadata"]["namespace"] != seen.case.pod()["metadata"]["namespace"]
        };
        turns(seen, Failed, Failed).any(|uids| uids.iter().all(is_foreign))
    }),
    ("victims gone: still unresolvable", 40, |seen| turns(seen, Unresolvable, Unresolvable).any(|_| true)),
    ("victims gone: passed before", 80, |seen| turns(seen, Passes, Passes).any(|_| true)),
    ("victims gone: filter skipped", 100, |seen| {
        seen.answer.filter.prepared.is_skip() && !seen.answer.afterwards.is_empty()
    }),
];

fn pods<'a>(seen: &Seen<'a>) -> impl Iterator<Item = &'a serde_json::Value> {
    seen.case.0["pods"].as_array().into_iter().flatten()
}

/// The nodes that nominated pods wait for.
fn waiting_for<'a>(seen: &Seen<'a>) -> impl Iterator<Item = &'a str> {
    pods(seen).filter(|pod| is_waiting(pod)).filter_map(nominated_node)
}

/// The victims of every candidate of which filter says the one with them and the other without.
fn turns<'a>(seen: &Seen<'a>, before: Verdict, after: Verdict) -> impl Iterator<Item = Vec<&'a str>> {
    let mut victims = seen.case.victims();
    let verdicts = seen.case.candidates().into_iter().zip(&seen.answer.filter.nodes);
    let matching = verdicts.filter(move |(node, status)| {
        let gone = seen.answer.afterwards.get(*node);
        Verdict::of(status) == before && gone.is_some_and(|gone| Verdict::of(gone) == after)
    });
    matching.filter_map(move |(node, _)| victims.remove(node)).collect::<Vec<_>>().into_iter()
}
