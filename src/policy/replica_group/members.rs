//! Who belongs to a group: members with a place, members that wait for one, and members still to come.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use super::class::{Class, ClassId};
use super::conflicts::HOST;
use super::limits::{AntiAffinityKeys, Excess, MOST_CLASSES, has_too_many_subgroups};
use crate::model::group::recognition::flaw;
use crate::model::{Membership, Name, Pod, Template};
use crate::policy::Budget;
use crate::view::{HostId, MembersToCome, View};

/// The members of a group at one moment.
pub struct Members<'a> {
    /// What the asking member says of the group.
    pub membership: &'a Membership,
    /// The priority at which room is looked for.
    pub priority: i32,
    /// Whether the group may have others evicted: every member that is known may.
    pub may_preempt: bool,
    /// The cluster that they are members in.
    pub view: &'a View,
    /// The namespace of all members.
    pub namespace: &'a Name,
    /// Members that have a place, and where.
    pub placed: Vec<PlacedMember<'a>>,
    /// All others, those that are alike together.
    pub missing: Vec<Class<'a>>,
    /// The class of the member that asks, if one asks.
    pub asking: Option<ClassId>,
    /// What the group has too many of: then `missing` does not tell everything, and no room is looked for.
    pub excess: Option<Excess>,
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
        let mut keys = AntiAffinityKeys::default();
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
            members.add_those_to_come(counted, &mut AntiAffinityKeys::default());
        }
        Some(members)
    }

    fn add_those_to_come(&mut self, counted: Counted<'a>, keys: &mut AntiAffinityKeys<'a>) {
        for (class, priority) in counted.still_to_come(self.placed.len()) {
            self.priority = self.priority.min(priority);
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
        let mut placed: Vec<_> = placed.filter_map(place).collect();
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
            missing: Vec::new(),
            asking: None,
            excess: has_too_many_subgroups(size, membership.subgroup.as_ref()).then_some(Excess::Subgroups),
        })
    }

    /// Adds members to their class. `None` if that would be more than are looked at.
    fn add(&mut self, class: Class<'a>, keys: &mut AntiAffinityKeys<'a>) -> Option<ClassId> {
        if let Some(at) = self.missing.iter().position(|known| known.is_like(&class)) {
            self.missing[at].count += class.count;
            return Some(ClassId::at(at));
        }
        if self.missing.len() == MOST_CLASSES {
            self.excess = Some(Excess::Classes);
        } else if !keys.take_in(&class) {
            self.excess = Some(Excess::Terms);
        }
        if self.excess.is_some() {
            return None;
        }
        self.missing.push(class);
        Some(ClassId::at(self.missing.len() - 1))
    }

    /// The classes of missing members.
    pub fn classes(&self) -> impl DoubleEndedIterator<Item = ClassId> + use<> {
        (0..self.missing.len()).map(ClassId::at)
    }

    /// One class.
    pub fn class(&self, class: ClassId) -> &Class<'a> {
        &self.missing[class.index()]
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
fn subgroup_of(pod: &Pod, size: u32) -> Option<u32> {
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

    /// Members that nobody has seen yet, those of one template and subgroup together.
    fn still_to_come(self, placed: usize) -> Vec<(Class<'a>, i32)> {
        let known = placed + self.waiting + self.finished;
        let unseen = (self.size as usize).saturating_sub(known);
        let numbers = (0..self.size).filter(|index| !self.indexes.contains(index));
        // Members that carry no numbers leave none free.
        let unknown = numbers.chain(std::iter::repeat(self.size)).take(unseen);
        let mut classes: Vec<(Class<'a>, i32)> = Vec::new();
        let mut known = HashMap::new();
        for index in unknown {
            let (template, subgroup) = (self.to_come.template(index), self.subgroup(index));
            let volumes = self.to_come.volume_affinity(template, index);
            // A leader may be made from the same template as its workers.
            let kind = (template.map(std::ptr::from_ref), index == 0, subgroup);
            // Volumes are mostly the same for all of them.
            let of_kind: &mut Vec<usize> = known.entry(kind).or_default();
            let at = of_kind.iter().find(|at| classes[**at].0.volumes == volumes).copied();
            if let Some((class, _)) = at.and_then(|at| classes.get_mut(at)) {
                class.count += 1;
            } else {
                of_kind.push(classes.len());
                let priority = template.map_or(self.like.priority, |template| template.priority(self.like));
                classes.push((self.expected(template, index).with_volumes(volumes), priority));
            }
        }
        classes
    }

    fn subgroup(&self, index: u32) -> Option<u32> {
        self.membership.subgroup.as_ref()?.of_member(index, self.size)
    }

    /// A member that nobody has seen yet: as its set describes it, with what was added to one that was made so, else like
    /// the one that asks.
    fn expected(&self, template: Option<&'a Template>, index: u32) -> Class<'a> {
        let subgroup = self.subgroup(index);
        let Some(template) = template else { return Class::like(self.like, subgroup) };
        let class = Class::of_template(template, self.to_come.labels(template, index), subgroup);
        match self.to_come.example(template) {
            Some(example) => Class { requests: &example.requests, ..class },
            None => class,
        }
    }
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
