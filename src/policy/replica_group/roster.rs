//! Who belongs to a group: members with a place, members that wait for one, and members still to come.

use std::borrow::Cow;
use std::collections::HashSet;
use std::sync::Arc;

use crate::model::selector::Requirement;
use crate::model::{AntiAffinityTerm, Labels, Membership, Name, Pod, Requirements, Resources};
use crate::policy::fit::Applicant;
use crate::view::{HostId, MemberToCome, View};

/// A group at one moment.
pub struct Roster<'a> {
    /// What the asking member says of the group.
    pub membership: &'a Membership,
    /// The priority at which room is looked for.
    pub priority: i32,
    /// Whether it may have others evicted: everybody of whom it is known.
    pub may_preempt: bool,
    /// The namespace of all members.
    pub namespace: &'a Name,
    /// Members that have a place, and where.
    pub placed: Vec<Placed<'a>>,
    /// All others, those that are alike together. The first ones are like the asking member, who is one of them.
    pub missing: Vec<Class<'a>>,
}

/// A member that has a place.
pub struct Placed<'a> {
    /// The member.
    pub pod: &'a Arc<Pod>,
    /// Its host.
    pub host: HostId,
    /// The part of the group that it belongs to.
    pub part: Option<u32>,
}

/// Members without a place that are alike: where one fits, any other would.
#[derive(Clone)]
pub struct Class<'a> {
    /// What each asks for.
    pub requests: &'a Arc<Resources>,
    /// What each asks of a node.
    pub requirements: &'a Arc<Requirements>,
    /// Whom each wants to be apart from.
    pub anti_affinity: Option<&'a Arc<[AntiAffinityTerm]>>,
    /// The labels of one of them.
    pub labels: Cow<'a, Labels>,
    /// The part of the group that they belong to.
    pub part: Option<u32>,
    /// How many they are.
    pub count: usize,
}

impl<'a> Class<'a> {
    /// Terms of required anti-affinity.
    pub fn terms(&self) -> &'a [AntiAffinityTerm] {
        self.anti_affinity.map_or(&[], |terms| &**terms)
    }

    /// One of them, looking for a node.
    pub fn applicant(&self) -> Applicant<'_> {
        Applicant { requests: self.requests, requirements: self.requirements }
    }

    /// The labels by which members of the same template keep apart from each other.
    fn looks(&self) -> Vec<Option<&Name>> {
        let selectors = self.terms().iter().filter_map(|term| term.selector.as_ref());
        let keys = selectors.flat_map(|selector| selector.requirements().map(Requirement::key));
        keys.map(|key| self.labels.get(key)).collect()
    }

    fn is_like(&self, other: &Self) -> bool {
        self.part == other.part
            && self.requests == other.requests
            && self.requirements == other.requirements
            && self.anti_affinity == other.anti_affinity
            && self.looks() == other.looks()
    }
}

impl<'a> Roster<'a> {
    /// The group of a member that is to be placed. `None` if it is in none, or in one that does not mind where it is.
    pub fn of(asking: &'a Pod, view: &'a View) -> Option<Self> {
        let mut roster = Self::begin(asking, view)?;
        let mut count = Counting::of(&roster, asking, view);
        roster.add(count.member(asking));
        let others = view.waiting_members(&roster.membership.group).filter(|pod| pod.uid != asking.uid);
        // In a certain order, for the order in which members are seen must not change a plan.
        let mut others: Vec<_> = others.collect();
        others.sort_by(|a, b| a.key.cmp(&b.key));
        for pod in others {
            roster.add(count.member(pod));
        }
        for class in count.still_to_come(roster.placed.len()) {
            roster.add(class);
        }
        Some(roster)
    }

    /// The group of a member that has a place: what is missing is all that waits or is still to come.
    pub fn of_placed(member: &'a Pod, view: &'a View) -> Option<Self> {
        let membership = member.group.as_ref()?;
        if let Some(asking) = view.waiting_members(&membership.group).min_by(|a, b| a.key.cmp(&b.key)) {
            return Self::of(asking, view);
        }
        let mut roster = Self::begin(member, view)?;
        let count = Counting::of(&roster, member, view);
        for class in count.still_to_come(roster.placed.len()) {
            roster.add(class);
        }
        Some(roster)
    }

    fn begin(pod: &'a Pod, view: &'a View) -> Option<Self> {
        let membership = pod.group.as_deref()?;
        if !membership.has_topology_request() {
            return None;
        }
        let size = view.group_size(pod).unwrap_or_default();
        let placed = view.placed_members(&membership.group).filter(|member| {
            // Wherever an earlier attempt put the asking member, it is not there.
            member.uid != pod.uid || view.pod(&pod.uid).is_some_and(|shown| shown.node.is_some())
        });
        let place = |member: &'a Arc<Pod>| {
            let host = view.host_id(view.place_of(&member.uid)?)?;
            Some(Placed { pod: member, host, part: part_of(member, size) })
        };
        let mut placed: Vec<_> = placed.filter_map(place).collect();
        placed.sort_by(|a, b| a.pod.key.cmp(&b.pod.key));
        Some(Self {
            membership,
            priority: pod.priority,
            may_preempt: pod.may_preempt
                && view.waiting_members(&membership.group).all(|pod| pod.may_preempt),
            namespace: &pod.key.namespace,
            placed,
            missing: Vec::new(),
        })
    }

    fn add(&mut self, class: Class<'a>) {
        match self.missing.iter_mut().find(|known| known.is_like(&class)) {
            Some(known) => known.count += class.count,
            None => self.missing.push(class),
        }
    }

    /// How many have no place.
    pub fn missing(&self) -> usize {
        self.missing.iter().map(|class| class.count).sum()
    }

    /// The class that most of the missing are in, the first of several: by it, domains are compared.
    pub fn main_class(&self) -> Option<usize> {
        (0..self.missing.len()).rev().max_by_key(|class| self.missing[*class].count)
    }

    /// The topology keys that anti-affinity looks at.
    pub fn anti_affinity_keys(&self) -> impl Iterator<Item = &'a Name> {
        self.missing.iter().flat_map(Class::terms).map(|term| &term.topology_key)
    }
}

/// The part of a group that a pod belongs to, if the group has parts.
pub fn part_of(pod: &Pod, size: u32) -> Option<u32> {
    let membership = pod.group.as_ref()?;
    membership.subgroup.as_ref()?.of_member(membership.index?, size)
}

/// Counts members as they are met, to know who is still to come.
struct Counting<'a> {
    like: &'a Pod,
    membership: &'a Membership,
    view: &'a View,
    size: u32,
    waiting: usize,
    indexes: HashSet<u32>,
}

impl<'a> Counting<'a> {
    fn of(roster: &Roster<'a>, like: &'a Pod, view: &'a View) -> Self {
        let membership = roster.membership;
        let index = |placed: &Placed<'_>| view.member_index(placed.pod);
        Self {
            like,
            membership,
            view,
            size: view.group_size(like).unwrap_or_default(),
            waiting: 0,
            indexes: roster.placed.iter().filter_map(index).collect(),
        }
    }

    fn member(&mut self, pod: &'a Pod) -> Class<'a> {
        self.waiting += 1;
        self.indexes.extend(self.view.member_index(pod));
        Class {
            requests: &pod.requests,
            requirements: &pod.requirements,
            anti_affinity: pod.anti_affinity.as_ref(),
            labels: Cow::Borrowed(&pod.labels),
            part: part_of(pod, self.size),
            count: 1,
        }
    }

    /// Members that nobody has seen yet, those of one template and part together.
    fn still_to_come(self, placed: usize) -> Vec<Class<'a>> {
        let known = placed + self.waiting;
        let unseen = (self.size as usize).saturating_sub(known);
        let numbers = (0..self.size).filter(|index| !self.indexes.contains(index));
        // Members that bear no numbers leave none free.
        let unknown = numbers.chain(std::iter::repeat(self.size)).take(unseen);
        let mut classes: Vec<((bool, Option<u32>), Class<'a>)> = Vec::new();
        for index in unknown {
            let kind = (index == 0, self.part(index));
            match classes.iter_mut().find(|(known, _)| *known == kind) {
                Some((_, class)) => class.count += 1,
                None => classes.push((kind, self.imagined(index))),
            }
        }
        classes.into_iter().map(|(_, class)| class).collect()
    }

    fn part(&self, index: u32) -> Option<u32> {
        self.membership.subgroup.as_ref()?.of_member(index, self.size)
    }

    /// A member that nobody has seen yet: as its set describes it, else like the one that asks.
    fn imagined(&self, index: u32) -> Class<'a> {
        let part = self.part(index);
        match self.view.member_to_come(self.like, index) {
            Some(MemberToCome { template, labels }) => Class {
                requests: &template.requests,
                requirements: &template.requirements,
                anti_affinity: template.anti_affinity.as_ref(),
                labels: Cow::Owned(labels),
                part,
                count: 1,
            },
            None => Class {
                requests: &self.like.requests,
                requirements: &self.like.requirements,
                anti_affinity: self.like.anti_affinity.as_ref(),
                labels: Cow::Borrowed(&self.like.labels),
                part,
                count: 1,
            },
        }
    }
}
