//! Who belongs to a group: members with a place, members that wait for one, and members still to come.

use std::borrow::Cow;
use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use super::agreement::claim;
use super::class::{Class, ClassId};
use super::conflicts::HOST;
use super::limits::{Excess, MOST_CLASSES, Terms, has_too_many_subgroups};
use super::quota::{self, Expected};
use super::siblings::Siblings;
use crate::model::group::Scope;
use crate::model::group::recognition::flaw;
use crate::model::{Membership, Name, Pod, Requirements, Template, Uid, VolumeAffinity};
use crate::policy::Budget;
use crate::view::{ExpectedPriority, HostId, MembersToCome, View};

/// Members that neither exist nor are described by anything are believed in, so many for each one that exists, once the group
/// has begun: anybody can claim that a thousand are to come.
const MOST_BELIEVED: usize = 2;

/// The members of a group at one moment.
pub struct Members<'a> {
    /// What the asking member says of the group.
    pub membership: &'a Membership,
    /// The priority at which room is looked for.
    pub priority: i32,
    /// Whether the group may have others evicted: every member may, as far as is known.
    pub may_preempt: bool,
    /// The cluster that they are members in.
    pub view: &'a View,
    /// The namespace of all members.
    pub namespace: &'a Name,
    /// Members that have a place, and where.
    pub placed: Vec<PlacedMember<'a>>,
    /// Members whose node is gone. They run nowhere, and room is needed for those that come in their stead.
    pub stranded: Vec<PlacedMember<'a>>,
    /// All others, those that are alike together.
    pub missing: Vec<Class<'a>>,
    /// The class of the member that asks, if one asks.
    pub asking: Option<ClassId>,
    /// How many members still to come nobody describes. In `missing` they are taken to be like the member that is known.
    pub undescribed: usize,
    /// What the group has too many of: then `missing` does not tell everything, and no room is looked for.
    pub excess: Option<Excess>,
    /// Whether the namespace's quotas do not let those be created that are still to come. They are not among the missing:
    /// no room is kept for them while others are in place, and without those nobody is let in.
    pub are_not_creatable: bool,
}

/// A member that has a place.
pub struct PlacedMember<'a> {
    /// The member.
    pub pod: &'a Arc<Pod>,
    /// Its host.
    pub host: HostId,
    /// The subgroup that it belongs to.
    pub subgroup: Option<u32>,
}

impl<'a> Members<'a> {
    /// The group of a member that is to be placed. `None` if it is in none, or in one that does not mind where it is.
    pub fn of(asking: &'a Pod, view: &'a View, budget: &Budget) -> Option<Self> {
        let mut members = Self::begin(asking, true, view)?;
        if members.excess.is_some() {
            return Some(members);
        }
        let mut keys = Terms::default();
        let mut counted = Counted::of(&members, asking, view);
        members.asking = members.add(counted.waiting_member(asking), &mut keys);
        let others = view.waiting_members(&members.membership.group).filter(|pod| pod.uid != asking.uid);
        // In a certain order, for the order in which members are seen must not change a plan.
        let mut others: Vec<_> = others.collect();
        others.sort_by(|a, b| a.key.cmp(&b.key));
        for pod in others {
            let compared = members.missing.len();
            if !budget.spend(compared) || members.add(counted.waiting_member(pod), &mut keys).is_none() {
                return Some(members);
            }
        }
        members.add_those_to_come(counted, &mut keys);
        Some(members)
    }

    /// The group of a member that has a place: what is missing is all that waits or is still to come. Where it is to be is
    /// what that member was placed by, whatever others say now; one that makes no sense is not let in anywhere.
    pub fn of_placed(member: &'a Pod, view: &'a View, budget: &Budget) -> Option<Self> {
        let membership = member.group.as_deref()?;
        let waiting = view.waiting_members(&membership.group).filter(|pod| flaw(pod).is_none());
        if let Some(asking) = waiting.min_by(|a, b| a.key.cmp(&b.key)) {
            return Self::of(asking, view, budget).map(|members| Self { membership, ..members });
        }
        let mut members = Self::begin(member, false, view)?;
        if members.excess.is_none() {
            let counted = Counted::of(&members, member, view);
            members.add_those_to_come(counted, &mut Terms::default());
        }
        Some(members)
    }

    fn add_those_to_come(&mut self, counted: Counted<'a>, keys: &mut Terms<'a>) {
        let (expected, undescribed) = counted.still_to_come(self.placed.len());
        self.undescribed = undescribed;
        if !quota::allows(&expected, &self.membership.group, self.view) {
            self.are_not_creatable = true;
            self.excess = self.placed.is_empty().then_some(Excess::ForQuota);
            return;
        }
        for Expected { class, priority, .. } in expected {
            self.priority = self.priority.min(priority.value);
            self.may_preempt &= priority.may_preempt;
            if self.add(class, keys).is_none() {
                return;
            }
        }
    }

    /// `asking` if the pod is the one that looks for a place.
    fn begin(pod: &'a Pod, asking: bool, view: &'a View) -> Option<Self> {
        let membership = pod.group.as_deref()?;
        if !membership.has_topology_request() {
            return None;
        }
        let size = view.group_size(pod).unwrap_or_default();
        let placed = view.placed_members(&membership.group).filter(|member| {
            // Wherever an earlier attempt put the asking member, it is not there.
            !asking || member.uid != pod.uid || view.pod(&pod.uid).is_some_and(|shown| shown.node.is_some())
        });
        let place = |member: &'a Arc<Pod>| {
            let host = view.host_id(view.place_of(&member.uid)?)?;
            Some(PlacedMember { pod: member, host, subgroup: subgroup_of(member, size) })
        };
        let has_node = |placed: &PlacedMember<'_>| {
            view.host_numbered(placed.host).is_some_and(|host| host.node.is_some())
        };
        let (mut placed, stranded): (Vec<_>, Vec<_>) = placed.filter_map(place).partition(has_node);
        placed.sort_by(|a, b| a.pod.key.cmp(&b.pod.key));
        Some(Self {
            membership,
            // What the least of them may do: the others would be in vain without it.
            priority: view
                .waiting_members(&membership.group)
                .map(|pod| pod.priority)
                .fold(if asking { pod.priority } else { i32::MAX }, i32::min),
            may_preempt: pod.may_preempt
                && view.waiting_members(&membership.group).all(|pod| pod.may_preempt),
            view,
            namespace: &pod.key.namespace,
            placed,
            stranded,
            missing: Vec::new(),
            asking: None,
            undescribed: 0,
            are_not_creatable: false,
            excess: has_too_many_subgroups(size, membership.subgroup.as_ref()).then_some(Excess::Subgroups),
        })
    }

    /// Adds members to their class. `None` if that would be more than are looked at.
    fn add(&mut self, class: Class<'a>, keys: &mut Terms<'a>) -> Option<ClassId> {
        if let Some(at) = self.missing.iter().position(|known| known.is_like(&class)) {
            self.missing[at].count += class.count;
            return Some(ClassId::at(at));
        }
        if self.missing.len() == MOST_CLASSES {
            self.excess = Some(Excess::Classes);
        } else {
            self.excess = self.excess.or(keys.take_in(&class).err());
        }
        if self.excess.is_some() {
            return None;
        }
        self.missing.push(class);
        Some(ClassId::at(self.missing.len() - 1))
    }

    /// Which groups the group keeps out of its domain. With members in place it is no more than they ask for.
    pub fn exclusive(&self) -> Option<Scope> {
        let own = self.membership.topology.exclusive?;
        if self.placed.is_empty() {
            return Some(own);
        }
        let (scope, required) = claim(self.placed.iter().map(|placed| placed.pod))?;
        Some(own.min(scope)).filter(|_| self.membership.topology.required.as_ref() == Some(required))
    }

    /// The classes of missing members.
    pub fn classes(&self) -> impl DoubleEndedIterator<Item = ClassId> + use<> {
        (0..self.missing.len()).map(ClassId::at)
    }

    /// One class.
    pub fn class(&self, class: ClassId) -> &Class<'a> {
        &self.missing[class.index()]
    }

    /// Whether nobody is in place yet, and nobody knows how many members there are to be, because the object that tells has
    /// not been seen: its watch may be behind that of pods.
    pub fn begins_without_size(&self, asking: &Pod) -> bool {
        self.placed.is_empty() && self.view.awaits_group_size(asking)
    }

    /// Whether nobody is in place yet, and nobody knows what some of the members will ask for. A group that has begun is
    /// not held up: its members are to come back.
    pub fn begins_blindly(&self) -> bool {
        self.undescribed > 0 && self.placed.is_empty()
    }

    /// Whether nobody is in place yet, and kube-scheduler does not try a member that waits and that the group is not whole
    /// without.
    pub fn begins_with_gates(&self, asking: &Pod, view: &View) -> bool {
        let waiting = || view.waiting_members(&self.membership.group).filter(|pod| pod.uid != asking.uid);
        let others = waiting().filter(|pod| !pod.gated).count();
        let is_whole = || view.group_size(asking).is_some_and(|size| others + 1 >= size as usize);
        self.placed.is_empty() && waiting().any(|pod| pod.gated) && !is_whole()
    }

    /// Whether nobody is in place yet, and nobody knows where the volume of a member is that waits beside the one that asks.
    /// With a group that has begun, the others go where it is in any case.
    pub fn begins_without_volumes(&self, asking: &Pod, view: &View) -> bool {
        let mut others = view.waiting_members(&self.membership.group).filter(|pod| pod.uid != asking.uid);
        self.placed.is_empty() && others.any(|pod| !view.knows_volumes_of(pod))
    }

    /// Those that have a place, be it on a node that is gone.
    pub fn in_place(&self) -> impl Iterator<Item = &'a Uid> {
        self.placed.iter().chain(&self.stranded).map(|placed| &placed.pod.uid)
    }

    /// How many have no place.
    pub fn missing(&self) -> usize {
        self.missing.iter().map(|class| class.count).sum()
    }

    /// The class that most of the missing are in, the first of several: by it, domains are compared.
    pub fn main_class(&self) -> Option<ClassId> {
        self.classes().rev().max_by_key(|class| self.class(*class).count)
    }

    /// The topology key of hosts, if a port of the host may be wanted twice.
    pub fn host_key(&self) -> Option<&'static Name> {
        self.missing.iter().any(|class| !class.host_ports().is_empty()).then(|| &*HOST)
    }

    /// The topology keys that anti-affinity looks at.
    pub fn anti_affinity_keys(&self) -> impl Iterator<Item = &'a Name> {
        self.missing.iter().flat_map(Class::anti_affinity_terms).map(|term| &term.topology_key)
    }
}

/// The subgroup that a pod belongs to, if the group has subgroups.
pub(super) fn subgroup_of(pod: &Pod, size: u32) -> Option<u32> {
    let membership = pod.group.as_ref()?;
    membership.subgroup.as_ref()?.of_member(membership.index?, size)
}

/// Members counted as they are met, to know who is still to come.
struct Counted<'a> {
    like: &'a Pod,
    membership: &'a Membership,
    view: &'a View,
    to_come: MembersToCome<'a>,
    size: u32,
    waiting: usize,
    /// How many have finished and do not come back.
    finished: usize,
    indexes: HashSet<u32>,
}

impl<'a> Counted<'a> {
    fn of(members: &Members<'a>, like: &'a Pod, view: &'a View) -> Self {
        let membership = members.membership;
        let placed = members.placed.iter().map(|placed| placed.pod);
        let counts = membership.size.is_some() || membership.group.source.size_includes_finished();
        let finished = || view.finished_members(&membership.group).filter(|_| counts);
        let indexes = placed.chain(finished()).filter_map(|pod| view.member_index(pod)).collect();
        Self {
            like,
            membership,
            view,
            to_come: view.members_to_come(like),
            size: view.group_size(like).unwrap_or_default(),
            waiting: 0,
            finished: finished().count(),
            indexes,
        }
    }

    fn waiting_member(&mut self, pod: &'a Pod) -> Class<'a> {
        self.waiting += 1;
        self.indexes.extend(self.view.member_index(pod));
        Class::like(pod, subgroup_of(pod, self.size)).with_volumes(self.view.volume_affinity_of(pod))
    }

    /// Where the volumes are that all members use which are known: whoever comes will use them, too.
    fn shared_volumes(&self) -> Option<VolumeAffinity> {
        let is_shared = |claim: &&Name| {
            let mut members = self.view.members_of(&self.membership.group);
            members.all(|member| member.claims().contains(*claim))
        };
        self.view.volume_affinity(&self.like.key.namespace, self.like.claims().iter().filter(is_shared))
    }

    /// Members that nobody has seen yet, those of one template and subgroup together, and how many of them nobody describes.
    fn still_to_come(self, placed: usize) -> (Vec<Expected<'a>>, usize) {
        let (present, known) = (placed + self.waiting, placed + self.waiting + self.finished);
        let unseen = (self.size as usize).saturating_sub(known);
        let numbers = (0..self.size).filter(|index| !self.indexes.contains(index));
        // Members that carry no numbers leave none free.
        let unknown = numbers.chain(std::iter::repeat(self.size)).take(unseen);
        let mut classes: Vec<Expected<'a>> = Vec::new();
        let mut known = HashMap::new();
        let (mut siblings, mut undescribed, mut shared) = (None, 0, None);
        for index in unknown {
            let (template, subgroup) = (self.to_come.template(index), self.subgroup(index));
            let sibling = template
                .is_none()
                .then(|| siblings.get_or_insert_with(|| Siblings::in_group_of(self.like, self.view)).next());
            let like = sibling.flatten().unwrap_or(self.like);
            let is_undescribed = sibling.is_some_and(|sibling| sibling.is_none());
            undescribed += usize::from(is_undescribed);
            if is_undescribed && placed > 0 && undescribed > MOST_BELIEVED * present {
                continue;
            }
            let volumes = if is_undescribed {
                shared.get_or_insert_with(|| self.shared_volumes()).clone()
            } else {
                self.to_come.volume_affinity(template, like, index)
            };
            // A leader may be made from the same template as its workers.
            let kind = (template.map(std::ptr::from_ref), std::ptr::from_ref(like), index == 0, subgroup);
            // Volumes are mostly the same for all of them.
            let of_kind: &mut Vec<usize> = known.entry(kind).or_default();
            let at = of_kind.iter().find(|at| classes[**at].class.volumes == volumes).copied();
            if let Some(Expected { class, .. }) = at.and_then(|at| classes.get_mut(at)) {
                class.count += 1;
            } else {
                of_kind.push(classes.len());
                let expected = self.expected(template, like, index);
                classes.push(Expected { class: expected.class.with_volumes(volumes), ..expected });
            }
        }
        (classes, undescribed)
    }

    fn subgroup(&self, index: u32) -> Option<u32> {
        self.membership.subgroup.as_ref()?.of_member(index, self.size)
    }

    /// A member that nobody has seen yet: as its set describes it, with what was added to one that was made so, else like
    /// one that is there.
    fn expected(&self, template: Option<&'a Template>, like: &'a Pod, index: u32) -> Expected<'a> {
        let subgroup = self.subgroup(index);
        let Some(template) = template else {
            return Expected::like(like, Class::like(like, subgroup), ExpectedPriority::of(like));
        };
        let class = Class::of_template(template, self.to_come.labels(template, index), subgroup);
        let class = match with_own_nodes(self.like, &template.requirements) {
            Some(requirements) => Class { requirements: Cow::Owned(requirements), ..class },
            None => class,
        };
        let example = self.to_come.example(template);
        let priority = self.view.expected_priority(template, example.unwrap_or(self.like));
        match example {
            Some(example) => {
                Expected::like(example, Class { requests: &example.requests, ..class }, priority)
            }
            None => Expected {
                class,
                priority,
                is_best_effort: template.named.is_best_effort,
                has_deadline: template.has_deadline,
                named: Some(template.named),
            },
        }
    }
}

/// What a template requires, with the selector and toleration for its group's own nodes that a member has got when it was
/// created: all others will get them, too. `None` if nothing is added.
fn with_own_nodes(like: &Pod, made_from: &Arc<Requirements>) -> Option<Arc<Requirements>> {
    let (key, value) = like.own_nodes()?;
    if made_from.node_selector.get(key) == Some(value) {
        return None;
    }
    let mut requirements = Requirements::clone(made_from);
    let selector = requirements.node_selector.iter().map(|(key, value)| (key.clone(), value.clone()));
    requirements.node_selector = selector.chain([(key.clone(), value.clone())]).collect();
    let taint = like.group.as_ref()?.unique_nodes.as_ref()?.toleration_key.as_ref().map(|said| &said.value);
    let got = like.requirements.tolerations.iter().filter(|toleration| {
        Some(&toleration.key) == taint
            && toleration.value == *value
            && !made_from.tolerations.contains(toleration)
    });
    requirements.tolerations.extend(got.cloned());
    Some(Arc::new(requirements))
}

#[cfg(test)]
mod tests {
    use super::super::situation::{Situation, member};
    use super::Members;
    use crate::policy::Budget;

    #[test]
    fn members_in_place_waiting_and_to_come_make_up_the_group() {
        for (name, size, others, expected) in [
            ("alone so far", 4, vec![], (0, vec![4])),
            ("one runs", 4, vec![member("g", 1, 4, 2).on("a0")], (1, vec![3])),
            ("a waiting one asks for more", 4, vec![member("g", 1, 4, 3)], (0, vec![3, 1])),
            ("one is leaving", 4, vec![member("g", 1, 4, 2).on("a0").terminating()], (0, vec![4])),
            ("another group does not count", 4, vec![member("h", 1, 4, 2).on("a0")], (0, vec![4])),
            ("more than announced", 1, vec![member("g", 1, 1, 2)], (0, vec![2])),
        ] {
            let mut situation = Situation::racks(&[("a", &[8])]);
            for other in others {
                situation = situation.with(other.build());
            }
            let asking = member("g", 0, size, 2).build();
            let members = Members::of(&asking, &situation.view, Budget::unlimited()).expect("a member");
            let missing = members.missing.iter().map(|class| class.count).collect();
            assert_eq!((members.placed.len(), missing), expected, "{name}");
            assert_eq!(
                members.asking.map(|class| members.class(class).requests),
                Some(&asking.requests),
                "{name}"
            );
        }
    }
}
