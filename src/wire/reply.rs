//! Answers, written straight to bytes.

pub mod text;

use std::borrow::Cow;

use serde_json::value::RawValue;

use self::text::NO_LONGER_FITS;
use super::{Candidates, NodeVictims};
use crate::decision::{Decision, Nominated, Undecided};

/// The answer to filter: who passes, who does not and why.
pub fn filter(candidates: &Candidates<'_>, decision: &Decision) -> Vec<u8> {
    let mut out = Vec::with_capacity(64 + candidates.names.len() * 24);
    match &candidates.objects {
        None => {
            out.extend_from_slice(br#"{"Nodes":null,"NodeNames":"#);
            match candidates.names_as_sent {
                // Everybody passes: the list goes back as it came.
                Some(list) if decision.passing() == candidates.names.len() => raw(&mut out, list),
                _ => {
                    let names = candidates.names.iter().enumerate();
                    list(&mut out, names.filter(|(at, _)| decision.passes(*at)), |out, (_, name)| {
                        string(out, name);
                    });
                }
            }
        }
        Some(objects) => {
            out.extend_from_slice(br#"{"Nodes":{"metadata":{},"items":"#);
            let objects = objects.iter().enumerate();
            list(&mut out, objects.filter(|(at, _)| decision.passes(*at)), |out, (_, object)| {
                raw(out, object);
            });
            out.extend_from_slice(br#"},"NodeNames":null"#);
        }
    }
    out.extend_from_slice(br#","FailedNodes":{"#);
    reasons(&mut out, candidates, decision, true);
    out.extend_from_slice(br#"},"FailedAndUnresolvableNodes":{"#);
    reasons(&mut out, candidates, decision, false);
    out.extend_from_slice(br#"},"Error":""}"#);
    out
}

/// The answer to filter when no decision can be made: kube-scheduler will try again soon.
pub fn filter_error(undecided: Undecided) -> Vec<u8> {
    let mut out =
        br#"{"Nodes":null,"NodeNames":null,"FailedNodes":null,"FailedAndUnresolvableNodes":null,"Error":"#
            .to_vec();
    string(&mut out, text::of_error(undecided));
    out.push(b'}');
    out
}

/// The answer to prioritize.
pub fn prioritize(names: &[Cow<'_, str>], scores: &[i64]) -> Vec<u8> {
    let mut out = Vec::with_capacity(2 + names.len() * 48);
    list(&mut out, names.iter().zip(scores), |out, (name, score)| {
        out.extend_from_slice(br#"{"Host":"#);
        string(out, name);
        out.extend_from_slice(br#","Score":"#);
        match u8::try_from(*score) {
            // Nearly all scores are one digit, and there are thousands of them.
            Ok(digit @ 0..=9) => out.push(b'0' + digit),
            _ => out.extend_from_slice(score.to_string().as_bytes()),
        }
        out.push(b'}');
    });
    out
}

/// The answer to preempt: the candidates worth considering, as they came.
pub fn preempt<'a>(candidates: impl Iterator<Item = &'a NodeVictims<'a>>) -> Vec<u8> {
    let mut out = br#"{"NodeNameToMetaVictims":{"#.to_vec();
    separated(&mut out, candidates, |out, candidate| {
        string(out, &candidate.node);
        out.extend_from_slice(br#":{"Pods":"#);
        match &candidate.uids {
            None => out.extend_from_slice(b"null"),
            Some(uids) => list(out, uids.iter(), |out, uid| {
                out.extend_from_slice(br#"{"UID":"#);
                string(out, uid);
                out.push(b'}');
            }),
        }
        out.extend_from_slice(br#","NumPDBViolations":"#);
        out.extend_from_slice(candidate.budget_violations.to_string().as_bytes());
        out.push(b'}');
    });
    out.extend_from_slice(b"}}");
    out
}

/// The answer to bind; an empty reason means success.
pub fn bind(reason: &str) -> Vec<u8> {
    let mut out = br#"{"Error":"#.to_vec();
    string(&mut out, reason);
    out.push(b'}');
    out
}

/// One line that says what is wrong with a request.
pub(crate) fn problem(reason: &str) -> Vec<u8> {
    let mut out = br#"{"error":"#.to_vec();
    string(&mut out, reason);
    out.push(b'}');
    out
}

fn reasons(out: &mut Vec<u8>, candidates: &Candidates<'_>, decision: &Decision, resolvable: bool) {
    let rejected = decision.rejections().filter(|(_, reason)| reason.is_resolvable() == resolvable);
    separated(out, rejected, |out, (at, reason)| {
        string(out, &candidates.names[at]);
        out.push(b':');
        if decision.nominated() == Some(Nominated::Refused(at)) {
            string(out, &format!("{NO_LONGER_FITS}: {}", text::of_rejection(reason)));
        } else {
            string(out, text::of_rejection(reason));
        }
    });
}

fn list<T>(out: &mut Vec<u8>, items: impl Iterator<Item = T>, write: impl FnMut(&mut Vec<u8>, T)) {
    out.push(b'[');
    separated(out, items, write);
    out.push(b']');
}

fn separated<T>(out: &mut Vec<u8>, items: impl Iterator<Item = T>, mut write: impl FnMut(&mut Vec<u8>, T)) {
    for (at, item) in items.enumerate() {
        if at > 0 {
            out.push(b',');
        }
        write(out, item);
    }
}

fn raw(out: &mut Vec<u8>, value: &RawValue) {
    out.extend_from_slice(value.get().as_bytes());
}

fn string(out: &mut Vec<u8>, text: &str) {
    let plain = |byte: u8| byte >= 0x20 && byte != b'"' && byte != b'\\';
    if text.bytes().all(plain) {
        out.push(b'"');
        out.extend_from_slice(text.as_bytes());
        out.push(b'"');
    } else {
        // A string always serialises, and a vector takes everything.
        serde_json::to_writer(out, text).unwrap_or_default();
    }
}

#[cfg(test)]
mod tests {
    use super::{bind, filter, filter_error, preempt, prioritize};
    use crate::decision::{Decision, Nominated, Reason, Undecided};
    use crate::wire::{Candidates, NodeVictims};

    fn text(bytes: Vec<u8>) -> String {
        String::from_utf8(bytes).expect("answers are text")
    }

    #[test]
    fn rejected_nodes_are_sorted_by_whether_preemption_could_help() {
        let candidates = Candidates {
            names: vec!["a".into(), "b\"".into(), "c".into()],
            names_as_sent: None,
            objects: None,
        };
        let mut decision = Decision::all_pass(3);
        decision.reject(1, Reason::ReservedForGroup);
        decision.reject(2, Reason::OutsideGroupDomain);
        assert_eq!(
            text(filter(&candidates, &decision)),
            r#"{"Nodes":null,"NodeNames":["a"],"FailedNodes":{"b\"":"room is reserved for a replica group"},"FailedAndUnresolvableNodes":{"c":"outside the replica group's domain"},"Error":""}"#
        );
    }

    #[test]
    fn a_nominated_node_is_the_whole_answer_or_says_that_it_was_nominated() {
        let candidates =
            Candidates { names: vec!["a".into(), "b".into()], names_as_sent: None, objects: None };
        let mut decision = Decision::all_pass(1);
        decision.settle_nominated(Nominated::Kept(1));
        assert_eq!(
            text(filter(&candidates, &decision)),
            r#"{"Nodes":null,"NodeNames":["b"],"FailedNodes":{},"FailedAndUnresolvableNodes":{},"Error":""}"#
        );
        let mut decision = Decision::all_pass(2);
        decision.reject(0, Reason::ReservedForGroup);
        decision.reject(1, Reason::ReservedForGroup);
        decision.settle_nominated(Nominated::Refused(1));
        assert_eq!(
            text(filter(&candidates, &decision)),
            r#"{"Nodes":null,"NodeNames":[],"FailedNodes":{"a":"room is reserved for a replica group","b":"nominated node no longer fits: room is reserved for a replica group"},"FailedAndUnresolvableNodes":{},"Error":""}"#
        );
    }

    #[test]
    fn the_other_answers_have_gos_names() {
        assert_eq!(
            text(filter_error(Undecided::CacheStale)),
            r#"{"Nodes":null,"NodeNames":null,"FailedNodes":null,"FailedAndUnresolvableNodes":null,"Error":"berth: the cluster cache is stale, a watch is cut"}"#
        );
        assert_eq!(text(prioritize(&["a".into()], &[7])), r#"[{"Host":"a","Score":7}]"#);
        assert_eq!(text(bind("")), r#"{"Error":""}"#);
        let victims = NodeVictims { node: "a".into(), uids: Some(vec!["u".into()]), budget_violations: 2 };
        assert_eq!(
            text(preempt([&victims].into_iter())),
            r#"{"NodeNameToMetaVictims":{"a":{"Pods":[{"UID":"u"}],"NumPDBViolations":2}}}"#
        );
    }
}
