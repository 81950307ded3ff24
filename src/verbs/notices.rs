//! Annotations that do not count, and are not ignored silently: each is said once in a while, of a workload and not of each
//! of its pods.

use std::time::{Duration, Instant};

use dashmap::DashMap;
use prometheus::IntCounterVec;

use crate::cluster::event_recorder::{EventRecorder, PodEvent};
use crate::model::group::Overruled;
use crate::model::{ObjectKey, Pod};

/// The same is not said again for so long.
const QUIET: Duration = Duration::from_mins(10);
/// So many different things are said in that time; what is beyond it is not.
const MOST_SAID: usize = 1024;

/// What is said in vain.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum Notice {
    /// A pod names a topology and is in no group.
    NoGroup,
    /// See [`Overruled::Contradiction`].
    Contradiction,
    /// See [`Overruled::RunningMember`].
    RunningMember,
    /// See [`Overruled::ExclusiveOfNothing`].
    ExclusiveOfNothing,
    /// Members of one group ask for different topologies.
    Disagreement,
}

impl Notice {
    /// All of them, for metrics that exist from the start.
    pub(super) const ALL: [Notice; 5] = [
        Notice::NoGroup,
        Notice::Contradiction,
        Notice::RunningMember,
        Notice::ExclusiveOfNothing,
        Notice::Disagreement,
    ];

    /// The name in metrics.
    pub(super) const fn label(self) -> &'static str {
        match self {
            Notice::NoGroup => "no_group",
            Notice::Contradiction => "contradiction",
            Notice::RunningMember => "running_member",
            Notice::ExclusiveOfNothing => "exclusive_of_nothing",
            Notice::Disagreement => "disagreement",
        }
    }

    const fn message(self) -> &'static str {
        match self {
            Notice::NoGroup => {
                "berth.dev/required-topology, preferred-topology and exclusive are ignored: the pod belongs to no replica \
                 group that Berth places (berth.dev/group makes it a member of one)"
            }
            Notice::Contradiction => {
                "the templates of the replica group name different topologies in berth.dev/required-topology, \
                 preferred-topology or exclusive: the first one counts for all members, the leader's"
            }
            Notice::RunningMember => {
                "the annotations of this running member are not those that it was placed by: they change nothing for its \
                 replica group, and keep no others out of its domain"
            }
            Notice::ExclusiveOfNothing => {
                "berth.dev/exclusive is ignored: the replica group requires no topology (berth.dev/required-topology)"
            }
            Notice::Disagreement => {
                "members of the replica group ask for different topologies, this one for another than most: a domain is \
                 kept from no more groups than all of them ask for"
            }
        }
    }
}

impl From<Overruled> for Notice {
    fn from(overruled: Overruled) -> Self {
        match overruled {
            Overruled::Contradiction => Notice::Contradiction,
            Overruled::RunningMember => Notice::RunningMember,
            Overruled::ExclusiveOfNothing => Notice::ExclusiveOfNothing,
        }
    }
}

/// What has been said, of which workload, and when.
#[derive(Default)]
pub(super) struct Notices(DashMap<(Notice, ObjectKey), Instant>);

impl Notices {
    /// Says it of a pod, unless it was said of its workload already.
    pub(super) fn tell(&self, notice: Notice, pod: &Pod, recorder: &EventRecorder, told: &IntCounterVec) {
        if !self.is_news(notice, workload_of(pod), Instant::now()) {
            return;
        }
        let (why, message) = (notice.label(), notice.message());
        told.with_label_values(&[why]).inc();
        tracing::warn!(pod = %pod.key, why, message, "topology ignored");
        let (pod, uid, message) = (pod.key.clone(), pod.uid.clone(), message.to_owned());
        recorder.announce(PodEvent { pod, uid, reason: "TopologyIgnored", message, is_warning: true });
    }

    fn is_news(&self, notice: Notice, workload: ObjectKey, now: Instant) -> bool {
        let key = (notice, workload);
        let is_known = self.0.get(&key).is_some_and(|said| now.duration_since(*said) < QUIET);
        if is_known || self.0.len() >= MOST_SAID {
            return false;
        }
        self.0.insert(key, now);
        true
    }

    /// Forgets what may be said again.
    pub(super) fn forget(&self) {
        let now = Instant::now();
        self.0.retain(|_, said| now.duration_since(*said) < QUIET);
    }
}

/// The set that a pod's group belongs to, else its controller, else the pod itself.
fn workload_of(pod: &Pod) -> ObjectKey {
    let namespace = pod.key.namespace.clone();
    match (&pod.group, &pod.controller) {
        (Some(membership), _) => membership.group.set.clone(),
        (None, Some(controller)) => ObjectKey { namespace, name: controller.name.clone() },
        (None, None) => pod.key.clone(),
    }
}

#[cfg(test)]
mod tests {
    use std::time::{Duration, Instant};

    use super::{MOST_SAID, Notice, Notices, QUIET};
    use crate::model::ObjectKey;

    #[test]
    fn the_same_is_said_of_a_workload_once_in_a_while_and_not_without_end() {
        let notices = Notices::default();
        let begin = Instant::now();
        let key = |name: &str| ObjectKey::new("ns", name);
        let heard = |notice, name: &str, seconds: u64| {
            notices.is_news(notice, key(name), begin + Duration::from_secs(seconds))
        };
        assert!(heard(Notice::NoGroup, "web", 0));
        assert!(!heard(Notice::NoGroup, "web", 1));
        assert!(heard(Notice::Contradiction, "web", 1), "another thing");
        assert!(heard(Notice::NoGroup, "db", 1), "another workload");
        assert!(heard(Notice::NoGroup, "web", QUIET.as_secs()), "after a while");
        let many = (0..2 * MOST_SAID).filter(|at| heard(Notice::NoGroup, &at.to_string(), 1)).count();
        assert_eq!(many, MOST_SAID - 3);
    }
}
