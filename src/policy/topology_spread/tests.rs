use std::borrow::Cow;
use std::sync::Arc;
use std::time::Duration;

use super::TopologySpread;
use crate::config;
use crate::decision::{Decision, Detail};
use crate::fixtures::{node, pod};
use crate::model::{Labels, Object, ObjectKey, Pod, Service};
use crate::policy::{Policy, Purpose, Question};
use crate::view::View;
use crate::view::change::{Change, Offer};

const RACK: &str = "example.com/rack";

fn spread(yaml: &str) -> TopologySpread {
    let head = "apiVersion: config.berth.dev/v1alpha1\nkind: BerthConfiguration\ntopologySpread: ";
    TopologySpread::new(&config::parse(&format!("{head}{yaml}\n")).expect(yaml).topology_spread)
}

/// Racks `r0`, `r1`, ... with so many pods of Service `web` each, one node `n0`, `n1`, ... to a rack.
fn racks(pods_per_rack: &[usize]) -> View {
    let mut view = View::default();
    let mut add = |object| drop(view.apply(Change::Upsert(object)));
    let selector: Labels = [("app".into(), "web".into())].into_iter().collect();
    add(Object::Service(Arc::new(Service {
        key: ObjectKey::new("default", "web"),
        selector,
        managed: None,
    })));
    for (rack, pods) in pods_per_rack.iter().enumerate() {
        let name = format!("n{rack}");
        add(Object::Node(Arc::new(node(&name).label(RACK, &format!("r{rack}")).build())));
        for at in 0..*pods {
            let placed = pod(&format!("p{rack}-{at}")).label("app", "web").on(&name);
            add(Object::Pod(Arc::new(placed.build())));
        }
    }
    view
}

fn ask<R>(policy: &TopologySpread, view: &View, pod: &Pod, ask: impl Fn(Question<'_>) -> R) -> R {
    let candidates: Vec<Cow<'_, str>> = (0..view.hosts().count()).map(|at| format!("n{at}").into()).collect();
    let question = Question::about(Purpose::Filter, pod, &candidates, view);
    let mut provided = view.clone();
    if let Some(prepared) = policy.prepare(&question) {
        provided.provide(&prepared.needs());
    }
    ask(Question { view: &provided, ..question })
}

fn filter(policy: &TopologySpread, question: &Question<'_>) -> Decision {
    let mut decision = Decision::all_pass(question.candidates.len());
    if let Some(prepared) = policy.prepare(question) {
        prepared.filter(question, &mut decision);
    }
    decision
}

fn passing(policy: &TopologySpread, view: &View) -> Vec<usize> {
    let pod = pod("new").label("app", "web").build();
    ask(policy, view, &pod, |question| {
        let decision = filter(policy, &question);
        (0..question.candidates.len()).filter(|at| decision.passes(*at)).collect()
    })
}

#[test]
fn hard_constraints_keep_the_skew() {
    let hard = |extra: &str| {
        spread(&format!(
            "{{defaultingType: List, defaultConstraints: [{{maxSkew: 1, topologyKey: {RACK}, \
             whenUnsatisfiable: DoNotSchedule{extra}}}]}}"
        ))
    };
    for (name, pods, extra, expected) in [
        ("pods spread as 0/0/0", vec![0, 0, 0], "", vec![0, 1, 2]),
        ("pods spread as 1/1/0", vec![1, 1, 0], "", vec![2]),
        ("pods spread as 2/1/1", vec![2, 1, 1], "", vec![1, 2]),
        ("two racks of three wanted", vec![1, 1], ", minDomains: 3", vec![]),
        ("enough racks", vec![1, 1, 1], ", minDomains: 3", vec![0, 1, 2]),
    ] {
        assert_eq!(passing(&hard(extra), &racks(&pods)), expected, "{name}");
    }
}

#[test]
fn soft_constraints_prefer_the_emptier_domain() {
    let soft = spread(&format!(
        "{{defaultingType: List, defaultConstraints: [{{maxSkew: 1, topologyKey: {RACK}, \
         whenUnsatisfiable: ScheduleAnyway}}]}}"
    ));
    let new = pod("new").label("app", "web").build();
    let scores = ask(&soft, &racks(&[2, 1, 0]), &new, |question| soft.normalised_scores(&question));
    // Raw 3, 2, 0 (2 x ln 5 = 3.2, ln 5 = 1.6): the least full gets 100, the fullest min / max of it.
    assert_eq!(scores, Some(vec![0, 33, 100]));
    let stranger = pod("other").label("app", "db").build();
    let scores = ask(&soft, &racks(&[2, 1, 0]), &stranger, |question| soft.normalised_scores(&question));
    assert_eq!(scores, None, "nothing selects it");
}

#[test]
fn the_first_matching_override_replaces_the_defaults() {
    let policy = spread(&format!(
        "{{defaultingType: List, defaultConstraints: [{{maxSkew: 1, topologyKey: {RACK}, whenUnsatisfiable: \
         DoNotSchedule}}], overrides: [{{podSelector: {{matchLabels: {{app: db}}}}, defaultConstraints: \
         [{{maxSkew: 9, topologyKey: {RACK}, whenUnsatisfiable: DoNotSchedule}}]}}, {{podSelector: \
         {{matchLabels: {{app: web}}}}, defaultConstraints: []}}]}}"
    ));
    assert_eq!(passing(&policy, &racks(&[5, 0])), [0, 1], "switched off for web");
}

#[test]
fn pods_with_constraints_of_their_own_are_left_alone() {
    let policy = spread(&format!(
        "{{defaultingType: List, defaultConstraints: [{{maxSkew: 1, topologyKey: {RACK}, \
         whenUnsatisfiable: DoNotSchedule}}]}}"
    ));
    let mut own = pod("new").label("app", "web").build();
    own.has_spread_constraints = true;
    let rejected = ask(&policy, &racks(&[5, 0]), &own, |question| filter(&policy, &question).passing());
    assert_eq!(rejected, 2);
}

#[test]
fn facts_are_told_to_whoever_asks_for_them() {
    let policy = spread(&format!(
        "{{defaultingType: List, defaultConstraints: [{{maxSkew: 1, topologyKey: {RACK}, \
         whenUnsatisfiable: DoNotSchedule}}]}}"
    ));
    let pod = pod("new").label("app", "web").build();
    for (detail, expected) in [(Detail::Codes, vec![]), (Detail::Facts, vec![(2, 0, 1), (0, 0, 1)])] {
        let skews = ask(&policy, &racks(&[2, 0]), &pod, |question| {
            let decision = filter(&policy, &Question { detail, ..question });
            let skews = decision.facts().skews.iter();
            skews.map(|skew| (skew.pods, skew.minimum, skew.max_skew)).collect::<Vec<_>>()
        });
        assert_eq!(skews, expected, "{detail:?}");
    }
}

#[test]
fn who_waits_anyway_stops_at_the_first_verdict_that_is_not_certain() {
    let policy = spread(&format!(
        "{{defaultingType: List, defaultConstraints: [{{maxSkew: 1, topologyKey: {RACK}, \
         whenUnsatisfiable: DoNotSchedule}}]}}"
    ));
    let mut view = racks(&[1, 1, 1]);
    let before = Arc::new(pod("before").label("app", "web").build());
    view.offer(&before, Offer::Several, Duration::from_mins(1));
    let pod = pod("new").label("app", "web").build();
    for (may_wait, rejected) in [(false, 3), (true, 1)] {
        let (found, waits) = ask(&policy, &view, &pod, |question| {
            let decision = filter(&policy, &Question { may_wait, ..question });
            (decision.rejections().count(), decision.is_to_wait())
        });
        assert_eq!((found, waits), (rejected, true), "may wait: {may_wait}");
    }
    // Nobody would be waited for: every candidate is judged.
    view.mark_overdue(std::slice::from_ref(&before.uid));
    let (found, waits) = ask(&policy, &view, &pod, |question| {
        let decision = filter(&policy, &Question { may_wait: true, ..question });
        (decision.rejections().count(), decision.is_to_wait())
    });
    assert_eq!((found, waits), (3, false));
}

#[test]
fn a_service_of_one_group_is_not_what_its_members_are_spread_by() {
    let lws = |name: &str| format!("leaderworkerset.sigs.k8s.io/{name}");
    let member = |name: &str, group: &str| {
        let member =
            pod(name).label("app", "web").label(&lws("name"), "llm").label(&lws("group-index"), group);
        member.annotation("berth.dev/service-per-group", "true").label(&lws("worker-index"), "0").build()
    };
    let mut view = racks(&[]);
    let leader = member("llm-0", "0");
    view.apply(Change::Upsert(Object::Pod(Arc::new(leader.clone()))));
    let before = super::workload::selector(&leader, &view);
    // What the controller makes the Service select.
    let group = leader.group.as_ref().expect("a member").group.clone();
    let labels = group.source.service(&leader, &group, view.recogniser()).labels.expect("labels");
    let (key, selector) = (ObjectKey::new("default", "llm-0"), labels.into_iter().collect());
    view.apply(Change::Upsert(Object::Service(Arc::new(Service { key, selector, managed: None }))));
    assert_eq!(
        super::workload::selector(&leader, &view),
        before,
        "the Service of all of them counts, and no other"
    );
    assert!(before.matches(&member("llm-1", "1").labels));
    // Whoever is in no group is spread by whatever selects it.
    let mut single = leader;
    single.group = None;
    assert_ne!(super::workload::selector(&single, &view), before);
}
