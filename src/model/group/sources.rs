//! The register of group sources. A new source is a file below and two lines here: its module, and its entry in the
//! table, at the place in the order in which sources are asked.

mod annotation;
mod disaggregated_set;
mod grove;
mod job_set;
mod kube_ray;
mod kueue;
mod leader_worker_set;
mod pod_group;
mod rule;

pub(crate) use self::annotation::is_name;
pub(crate) use self::annotation::keys;
use super::fields::{Fields, Malformed};
use super::service_terms::ServiceTerms;
use super::source::{BackingObject, DescribedBy, GroupSource, Mark, ObjectKind, Recognised, Told};
use super::{FirstMember, GroupKey, GroupObject, Identity, Membership, Recogniser};
use crate::model::kind::{GroupKind, Kind};
use crate::model::{Labels, Name, ObjectKey, Pod, Template};

/// Makes [`Source`] and `with_source!` from the table. What is asked of a source is asked of all of them, for each has
/// to implement [`GroupSource`], and no `match` over sources stands anywhere else.
macro_rules! sources {
    ($dollar:tt $($(#[$doc:meta])* $source:ident in $file:ident,)+) => {
        /// Who says that pods form a group, in the order in which sources are asked.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
        pub enum Source {
            $($(#[$doc])* $source,)+
        }

        impl Source {
            /// All sources, in the order in which they are asked.
            pub const ALL: [Source; [$(Source::$source),+].len()] = [$(Source::$source),+];

            /// The name in the configuration.
            pub const fn name(self) -> &'static str {
                match self {
                    $(Source::$source => stringify!($source),)+
                }
            }
        }

        /// The value of an expression for the type that implements a source.
        macro_rules! with_source {
            ($dollar source:expr, $dollar implementation:ident => $dollar value:expr) => {
                match $dollar source {
                    $(Source::$source => {
                        type $dollar implementation = $file::$source;
                        $dollar value
                    })+
                }
            };
        }
    };
}

sources! { $
    /// Berth's own annotation, on pods of any kind.
    Annotation in annotation,
    /// A `DisaggregatedSet`: one of its slices.
    DisaggregatedSet in disaggregated_set,
    /// A `LeaderWorkerSet`: one of its replicas.
    LeaderWorkerSet in leader_worker_set,
    /// A `JobSet`: one of its jobs.
    JobSet in job_set,
    /// Grove: a `PodGang`.
    Grove in grove,
    /// `KubeRay`: one replica of a worker group with several hosts.
    KubeRay in kube_ray,
    /// A Kueue pod group.
    Kueue in kueue,
    /// The coscheduling plugin's pod group.
    PodGroup in pod_group,
    /// A rule of the configuration.
    Rule in rule,
}

impl Source {
    /// How many sources have objects behind their groups.
    pub(crate) const KINDS: usize = {
        let (mut at, mut kinds) = (0, 0);
        while at < Source::ALL.len() {
            kinds += Source::ALL[at].object_kind().is_some() as usize;
            at += 1;
        }
        kinds
    };

    /// The kind of the objects behind its groups, if there are any.
    pub const fn kind(self) -> Option<Kind> {
        match GroupKind::of(self) {
            Some(kind) => Some(Kind::Group(kind)),
            None => None,
        }
    }

    pub(crate) const fn object_kind(self) -> Option<&'static ObjectKind> {
        with_source!(self, S => <S as GroupSource>::Object::KIND)
    }

    pub(super) const fn mark(self) -> Mark {
        with_source!(self, S => S::MARK)
    }

    /// Whether the configuration can name it. Rules are heard if there are any.
    pub const fn is_listed(self) -> bool {
        !matches!(self.mark(), Mark::ByRule)
    }

    pub(super) fn reads_annotation(self, key: &str) -> bool {
        with_source!(self, S => S::ANNOTATIONS).iter().any(|beginning| key.starts_with(beginning))
    }

    pub(super) fn names_a_group(self, label: &str) -> bool {
        with_source!(self, S => S::GROUP_LABELS).contains(&label)
    }

    pub(super) fn recognise(self, pod: &Told<'_>, recogniser: &Recogniser) -> Option<Recognised> {
        with_source!(self, S => S::recognise(pod, recogniser))
    }

    /// What a Service for the group of a pod has to be like.
    pub(crate) fn service(self, pod: &Pod, group: &GroupKey, recogniser: &Recogniser) -> ServiceTerms {
        with_source!(self, S => S::service(&Told::by(pod), group, recogniser))
    }

    /// What the first member of a pod's group is called.
    pub(crate) fn first_member(self, pod: &Pod) -> FirstMember {
        with_source!(self, S => S::first_member(pod))
    }

    /// The object behind a member's group.
    pub(crate) fn object_behind(self, pod: &Pod, membership: &Membership) -> Option<ObjectKey> {
        with_source!(self, S => <S as GroupSource>::Object::behind(pod, membership))
    }

    /// Reads an object of its kind.
    pub(crate) fn read(self, object: &dyn Fields, named: GroupObject) -> Result<GroupObject, Malformed> {
        let wants_services = object.annotation(keys::SERVICE)?.map(|value| &*value == "true");
        let identity = object.text("apiVersion")?.zip(object.text("metadata.uid")?);
        let identity = identity.map(|(api_version, uid)| Identity { api_version, uid });
        let named = GroupObject { identity, wants_services, ..named };
        with_source!(self, S => <S as GroupSource>::Object::read(object, named))
    }

    /// How many members the group of a pod has, according to the object behind it.
    pub(crate) fn size(self, pod: &Pod, object: &GroupObject) -> Option<u32> {
        with_source!(self, S => <S as GroupSource>::Object::size(pod, object))
    }

    /// Whether the size that the object tells counts members that have finished.
    pub(crate) const fn size_includes_finished(self) -> bool {
        with_source!(self, S => <S as GroupSource>::Object::SIZE_INCLUDES_FINISHED)
    }

    /// Who tells what members ask for that nobody has seen yet.
    pub(crate) const fn described_by(self) -> DescribedBy {
        with_source!(self, S => <S as GroupSource>::Object::DESCRIBED_BY)
    }

    /// Which member a pod is, where only the object behind its group can tell.
    pub(crate) fn index(self, pod: &Pod, object: &GroupObject) -> Option<u32> {
        with_source!(self, S => <S as GroupSource>::Object::index(pod, object))
    }

    /// What the member of that number will look like, if the object behind its group tells.
    pub(crate) fn template<'o>(
        self,
        like: &Pod,
        object: &'o GroupObject,
        index: u32,
    ) -> Option<&'o Template> {
        with_source!(self, S => <S as GroupSource>::Object::template(like, object, index))
    }

    /// The templates of all members of a pod's group, a leader's first.
    pub(crate) fn templates<'o>(self, pod: &Pod, object: &'o GroupObject) -> Vec<&'o Template> {
        with_source!(self, S => <S as GroupSource>::Object::templates(pod, object))
    }

    /// What the member of that number will be called, if that is certain.
    pub(crate) fn pod_name(self, like: &Pod, index: u32) -> Option<Name> {
        with_source!(self, S => <S as GroupSource>::Object::pod_name(like, index))
    }

    /// The labels of the member of that number, made from a template: those that `like` shares with it, the one that numbers
    /// it, and the template's own.
    pub(crate) fn labels_of(self, template: &Template, like: &Pod, index: u32) -> Labels {
        let (shared, number) = with_source!(self, S => {
            (<S as GroupSource>::Object::SHARED_LABELS, <S as GroupSource>::Object::NUMBER_LABEL)
        });
        let is_shared = |key: &str| shared.iter().any(|beginning| key.starts_with(beginning));
        let given = like.labels.iter().filter(|(key, _)| is_shared(key) && number != Some(&***key));
        let given = given.chain(template.labels.iter()).map(|(key, value)| (key.clone(), value.clone()));
        given.chain(number.map(|key| (Name::from(key), Name::from(index.to_string())))).collect()
    }

    /// Whether losing one member makes all of them start anew.
    pub(crate) fn restarts_together(self, object: Option<&GroupObject>) -> bool {
        with_source!(self, S => <S as GroupSource>::Object::restarts_together(object))
    }
}

#[cfg(test)]
mod tests;
