//! Replica groups: pods that are of use only together, such as one leader and its workers.

use super::{Labels, Name, ObjectKey};

/// Who says that pods form a group.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Source {
    /// Berth's own annotation, on pods of any kind.
    Annotation,
    /// A `LeaderWorkerSet`: one of its replicas.
    LeaderWorkerSet,
    /// A `JobSet`: one of its jobs.
    JobSet,
    /// A Kueue pod group.
    Kueue,
    /// The coscheduling plugin's pod group.
    PodGroup,
}

/// The identity of a group.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct GroupKey {
    /// Who says so.
    pub source: Source,
    /// The namespace, and the name of the group or of the set it belongs to.
    pub set: ObjectKey,
    /// Which group of the set; empty where the name says it all.
    pub index: Name,
}

/// The annotation that makes pods of any kind a group.
pub const ANNOTATION: &str = "berth.dev/group";
/// What the keys of Berth's annotations begin with: the only ones that are kept of a pod.
pub const ANNOTATIONS: &str = "berth.dev/";

const LWS_NAME: &str = "leaderworkerset.sigs.k8s.io/name";
const LWS_INDEX: &str = "leaderworkerset.sigs.k8s.io/group-index";
const JOB_KEY: &str = "jobset.sigs.k8s.io/job-key";
const KUEUE_GROUP: &str = "kueue.x-k8s.io/pod-group-name";
const POD_GROUP: &str = "scheduling.x-k8s.io/pod-group";

impl GroupKey {
    /// The group of a pod with this annotation and these labels; the first source that speaks wins.
    pub fn recognise(namespace: &Name, annotation: Option<Name>, labels: &Labels) -> Option<Self> {
        let group = |source, name: Name, index: Name| {
            let set = ObjectKey { namespace: namespace.clone(), name };
            (!set.name.is_empty()).then_some(Self { source, set, index })
        };
        let named = |source, name: Option<Name>| group(source, name?, Name::from(""));
        let labelled = |source, key: &str| named(source, labels.get(key).cloned());
        let replica = || {
            let (name, index) = (labels.get(LWS_NAME)?, labels.get(LWS_INDEX)?);
            group(Source::LeaderWorkerSet, name.clone(), index.clone())
        };
        named(Source::Annotation, annotation)
            .or_else(replica)
            .or_else(|| labelled(Source::JobSet, JOB_KEY))
            .or_else(|| labelled(Source::Kueue, KUEUE_GROUP))
            .or_else(|| labelled(Source::PodGroup, POD_GROUP))
    }
}

#[cfg(test)]
mod tests {
    use super::{GroupKey, Labels, Name, Source};

    #[test]
    fn the_first_source_that_speaks_names_the_group() {
        let lws =
            [("leaderworkerset.sigs.k8s.io/name", "llm"), ("leaderworkerset.sigs.k8s.io/group-index", "3")];
        let kueue = ("kueue.x-k8s.io/pod-group-name", "train");
        for (annotation, labels, expected) in [
            (None, vec![], None),
            (None, vec![("app", "web")], None),
            (Some("mine"), lws.to_vec(), Some((Source::Annotation, "mine", ""))),
            (Some(""), lws.to_vec(), Some((Source::LeaderWorkerSet, "llm", "3"))),
            (None, vec![lws[0]], None),
            (None, vec![lws[0], lws[1], kueue], Some((Source::LeaderWorkerSet, "llm", "3"))),
            (None, vec![("jobset.sigs.k8s.io/job-key", "ab12")], Some((Source::JobSet, "ab12", ""))),
            (None, vec![kueue], Some((Source::Kueue, "train", ""))),
            (None, vec![("scheduling.x-k8s.io/pod-group", "g")], Some((Source::PodGroup, "g", ""))),
        ] {
            let labels: Labels = labels.into_iter().map(|(k, v)| (Name::from(k), Name::from(v))).collect();
            let found = GroupKey::recognise(&"ns".into(), annotation.map(Name::from), &labels);
            let found = found.as_ref().map(|key| (key.source, &*key.set.name, &*key.index));
            assert_eq!(found, expected, "{annotation:?} {labels:?}");
        }
    }
}
