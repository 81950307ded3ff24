//! What became of groups on the way, from every placement and departure that a watch saw.

use std::collections::{BTreeSet, HashMap};
use std::time::Duration;

use anyhow::{Result, ensure};
use tokio::time::Instant;

use super::groups::{Racks, group_of, revision_of};
use crate::fixtures::Transition;

/// The longest time for which one and the same group had members that ran and lacked others, up to now.
pub fn longest_partial(transitions: &[Transition], size: usize, now: Instant) -> (Duration, String) {
    let mut bound: HashMap<String, BTreeSet<&str>> = HashMap::new();
    let mut since: HashMap<String, Instant> = HashMap::new();
    let mut longest = (Duration::ZERO, "none".to_owned());
    let mut note = |group: String, lasted: Duration| {
        if lasted > longest.0 {
            longest = (lasted, group);
        }
    };
    for transition in transitions {
        let Some(group) = group_of(&transition.labels) else {
            continue;
        };
        let members = bound.entry(group.clone()).or_default();
        match transition.to {
            Some(_) => members.insert(&transition.uid),
            None => members.remove(transition.uid.as_str()),
        };
        if !members.is_empty() && members.len() < size {
            since.entry(group).or_insert(transition.at);
        } else if let Some(start) = since.remove(&group) {
            note(group, transition.at - start);
        }
    }
    for (group, start) in since {
        note(group, now - start);
    }
    longest
}

/// Fails if at any time members of one incarnation of a group were in two racks.
pub fn ensure_never_apart(transitions: &[Transition], racks: &Racks) -> Result<()> {
    let mut places: HashMap<(String, String), HashMap<&str, &str>> = HashMap::new();
    for transition in transitions {
        let Some(group) = group_of(&transition.labels) else {
            continue;
        };
        let members = places.entry((group.clone(), revision_of(&transition.labels))).or_default();
        match &transition.to {
            Some(node) => members.insert(&transition.uid, racks.rack(node)),
            None => members.remove(transition.uid.as_str()),
        };
        let domains: BTreeSet<&str> = members.values().copied().collect();
        ensure!(domains.len() <= 1, "{} brought group {group} into {domains:?}", transition.pod);
    }
    Ok(())
}

/// The most revisions of which members ran at the same time.
pub fn most_revisions(transitions: &[Transition]) -> usize {
    let mut running: HashMap<&str, String> = HashMap::new();
    let mut most = 0;
    for transition in transitions {
        match transition.to {
            Some(_) => running.insert(&transition.uid, revision_of(&transition.labels)),
            None => running.remove(transition.uid.as_str()),
        };
        most = most.max(running.values().collect::<BTreeSet<_>>().len());
    }
    most
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use crate::fixtures::Labels;
    use crate::leader_worker_sets::racks::rack;

    fn moved(start: Instant, seconds: u64, pod: &str, to: Option<&str>) -> Transition {
        let group = pod.split('-').next().unwrap_or_default();
        Transition {
            uid: pod.to_owned(),
            pod: pod.to_owned(),
            labels: Arc::new(Labels::from([("example.com/group".to_owned(), group.to_owned())])),
            at: start + Duration::from_secs(seconds),
            from: None,
            to: to.map(str::to_owned),
        }
    }

    #[test]
    fn the_longest_time_is_found_also_if_it_is_not_over() {
        let start = Instant::now();
        let mut moves = vec![
            moved(start, 0, "a-0", Some("x-0")),
            moved(start, 1, "b-0", Some("y-0")),
            moved(start, 3, "a-1", Some("x-1")),
        ];
        let at = |seconds| start + Duration::from_secs(seconds);
        assert_eq!(longest_partial(&moves, 2, at(3)), (Duration::from_secs(3), "a".to_owned()));
        assert_eq!(longest_partial(&moves, 2, at(9)), (Duration::from_secs(8), "b".to_owned()));
        moves.push(moved(start, 5, "b-0", None));
        assert_eq!(longest_partial(&moves, 2, at(9)).0, Duration::from_secs(4));
    }

    #[test]
    fn two_racks_at_once_are_found_and_two_in_turn_are_fine() {
        let racks = Racks::of(&[rack("x", 2), rack("y", 2)].concat());
        let start = Instant::now();
        let first = moved(start, 0, "a-0", Some("x-0"));
        let (left, second) = (moved(start, 1, "a-0", None), moved(start, 2, "a-1", Some("y-0")));
        assert!(ensure_never_apart(&[first.clone(), left, second.clone()], &racks).is_ok());
        assert!(ensure_never_apart(&[first, second], &racks).is_err());
    }
}
