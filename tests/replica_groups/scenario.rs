//! A history as it is written down before it is played: a cluster, sets of groups, and steps.
//!
//! Steps name what they concern by number, taken modulo what there is at that moment. So a history from which steps were
//! taken out is a history too, and failures can be made small.

use std::fmt;
use std::time::Duration;

pub use crate::hostile::Provocation;
pub use crate::storage::{Reach, Sharing, Storage, Whose};

pub const RACK: &str = "example.com/rack";
pub const BLOCK: &str = "example.com/block";

#[derive(Clone, Debug)]
pub struct Scenario {
    pub nodes: Vec<NodeSpec>,
    pub sets: Vec<SetSpec>,
    pub steps: Vec<Step>,
    pub times: Times,
    /// kube-scheduler takes the node with the highest score. Otherwise it takes any, as if its own plugins outvoted us.
    pub follows_scores: bool,
    /// A second Berth is told what happens, and may be the one that is asked.
    pub has_standby: bool,
    /// Whether the rest of the history is played after its last step; a contest ends when nobody moves any more.
    pub ending: Ending,
}

impl fmt::Display for Scenario {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.nodes.iter().try_for_each(|node| writeln!(f, "{node:?}"))?;
        self.sets.iter().try_for_each(|set| writeln!(f, "{set:?}"))?;
        writeln!(f, "{:?}", self.times)?;
        writeln!(f, "kube-scheduler follows scores: {}", self.follows_scores)
    }
}

/// For how long Berth remembers what it decided.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Times {
    /// Room that is kept for a group, while nobody comes.
    pub reservation: Duration,
    /// Attempts.
    pub ledger: Duration,
}

impl Times {
    /// The default of both settings.
    pub const DEFAULT: Self = Self { reservation: Duration::from_mins(1), ledger: Duration::from_mins(1) };

    pub fn longest(self) -> Duration {
        self.reservation.max(self.ledger)
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ending {
    /// Room for everybody: all groups have to run.
    Room,
    /// As it is: no group may be left in pieces.
    Standstill,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Level {
    Rack,
    Block,
}

impl Level {
    pub fn key(self) -> &'static str {
        match self {
            Level::Rack => RACK,
            Level::Block => BLOCK,
        }
    }
}

#[derive(Clone, Debug)]
pub struct NodeSpec {
    pub name: String,
    pub rack: Option<String>,
    pub block: String,
    pub cpu: i64,
    pub gpus: i64,
    /// How many pods it takes.
    pub places: i64,
    pub ssd: bool,
    pub tainted: bool,
}

impl NodeSpec {
    pub fn domain(&self, level: Level) -> Option<&str> {
        match level {
            Level::Rack => self.rack.as_deref(),
            Level::Block => Some(&self.block),
        }
    }
}

/// What a pod asks for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Needs {
    pub cpu: i64,
    pub gpus: i64,
    pub ssd: bool,
    pub tolerates: bool,
    /// Shares its host with nobody of its team.
    pub apart: bool,
    /// Occupies a port of its host.
    pub port: Option<u8>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// Pods of any origin with Berth's annotations: all of them are created at once.
    Annotated,
    /// Replicas of a `LeaderWorkerSet`: workers are created once their leader has a node.
    LeaderWorker,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Scope {
    Set,
    Namespace,
    Cluster,
}

/// What the groups of a set have in common.
#[derive(Clone, Debug)]
pub struct SetSpec {
    pub name: String,
    pub kind: Kind,
    pub namespace: &'static str,
    pub size: usize,
    pub leader: Needs,
    pub worker: Needs,
    pub required: Option<Level>,
    pub preferred: Option<Level>,
    pub exclusive: Option<Scope>,
    /// Says so by the annotation of `LeaderWorkerSet` instead of Berth's.
    pub native_exclusive: bool,
    pub priority: Priorities,
    pub storage: Option<Storage>,
    pub subgroups: Option<Subgroups>,
}

/// Each part of a group is in a rack of its own.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Subgroups {
    /// How many workers a part has.
    pub size: usize,
    pub leader_excluded: bool,
}

impl Subgroups {
    /// Which part a member of a group of `size` is in, as `LeaderWorkerSet`s number them: a leader that is one too many for even
    /// parts is in the first one, or in none.
    pub fn of_member(self, index: usize, size: usize) -> Option<usize> {
        let leader_is_extra = self.leader_excluded || (size - 1).is_multiple_of(self.size);
        match index {
            0 => (!self.leader_excluded).then_some(0),
            _ if leader_is_extra => Some((index - 1) / self.size),
            _ => Some(index / self.size),
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Priorities {
    pub leader: i32,
    pub worker: i32,
}

impl SetSpec {
    pub fn priority_of(&self, index: usize) -> i32 {
        if index == 0 { self.priority.leader } else { self.priority.worker }
    }

    /// Whether members ask for the same, so that one is like any other.
    pub fn is_uniform(&self) -> bool {
        let same_storage = |storage: Storage| {
            storage.whose == Whose::Everybody && matches!(storage.sharing, Sharing::Shared(_))
        };
        let same_priority = self.priority.leader == self.priority.worker;
        self.leader == self.worker && same_priority && self.storage.is_none_or(same_storage)
    }
}

#[derive(Clone, Copy, Debug)]
pub enum Step {
    // Controllers.
    NewGroup(usize),
    /// Creates missing members: which one comes first, and how many at most.
    Reconcile(usize, usize),
    NewSingle(Needs, i32),
    EndSingle(usize),
    /// A pod that runs has done its work.
    Finish(usize),
    /// With a grace period or at once.
    DeleteMember(usize, bool),
    /// A pod that is leaving is gone.
    Vanish(usize),
    DeleteGroup(usize),
    /// All members start anew, perhaps by another revision.
    Recreate(usize, bool),
    Resize(usize, bool),
    // The hostile tenant.
    Provoke(Provocation, Needs, i32),
    Rewrite(usize, Provocation),
    // kube-scheduler.
    Try(usize, Choice),
    Bind(usize, Outcome),
    /// An attempt that passed filter fails; the pod's status says so, or not.
    Abandon(usize, bool),
    // On the way to Berth.
    DeliverPods(usize),
    DeliverNodes(usize),
    DeliverVolumes(usize),
    DeliverAll,
    /// Milliseconds.
    Pass(u64),
    /// More than anything is remembered for.
    PassLong,
    // Disturbances.
    LoseNode(usize),
    ReturnNode(usize),
    /// The pods of lost nodes are deleted.
    CollectLost,
    Relabel(usize, usize),
    Restart,
    /// kube-scheduler asks the other Berth from now on. It has heard everything, or is late.
    Takeover(bool),
    /// Looks whether room is held for nobody.
    Probe,
}

/// What kube-scheduler does with filter's answer.
#[derive(Clone, Copy, Debug)]
pub struct Choice {
    /// Which of the nodes that are left.
    pub pick: usize,
    pub then: Then,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Then {
    BindNow,
    BindLater,
    /// Its volumes take as long as they take, perhaps longer than anybody remembers the attempt.
    BindLate,
    Fail {
        told: bool,
    },
}

/// What the API server makes of a binding.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outcome {
    Done,
    /// Done, but the answer is lost.
    DoneUnheard,
    /// Not done, and the answer does not say so.
    Unclear,
}
