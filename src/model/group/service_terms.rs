//! What a source says about a Service for one of its groups.

use super::GroupKey;
use crate::model::Name;

/// What a Service for a group has to be like, as far as a pod of the group tells.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct ServiceTerms {
    /// Labels that all members carry and nobody else does; `None` if the pod carries none such.
    pub labels: Option<Vec<(Name, Name)>>,
    /// What it is called if nothing speaks against it. It need not be a name that a Service can have.
    pub name: String,
    /// The host name of the group's first member, where that is certain.
    pub leader: Option<Name>,
    /// The variable in which its members look for the leader's address, where they have one of their own.
    pub leader_variable: Option<&'static str>,
    /// The subdomain that pods have by their controller's choice, and not by that of whoever wrote the template.
    pub default_subdomain: Option<Name>,
    /// Whether its controller makes one for each group by itself.
    pub is_made_already: bool,
    /// With whom it is garbage-collected.
    pub owner: ServiceOwner,
}

/// With whom a group's Service is garbage-collected: with what lives and dies with the group.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ServiceOwner {
    /// The first member: without it, all others start anew.
    Leader,
    /// The object behind the group, which stands behind no other group.
    Object,
    /// Whoever controls all members, if it controls those of no other group, such as a Job; else the members.
    Controller,
}

impl ServiceTerms {
    /// A Service that is called after the set and the group.
    pub(crate) fn of(group: &GroupKey, labels: Option<Vec<(Name, Name)>>) -> Self {
        let GroupKey { set, index, .. } = group;
        let name = if index.is_empty() { set.name.to_string() } else { format!("{}-{index}", set.name) };
        Self {
            labels,
            name,
            leader: None,
            leader_variable: None,
            default_subdomain: None,
            is_made_already: false,
            owner: ServiceOwner::Controller,
        }
    }
}
