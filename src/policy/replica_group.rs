//! Replica groups: together in one domain, whole or not at all.
//!
//! ```text
//!   members        who belongs to the group: in place, waiting, still to come; alike ones form a class
//!     limits         how complicated a group may be
//!     siblings       members to come of controllers that make all their pods from one template
//!     quota          whether members still to come may be created
//!   problem        what both phases work on:
//!     availability   what is left on a host, the one rule for it
//!     conflicts      required anti-affinity and host ports, among members and with others
//!       closed_labels   the nodes that are closed to somebody
//!     affinity       required affinity, to members and to others
//!     own_hosts      where the group is already
//!   count          phase one: how many of each class a domain takes
//!   rank           which of the possible domains is best
//!   packing        phase two: a host for every missing member of one domain
//!     node_order     which node is next
//!     subgroups      each subgroup in a domain of its own
//!     subgroup_homes where subgroups are, or are on their way to
//!   search         both phases, over the domains that are possible
//!     host_set       domains, and domains within domains
//!     other_groups   exclusive domains, groups of the same set
//!     agreement      what members of a group agree on
//!     keep           keeping to the slots that are reserved
//!     in_flight      pods whose node is not known yet
//!     preempting     what if lower-priority pods were gone
//!   member         the answer for a member: plan or reasons; facts, reasons
//!   reserved       the answer for other pods: they respect reserved slots
//!   score          the answer to prioritize
//!   owed           slots for what groups in place lack, worked out whenever their members change
//!   ahead          a plan for a group that has come as a whole, before anybody asks
//!   nominations    which waiting member is to have which slot
//!   bind_check     the last word before a bind: it must not tear a group apart
//!   survey         how groups and domains are doing, for metrics
//! ```
//!
//! The first member that is let in gets a plan for everybody, and slots for the others are reserved in the ledger. Later
//! members keep to it as long as it has a slot for everybody; then they are planned for anew, in the same domain. A member
//! may go to any host of the domain where everybody else keeps a slot, so it does not matter which of them kube-scheduler
//! chooses.

mod affinity;
pub mod agreement;
mod ahead;
mod availability;
mod bind_check;
mod class;
mod closed_labels;
mod conflicts;
mod count;
mod facts;
mod host_set;
mod in_flight;
mod keep;
mod limits;
mod member;
mod members;
mod node_order;
pub mod nominations;
mod other_groups;
mod owed;
mod own_hosts;
mod packing;
mod preempting;
mod problem;
mod quota;
mod rank;
mod reasons;
mod reserved;
mod score;
mod search;
mod siblings;
#[cfg(test)]
mod situation;
mod subgroup_homes;
mod subgroups;
pub mod survey;

use std::collections::BTreeSet;
use std::sync::Arc;

pub use self::bind_check::{begins_unforeseen, breach};
use self::member::Member;
use self::members::Members;
use self::search::{Search, Settings};
use super::{Allowance, Owed, Policy, Prepared, Purpose, Question};
use crate::config::{self, Mode, Packing};
use crate::decision::reason::REPLICA_GROUP;
use crate::decision::{Decision, Reason};
use crate::ledger::Reservation;
use crate::model::group::recognition::flaw;
use crate::model::{GroupKey, Name};
use crate::view::{Needs, View};

/// The policy, with the settings of one configuration.
#[derive(Debug)]
pub struct ReplicaGroup {
    settings: Settings,
    mode: Mode,
}

impl ReplicaGroup {
    /// The policy for a configuration.
    pub fn new(config: &config::ReplicaGroups) -> Self {
        let spread_key = Some(&*config.spread_topology).filter(|key| !key.is_empty()).map(Into::into);
        let settings = Settings {
            spread_key,
            packing: config.packing,
            count_on_preemption: config.count_on_preemption,
            most_members: config.limits.members,
            most_slots: config.limits.slots_per_namespace,
        };
        Self { settings, mode: config.mode }
    }
}

/// What a question about one pod is.
enum Case<'a> {
    /// What the group's pods say makes no sense, is more than the operator allows or is looked at, or does not tell enough.
    Refused(Reason),
    /// The pod is a member of a group that cares where it is.
    Member(Box<Members<'a>>, &'a Settings),
    /// The pod is none, and has to respect what is reserved for groups.
    Other,
    /// Scores for a member.
    Score(Packing),
}

impl Policy for ReplicaGroup {
    fn name(&self) -> &'static str {
        REPLICA_GROUP
    }

    fn mode(&self) -> Mode {
        self.mode
    }

    fn prepare<'a>(&'a self, question: &Question<'a>) -> Option<Box<dyn Prepared + 'a>> {
        let case = if question.purpose == Purpose::Prioritize {
            question.pod.group.as_ref()?;
            Case::Score(self.settings.packing)
        } else if let Some(flaw) = question.pod.group.as_ref().and_then(|_| flaw(question.pod)) {
            Case::Refused(reasons::flawed(flaw))
        } else if question.view.group_size(question.pod).is_some_and(|size| size > self.settings.most_members)
        {
            // Before anything is made for each of them.
            Case::Refused(Reason::GroupTooLarge)
        } else if let Some(members) = Members::of(question.pod, question.view, question.budget) {
            match members.excess {
                Some(excess) => Case::Refused(reasons::exceeding(excess)),
                None if members.begins_without_size(question.pod) => Case::Refused(Reason::GroupSizeUnknown),
                // Those whose node is gone are there, and may be where the others have to be.
                None if members.begins_blindly() && !members.stranded.is_empty() => {
                    Case::Refused(Reason::GroupDomainUnknown)
                }
                None if members.begins_blindly() => Case::Refused(Reason::MembersNotCreated),
                None if members.begins_with_gates(question.pod, question.view) => {
                    Case::Refused(Reason::MemberGated)
                }
                None if members.begins_without_volumes(question.pod, question.view) => {
                    Case::Refused(Reason::MemberVolumeUnknown)
                }
                None => Case::Member(Box::new(members), &self.settings),
            }
        } else {
            Case::Other
        };
        Some(Box::new(case))
    }

    fn owed_needs(&self, view: &View, groups: &[Arc<GroupKey>]) -> Needs {
        owed::needs(view, &self.settings, groups)
    }

    fn owed(&self, view: &View, groups: &[Arc<GroupKey>], allowance: &Allowance) -> Vec<Owed> {
        owed::to_groups(view, &self.settings, groups, allowance)
    }

    fn plan_needs(&self, view: &View, group: &GroupKey) -> Needs {
        ahead::needs(view, &self.settings, group)
    }

    fn plan_ahead(&self, view: &View, group: &GroupKey) -> Option<Reservation> {
        ahead::plan(view, &self.settings, group)
    }

    fn plan_holds(&self, view: &View, plan: &Reservation) -> bool {
        ahead::holds(view, &self.settings, plan)
    }
}

impl Prepared for Case<'_> {
    fn needs(&self) -> Needs {
        match self {
            Case::Member(members, settings) => needs_of(members, settings),
            Case::Refused(_) | Case::Other | Case::Score(_) => Needs::default(),
        }
    }

    fn filter(&self, question: &Question<'_>, decision: &mut Decision) {
        match self {
            Case::Refused(reason) => {
                decision.reject_all(*reason);
                if *reason == Reason::QuotaTooSmall {
                    release_unless_under_way(question, decision);
                }
            }
            Case::Member(members, settings) => {
                match Search::new(members, Some(question.pod), question.view, settings, question.budget) {
                    Some(search) => Member { search, question }.filter(decision),
                    // The view provides less than was asked for: not to be expected, and no reason to let anybody in.
                    None => decision.reject_all(Reason::GroupUndecided),
                }
            }
            Case::Other => {
                if let Some(membership) = &question.pod.group {
                    reserved::keep_out(question, membership, decision);
                }
                reserved::filter(question, decision);
            }
            Case::Score(_) => {}
        }
    }

    fn prioritize(&self, question: &Question<'_>, scores: &mut [i64]) {
        if let Case::Score(packing) = self {
            score::prioritize(*packing, question, scores);
        }
    }
}

/// Gives back what was reserved for a group before it was refused, unless a member is on its way to it.
fn release_unless_under_way(question: &Question<'_>, decision: &mut Decision) {
    let (ledger, group) = (question.view.ledger(), question.pod.group.as_ref().map(|own| &own.group));
    if let Some(group) = group.filter(|group| !ledger.has_member_of(group))
        && ledger.reservations().of(group).is_some()
    {
        decision.reserve(Reservation::nothing(group.clone()));
    }
}

fn needs_of(members: &Members<'_>, settings: &Settings) -> Needs {
    let topology = &members.membership.topology;
    let subgroups = members.membership.subgroup.as_ref().map(|subgroup| &subgroup.topology);
    let asked = [&topology.required, &topology.preferred, &settings.spread_key].into_iter().flatten();
    let keys = asked.chain(subgroups).chain(members.anti_affinity_keys()).chain(members.host_key());
    let keys: BTreeSet<&Name> = keys.collect();
    let mut needs = Needs { topology_keys: keys.into_iter().cloned().collect(), ..Needs::default() };
    needs.extend(affinity::needs(members));
    needs
}
