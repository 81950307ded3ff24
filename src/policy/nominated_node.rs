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
    find(nominated.as_bytes(), question.candidates.iter().map(|name| name.as_bytes()))
}

/// The position of a name in a list. The names of nodes have much in common, so they are compared first where
/// the last ones differed.
fn find<'a>(wanted: &[u8], names: impl Iterator<Item = &'a [u8]>) -> Option<usize> {
    let mut telling = 0;
    for (at, name) in names.enumerate() {
        if name.get(telling) != wanted.get(telling) {
            continue;
        }
        match name.iter().zip(wanted).position(|(a, b)| a != b) {
            Some(different) => telling = different,
            None if name.len() == wanted.len() => return Some(at),
            None => telling = name.len().min(wanted.len()),
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::find;

    #[test]
    fn a_name_is_found_where_it_is() {
        let names = ["node-a-10", "node-a-1", "", "node-a-11", "node-b-1", "node-a-1"];
        let found = |wanted: &str| find(wanted.as_bytes(), names.iter().map(|name| name.as_bytes()));
        for (wanted, expected) in [
            ("node-a-10", Some(0)),
            ("node-a-1", Some(1)),
            ("", Some(2)),
            ("node-a-11", Some(3)),
            ("node-b-1", Some(4)),
            ("node-b-11", None),
            ("node-b-", None),
            ("x", None),
        ] {
            assert_eq!(found(wanted), expected, "{wanted:?}");
        }
    }
}
