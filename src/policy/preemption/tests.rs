use std::borrow::Cow;
use std::sync::Arc;

use super::Fate::{Empty, Kept, Outranked, Refused, Undecided};
use super::{Candidate, Cost, Rank, Victims, fates};
use crate::config::Criterion;
use crate::decision::{Decision, Reason};
use crate::fixtures::{node, pod};
use crate::model::group::Source;
use crate::model::{GroupObject, Kind, Object, ObjectKey, Pod};
use crate::policy::{Purpose, Question};
use crate::view::View;
use crate::view::change::Change;

const LWS: &str = "leaderworkerset.sigs.k8s.io";

fn view(pods: Vec<Pod>) -> View {
    let mut view = View::default();
    for name in ["a", "b", "c"] {
        view.apply(Change::Upsert(Object::Node(Arc::new(node(name).build()))));
    }
    for pod in pods {
        view.apply(Change::Upsert(Object::Pod(Arc::new(pod))));
    }
    view
}

/// One pod of each of two groups, and a single one, on each of three nodes; the first group has three members.
fn groups() -> View {
    let member = |name: &str, index: &str, place: &str| {
        let pod = pod(name).label(&format!("{LWS}/name"), "llm").label(&format!("{LWS}/group-index"), index);
        pod.priority(5).on(place).build()
    };
    view(vec![
        member("g0-a", "0", "a"),
        member("g0-b", "0", "b"),
        member("g0-c", "0", "c"),
        member("g1-a", "1", "a"),
        pod("single-a").priority(9).on("a").build(),
        pod("single-b").priority(9).on("b").build(),
        pod("lost").on("gone").build(),
    ])
}

fn candidate(view: &View, place: &str, victims: &[&str], budget_violations: i64) -> Candidate {
    let uids: Vec<Cow<'_, str>> = victims.iter().map(|uid| Cow::Borrowed(*uid)).collect();
    Candidate { victims: Victims::find(place, &uids, view), budget_violations }
}

fn cost(view: &View, place: &str, victims: &[&str]) -> Cost {
    Cost::of(candidate(view, place, victims, 0).victims.pods(), 0, view)
}

#[test]
fn a_member_costs_its_whole_group() {
    let view = groups();
    let costs = |groups_lost, highest_priority, pods_lost| Cost {
        budget_violations: 0,
        groups_lost,
        highest_priority,
        pods_lost,
    };
    assert_eq!(cost(&view, "b", &["single-b"]), costs(0, 9, 1));
    assert_eq!(cost(&view, "b", &["g0-b"]), costs(1, 5, 3));
    assert_eq!(cost(&view, "a", &["g0-a", "g1-a"]), costs(2, 5, 4));
    assert_eq!(cost(&view, "a", &["single-a", "g1-a"]), costs(1, 9, 2));
}

#[test]
fn a_set_whose_pods_restart_alone_loses_only_the_victim() {
    let mut view = groups();
    for (restarts_together, expected) in [(false, (0, 1)), (true, (1, 3))] {
        let key = ObjectKey::new("default", "llm");
        let set = GroupObject { size: Some(3), restarts_together, ..GroupObject::named(key) };
        let Some(Kind::Group(kind)) = Source::LeaderWorkerSet.kind() else { panic!("no kind") };
        view.apply(Change::Upsert(Object::Group(kind, Arc::new(set))));
        let cost = cost(&view, "b", &["g0-b"]);
        assert_eq!((cost.groups_lost, cost.pods_lost), expected);
    }
}

#[test]
fn a_victim_that_is_leaving_already_costs_nothing() {
    let mut view = groups();
    let leaving = pod("g1-a").label(&format!("{LWS}/name"), "llm").label(&format!("{LWS}/group-index"), "1");
    view.apply(Change::Upsert(Object::Pod(Arc::new(leaving.on("a").terminating().build()))));
    let nothing = Cost { budget_violations: 0, groups_lost: 0, highest_priority: i32::MIN, pods_lost: 0 };
    assert_eq!(cost(&view, "a", &["g1-a"]), nothing);
}

#[test]
fn members_that_are_leaving_already_are_not_lost_again() {
    let mut view = groups();
    let leaving = pod("g0-c").label(&format!("{LWS}/name"), "llm").label(&format!("{LWS}/group-index"), "0");
    view.apply(Change::Upsert(Object::Pod(Arc::new(leaving.on("c").terminating().build()))));
    assert_eq!(cost(&view, "b", &["g0-b"]).pods_lost, 2);
}

#[test]
fn victims_are_taken_for_known_only_where_they_are() {
    let view = groups();
    let found = |place: &str, victims: &[&str]| match candidate(&view, place, victims, 0).victims {
        Victims::None => None,
        Victims::Known(pods) => Some(pods.len()),
        Victims::Unknown => Some(usize::MAX),
    };
    assert_eq!(found("a", &["g0-a", "g1-a", "g0-a"]), Some(2), "each of them once");
    assert_eq!(found("a", &["g0-a", "g0-b"]), Some(usize::MAX), "on another node");
    assert_eq!(found("a", &["nobody"]), Some(usize::MAX));
    assert_eq!(found("gone", &["lost"]), Some(usize::MAX), "on a host without a node");
    assert_eq!(found("a", &[]), None);
}

#[test]
fn each_candidate_has_its_fate() {
    let view = groups();
    let names = ["a", "b", "c", "a", "b", "c"].map(Cow::Borrowed);
    let candidates = [
        candidate(&view, "a", &["single-a"], 0),
        candidate(&view, "b", &["g0-b"], 0),
        candidate(&view, "c", &["g0-c"], 0),
        candidate(&view, "a", &["g1-a"], 0),
        candidate(&view, "b", &["nobody"], 0),
        candidate(&view, "c", &[], 0),
    ];
    let mut decision = Decision::all_pass(names.len());
    decision.reject(2, Reason::SkewExceeded);
    decision.reject(3, Reason::SkewUndecided);
    decision.reject(5, Reason::SkewExceeded);
    let pod = pod("new").build();
    let question =
        Question { evictions: &candidates, ..Question::about(Purpose::Preempt, &pod, &names, &view) };
    let by = |criterion| fates(&question, &decision, criterion);
    assert_eq!(by(Criterion::PodsLost), [Kept, Outranked, Refused, Undecided, Undecided, Empty]);
    assert_eq!(by(Criterion::BudgetViolations), [Kept, Kept, Refused, Undecided, Undecided, Empty]);
    assert_eq!(by(Criterion::Nothing), [Kept, Kept, Refused, Undecided, Undecided, Empty]);
}

#[test]
fn the_criteria_come_in_their_order_and_the_name_breaks_ties() {
    let cost = |budget_violations, groups_lost, highest_priority, pods_lost| Cost {
        budget_violations,
        groups_lost,
        highest_priority,
        pods_lost,
    };
    let ranking = [
        (cost(0, 0, 9, 9), "z"),
        (cost(0, 1, -5, 9), "y"),
        (cost(0, 1, 0, 1), "a"),
        (cost(0, 1, 0, 1), "b"),
        (cost(0, 1, 0, 2), "a"),
        (cost(1, 0, -9, 1), "a"),
    ]
    .map(|(cost, node)| Rank { cost, node });
    assert!(ranking.is_sorted(), "{ranking:#?}");
    let classes = |criterion| {
        let mut classes = ranking.map(|rank| rank.up_to(criterion)).to_vec();
        classes.dedup();
        classes.len()
    };
    let widths = [
        (Criterion::Nothing, 1),
        (Criterion::BudgetViolations, 2),
        (Criterion::GroupsLost, 3),
        (Criterion::HighestPriority, 4),
        (Criterion::PodsLost, 5),
        (Criterion::Node, 6),
    ];
    for (criterion, expected) in widths {
        assert_eq!(classes(criterion), expected, "{criterion:?}");
    }
}
