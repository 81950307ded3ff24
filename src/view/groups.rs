//! What the view knows of a group beyond what its pods carry: the object that stands behind it, and what that says.

use std::sync::Arc;

use super::View;
use super::pod_index::PodIndex;
use crate::model::group::Source;
use crate::model::group::recognition::{GroupObjects, LARGEST};
use crate::model::pod_requests::Amounts;
use crate::model::{
    GroupKey, GroupKind, GroupObject, Kind, Labels, LimitRange, Membership, Name, ObjectKey, Pod, Template,
    VolumeAffinity,
};

/// Members of a group that nobody has seen yet, as far as the object behind the group describes them.
#[derive(Clone, Copy, Debug)]
pub struct MembersToCome<'a> {
    /// A member that is known.
    like: &'a Pod,
    described_by: Option<(Source, &'a GroupObject)>,
    view: &'a View,
}

impl<'a> MembersToCome<'a> {
    /// What the member of that number will ask for. Members that will be alike have the very same template.
    pub fn template(&self, index: u32) -> Option<&'a Template> {
        let (source, object) = self.described_by?;
        source.template(self.like, object, index)
    }

    /// Where the volumes of the member of that number will let it be, made from a template if there is one. Claims that
    /// are named after their pod can be looked up if it is known what the pod will be called. Without a template the member
    /// uses what the one uses that it will be like, but for claims that are that one's own.
    pub fn volume_affinity(
        &self,
        template: Option<&Template>,
        like: &Pod,
        index: u32,
    ) -> Option<VolumeAffinity> {
        let namespace = &self.like.key.namespace;
        let Some(template) = template else {
            let own = |claim: &&Name| is_named_after(claim, &like.key.name);
            return self.view.volume_affinity(namespace, like.claims().iter().filter(|claim| !own(claim)));
        };
        if template.volumes.is_empty() {
            return None;
        }
        let pod = self.described_by.and_then(|(source, _)| source.pod_name(self.like, index));
        let claims = template.volumes.iter().filter_map(|volume| volume.claim.of_pod(pod.as_deref()));
        self.view.volume_affinity(namespace, &claims.collect::<Vec<_>>())
    }

    /// A pod of the same set and revision that was made from a template: it requests what was added to it when it was
    /// created, by limit ranges and injectors. One of the same group is best, else it is the first of another. Where
    /// revisions cannot be told apart others may be outdated, and only the member that is known will do.
    pub fn example(&self, template: &Template) -> Option<&'a Pod> {
        let (source, object) = self.described_by?;
        let own = &self.like.group.as_ref()?.group;
        let is_made_from_it = |pod: &Pod| {
            let index = self.view.member_index(pod);
            let made_from = index.and_then(|index| source.template(pod, object, index));
            made_from.is_some_and(|made_from| std::ptr::eq(made_from, template))
        };
        let first = |pods: &mut dyn Iterator<Item = &'a Pod>| {
            pods.filter(|pod| is_made_from_it(pod)).min_by(|a, b| a.key.cmp(&b.key))
        };
        if own.revision.is_empty() {
            return Some(self.like).filter(|pod| is_made_from_it(pod));
        }
        first(&mut self.view.members_of(own).chain([self.like])).or_else(|| {
            let all = self.view.placed_groups().map(|(group, _)| group);
            let all = all.chain(self.view.waiting_groups().map(|(group, _)| group));
            let is_alike = |group: &&Arc<GroupKey>| {
                group.is_of_same_set(own) && group.revision == own.revision && group.index != own.index
            };
            let mut siblings: Vec<_> = all.filter(is_alike).collect();
            siblings.sort_unstable();
            siblings.into_iter().find_map(|group| first(&mut self.view.members_of(group)))
        })
    }

    /// The labels of the member of that number, made from a template: those that all members share, and the template's own.
    pub fn labels(&self, template: &Template, index: u32) -> Labels {
        match self.described_by {
            Some((source, _)) => source.labels_of(template, self.like, index),
            None => template.labels.clone(),
        }
    }
}

impl View {
    /// How many members the group of a member has, if anybody says so.
    pub fn group_size(&self, pod: &Pod) -> Option<u32> {
        let membership = pod.group.as_ref()?;
        let by_object = || membership.group.source.size(pod, self.group_object_of(pod, membership)?);
        membership.size.or_else(by_object).map(|size| size.min(LARGEST))
    }

    /// Whether only an object could say how many members the group of a member has, and it is not there.
    pub fn awaits_group_size(&self, pod: &Pod) -> bool {
        pod.group.as_ref().is_some_and(|membership| {
            let source = membership.group.source;
            membership.size.is_none()
                && source.kind().is_some()
                && source.object_behind(pod, membership).is_some()
                && self.group_object_of(pod, membership).is_none()
        })
    }

    /// Which member of its group a pod is, if anybody says so; 0 is the leader, where there is one.
    pub fn member_index(&self, pod: &Pod) -> Option<u32> {
        let membership = pod.group.as_ref()?;
        let by_object = || membership.group.source.index(pod, self.group_object_of(pod, membership)?);
        membership.index.or_else(by_object)
    }

    /// The members of a group that nobody has seen yet; `like` is one that is known.
    pub fn members_to_come<'a>(&'a self, like: &'a Pod) -> MembersToCome<'a> {
        let described_by = like.group.as_ref().and_then(|membership| {
            let object = self.group_object_of(like, membership)?;
            Some((membership.group.source, &**object))
        });
        MembersToCome { like, described_by, view: self }
    }

    /// The members of a group, with a place or without, that are to stay.
    pub(crate) fn members_of(&self, group: &GroupKey) -> impl Iterator<Item = &Pod> {
        self.placed_members(group).chain(self.waiting_members(group)).map(|pod| &**pod)
    }

    /// Whether losing one member of a group makes all of them start anew.
    pub fn restarts_together(&self, pod: &Pod, membership: &Membership) -> bool {
        let object = self.group_object_of(pod, membership);
        membership.group.source.restarts_together(object.map(|object| &**object))
    }

    /// The object that stands behind a member's group, if there is one.
    pub(crate) fn group_object_of(&self, pod: &Pod, membership: &Membership) -> Option<&Arc<GroupObject>> {
        let source = membership.group.source;
        self.group_object(source.kind()?, &source.object_behind(pod, membership)?)
    }

    /// Fills in a pod's part in a group.
    pub fn recognise_group(&self, pod: &mut Arc<Pod>) {
        let membership = self.recogniser.recognise(pod, self);
        if pod.group != membership {
            Arc::make_mut(pod).group = membership;
        }
    }

    /// Takes in an object that stands behind groups, or that it is gone. Where it wants its groups to be is kept with
    /// their members, so these are looked at again if that has changed.
    pub(super) fn set_group_object(
        &mut self,
        kind: GroupKind,
        key: &ObjectKey,
        object: Option<Arc<GroupObject>>,
    ) {
        let asked = |object: Option<&Arc<GroupObject>>| {
            object.map(|object| {
                let templates = object.templates().map(|template| template.annotations.clone());
                (object.topology.clone(), templates.collect::<Vec<_>>())
            })
        };
        let before = asked(self.group_object(Kind::Group(kind), key));
        let changed = before != asked(object.as_ref());
        let known = self.group_object(Kind::Group(kind), key).cloned();
        let defaults = self.default_requests(&key.namespace);
        let objects = self.group_objects.entry(Kind::Group(kind)).or_default();
        match object {
            Some(mut object) => {
                fill_in(&mut object, &defaults);
                objects.insert(key.clone(), object);
            }
            None => objects.remove(key),
        }
        if changed {
            self.recognition += 1;
            self.recognise_members_again(kind, key);
        }
        if known.as_ref() != self.group_object(Kind::Group(kind), key) {
            self.doubt_groups_of(kind.source(), key);
        }
    }

    /// Takes in a limit range, or that it is gone. What it adds to members still to come is kept with the templates of the
    /// objects behind their groups.
    pub(super) fn set_limit_range(&mut self, key: &ObjectKey, range: Option<Arc<LimitRange>>) {
        let before = self.default_requests(&key.namespace);
        match range {
            Some(range) => self.limit_ranges.insert(key.clone(), range),
            None => self.limit_ranges.remove(key),
        }
        let defaults = self.default_requests(&key.namespace);
        for (_, objects) in self.group_objects.iter_mut() {
            let concerned: Vec<_> = objects.in_namespace(&key.namespace).cloned().collect();
            for mut object in concerned {
                fill_in(&mut object, &defaults);
                objects.insert(object.key.clone(), object);
            }
        }
        if before != defaults {
            self.doubt_incomplete_groups(|group| group.set.namespace == key.namespace);
        }
    }

    /// Fills in what the limit ranges of its namespace add to an object's templates.
    pub fn fill_in_defaults(&self, object: &mut Arc<GroupObject>) {
        fill_in(object, &self.default_requests(&object.key.namespace));
    }

    /// What containers in a namespace request that say nothing. Where several limit ranges say so, it is the first by name:
    /// the API server takes them in any order.
    fn default_requests(&self, namespace: &str) -> Amounts<Name> {
        let mut defaults = Amounts::new();
        for range in self.limit_ranges.in_namespace(namespace) {
            for (name, amount) in &range.default_requests {
                defaults.entry(name.clone()).or_insert(*amount);
            }
        }
        defaults
    }

    fn recognise_members_again(&mut self, kind: GroupKind, key: &ObjectKey) {
        let source = kind.source();
        let concerned = |group: &GroupKey| group.source == source && group.set.namespace == key.namespace;
        let behind = |pod: &&Arc<Pod>| {
            let object = pod.group.as_ref().and_then(|membership| source.object_behind(pod, membership));
            object.as_ref() == Some(key)
        };
        let indexes = [&self.groups, &self.waiting, &self.leaving];
        let members = indexes.into_iter().flat_map(PodIndex::iter);
        let members = members.filter(|(group, _)| concerned(group)).flat_map(|(_, pods)| pods);
        let shown: Vec<_> = members.filter(behind).map(|pod| pod.uid.clone()).collect();
        for uid in shown {
            let Some(mut pod) = self.pods.get(&uid).cloned() else { continue };
            self.recognise_group(&mut pod);
            self.keeping_places(&uid, |view| view.pods.insert(uid.clone(), pod));
        }
        let under_way = self.ledger.iter().map(|entry| &entry.pod).filter(behind);
        let under_way: Vec<_> = under_way.cloned().collect();
        for mut pod in under_way {
            self.recognise_group(&mut pod);
            self.keeping_places(&pod.uid.clone(), |view| view.ledger.replace_pod(pod));
        }
    }
}

/// Whether a claim was made for one pod: by a template of claims, or for an ephemeral volume.
fn is_named_after(claim: &str, pod: &str) -> bool {
    let before = claim.strip_suffix(pod).is_some_and(|claim| claim.ends_with('-'));
    before || claim.strip_prefix(pod).is_some_and(|volume| volume.starts_with('-'))
}

/// Leaves the copy that everybody shares as it is if nothing is to be filled in.
fn fill_in(object: &mut Arc<GroupObject>, defaults: &Amounts<Name>) {
    let mut filled = GroupObject::clone(object);
    filled.fill_in(defaults);
    if filled != **object {
        *object = Arc::new(filled);
    }
}

impl GroupObjects for View {
    fn find(&self, kind: Kind, key: &ObjectKey) -> Option<&GroupObject> {
        self.group_object(kind, key).map(|object| &**object)
    }
}
