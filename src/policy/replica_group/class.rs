//! Missing members that are alike: where one fits, any other would.

use std::borrow::Cow;
use std::sync::Arc;

use crate::ledger::Slot;
use crate::model::selector::Requirement;
use crate::model::{AntiAffinityTerm, Labels, Name, Pod, Requirements, Resources, Template};
use crate::policy::fit::Demand;

/// The number of a class among those of a group.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ClassId(usize);

impl ClassId {
    /// The class at a position.
    pub const fn at(position: usize) -> Self {
        Self(position)
    }

    /// Its position, in tables with one row per class.
    pub const fn index(self) -> usize {
        self.0
    }
}

/// Members without a place that are alike.
#[derive(Clone, Debug)]
pub struct Class<'a> {
    /// What each requests.
    pub requests: &'a Arc<Resources>,
    /// What each requires of a node.
    pub requirements: &'a Arc<Requirements>,
    /// The terms of each one's required anti-affinity.
    pub anti_affinity: Option<&'a Arc<[AntiAffinityTerm]>>,
    /// The labels of one of them.
    pub labels: Cow<'a, Labels>,
    /// The subgroup that they belong to.
    pub subgroup: Option<u32>,
    /// How many they are.
    pub count: usize,
}

impl<'a> Class<'a> {
    /// One member like this pod.
    pub fn like(pod: &'a Pod, subgroup: Option<u32>) -> Self {
        Self {
            requests: &pod.requests,
            requirements: &pod.requirements,
            anti_affinity: pod.anti_affinity.as_ref(),
            labels: Cow::Borrowed(&pod.labels),
            subgroup,
            count: 1,
        }
    }

    /// One member as a template describes it.
    pub fn of_template(template: &'a Template, labels: Labels, subgroup: Option<u32>) -> Self {
        Self {
            requests: &template.requests,
            requirements: &template.requirements,
            anti_affinity: template.anti_affinity.as_ref(),
            labels: Cow::Owned(labels),
            subgroup,
            count: 1,
        }
    }

    /// Terms of required anti-affinity.
    pub fn anti_affinity_terms(&self) -> &'a [AntiAffinityTerm] {
        self.anti_affinity.map_or(&[], |terms| &**terms)
    }

    /// What one of them demands of a node.
    pub fn demand(&self) -> Demand<'_> {
        Demand { requests: self.requests, requirements: self.requirements }
    }

    /// The slot of one of them on a host.
    pub fn slot(&self, host: Name) -> Slot {
        Slot {
            host,
            requests: self.requests.clone(),
            requirements: self.requirements.clone(),
            labels: self.labels.clone().into_owned(),
            anti_affinity: self.anti_affinity.cloned(),
        }
    }

    /// The labels by which members of the same template tell each other apart.
    fn selected_labels(&self) -> Vec<Option<&Name>> {
        let selectors = self.anti_affinity_terms().iter().filter_map(|term| term.selector.as_ref());
        let keys = selectors.flat_map(|selector| selector.requirements().map(Requirement::key));
        keys.map(|key| self.labels.get(key)).collect()
    }

    /// Whether members of both are alike.
    pub fn is_like(&self, other: &Self) -> bool {
        self.subgroup == other.subgroup
            && self.requests == other.requests
            && self.requirements == other.requirements
            && self.anti_affinity == other.anti_affinity
            && self.selected_labels() == other.selected_labels()
    }
}
