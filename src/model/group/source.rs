//! What a source of groups has to answer: one trait, implemented once per file of [`super::sources`].

use super::fields::{Fields, Malformed};
use super::service_terms::ServiceTerms;
use super::{FirstMember, GroupKey, GroupObject, Membership, Recogniser, Scope, Subgroup, TopologyRequest};
use crate::model::label_syntax::is_label_key;
use crate::model::{Labels, Name, ObjectKey, Pod, Template};

/// A controller, or a convention, by which pods form groups.
///
/// A source is asked about one pod at a time and keeps no state: what it says follows from what it is shown. Nothing here
/// has a default, so that a source that leaves a question open does not compile.
pub(crate) trait GroupSource {
    /// What every member carries. Pods that carry no source's mark are passed over at once.
    const MARK: Mark;

    /// The beginnings of the keys of annotations that it reads. All other annotations are dropped when pods are read.
    const ANNOTATIONS: &'static [&'static str];

    /// Labels whose value names one group. Who selects pods by one of them, such as a Service per group, selects the
    /// members of one group only.
    const GROUP_LABELS: &'static [&'static str];

    /// The objects that stand behind its groups; [`NoObject`] if pods tell all there is to know.
    type Object: BackingObject;

    /// The pod's part in a group, as the pod itself tells it.
    fn recognise(pod: &Told<'_>, recogniser: &Recogniser) -> Option<Recognised>;

    /// What a Service for the group of a pod has to be like.
    fn service(pod: &Told<'_>, group: &GroupKey, recogniser: &Recogniser) -> ServiceTerms;

    /// What the first member of a pod's group is called. Every member has to tell the same, also before anybody has seen it.
    fn first_member(pod: &Pod) -> FirstMember;
}

/// The objects that stand behind the groups of a source, and what is known only from them.
pub(crate) trait BackingObject {
    /// Their kind. It is watched as soon as it is named here. No two sources share one.
    const KIND: Option<&'static ObjectKind>;

    /// The beginnings of the keys of labels that a member still to come will share with those that are there. Its other
    /// labels stand in its template.
    const SHARED_LABELS: &'static [&'static str];

    /// Whether the size that the object tells counts members that have finished.
    const SIZE_INCLUDES_FINISHED: bool;

    /// Who tells what members ask for that nobody has seen yet.
    const DESCRIBED_BY: DescribedBy;

    /// The label that says which member a pod is, if it is one that its controller gives it.
    const NUMBER_LABEL: Option<&'static str>;

    /// The object behind a member's group.
    fn behind(pod: &Pod, membership: &Membership) -> Option<ObjectKey>;

    /// Reads an object, of which the name is known already. Its `topology` counts for pods that ask for none.
    fn read(object: &dyn Fields, named: GroupObject) -> Result<GroupObject, Malformed>;

    /// How many members the group of a pod has.
    fn size(pod: &Pod, object: &GroupObject) -> Option<u32>;

    /// Which member of its group a pod is, where the pod alone cannot tell.
    fn index(pod: &Pod, object: &GroupObject) -> Option<u32>;

    /// What the member of that number will look like; `like` is another member of its group.
    fn template<'o>(like: &Pod, object: &'o GroupObject, index: u32) -> Option<&'o Template>;

    /// The templates of all members of a pod's group, a leader's before those of its workers.
    fn templates<'o>(pod: &Pod, object: &'o GroupObject) -> Vec<&'o Template>;

    /// What the member of that number will be called, if that is certain; `like` is another member of its group.
    fn pod_name(like: &Pod, index: u32) -> Option<Name>;

    /// Whether losing one member makes all of them start anew; the object may not be known (yet).
    fn restarts_together(object: Option<&GroupObject>) -> bool;
}

/// Who tells what members ask for that nobody has seen yet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum DescribedBy {
    /// The object behind the group, by its templates.
    Object,
    /// Any member that is there: all are made from one template.
    AnyMember,
    /// A member that is there, as far as its controller is to make more pods: it makes all of them from one template.
    Controllers,
}

/// Stands for the objects of a source that has none.
pub(crate) struct NoObject;

impl BackingObject for NoObject {
    const KIND: Option<&'static ObjectKind> = None;
    const SHARED_LABELS: &'static [&'static str] = &[];
    const SIZE_INCLUDES_FINISHED: bool = true;
    const DESCRIBED_BY: DescribedBy = DescribedBy::Controllers;
    const NUMBER_LABEL: Option<&'static str> = None;

    fn behind(_: &Pod, _: &Membership) -> Option<ObjectKey> {
        None
    }

    fn read(_: &dyn Fields, named: GroupObject) -> Result<GroupObject, Malformed> {
        Ok(named)
    }

    fn size(_: &Pod, _: &GroupObject) -> Option<u32> {
        None
    }

    fn index(_: &Pod, _: &GroupObject) -> Option<u32> {
        None
    }

    fn template<'o>(_: &Pod, _: &'o GroupObject, _: u32) -> Option<&'o Template> {
        None
    }

    fn templates<'o>(_: &Pod, _: &'o GroupObject) -> Vec<&'o Template> {
        Vec::new()
    }

    fn pod_name(_: &Pod, _: u32) -> Option<Name> {
        None
    }

    fn restarts_together(_: Option<&GroupObject>) -> bool {
        true
    }
}

/// What every member of a source's groups carries.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Mark {
    /// A label with this key.
    Label(&'static str),
    /// An annotation with this key.
    Annotation(&'static str),
    /// Whatever the rules of the configuration name.
    ByRule,
}

/// A kind of objects that stand behind groups.
#[derive(Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) struct ObjectKind {
    /// Its name, as in `kind`.
    pub name: &'static str,
    /// Its API group.
    pub group: &'static str,
    /// The plural name in API paths.
    pub plural: &'static str,
    /// Whether every cluster serves it. The others are watched where they are installed.
    pub built_in: bool,
    /// Only objects with this label are of interest.
    pub with_label: Option<&'static str>,
}

/// A pod's part in a group, as a source tells it.
#[derive(Debug)]
pub(crate) struct Recognised {
    /// The set that the group belongs to, or its own name.
    pub set: Name,
    /// Which group of the set.
    pub index: Option<Name>,
    /// Which incarnation of it.
    pub revision: Option<Name>,
    /// How many members there are to be.
    pub size: Option<u32>,
    /// Which of them the pod is.
    pub member: Option<u32>,
    /// Where the group is to be.
    pub topology: TopologyRequest,
    /// The part of the group that the pod belongs to.
    pub subgroup: Option<Subgroup>,
}

impl Recognised {
    /// A group of which only the name is known.
    pub fn named(set: Name) -> Self {
        let topology = TopologyRequest::default();
        Self { set, index: None, revision: None, size: None, member: None, topology, subgroup: None }
    }
}

/// A pod, as those see it who look for groups.
pub(crate) struct Told<'a> {
    /// The pod.
    pub pod: &'a Pod,
    /// What its labels say.
    pub labels: Values<'a>,
    /// What its annotations say.
    pub annotations: Values<'a>,
}

impl<'a> Told<'a> {
    pub fn by(pod: &'a Pod) -> Self {
        Self { pod, labels: Values(&pod.labels), annotations: Values(&pod.annotations) }
    }
}

/// What stands under a key, if it makes sense.
pub(crate) struct Values<'a>(pub &'a Labels);

impl Values<'_> {
    /// Text that is not empty.
    pub fn text(&self, key: &str) -> Option<Name> {
        self.0.get(key).filter(|text| !text.is_empty()).cloned()
    }

    /// The pairs with these keys, if none of them is absent or empty.
    pub fn pairs(&self, keys: &[&str]) -> Option<Vec<(Name, Name)>> {
        keys.iter().map(|key| Some((Name::from(*key), self.text(key)?))).collect()
    }

    /// A number.
    pub fn number(&self, key: &str) -> Option<u32> {
        self.0.get(key)?.parse().ok()
    }

    /// The key of a node label.
    pub fn topology_key(&self, key: &str) -> Option<Name> {
        self.text(key).filter(|text| is_label_key(text))
    }

    /// A scope of exclusiveness.
    pub fn scope(&self, key: &str) -> Option<Scope> {
        match &**self.0.get(key)? {
            "Set" => Some(Scope::Set),
            "Namespace" => Some(Scope::Namespace),
            "Cluster" => Some(Scope::Cluster),
            _ => None,
        }
    }
}
