//! Required anti-affinity between pods: whom a pod will not share a domain with.

use super::{Labels, Name, Pod, Selector};

/// A term of required affinity: the same, for pods that are to share a domain.
pub type AffinityTerm = AntiAffinityTerm;

/// One term of required pod anti-affinity.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct AntiAffinityTerm {
    /// The topology key of whose domains none is shared.
    pub topology_key: Name,
    /// With pods that this selects; absent selects none.
    pub selector: Option<Selector>,
    /// In these namespaces,
    pub namespaces: Box<[Name]>,
    /// and in those whose labels this selects.
    pub namespace_selector: Option<Selector>,
}

impl AntiAffinityTerm {
    /// Whether it is meant for a pod with these labels, in a namespace of this name and with these labels.
    pub fn concerns(&self, labels: &Labels, namespace: &Name, namespace_labels: &Labels) -> bool {
        let there = || {
            self.namespaces.contains(namespace)
                || self.namespace_selector.as_ref().is_some_and(|selector| selector.matches(namespace_labels))
        };
        self.selector.as_ref().is_some_and(|selector| selector.matches(labels)) && there()
    }
}

impl Pod {
    /// Its terms of required anti-affinity.
    pub fn anti_affinity_terms(&self) -> &[AntiAffinityTerm] {
        self.anti_affinity.as_deref().unwrap_or_default()
    }
}
