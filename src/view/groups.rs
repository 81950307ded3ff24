//! What the view knows of a group beyond what its pods carry: the object that stands behind it, and what that says.

use std::sync::Arc;

use super::View;
use super::pod_index::PodIndex;
use crate::model::group::Source;
use crate::model::group::recognition::{GroupObjects, LARGEST};
use crate::model::{GroupKey, GroupKind, GroupObject, Kind, Labels, Membership, ObjectKey, Pod, Template};

/// Members of a group that nobody has seen yet, as far as the object behind the group describes them.
#[derive(Clone, Copy, Debug)]
pub struct MembersToCome<'a> {
    /// A member that is known.
    like: &'a Pod,
    described_by: Option<(Source, &'a GroupObject)>,
}

impl<'a> MembersToCome<'a> {
    /// What the member of that number will ask for. Members that will be alike have the very same template.
    pub fn template(&self, index: u32) -> Option<&'a Template> {
        let (source, object) = self.described_by?;
        source.template(self.like, object, index)
    }

    /// The labels of a member that is made from a template: those that all members share, and the template's own.
    pub fn labels(&self, template: &Template) -> Labels {
        match self.described_by {
            Some((source, _)) => source.labels_of(template, self.like),
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
        MembersToCome { like, described_by }
    }

    /// Whether losing one member of a group makes all of them start anew.
    pub fn restarts_together(&self, pod: &Pod, membership: &Membership) -> bool {
        let object = self.group_object_of(pod, membership);
        membership.group.source.restarts_together(object.map(|object| &**object))
    }

    /// The object that stands behind a member's group, if there is one.
    fn group_object_of(&self, pod: &Pod, membership: &Membership) -> Option<&Arc<GroupObject>> {
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
        let asked =
            |object: Option<&Arc<GroupObject>>| object.map(|o| o.topology.clone()).unwrap_or_default();
        let before = asked(self.group_object(Kind::Group(kind), key));
        let changed = before != asked(object.as_ref());
        let objects = self.group_objects.entry(Kind::Group(kind)).or_default();
        match object {
            Some(object) => objects.insert(key.clone(), object),
            None => objects.remove(key),
        }
        if changed {
            self.recognition += 1;
            self.recognise_members_again(kind, key);
        }
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

impl GroupObjects for View {
    fn find(&self, kind: Kind, key: &ObjectKey) -> Option<&GroupObject> {
        self.group_object(kind, key).map(|object| &**object)
    }
}
