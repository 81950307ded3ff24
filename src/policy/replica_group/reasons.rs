//! Why a member of a group waits, in constant words: which promise, which level.

use super::NAME;
use super::plan::Obstacle;
use crate::model::group::recognition::Flaw;
use crate::policy::{Rejection, Verdicts};

const fn final_(reason: &'static str) -> Rejection {
    Rejection { policy: NAME, reason, resolvable: false, certain: true }
}

const fn evictable(reason: &'static str) -> Rejection {
    Rejection { resolvable: true, ..final_(reason) }
}

/// Together: members are, or will be, in one domain.
pub const ELSEWHERE: Rejection = final_("replica group is in another domain of its required topology");
/// Together: another domain was chosen, and this is said of nearly all nodes, so it is short.
pub const OUTSIDE: Rejection = final_("outside the replica group's domain");
/// Together: a node that is in no domain.
pub const MISSING_LABEL: Rejection = final_("node lacks the label of the replica group's required topology");
/// Whole: the room is needed for the other members.
pub const SLOTS_OF_OTHERS: Rejection = final_("room is needed for other members of the replica group");
/// Whole: it hangs on a pod whose bind call has not come.
pub const OPEN: Rejection = Rejection {
    certain: false,
    ..final_("whether the replica group fits hangs on a placement that is not known yet")
};
/// Room that is kept for a group, as other pods see it.
pub const KEPT: Rejection = evictable("room is reserved for a replica group");

/// The same, if a pod whose place is not known yet takes the rest.
pub const KEPT_PERHAPS: Rejection = Rejection { certain: false, ..KEPT };
/// Whole: everybody would fit, but not with this member on this node.
pub const NOT_HERE: Rejection =
    final_("replica group fits into the domain, but not with this member on this node");

/// The reasons at one level.
pub struct Level {
    exclusive: Rejection,
    reserved: Rejection,
    evictable: Rejection,
    room: Rejection,
}

/// Members are running: only their domain will do.
pub const IN_OWN_DOMAIN: Level = Level {
    exclusive: final_("replica group's own domain is exclusive to another replica group"),
    reserved: final_("replica group's own domain has its free room reserved for another replica group"),
    evictable: evictable(
        "replica group's own domain has no room for its missing members unless lower-priority pods leave",
    ),
    room: final_("replica group's own domain has no room for its missing members"),
};

/// A domain of the required topology is looked for.
pub const IN_DOMAIN: Level = Level {
    exclusive: final_("required domain is exclusive to another replica group"),
    reserved: final_(
        "replica group does not fit as a whole into the required domain, room is reserved for another",
    ),
    evictable: evictable(
        "replica group does not fit as a whole into the required domain unless lower-priority pods leave",
    ),
    room: final_("replica group does not fit as a whole into the required domain"),
};

/// Nothing is required, so it is the cluster that is too small.
pub const IN_CLUSTER: Level = Level {
    exclusive: final_("the cluster is exclusive to another replica group"),
    reserved: final_("replica group does not fit as a whole into the cluster, room is reserved for another"),
    evictable: evictable(
        "replica group does not fit as a whole into the cluster unless lower-priority pods leave",
    ),
    room: final_("replica group does not fit as a whole into the cluster"),
};

impl Level {
    /// What to say about an obstacle.
    pub fn of(&'static self, obstacle: Obstacle) -> &'static Rejection {
        match obstacle {
            Obstacle::Exclusive => &self.exclusive,
            Obstacle::Member => &NOT_HERE,
            Obstacle::Reserved => &self.reserved,
            Obstacle::Evictable => &self.evictable,
            Obstacle::Room => &self.room,
        }
    }
}

/// What to say about an annotation that cannot be understood.
pub fn flawed(flaw: Flaw) -> &'static Rejection {
    const SIZE: Rejection =
        final_("annotation berth.dev/group-size of the replica group is no number from 1 to 10000");
    const INDEX: Rejection = final_("annotation berth.dev/group-index of the replica group is no number");
    const EXCLUSIVE: Rejection =
        final_("annotation berth.dev/exclusive of the replica group is none of Set, Namespace, Cluster");
    const TOPOLOGY: Rejection = final_(
        "annotation berth.dev/required-topology or preferred-topology of the replica group is no label key",
    );
    match flaw {
        Flaw::Size => &SIZE,
        Flaw::Index => &INDEX,
        Flaw::Exclusive => &EXCLUSIVE,
        Flaw::Topology => &TOPOLOGY,
    }
}

/// Why a group waits, of all that was said about its candidates: what is nearest to success. The labels in metrics.
pub fn why_waiting(verdicts: &Verdicts) -> Option<&'static str> {
    let rank = |why: &Rejection| match why.reason {
        _ if !why.certain => 0,
        reason if reason.contains("reserved") => 1,
        _ if why.resolvable => 2,
        reason if reason.contains("exclusive") => 3,
        reason if reason.contains("room") || reason.contains("whole") => 4,
        _ => 5,
    };
    let mut best: Option<&'static Rejection> = None;
    for (_, why) in verdicts.rejections().filter(|(_, why)| why.policy == NAME) {
        if best.is_none_or(|best| rank(why) < rank(best)) {
            best = Some(why);
        }
    }
    best.map(|why| why.reason)
}
