//! The promises, checked against the truth.
//!
//! | when | what |
//! |---|---|
//! | whenever time passes | [`limits`]: what the hostile tenant writes costs others no more than is allowed |
//! | filter has answered | [`answers`]: one domain, and the whole group fits into it whichever node is chosen; a reason for every other node |
//! | the first member was let in | [`choice`]: groups of a set are spread, and begin where least is left over |
//! | kube-scheduler has chosen a node | [`room`]: what is left still does for every group that has begun |
//! | a pod is bound | [`bindings`]: together, alone if asked for, in one preferred domain if that was possible |
//! | a member is gone | [`recovery`]: its room is kept for one time to live, which [`room`] looks after |
//! | everybody is at rest | [`takeover`]: another Berth, with only the cluster to go by, owes groups the same room |
//! | long after the last sign of life | [`expiry`]: no room is held |
//! | in the end | [`wholeness`]: no group is in pieces, and all run where there is room |

mod answers;
mod bindings;
mod choice;
mod expiry;
mod limits;
mod recovery;
mod room;
mod takeover;
mod wholeness;

use std::fmt;

/// A promise that was not kept.
#[derive(Clone, Debug)]
pub struct Violation {
    /// Which one: tells failures apart.
    pub promise: &'static str,
    pub what: String,
}

impl Violation {
    pub fn new(promise: &'static str, what: impl Into<String>) -> Self {
        Self { promise, what: what.into() }
    }
}

impl fmt::Display for Violation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.promise, self.what)
    }
}
