use std::collections::BTreeSet;
use std::sync::Arc;

use super::desired::{Care, Desired, desired};
use super::difference::{Action, difference};
use super::{Refusal, address};
use crate::fixtures::{PodBuilder, object, pod};
use crate::model::group::keys;
use crate::model::managed_service::{MADE_AS, MADE_FOR, MANAGED_BY};
use crate::model::{Object, ObjectKey};
use crate::view::View;
use crate::view::change::Change;

const LWS: &str = "leaderworkerset.sigs.k8s.io";

/// A member of a `LeaderWorkerSet`, named as its controller does.
fn lws(set: &str, group: u32, worker: u32) -> PodBuilder {
    let leader = format!("{set}-{group}");
    let name = if worker == 0 { leader } else { format!("{leader}-{worker}") };
    pod(&name)
        .label(&format!("{LWS}/name"), set)
        .label(&format!("{LWS}/group-index"), &group.to_string())
        .label(&format!("{LWS}/worker-index"), &worker.to_string())
}

fn asking(builder: PodBuilder) -> PodBuilder {
    builder.annotation(keys::SERVICE, "true")
}

/// A whole group of two.
fn group(set: &str, index: u32) -> [PodBuilder; 2] {
    [0, 1].map(|worker| asking(lws(set, index, worker)))
}

fn cluster(pods: impl IntoIterator<Item = PodBuilder>) -> View {
    let mut view = View::default();
    for pod in pods {
        view.apply(Change::Upsert(Object::Pod(Arc::new(pod.build()))));
    }
    view
}

fn add(view: &mut View, text: &str) {
    view.apply(Change::Upsert(object(text)));
}

/// A Service of somebody else.
fn foreign(view: &mut View, name: &str) {
    add(
        view,
        &format!(
            r#"{{"apiVersion":"v1","kind":"Service","metadata":{{"namespace":"default","name":"{name}"}}}}"#
        ),
    );
}

/// What the watch shows once an action was carried out.
fn carry_out(view: &mut View, action: &Action) {
    match action {
        Action::Create(entry) | Action::Repair(entry, _) => {
            let service = &entry.service;
            let owner = |owner: &crate::model::Owner| {
                format!(
                    r#"{{"apiVersion":"{}","kind":"{}","name":"{}","uid":"{}"}}"#,
                    owner.api_version, owner.kind, owner.name, owner.uid
                )
            };
            let owners: Vec<_> = service.owners.iter().map(owner).collect();
            let pairs: Vec<_> = service.selector.iter().map(|(k, v)| format!(r#""{k}":"{v}""#)).collect();
            let name = &service.key.name;
            let text = format!(
                r#"{{"apiVersion":"v1","kind":"Service","metadata":{{"namespace":"{}","name":"{name}","uid":"u",
                    "resourceVersion":"1","labels":{{"{}":"{}"}},"annotations":{{"{MADE_FOR}":"{}","{MADE_AS}":"{}"}},
                    "ownerReferences":[{}]}},"spec":{{"clusterIP":"None","publishNotReadyAddresses":true,
                    "selector":{{{}}}}}}}"#,
                service.key.namespace,
                MANAGED_BY.0,
                MANAGED_BY.1,
                service.made_for,
                service.key,
                owners.join(","),
                pairs.join(",")
            );
            add(view, &text);
        }
        Action::Delete(key, _) => {
            view.apply(Change::Remove(crate::model::Kind::Service, key.clone()));
        }
    }
}

/// Carries out all there is to do, and tells what it was; then there is nothing more to do.
fn settle(view: &mut View) -> BTreeSet<String> {
    let mut done = BTreeSet::new();
    for _ in 0..3 {
        for action in difference(&desired(view), view) {
            let what = match &action {
                Action::Create(_) => "create",
                Action::Repair(..) => "repair",
                Action::Delete(..) => "delete",
            };
            done.insert(format!("{what} {}", action.key().name));
            carry_out(view, &action);
        }
    }
    assert_eq!(difference(&desired(view), view), [], "it settles");
    done
}

fn names(desired: &Desired) -> Vec<&str> {
    desired.services.keys().map(|key| &*key.name).collect()
}

fn refusals(desired: &Desired) -> Vec<Refusal> {
    desired.refused.iter().map(|refused| refused.why).collect()
}

fn set(texts: &[&str]) -> BTreeSet<String> {
    texts.iter().map(ToString::to_string).collect()
}

#[test]
fn each_group_that_asks_has_a_service_that_selects_it_and_goes_with_its_leader() {
    let mut view = cluster([group("llm", 0), group("llm", 1)].concat());
    let wanted = desired(&view);
    assert_eq!(names(&wanted), ["llm-0", "llm-1"]);
    let first = &wanted.services[&ObjectKey::new("default", "llm-0")];
    assert_eq!((first.care, &*first.service.made_for), (Care::Full, "LeaderWorkerSet/llm/0"));
    let selector: Vec<_> = first.service.selector.iter().map(|(k, v)| format!("{k}={v}")).collect();
    assert_eq!(selector, [format!("{LWS}/group-index=0"), format!("{LWS}/name=llm")]);
    let owners: Vec<_> =
        first.service.owners.iter().map(|owner| format!("{}/{}", owner.kind, owner.uid)).collect();
    assert_eq!(owners, ["Pod/llm-0"]);
    assert_eq!(settle(&mut view), set(&["create llm-0", "create llm-1"]));
}

#[test]
fn who_asks_is_said_by_pods_then_templates_then_the_object() {
    let template = |value: &str| {
        format!(
            r#""leaderWorkerTemplate":{{"workerTemplate":{{"metadata":{{"annotations":{{"berth.dev/service-per-group":"{value}"}}}}}}}}"#
        )
    };
    let object = |annotation: &str, spec: &str| {
        format!(
            r#"{{"apiVersion":"leaderworkerset.x-k8s.io/v1","kind":"LeaderWorkerSet","metadata":{{"namespace":"default",
                "name":"llm","uid":"s","annotations":{{"berth.dev/service-per-group":"{annotation}"}}}},"spec":{{{spec}}}}}"#
        )
    };
    for (name, pods, object, expected) in [
        ("nobody", [None, None], None, false),
        ("the leader", [Some("true"), None], None, true),
        ("a worker", [None, Some("true")], None, true),
        ("a no", [Some("false"), None], None, false),
        ("a no that is spelt otherwise", [Some("yes"), None], None, false),
        ("the object", [None, None], Some(object("true", "")), true),
        ("the pods say no to the object's yes", [Some("false"), None], Some(object("true", "")), false),
        ("a template", [None, None], Some(object("false", &template("true"))), true),
        (
            "a template says no to the object's yes",
            [None, None],
            Some(object("true", &template("false"))),
            false,
        ),
    ] {
        let members = pods.into_iter().enumerate().map(|(worker, said)| {
            let member = lws("llm", 0, u32::try_from(worker).expect("few"));
            said.map_or(member.clone(), |said| member.annotation(keys::SERVICE, said))
        });
        let mut view = cluster(members);
        if let Some(object) = object {
            add(&mut view, &object);
        }
        assert_eq!(!desired(&view).services.is_empty(), expected, "{name}");
    }
}

#[test]
fn a_set_whose_controller_makes_services_is_left_alone() {
    let unique = r#"{"apiVersion":"leaderworkerset.x-k8s.io/v1","kind":"LeaderWorkerSet","metadata":{"namespace":
        "default","name":"llm"},"spec":{"networkConfig":{"subdomainPolicy":"UniquePerReplica"}}}"#;
    let by_pod =
        group("llm", 0).map(|pod| pod.annotation(&format!("{LWS}/subdomainPolicy"), "UniquePerReplica"));
    let mut view = cluster(by_pod);
    assert_eq!(settle(&mut view), set(&[]), "the pods say so");
    foreign(&mut view, "llm-0");
    assert_eq!(settle(&mut view), set(&[]), "nor is its own Service touched");

    let mut view = cluster(group("llm", 0));
    settle(&mut view);
    add(&mut view, unique);
    assert_eq!(
        settle(&mut view),
        set(&[]),
        "what is there already stays: the set's controller would find it missing"
    );
    let mut view = cluster(group("llm", 0));
    add(&mut view, unique);
    assert_eq!(settle(&mut view), set(&[]), "the object says so");
}

#[test]
fn services_follow_their_groups() {
    let mut view = cluster([group("llm", 0), group("llm", 1)].concat());
    settle(&mut view);
    let remove = |view: &mut View, name: &str| {
        view.apply(Change::Remove(crate::model::Kind::Pod, ObjectKey::new("default", name)));
    };
    remove(&mut view, "llm-1-1");
    assert_eq!(settle(&mut view), set(&[]), "a worker that comes back");
    remove(&mut view, "llm-1");
    assert_eq!(settle(&mut view), set(&["delete llm-1"]), "scaled down");
    // A new leader under the old name.
    view.apply(Change::Upsert(Object::Pod(Arc::new(asking(lws("llm", 0, 0)).uid("later").build()))));
    assert_eq!(settle(&mut view), set(&["repair llm-0"]), "it goes with the leader of now");
    let going = group("llm", 0).map(PodBuilder::terminating);
    for pod in going {
        view.apply(Change::Upsert(Object::Pod(Arc::new(pod.build()))));
    }
    assert_eq!(settle(&mut view), set(&[]), "nobody takes it from members that are still going");
    view.apply(Change::Remove(crate::model::Kind::Service, ObjectKey::new("default", "llm-0")));
    assert_eq!(settle(&mut view), set(&[]), "nor makes it anew for them");
    let quiet = [lws("llm", 2, 0), lws("llm", 2, 1)];
    let mut view = cluster(group("llm", 2));
    settle(&mut view);
    for pod in quiet {
        view.apply(Change::Upsert(Object::Pod(Arc::new(pod.build()))));
    }
    assert_eq!(settle(&mut view), set(&["delete llm-2"]), "they do not ask any more");
}

#[test]
fn what_somebody_changed_is_repaired_and_what_cannot_be_is_made_anew() {
    let changed = |from: &str, to: &str| {
        let mut view = cluster(group("llm", 0));
        settle(&mut view);
        let text = r#"{"apiVersion":"v1","kind":"Service","metadata":{"namespace":"default","name":"llm-0","uid":"u",
            "resourceVersion":"2","labels":{"app.kubernetes.io/managed-by":"berth","more":"more"},"annotations":{
            "berth.dev/service-of":"LeaderWorkerSet/llm/0","berth.dev/service-identity":"default/llm-0"},
            "ownerReferences":[{"apiVersion":"v1","kind":"Pod","name":"llm-0","uid":"llm-0"}]},"spec":{
            "clusterIP":"None","publishNotReadyAddresses":true,"ports":[{"port":80}],"selector":{
            "leaderworkerset.sigs.k8s.io/name":"llm","leaderworkerset.sigs.k8s.io/group-index":"0"}}}"#;
        assert!(text.contains(from), "{from}");
        add(&mut view, &text.replace(from, to));
        settle(&mut view)
    };
    assert_eq!(changed("more", "less"), set(&[]), "other labels, and ports, are nobody's harm");
    assert_eq!(changed(r#"-index":"0""#, r#"-index":"1""#), set(&["repair llm-0"]), "another selector");
    assert_eq!(changed(r#""name":"llm-0","uid":"llm-0""#, r#""name":"x","uid":"x""#), set(&["repair llm-0"]));
    assert_eq!(changed("Addresses\":true", "Addresses\":false"), set(&["repair llm-0"]));
    let anew = set(&["create llm-0", "delete llm-0"]);
    assert_eq!(changed(r#""clusterIP":"None""#, r#""clusterIP":"10.0.0.1""#), anew);
    assert_eq!(
        changed(r#"-of":"LeaderWorkerSet/llm/0"#, r#"-of":"Kueue/x"#),
        anew,
        "it was made for another group"
    );
    // Whoever takes a mark away takes the Service over.
    let suffixed = changed(r#"managed-by":"berth""#, r#"managed-by":"me""#);
    assert_eq!(suffixed.len(), 1);
    assert!(suffixed.iter().all(|done| done.starts_with("create llm-0-")), "{suffixed:?}");
}

#[test]
fn a_name_that_somebody_else_has_gets_a_suffix_that_stays() {
    let mut view = cluster(group("llm", 0));
    foreign(&mut view, "llm-0");
    let first = settle(&mut view);
    let name = first.iter().next().expect("one").strip_prefix("create ").expect("created").to_owned();
    assert!(name.starts_with("llm-0-") && first.len() == 1, "{first:?}");
    view.apply(Change::Remove(crate::model::Kind::Service, ObjectKey::new("default", "llm-0")));
    assert_eq!(settle(&mut view), set(&[]), "members bear it by now");

    let mut view = cluster(group("llm", 0));
    foreign(&mut view, "llm-0");
    foreign(&mut view, &name);
    assert_eq!(refusals(&desired(&view)), [Refusal::NameTaken]);
}

#[test]
fn two_groups_that_would_be_called_the_same_are_told_apart() {
    // `a-b` has a group 0, and `a` one that somebody calls `b-0`.
    let other =
        asking(pod("p").label(&format!("{LWS}/name"), "a").label(&format!("{LWS}/worker-index"), "0"));
    let other = other.label(&format!("{LWS}/group-index"), "b-0");
    let mut view = cluster([&[other][..], &group("a-b", 0)].concat());
    let done = settle(&mut view);
    assert_eq!(done.len(), 2, "{done:?}");
    assert!(done.contains("create a-b-0"));
}

#[test]
fn members_that_were_told_a_name_keep_it_from_others() {
    let told = |pod: PodBuilder| pod.annotation(keys::SERVICE_NAME, "a-b-0");
    let other = pod("p").label(&format!("{LWS}/name"), "a").label(&format!("{LWS}/worker-index"), "0");
    let other = asking(other.label(&format!("{LWS}/group-index"), "b-0"));
    let mut view = cluster([&[other][..], &group("a-b", 0).map(told)].concat());
    settle(&mut view);
    let service =
        view.service(&ObjectKey::new("default", "a-b-0")).and_then(|service| service.managed.clone());
    assert_eq!(service.map(|managed| managed.made_for.to_string()).as_deref(), Some("LeaderWorkerSet/a-b/0"));
}

#[test]
fn a_selector_that_would_miss_members_or_select_others_is_refused() {
    let key = "kueue.x-k8s.io/pod-group-name";
    let kueue = |name: &str| asking(pod(name).label(key, "k"));
    let lacking = asking(pod("b").annotation(keys::GROUP, "ring"));
    let labelled = lacking.clone().label(keys::GROUP, "ring");
    for (name, pods, expected) in [
        ("a group of Kueue", vec![kueue("a"), kueue("b")], vec![]),
        ("annotations", vec![lacking.clone()], vec![Refusal::NoLabels]),
        ("annotations that are labels too", vec![labelled.clone()], vec![]),
        (
            "not on all members",
            vec![asking(pod("a").annotation(keys::GROUP, "ring").label(keys::GROUP, "ring")), lacking],
            vec![Refusal::MembersDiffer],
        ),
        (
            "a stranger with that label",
            vec![labelled.clone(), pod("x").label(keys::GROUP, "ring")],
            vec![Refusal::SelectsOthers],
        ),
        (
            "a stranger elsewhere",
            vec![labelled.clone(), pod("x").label(keys::GROUP, "ring").namespace("other")],
            vec![],
        ),
        (
            "a stranger that has finished",
            vec![labelled, pod("x").label(keys::GROUP, "ring").finished()],
            vec![],
        ),
    ] {
        assert_eq!(refusals(&desired(&cluster(pods))), expected, "{name}");
    }
}

#[test]
fn a_service_goes_with_what_is_the_groups_own() {
    let owners = |view: &View| {
        let wanted = desired(view);
        let entry = wanted.services.values().next().expect("a Service");
        entry.service.owners.iter().map(|owner| format!("{}/{}", owner.kind, owner.uid)).collect::<Vec<_>>()
    };
    let kueue = |name: &str, group: &str| asking(pod(name).label("kueue.x-k8s.io/pod-group-name", group));
    assert_eq!(owners(&cluster([kueue("a", "k"), kueue("b", "k")])), ["Pod/a", "Pod/b"], "nobody else's");
    let in_job = |name: &str, group: &str| kueue(name, group).controlled_by("batch/v1", "Job", "j");
    assert_eq!(owners(&cluster([in_job("a", "k"), in_job("b", "k")])), ["Job/j"]);
    assert_eq!(owners(&cluster([in_job("a", "k"), in_job("b", "l")])), ["Pod/a"], "it has two groups");
    assert_eq!(owners(&cluster([in_job("a", "k"), kueue("b", "k")])), ["Pod/a", "Pod/b"]);

    let gang = |name: &str| {
        asking(pod(name).label("grove.io/podgang", "g")).controlled_by("apps/v1", "ReplicaSet", "rs")
    };
    let mut view = cluster([gang("a"), gang("b")]);
    assert_eq!(owners(&view), ["ReplicaSet/rs"], "until the gang is seen");
    add(
        &mut view,
        r#"{"apiVersion":"scheduler.grove.io/v1alpha1","kind":"PodGang","metadata":{"namespace":"default",
        "name":"g","uid":"gang"}}"#,
    );
    assert_eq!(owners(&view), ["PodGang/gang"]);

    let workers = [asking(lws("llm", 0, 1))];
    let view = cluster(workers);
    assert_eq!(owners(&view), [""; 0], "without its leader there is nobody");
    assert_eq!(difference(&desired(&view), &view), [], "so it is not created");
    let crowd = (0..20).map(|at| kueue(&format!("p{at:02}"), "k"));
    assert_eq!(owners(&cluster(crowd)).len(), 8);
}

#[test]
fn groups_that_have_finished_need_no_service() {
    let done = group("llm", 0).map(PodBuilder::finished);
    assert_eq!(names(&desired(&cluster(done))), [""; 0]);
}

#[test]
fn namespaces_take_turns() {
    let many = (0..3).flat_map(|index| group("many", index));
    let few = group("few", 0).map(|pod| pod.namespace("other"));
    let view = cluster(many.chain(few).enumerate().map(|(at, pod)| pod.uid(&at.to_string())));
    let actions = difference(&desired(&view), &view);
    let order: Vec<_> = actions.iter().map(|action| &*action.key().namespace).collect();
    assert_eq!(order, ["default", "other", "default", "default"]);
}

#[test]
fn a_pod_that_is_created_is_told_the_name_that_the_service_will_have() {
    let mut view = cluster([]);
    let leader = asking(lws("llm", 0, 0)).build();
    let found = address(&leader, &view).expect("an address");
    assert_eq!((&*found.service, found.leader.as_deref()), ("llm-0", Some("llm-0")));
    assert_eq!(
        (found.variable, found.default_subdomain.as_deref()),
        (Some("LWS_LEADER_ADDRESS"), Some("llm"))
    );
    foreign(&mut view, "llm-0");
    let second = address(&leader, &view).expect("an address");
    assert_ne!(second.service, found.service);
    // Members that were told the plain name before somebody took it go on with the suffix.
    view.apply(Change::Upsert(Object::Pod(Arc::new(asking(lws("llm", 0, 1)).build()))));
    assert_eq!(address(&leader, &view), Some(second.clone()));
    view.apply(Change::Upsert(Object::Pod(Arc::new(leader.clone()))));
    settle(&mut view);
    assert!(view.service(&ObjectKey::new("default", second.service.clone())).is_some(), "both agree");

    assert_eq!(address(&lws("llm", 0, 0).build(), &cluster([])), None, "nobody asks");
    let unique = asking(lws("llm", 0, 0)).annotation(&format!("{LWS}/subdomainPolicy"), "UniquePerReplica");
    assert_eq!(address(&unique.build(), &cluster([])), None, "its controller does it");
    let ring = |name: &str, index: &str| {
        let ring = pod(name).annotation(keys::GROUP, "ring").label(keys::GROUP, "ring");
        asking(ring.annotation(keys::INDEX, index)).controlled_by("apps/v1", "StatefulSet", "web")
    };
    let found = address(&ring("web-7", "2").build(), &cluster([])).expect("an address");
    assert_eq!((&*found.service, found.leader.as_deref(), found.variable), ("ring", Some("web-5"), None));
}
