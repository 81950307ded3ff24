use super::{
    Audience, DefaultTopologyRequest, ExclusiveLimits, Flaw, Membership, Recogniser, Rule, Size, Source,
    TopologyRequest, flaw, is_kept,
};
use crate::fixtures::{NoObjects, pod};
use crate::model::group::Scope;
use crate::model::{Name, Pod, Selector};

const LWS: [(&str, &str); 4] = [
    ("leaderworkerset.sigs.k8s.io/name", "llm"),
    ("leaderworkerset.sigs.k8s.io/group-index", "3"),
    ("leaderworkerset.sigs.k8s.io/worker-index", "2"),
    ("leaderworkerset.sigs.k8s.io/template-revision-hash", "ab"),
];
const KUEUE: (&str, &str) = ("kueue.x-k8s.io/pod-group-name", "train");

fn with(labels: &[(&str, &str)], annotations: &[(&str, &str)]) -> Pod {
    let labelled = labels.iter().fold(pod("p"), |pod, (key, value)| pod.label(key, value));
    annotations.iter().fold(labelled, |pod, (key, value)| pod.annotation(key, value)).build()
}

fn recognised(recogniser: &Recogniser, pod: &Pod) -> Option<(Source, String)> {
    let membership = recogniser.recognise(pod, &NoObjects)?;
    let key = &membership.group;
    Some((key.source, format!("{}/{}/{}", key.set.name, key.index, key.revision)))
}

#[test]
fn the_first_source_that_speaks_names_the_group() {
    let mine = ("berth.dev/group", "mine");
    for (labels, annotations, expected) in [
        (vec![], vec![], None),
        (vec![("app", "web")], vec![], None),
        (LWS.to_vec(), vec![mine], Some((Source::Annotation, "mine//"))),
        (vec![], vec![mine, ("berth.dev/group-set", "all")], Some((Source::Annotation, "all/mine/"))),
        (LWS.to_vec(), vec![("berth.dev/group", "")], Some((Source::LeaderWorkerSet, "llm/3/ab"))),
        (vec![LWS[0]], vec![], None),
        (vec![LWS[0], LWS[1], KUEUE], vec![], Some((Source::LeaderWorkerSet, "llm/3/"))),
        (vec![("jobset.sigs.k8s.io/job-key", "ab12")], vec![], Some((Source::JobSet, "ab12//"))),
        (
            vec![
                ("jobset.sigs.k8s.io/job-key", "ab12"),
                ("jobset.sigs.k8s.io/jobset-name", "sweep"),
                ("jobset.sigs.k8s.io/restart-attempt", "2"),
            ],
            vec![],
            Some((Source::JobSet, "sweep/ab12/2")),
        ),
        (vec![KUEUE], vec![], Some((Source::Kueue, "train//"))),
        (vec![("scheduling.x-k8s.io/pod-group", "g")], vec![], Some((Source::PodGroup, "g//"))),
    ] {
        let found = recognised(&Recogniser::default(), &with(&labels, &annotations));
        let found = found.as_ref().map(|(source, name)| (*source, name.as_str()));
        assert_eq!(found, expected, "{labels:?} {annotations:?}");
    }
}

#[test]
fn a_source_that_is_switched_off_is_not_heard() {
    let pod = with(&[LWS[0], LWS[1], KUEUE], &[]);
    let only = |sources: &[Source]| Recogniser { sources: sources.to_vec(), ..Recogniser::default() };
    let kueue = recognised(&only(&[Source::Kueue, Source::Annotation]), &pod);
    assert_eq!(kueue.map(|(source, _)| source), Some(Source::Kueue));
    assert_eq!(recognised(&only(&[]), &pod), None);
}

#[test]
fn sizes_indexes_and_topologies_of_each_source() {
    let limits = ExclusiveLimits { widest: Scope::Cluster, by_namespace: Vec::new() };
    let recogniser = Recogniser { exclusive_limits: limits, ..Recogniser::default() };
    let member = |labels: &[(&str, &str)], annotations: &[(&str, &str)]| {
        recogniser.recognise(&with(labels, annotations), &NoObjects).map(|found| Membership::clone(&found))
    };
    let lws = member(
        &LWS,
        &[
            ("leaderworkerset.sigs.k8s.io/size", "4"),
            ("leaderworkerset.sigs.k8s.io/exclusive-topology", "example.com/rack"),
            ("leaderworkerset.sigs.k8s.io/subgroup-size", "2"),
            ("leaderworkerset.sigs.k8s.io/subgroup-exclusive-topology", "example.com/tray"),
        ],
    )
    .expect("a replica");
    assert_eq!((lws.size, lws.index), (Some(4), Some(2)));
    let rack = Some(Name::from("example.com/rack"));
    assert_eq!(
        lws.topology,
        TopologyRequest { required: rack.clone(), preferred: None, exclusive: Some(Scope::Namespace) }
    );
    assert_eq!(
        lws.subgroup.map(|part| (part.size, part.topology)),
        Some((2, Name::from("example.com/tray")))
    );

    let kueue = member(
        &[KUEUE, ("kueue.x-k8s.io/pod-group-pod-index", "1")],
        &[
            ("kueue.x-k8s.io/pod-group-total-count", "3"),
            ("kueue.x-k8s.io/podset-preferred-topology", "example.com/rack"),
        ],
    )
    .expect("a pod group");
    assert_eq!((kueue.size, kueue.index), (Some(3), Some(1)));
    assert_eq!(kueue.topology, TopologyRequest { required: None, preferred: rack.clone(), exclusive: None });

    let job = member(
        &[("jobset.sigs.k8s.io/job-key", "k"), ("batch.kubernetes.io/job-completion-index", "5")],
        &[("alpha.jobset.sigs.k8s.io/exclusive-topology", "example.com/rack")],
    )
    .expect("a job");
    assert_eq!((job.size, job.index, job.topology.exclusive), (None, Some(5), Some(Scope::Cluster)));

    let own = member(
        &LWS,
        &[
            ("leaderworkerset.sigs.k8s.io/size", "4"),
            ("berth.dev/required-topology", "example.com/block"),
            ("berth.dev/preferred-topology", "example.com/rack"),
            ("berth.dev/exclusive", "Set"),
        ],
    )
    .expect("a replica");
    let block = Some(Name::from("example.com/block"));
    assert_eq!(
        own.topology,
        TopologyRequest { required: block, preferred: rack, exclusive: Some(Scope::Set) }
    );
}

#[test]
fn rules_and_default_topologies_of_the_operator() {
    let requiring = |key: &str| TopologyRequest { required: Some(key.into()), ..TopologyRequest::default() };
    let audience =
        |namespace: &str| Audience { namespaces: vec![namespace.into()], pods: Selector::default() };
    let rule = |namespace, size| Rule {
        audience: audience(namespace),
        label: "gang".into(),
        size,
        topology: requiring("rack"),
    };
    let recogniser = Recogniser {
        rules: vec![
            rule("elsewhere", Size::Number(9)),
            rule("default", Size::Annotation("count".into())),
            rule("default", Size::Number(7)),
        ],
        defaults: vec![
            DefaultTopologyRequest {
                audience: audience("elsewhere"),
                sources: Source::ALL.to_vec(),
                topology: requiring("block"),
            },
            DefaultTopologyRequest {
                audience: Audience::default(),
                sources: vec![Source::LeaderWorkerSet],
                topology: requiring("zone"),
            },
        ],
        ..Recogniser::default()
    };
    let gang = recogniser.recognise(&with(&[("gang", "a")], &[("count", "5")]), &NoObjects).expect("a gang");
    assert_eq!((gang.group.source, gang.size, &gang.topology), (Source::Rule, Some(5), &requiring("rack")));
    let lws = recogniser.recognise(&with(&LWS, &[]), &NoObjects).expect("a replica");
    assert_eq!(lws.topology, requiring("zone"));
    let asking = with(&LWS, &[("berth.dev/required-topology", "rack")]);
    let asked = recogniser.recognise(&asking, &NoObjects).expect("a replica");
    assert_eq!(asked.topology, requiring("rack"), "who asks for something gets no default");
    let kueue = recogniser.recognise(&with(&[KUEUE], &[]), &NoObjects).expect("a pod group");
    assert!(kueue.topology.is_none());
}

#[test]
fn what_cannot_be_right_is_told() {
    for (annotation, expected) in [
        (("berth.dev/group", "any name: it is only compared"), None),
        (("berth.dev/group", "x\n2026-11-19T06:00:00Z ERROR forged\u{1b}[31m"), Some(Flaw::Name)),
        (("berth.dev/group", &"x".repeat(253)), None),
        (("berth.dev/group-set", &"x".repeat(254)), Some(Flaw::Name)),
        (("berth.dev/group-size", "4"), None),
        (("berth.dev/group-size", "0"), Some(Flaw::Size)),
        (("berth.dev/group-size", "four"), Some(Flaw::Size)),
        (("berth.dev/group-index", "-1"), Some(Flaw::Index)),
        (("berth.dev/exclusive", "set"), Some(Flaw::Exclusive)),
        (("berth.dev/required-topology", "a rack"), Some(Flaw::Topology)),
        (("berth.dev/preferred-topology", ""), Some(Flaw::Topology)),
        (("berth.dev/required-topology", "example.com/rack"), None),
    ] {
        assert_eq!(flaw(&with(&[], &[annotation])), expected, "{annotation:?}");
    }
}

#[test]
fn nothing_that_is_no_name_gets_into_a_log() {
    let recogniser = Recogniser::default();
    let long = format!("\u{1b}[31m\n{}", "x".repeat(100_000));
    let pod = with(&[], &[("berth.dev/group", &long), ("berth.dev/group-set", &long)]);
    let group = recogniser.recognise(&pod, &NoObjects).expect("a group").group.clone();
    for name in [&*group.set.name, &*group.index] {
        assert!((254..400).contains(&name.len()) && !name.contains(char::is_control), "{name:?}");
    }
}

#[test]
fn long_annotations_of_others_are_passed_over() {
    assert!(is_kept("berth.dev/anything", "x"));
    assert!(is_kept("example.com/replicas", "16"));
    assert!(!is_kept("kubectl.kubernetes.io/last-applied-configuration", "{}"));
    assert!(!is_kept("example.com/port", "1234567"));
    assert!(!is_kept("example.com/empty", ""));
}
