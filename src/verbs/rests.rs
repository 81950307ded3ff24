//! Rests after decisions that took too long: kube-scheduler asks about one pod at a time, so that the time of one tenant's
//! groups is everybody's.
//!
//! ```text
//!   the group        20 times as long as it took, twice that after the next time, five minutes at most
//!   its namespace    three times as long, for groups are renamed easily
//! ```
//!
//! Whoever rests is answered as before, and at once.

use std::sync::Arc;
use std::time::{Duration, Instant};

use dashmap::DashMap;

use crate::model::{GroupKey, Name, Pod};

const OF_GROUP: u32 = 20;
const OF_NAMESPACE: u32 = 3;
const LONGEST: Duration = Duration::from_mins(5);

/// Who rests, and until when.
#[derive(Default)]
pub struct Rests {
    groups: DashMap<Arc<GroupKey>, Rest>,
    namespaces: DashMap<Name, Instant>,
}

#[derive(Clone, Copy)]
struct Rest {
    until: Instant,
    length: Duration,
}

impl Rests {
    /// Whether no time is spent on a pod now.
    pub fn cover(&self, pod: &Pod, now: Instant) -> bool {
        let Some(membership) = pod.group.as_ref().filter(|_| pod.is_placed_with_its_group()) else {
            return false;
        };
        let of_group = || self.groups.get(&membership.group).is_some_and(|rest| now < rest.until);
        let of_namespace =
            || self.namespaces.get(&membership.group.set.namespace).is_some_and(|until| now < *until);
        (!self.groups.is_empty() && of_group()) || (!self.namespaces.is_empty() && of_namespace())
    }

    /// A decision about a pod was given up after so long.
    pub fn begin(&self, pod: &Pod, took: Duration, now: Instant) {
        let Some(membership) = pod.group.as_ref().filter(|_| pod.is_placed_with_its_group()) else { return };
        // Who has not been heard of for as long again has been mended.
        self.groups.retain(|_, rest| now < rest.until + rest.length);
        self.namespaces.retain(|_, until| now < *until);
        let before = self.groups.get(&membership.group).map(|rest| rest.length);
        let length = before.map_or(took * OF_GROUP, |before| before * 2).min(LONGEST);
        self.groups.insert(membership.group.clone(), Rest { until: now + length, length });
        self.namespaces.insert(membership.group.set.namespace.clone(), now + took * OF_NAMESPACE);
    }
}

#[cfg(test)]
mod tests {
    use std::time::{Duration, Instant};

    use super::{LONGEST, Rests};
    use crate::fixtures::pod;
    use crate::model::Pod;

    fn member(namespace: &str, group: &str) -> Pod {
        let mut pod = pod("p").annotation("berth.dev/group", group);
        pod = pod.annotation("berth.dev/required-topology", "rack").annotation("berth.dev/group-size", "2");
        pod.namespace(namespace).build()
    }

    #[test]
    fn a_group_that_takes_too_long_rests_longer_each_time_and_its_namespace_a_little() {
        let (rests, start, took) = (Rests::default(), Instant::now(), Duration::from_millis(500));
        let (bad, other, elsewhere) = (member("ns", "bad"), member("ns", "other"), member("good", "bad"));
        let at = |millis: u64| start + Duration::from_millis(millis);
        rests.begin(&bad, took, start);
        for (name, pod, millis, expected) in [
            ("at once", &bad, 1, true),
            ("its namespace", &other, 1, true),
            ("another namespace", &elsewhere, 1, false),
            ("a single pod of its namespace", &pod("single").namespace("ns").build(), 1, false),
            ("its namespace, later", &other, 1_501, false),
            ("still", &bad, 9_999, true),
            ("no longer", &bad, 10_001, false),
        ] {
            assert_eq!(rests.cover(pod, at(millis)), expected, "{name}");
        }
        rests.begin(&bad, took, at(10_001));
        assert!(rests.cover(&bad, at(30_000)), "twice as long");
        assert!(!rests.cover(&bad, at(30_002)));
        for _ in 0..10 {
            rests.begin(&bad, took, at(30_002));
        }
        assert!(!rests.cover(&bad, at(30_003) + LONGEST));
        rests.begin(&other, took, at(30_002) + 3 * LONGEST);
        assert_eq!(rests.groups.len(), 1, "who is not heard of any more is forgotten");
    }
}
