//! Missing members that are alike: where one fits, any other would.

use std::borrow::Cow;
use std::sync::Arc;

use crate::ledger::Slot;
use crate::model::selector::Requirement;
use crate::model::{
    AffinityTerm, AntiAffinityTerm, HostPort, Labels, Name, Pod, PodConstraints, Requirements, Resources,
    Template, VolumeAffinity,
};
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
    pub requirements: Cow<'a, Arc<Requirements>>,
    /// The terms of each one's required anti-affinity.
    pub anti_affinity: Option<&'a Arc<[AntiAffinityTerm]>>,
    /// What else each asks for; of one of them, as far as its claims go.
    pub constraints: Option<&'a Arc<PodConstraints>>,
    /// Where the volumes of each let it be.
    pub volumes: Option<VolumeAffinity>,
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
            requirements: Cow::Borrowed(&pod.requirements),
            anti_affinity: pod.anti_affinity.as_ref(),
            constraints: pod.constraints.as_ref(),
            volumes: None,
            labels: Cow::Borrowed(&pod.labels),
            subgroup,
            count: 1,
        }
    }

    /// One member as a template describes it.
    pub fn of_template(template: &'a Template, labels: Labels, subgroup: Option<u32>) -> Self {
        Self {
            requests: &template.requests,
            requirements: Cow::Borrowed(&template.requirements),
            anti_affinity: template.anti_affinity.as_ref(),
            constraints: template.constraints.as_ref(),
            volumes: None,
            labels: Cow::Owned(labels),
            subgroup,
            count: 1,
        }
    }

    /// The same, of members whose volumes let them be there only.
    pub fn with_volumes(self, volumes: Option<VolumeAffinity>) -> Self {
        Self { volumes, ..self }
    }

    /// The ports of the host that each occupies.
    pub fn host_ports(&self) -> &'a [HostPort] {
        PodConstraints::host_ports(self.constraints)
    }

    /// Terms of required affinity.
    pub fn affinity_terms(&self) -> &'a [AffinityTerm] {
        PodConstraints::affinity(self.constraints)
    }

    /// Terms of required anti-affinity.
    pub fn anti_affinity_terms(&self) -> &'a [AntiAffinityTerm] {
        self.anti_affinity.map_or(&[], |terms| &**terms)
    }

    /// What one of them demands of a node.
    pub fn demand(&self) -> Demand<'_> {
        Demand { requests: self.requests, requirements: &self.requirements, host_ports: self.host_ports() }
    }

    /// The slot of one of them on a host.
    pub fn slot(&self, host: Name) -> Slot {
        Slot {
            host,
            requests: self.requests.clone(),
            requirements: self.requirements.clone().into_owned(),
            labels: self.labels.clone().into_owned(),
            anti_affinity: self.anti_affinity.cloned(),
            constraints: self.constraints.cloned(),
            volumes: self.volumes.clone(),
        }
    }

    /// Whether a slot is one for them.
    pub fn suits(&self, slot: &Slot) -> bool {
        let volumes = self.volumes.as_ref();
        slot.suits(self.requests, &self.requirements, self.anti_affinity, self.constraints, volumes)
    }

    /// Whether both have the same of the labels by which members of the same template tell each other apart.
    fn has_selected_labels_of(&self, other: &Self) -> bool {
        let terms = self.anti_affinity_terms().iter().chain(self.affinity_terms());
        let selectors = terms.filter_map(|term| term.selector.as_ref());
        let mut keys = selectors.flat_map(|selector| selector.requirements().map(Requirement::key));
        keys.all(|key| self.labels.get(key) == other.labels.get(key))
    }

    /// Whether members of both are alike.
    pub fn is_like(&self, other: &Self) -> bool {
        self.subgroup == other.subgroup
            && self.requests == other.requests
            && self.requirements == other.requirements
            && self.anti_affinity == other.anti_affinity
            && PodConstraints::are_alike(self.constraints, other.constraints)
            && self.volumes == other.volumes
            && self.has_selected_labels_of(other)
    }
}
