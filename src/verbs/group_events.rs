//! What has been said about each replica group, so that it is said again only when it changes, and not too often.
//!
//! Members of one group may have different reasons to wait, and are tried again and again in turn. So each thing is said of a
//! group once in a while, and only so many different ones.

use std::borrow::Cow;
use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::{Duration, Instant};

use dashmap::DashMap;

use super::GroupMetrics;
use super::notices::{Notice, Notices};
use crate::cluster::event_recorder::{EventRecorder, PodEvent};
use crate::decision::reason::REPLICA_GROUP;
use crate::decision::{Decision, Reason};
use crate::ledger::Reservation;
use crate::model::group::recognition::names_topology;
use crate::model::{GroupKey, Membership, Pod};
use crate::policy::may_be_sample;
use crate::policy::replica_group::{agreement, survey};
use crate::view::View;

/// The same is not said again of a group for so long, unless it has been complete in between.
const QUIET: Duration = Duration::from_mins(10);
/// So many different things are said of a group in that time.
const MOST_SAID: usize = 8;

const WEDGED: &str = "members of the replica group run in a domain where kube-scheduler finds no node for the others; \
                      free room or add nodes there, or delete the group so that it is placed anew";

/// How a group is doing.
#[derive(Clone, Debug, PartialEq, Eq)]
enum State {
    /// Nobody can be placed, for this reason.
    Waiting(Reason),
    /// Members run in a domain, and kube-scheduler finds none of its nodes fit for one that is missing.
    Wedged,
    /// Room for all that are missing is kept in a domain; its value, where one is required.
    Placing(Option<String>),
    /// Everybody has a place.
    Complete,
}

/// What is known of a group, and what has been said of it lately.
struct Said {
    state: State,
    lately: Vec<(State, Instant)>,
}

impl Said {
    /// Takes in how the group is doing, and whether that is to be said.
    fn is_news(&mut self, state: &State, now: Instant) -> bool {
        if *state == State::Complete && self.state != State::Complete {
            // Whatever happens to it from now on is another story.
            self.lately.clear();
        }
        self.state = state.clone();
        self.lately.retain(|(_, said)| now.duration_since(*said) < QUIET);
        let is_news = self.lately.len() < MOST_SAID && !self.lately.iter().any(|(known, _)| known == state);
        if is_news {
            self.lately.push((state.clone(), now));
        }
        is_news
    }
}

/// What has been said.
///
/// Groups are independent of each other, and what is said depends on nothing else: a concurrent map will do.
pub struct GroupEvents {
    said: DashMap<Arc<GroupKey>, Said>,
    /// When the first member of those that are being placed was bound.
    begun: DashMap<Arc<GroupKey>, Instant>,
    /// Since when those wait of whom nobody has a place.
    waiting: DashMap<Arc<GroupKey>, Instant>,
    notices: Notices,
    event_recorder: EventRecorder,
    metrics: GroupMetrics,
}

impl GroupEvents {
    /// Nothing said so far.
    pub fn new(event_recorder: EventRecorder, metrics: GroupMetrics) -> Self {
        let (said, begun, waiting) = (DashMap::new(), DashMap::new(), DashMap::new());
        Self { said, begun, waiting, notices: Notices::default(), event_recorder, metrics }
    }

    /// Filter answered for a pod.
    pub fn filtered(&self, pod: &Pod, candidates: &[Cow<'_, str>], decision: &Decision, view: &View) {
        match &pod.group {
            Some(membership) => {
                if let Some(overruled) = membership.overruled {
                    self.notice(overruled.into(), pod);
                }
            }
            // Where no groups are wanted at all, the operator has said so.
            None if names_topology(pod) && view.recogniser().listens() => self.notice(Notice::NoGroup, pod),
            None => {}
        }
        let Some(membership) = pod.group.as_ref().filter(|membership| membership.has_topology_request())
        else {
            return;
        };
        if decision.passing() > 0 {
            if let Some(Reservation { domain, .. }) = &decision.effects().reservation {
                let domain = domain.as_ref().map(|(key, value)| format!("{key}={value}"));
                self.tell(membership, pod, State::Placing(domain));
            }
        } else if is_wedged(decision) && shows_all(pod, candidates, view.node_count()) {
            self.tell(membership, pod, State::Wedged);
        } else if let Some(reason) = decision.nearest_reason(REPLICA_GROUP) {
            self.tell(membership, pod, State::Waiting(reason));
        }
    }

    /// A bind call was made for a pod, and this is the cluster with it.
    pub fn bind_called(&self, uid: &str, view: &View) {
        let Some((_, pod)) = view.placement(uid) else { return };
        let Some(membership) = pod.group.as_ref().filter(|membership| membership.has_topology_request())
        else {
            return;
        };
        let mut others =
            view.placed_members(&membership.group).filter(|member| *member.uid != *uid).peekable();
        // One that was offered a single node has a place before its own bind call comes.
        if others.peek().is_none() {
            self.begun.insert(membership.group.clone(), Instant::now());
        } else if others.all(|member| member.node.is_none()) {
            self.begun.entry(membership.group.clone()).or_insert_with(Instant::now);
        }
    }

    /// A pod was bound, and this is the cluster with it.
    pub fn bound(&self, uid: &str, view: &View) {
        let Some((_, pod)) = view.placement(uid) else { return };
        let Some(membership) = pod.group.as_ref().filter(|membership| membership.has_topology_request())
        else {
            return;
        };
        let group = &membership.group;
        let placed = view.placed_members(group).len();
        let missing = view.group_size(pod).unwrap_or_default() as usize > placed;
        if !missing && view.waiting_members(group).len() == 0 {
            // A member that came back to the others is no assembly.
            if let Some((_, began)) = self.begun.remove(group) {
                self.metrics.assembly.observe(began.elapsed().as_secs_f64());
            }
            // All in place, but not together: the metric says so, and nobody is to be glad of it.
            if !survey::is_split(pod, view) {
                self.tell(membership, pod, State::Complete);
            }
        }
    }

    /// A member waits whose group has no node of its own yet.
    pub(super) fn awaits_nodes(&self, pod: &Pod) {
        if let Some(membership) = &pod.group {
            self.tell(membership, pod, State::Waiting(Reason::AwaitsOwnNodes));
        }
    }

    /// The group has a node of its own, or does not wait for one any more.
    pub(super) fn has_nodes(&self, group: &Arc<GroupKey>) {
        self.said.remove_if(group, |_, said| said.state == State::Waiting(Reason::AwaitsOwnNodes));
    }

    /// The groups of which was last said that they wait for nodes of their own.
    pub(super) fn groups_that_await_nodes(&self) -> Vec<Arc<GroupKey>> {
        let said = self.said.iter();
        let waiting = said.filter(|entry| entry.state == State::Waiting(Reason::AwaitsOwnNodes));
        waiting.map(|entry| entry.key().clone()).collect()
    }

    fn tell(&self, membership: &Membership, pod: &Pod, state: State) {
        if matches!(state, State::Waiting(_)) {
            self.waiting.entry(membership.group.clone()).or_insert_with(Instant::now);
        }
        let nothing = || Said { state: state.clone(), lately: Vec::new() };
        if !self.said.entry(membership.group.clone()).or_insert_with(nothing).is_news(&state, Instant::now())
        {
            return;
        }
        let (reason, message, is_warning) = match state {
            State::Waiting(reason) => {
                ("ReplicaGroupWaiting", format!("{}: {}", reason.code(), reason.entry().meaning), true)
            }
            State::Wedged => ("ReplicaGroupWedged", WEDGED.to_owned(), true),
            State::Placing(domain) => {
                let place = domain.unwrap_or_else(|| "the cluster".to_owned());
                (
                    "ReplicaGroupPlacing",
                    format!("room for all members of the replica group is kept in {place}"),
                    false,
                )
            }
            State::Complete => {
                ("ReplicaGroupComplete", "all members of the replica group have a place".to_owned(), false)
            }
        };
        let GroupKey { set, index, .. } = &*membership.group;
        tracing::info!(group = %set, index = &**index, pod = %pod.key, reason, message, "replica group");
        let (pod, uid) = (pod.key.clone(), pod.uid.clone());
        self.event_recorder.announce(PodEvent { pod, uid, reason, message, is_warning });
    }

    /// Looks for members whose annotations do not count because they deviate from the others', or from what they were
    /// placed by.
    pub fn look_for_dissenters(&self, view: &View) {
        for pod in agreement::dissenters(view) {
            let overruled = pod.group.as_ref().and_then(|membership| membership.overruled);
            self.notice(overruled.map_or(Notice::Disagreement, Notice::from), pod);
        }
    }

    fn notice(&self, notice: Notice, pod: &Pod) {
        self.notices.tell(notice, pod, &self.event_recorder, &self.metrics.ignored);
    }

    /// Forgets groups of which nobody is left.
    pub fn forget(&self, view: &View) {
        let somebody =
            |group: &GroupKey| view.placed_members(group).len() + view.waiting_members(group).len() > 0;
        self.said.retain(|group, _| somebody(group));
        self.begun.retain(|group, _| somebody(group));
        self.waiting.retain(|group, _| view.placed_members(group).len() == 0 && somebody(group));
        self.notices.forget();
    }

    /// Shows in the metrics how groups are doing, and those that wait by their reasons. The operator has named these
    /// topologies.
    pub fn publish(&self, view: &View, topologies: &BTreeSet<&str>) {
        self.forget(view);
        let is_wedged =
            |group: &GroupKey| self.said.get(group).is_some_and(|said| said.state == State::Wedged);
        let now = Instant::now();
        let mut longest = Duration::ZERO;
        // Those that nobody has asked about wait, too.
        let waits = |group: &Arc<GroupKey>| {
            let since = *self.waiting.entry(group.clone()).or_insert(now);
            longest = longest.max(now.duration_since(since));
        };
        self.metrics.show(view, topologies, is_wedged, waits);
        self.metrics.oldest_waiting.set(longest.as_secs_f64());
        self.metrics.nobody_waits();
        for entry in &self.said {
            if let State::Waiting(reason) = &entry.state {
                self.metrics.waiting.with_label_values(&[reason.code()]).inc();
            }
        }
    }
}

/// Whether members fix the group's domain, and no candidate is in it.
fn is_wedged(decision: &Decision) -> bool {
    let mut anchored = false;
    let is_elsewhere = |(_, reason)| {
        anchored |= reason == Reason::GroupInOtherDomain;
        matches!(reason, Reason::GroupInOtherDomain | Reason::GroupLabelMissing)
    };
    decision.rejections().all(is_elsewhere) && anchored
}

/// Whether kube-scheduler has shown every node that would do: not a sample, and not only the one that the pod is nominated to,
/// which it tries first.
fn shows_all(pod: &Pod, candidates: &[Cow<'_, str>], nodes: usize) -> bool {
    let is_nominated_one = matches!(candidates, [only] if pod.nominated_node.as_deref() == Some(&**only));
    !is_nominated_one && !may_be_sample(candidates.len(), nodes)
}

#[cfg(test)]
mod tests {
    use std::borrow::Cow;
    use std::time::{Duration, Instant};

    use super::{MOST_SAID, QUIET, Said, State, is_wedged, shows_all};
    use crate::decision::{Decision, Reason};
    use crate::fixtures::pod;
    use crate::model::Pod;

    #[test]
    fn who_sees_only_some_nodes_knows_nothing_of_the_others() {
        let candidates =
            |count: usize| -> Vec<Cow<'_, str>> { (0..count).map(|at| format!("n{at}").into()).collect() };
        let waiting = pod("p").build();
        let nominated = Pod { nominated_node: Some("n0".into()), ..waiting.clone() };
        for (name, pod, count, expected) in [
            ("all nodes", &waiting, 150, true),
            ("few, for no others would do", &waiting, 3, true),
            ("a sample", &waiting, 100, false),
            ("one for another reason", &waiting, 1, true),
            ("the nominated one alone", &nominated, 1, false),
            ("the nominated one and others", &nominated, 2, true),
        ] {
            assert_eq!(shows_all(pod, &candidates(count), 150), expected, "{name}");
        }
    }

    #[test]
    fn a_group_is_wedged_when_no_candidate_is_in_the_domain_of_its_members() {
        use Reason::{GroupInOtherDomain, GroupLabelMissing, OwnDomainTooSmall};
        let decided = |reasons: &[Reason]| {
            let mut decision = Decision::all_pass(reasons.len());
            reasons.iter().enumerate().for_each(|(at, reason)| decision.reject(at, *reason));
            is_wedged(&decision)
        };
        assert!(decided(&[GroupInOtherDomain, GroupLabelMissing]));
        assert!(!decided(&[GroupInOtherDomain, OwnDomainTooSmall]), "kube-scheduler sees room in its domain");
        assert!(!decided(&[GroupLabelMissing]), "nobody runs yet");
        assert!(!decided(&[]));
    }

    #[test]
    fn members_that_wait_for_different_reasons_in_turn_are_heard_once_each() {
        let reasons = [Reason::DomainTooSmall, Reason::DomainReserved].map(State::Waiting);
        let mut said = Said { state: reasons[0].clone(), lately: Vec::new() };
        let begin = Instant::now();
        let at = |second: u64| begin + Duration::from_secs(second);
        let heard = |said: &mut Said, from: u64, seconds: u64| {
            (from..from + seconds)
                .filter(|second| said.is_news(&reasons[(*second % 2) as usize], at(*second)))
                .count()
        };
        assert_eq!(heard(&mut said, 0, 500), 2);
        assert_eq!(heard(&mut said, QUIET.as_secs(), 500), 2, "and again after a while");
        let later = QUIET.as_secs() + 500;
        assert!(said.is_news(&State::Complete, at(later)));
        assert!(!said.is_news(&State::Complete, at(later)), "it was complete already");
        assert_eq!(heard(&mut said, later, 100), 2, "another story");
    }

    #[test]
    fn a_group_is_not_talked_about_without_end() {
        let mut said = Said { state: State::Placing(None), lately: Vec::new() };
        let now = Instant::now();
        let domains = (0..100).map(|at| State::Placing(Some(format!("rack={at}"))));
        assert_eq!(domains.filter(|state| said.is_news(state, now)).count(), MOST_SAID);
    }
}
