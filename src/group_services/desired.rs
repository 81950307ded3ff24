//! Which Services there are to be.

use std::collections::{BTreeMap, HashMap, HashSet};

use super::name::Names;
use super::owners::{Controllers, owners};
use super::request::{is_made_already, is_wanted};
use crate::model::group::Source;
use crate::model::group::keys;
use crate::model::group::service_terms::ServiceTerms;
use crate::model::managed_service::GroupName;
use crate::model::{GroupKey, GroupService, Labels, Name, ObjectKey, Pod, Uid};
use crate::view::View;

/// All incarnations of a group: they have one Service.
pub(super) type Incarnations<'a> = (&'a ObjectKey, Source, &'a Name);

pub(super) fn incarnations(group: &GroupKey) -> Incarnations<'_> {
    (&group.set, group.source, &group.index)
}

/// The Services that there are to be, and the groups that cannot have one.
#[derive(Debug, Default)]
pub(crate) struct Desired {
    /// By namespace and name.
    pub(crate) services: BTreeMap<ObjectKey, Entry>,
    /// Groups that ask for one and cannot have it.
    pub(crate) refused: Vec<Refused>,
}

/// A Service that there is to be.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Entry {
    /// What it is to be like.
    pub(crate) service: GroupService,
    /// What is done for it.
    pub(crate) care: Care,
    /// Who is told about it.
    pub(crate) member: Told,
}

/// What is done for a Service.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Care {
    /// It is created and repaired.
    Full,
    /// It is repaired if it is there: somebody else would make it if it were not.
    IfThere,
    /// It is left as it is: its group is going, or has nobody to own it at the moment.
    None,
}

/// A group that cannot have a Service.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Refused {
    /// Why.
    pub(crate) why: Refusal,
    /// Who is told about it.
    pub(crate) member: Told,
    /// The group, as [`GroupName`] writes it.
    pub(crate) group: Name,
}

/// A member of a group.
pub(crate) type Told = (ObjectKey, Uid);

/// Why a group cannot have a Service.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) enum Refusal {
    /// Its members carry no labels that select them.
    NoLabels,
    /// Not all of its members carry the labels that select the first one.
    MembersDiffer,
    /// The labels select somebody else too.
    SelectsOthers,
    /// Services of others have all names that it could have.
    NameTaken,
}

impl Refusal {
    /// All of them, for metrics that exist from the start.
    pub(crate) const ALL: [Refusal; 4] =
        [Refusal::NoLabels, Refusal::MembersDiffer, Refusal::SelectsOthers, Refusal::NameTaken];

    /// The name in metrics.
    pub(crate) const fn label(self) -> &'static str {
        match self {
            Refusal::NoLabels => "no_labels",
            Refusal::MembersDiffer => "members_differ",
            Refusal::SelectsOthers => "selects_others",
            Refusal::NameTaken => "name_taken",
        }
    }

    /// What people are told.
    pub(crate) const fn message(self) -> &'static str {
        match self {
            Refusal::NoLabels => {
                "the replica group gets no Service of its own: a Service selects by labels, and its pods carry none that name \
                 the group; give them the annotations berth.dev/group and berth.dev/group-set as labels too"
            }
            Refusal::MembersDiffer => {
                "the replica group gets no Service of its own: its members do not all carry the same labels that name the group"
            }
            Refusal::SelectsOthers => {
                "the replica group gets no Service of its own: pods outside of the group carry the labels that name it"
            }
            Refusal::NameTaken => {
                "the replica group gets no Service of its own: Services that Berth did not create bear the names that it could \
                 have; rename or delete one of them"
            }
        }
    }
}

/// A group that asks for a Service.
struct Candidate<'a> {
    group: Incarnations<'a>,
    /// Those that stay, or all of them if all are going; by their number and name.
    members: Vec<&'a Pod>,
    is_going: bool,
    made_for: Name,
    terms: ServiceTerms,
    names: Names,
}

/// What follows from the cluster.
pub(crate) fn desired(view: &View) -> Desired {
    let mut members: BTreeMap<Incarnations<'_>, Vec<&Pod>> = BTreeMap::new();
    let mut controllers = Controllers::default();
    for pod in view.pods().filter(|pod| !pod.finished) {
        if let Some(membership) = &pod.group {
            let group = incarnations(&membership.group);
            members.entry(group).or_default().push(pod);
            controllers.add(pod, group);
        }
    }
    let candidates = members.into_iter().filter_map(|(group, members)| candidate(group, members, view));
    let mut desired = Desired::default();
    let mut selecting = Vec::new();
    for candidate in candidates {
        match selector(&candidate) {
            Ok(selector) => selecting.push((candidate, selector)),
            Err(why) => desired.refused.push(candidate.refused(why)),
        }
    }
    let strangers = with_strangers(&selecting, view);
    // Those whose members, or whose Service, bear a name already keep it from those that have none yet.
    selecting.sort_by_key(|(candidate, _)| candidate.in_use(view).is_empty());
    for (candidate, selector) in selecting {
        if strangers.contains(&candidate.group) {
            desired.refused.push(candidate.refused(Refusal::SelectsOthers));
            continue;
        }
        let taken = |name: &Name| {
            let key = candidate.key(name);
            desired.services.contains_key(&key)
                || view.service(&key).is_some_and(|service| service.managed.is_none())
        };
        let Some(name) = candidate.names.choose(candidate.in_use(view), taken) else {
            desired.refused.push(candidate.refused(Refusal::NameTaken));
            continue;
        };
        let owners = owners(&candidate.members, candidate.group, candidate.terms.owner, &controllers, view);
        let first = candidate.members[0];
        let care = if candidate.is_going || owners.is_empty() {
            Care::None
        } else if is_made_already(first, candidate.terms.is_made_already, view) {
            Care::IfThere
        } else {
            Care::Full
        };
        let key = candidate.key(&name);
        let made_for = candidate.made_for.clone();
        let service = GroupService { key: key.clone(), made_for, selector, owners };
        desired.services.insert(key, Entry { service, care, member: candidate.told() });
    }
    desired.refused.sort_by(|a, b| a.member.cmp(&b.member));
    desired
}

fn candidate<'a>(group: Incarnations<'a>, all: Vec<&'a Pod>, view: &View) -> Option<Candidate<'a>> {
    let stay: Vec<_> = all.iter().copied().filter(|pod| !pod.terminating).collect();
    let is_going = stay.is_empty();
    let mut members = if is_going { all } else { stay };
    if !is_wanted(members.iter().copied(), view) {
        return None;
    }
    members.sort_by_key(|pod| (view.member_index(pod).unwrap_or(u32::MAX), &pod.key.name));
    let first = *members.first()?;
    let key = &first.group.as_ref()?.group;
    let terms = key.source.service(first, key, view.recogniser());
    let names = Names::of(key, &terms.name);
    let made_for = GroupName(key).to_string().into();
    Some(Candidate { group, members, is_going, made_for, terms, names })
}

impl Candidate<'_> {
    fn key(&self, name: &Name) -> ObjectKey {
        ObjectKey { namespace: self.group.0.namespace.clone(), name: name.clone() }
    }

    fn told(&self) -> Told {
        (self.members[0].key.clone(), self.members[0].uid.clone())
    }

    fn refused(&self, why: Refusal) -> Refused {
        Refused { why, member: self.told(), group: self.made_for.clone() }
    }

    fn in_use(&self, view: &View) -> Vec<Name> {
        in_use(&self.names, &self.made_for, &self.group.0.namespace, self.members.iter().copied(), view)
    }
}

/// The names that a group's members were told, and that its Service bears.
pub(super) fn in_use<'a>(
    names: &Names,
    made_for: &str,
    namespace: &Name,
    members: impl IntoIterator<Item = &'a Pod>,
    view: &View,
) -> Vec<Name> {
    let told = members.into_iter().find_map(|pod| pod.annotations.get(keys::SERVICE_NAME)).cloned();
    let told = told.filter(|told| names.iter().any(|name| name == told));
    let is_own = |name: &&Name| {
        let key = ObjectKey { namespace: namespace.clone(), name: (*name).clone() };
        let managed = view.service(&key).and_then(|service| service.managed.as_ref());
        managed.is_some_and(|managed| &*managed.made_for == made_for)
    };
    told.into_iter().chain(names.iter().filter(is_own).cloned()).collect()
}

/// What selects all members.
fn selector(candidate: &Candidate<'_>) -> Result<Labels, Refusal> {
    let labels = candidate.terms.labels.clone().ok_or(Refusal::NoLabels)?;
    let carries = |pod: &&Pod| labels.iter().all(|(key, value)| pod.labels.get(key) == Some(value));
    if !candidate.members.iter().all(carries) {
        return Err(Refusal::MembersDiffer);
    }
    Ok(labels.into_iter().collect())
}

/// Groups by the values of some labels.
type ByValues<'s, 'a> = HashMap<Vec<&'s Name>, Incarnations<'a>>;

/// The groups whose labels somebody else carries too.
fn with_strangers<'a>(selecting: &[(Candidate<'a>, Labels)], view: &View) -> HashSet<Incarnations<'a>> {
    // By namespace: which labels are looked at, and whom their values select.
    let mut shapes: HashMap<&Name, HashMap<Vec<&Name>, ByValues<'_, 'a>>> = HashMap::new();
    let mut found = HashSet::new();
    for (candidate, selector) in selecting {
        let (keys, values) = selector.iter().unzip();
        let of_namespace = shapes.entry(&candidate.group.0.namespace).or_default();
        let other = of_namespace.entry(keys).or_default().insert(values, candidate.group);
        found.extend(other.into_iter().flat_map(|other| [other, candidate.group]));
    }
    for pod in view.pods().filter(|pod| !pod.finished) {
        let own = pod.group.as_ref().map(|membership| incarnations(&membership.group));
        for (keys, groups) in shapes.get(&pod.key.namespace).into_iter().flatten() {
            let values: Option<Vec<_>> = keys.iter().map(|key| pod.labels.get(key)).collect();
            let group = values.and_then(|values| groups.get(&values));
            found.extend(group.filter(|group| own != Some(**group)));
        }
    }
    found
}
