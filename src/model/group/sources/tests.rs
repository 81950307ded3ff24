use super::{Mark, Source};
use crate::fixtures::pod;
use crate::model::{Kind, Pod, Recogniser};

#[test]
fn no_two_sources_have_a_name_a_mark_or_a_kind_in_common() {
    for (at, source) in Source::ALL.into_iter().enumerate() {
        for earlier in &Source::ALL[..at] {
            assert_ne!(source.name(), earlier.name());
            assert!(source.mark() != earlier.mark(), "{source:?} and {earlier:?}");
            assert!(source.kind().is_none() || source.kind() != earlier.kind(), "{source:?} and {earlier:?}");
        }
    }
    let kinds = Kind::ALL.into_iter().filter(|kind| matches!(kind, Kind::Group(_))).count();
    assert_eq!(kinds, Source::KINDS);
}

#[test]
fn what_a_source_looks_for_is_kept_when_pods_are_read() {
    for source in Source::ALL {
        match source.mark() {
            Mark::Annotation(key) => assert!(source.reads_annotation(key), "{source:?}"),
            // The quick test for marks has one bit for each length.
            Mark::Label(key) => assert!(key.len() < 64, "{source:?}"),
            Mark::ByRule => assert!(!source.is_listed()),
        }
    }
}

/// A member of a group of each source that carries all there is to carry.
fn members() -> Vec<(Pod, Source, &'static str, &'static [&'static str])> {
    let lws = |name: &str| format!("leaderworkerset.sigs.k8s.io/{name}");
    vec![
        (
            pod("p").annotation("berth.dev/group", "ring").label("berth.dev/group", "ring").build(),
            Source::Annotation,
            "ring",
            &["berth.dev/group=ring"],
        ),
        (
            pod("p")
                .annotation("berth.dev/group", "a")
                .annotation("berth.dev/group-set", "web")
                .label("berth.dev/group", "a")
                .label("berth.dev/group-set", "web")
                .build(),
            Source::Annotation,
            "web-a",
            &["berth.dev/group-set=web", "berth.dev/group=a"],
        ),
        (
            pod("p")
                .label("disaggregatedset.x-k8s.io/name", "llm")
                .label("disaggregatedset.x-k8s.io/slice", "1")
                .build(),
            Source::DisaggregatedSet,
            "llm-1",
            &["disaggregatedset.x-k8s.io/name=llm", "disaggregatedset.x-k8s.io/slice=1"],
        ),
        (
            pod("p").label(&lws("name"), "llm").label(&lws("group-index"), "3").build(),
            Source::LeaderWorkerSet,
            "llm-3",
            &["leaderworkerset.sigs.k8s.io/name=llm", "leaderworkerset.sigs.k8s.io/group-index=3"],
        ),
        (
            pod("p")
                .label("jobset.sigs.k8s.io/jobset-name", "train")
                .label("jobset.sigs.k8s.io/job-key", "77")
                .controlled_by("batch/v1", "Job", "train-workers-0")
                .build(),
            Source::JobSet,
            "train-workers-0",
            &["jobset.sigs.k8s.io/job-key=77"],
        ),
        (pod("p").label("grove.io/podgang", "g").build(), Source::Grove, "g", &["grove.io/podgang=g"]),
        (
            pod("p")
                .label("ray.io/cluster", "ray")
                .label("ray.io/worker-group-replica-name", "tpu-x")
                .build(),
            Source::KubeRay,
            "ray-tpu-x",
            &["ray.io/cluster=ray", "ray.io/worker-group-replica-name=tpu-x"],
        ),
        (
            pod("p").label("kueue.x-k8s.io/pod-group-name", "k").build(),
            Source::Kueue,
            "k",
            &["kueue.x-k8s.io/pod-group-name=k"],
        ),
        (
            pod("p").label("scheduling.x-k8s.io/pod-group", "c").build(),
            Source::PodGroup,
            "c",
            &["scheduling.x-k8s.io/pod-group=c"],
        ),
    ]
}

#[test]
fn a_group_can_be_selected_by_labels_that_name_it_whatever_its_source() {
    let recogniser = Recogniser::default();
    let mut seen = Vec::new();
    for (pod, source, name, selector) in members() {
        let group = &pod.group.as_ref().expect("a member").group;
        assert_eq!(group.source, source, "{name}");
        let terms = source.service(&pod, group, &recogniser);
        let labels = terms.labels.expect("labels");
        let text: Vec<_> = labels.iter().map(|(key, value)| format!("{key}={value}")).collect();
        assert_eq!(
            (&*terms.name, &*text),
            (name, &*selector.iter().map(ToString::to_string).collect::<Vec<_>>())
        );
        // Members are not to be spread by what selects one group only.
        assert!(labels.iter().any(|(label, _)| recogniser.names_a_group(label)), "{name}");
        seen.push(source);
    }
    let missing: Vec<_> = Source::ALL.into_iter().filter(|source| !seen.contains(source)).collect();
    assert_eq!(missing, [Source::Rule], "whose label stands in the configuration");
}

#[test]
fn groups_without_labels_of_their_own_cannot_be_selected() {
    for (name, pod) in [
        ("annotations only", pod("p").annotation("berth.dev/group", "ring")),
        (
            "a label that says something else",
            pod("p").annotation("berth.dev/group", "ring").label("berth.dev/group", "other"),
        ),
        (
            "a label without its set",
            pod("p")
                .annotation("berth.dev/group", "a")
                .annotation("berth.dev/group-set", "web")
                .label("berth.dev/group", "a"),
        ),
        ("a slice without a label", pod("p").label("disaggregatedset.x-k8s.io/name", "llm")),
    ] {
        let pod = pod.build();
        let group = &pod.group.as_ref().expect("a member").group;
        assert_eq!(group.source.service(&pod, group, &Recogniser::default()).labels, None, "{name}");
    }
}
