//! For how long, and for what, a filter call waits.

use std::time::Duration;

use crate::decision::Decision;

/// For what filter may still wait.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Patience {
    /// For nothing: it answers.
    None,
    /// For bind calls that a hard limit depends on.
    Limits,
    /// Also for those that only make scores better.
    Preferences,
}

impl Patience {
    /// Scores are worth a small part of the wait: the bind call is usually under way already, and where it is not
    /// (volumes, permits) it will not come soon.
    const PREFERENCES: u32 = 10;

    /// What is left after some of the time for limits has passed.
    pub fn after(waited: Duration, limits: Duration) -> Self {
        if waited < limits / Self::PREFERENCES {
            Patience::Preferences
        } else if waited < limits {
            Patience::Limits
        } else {
            Patience::None
        }
    }

    /// How long it stays like this.
    pub fn next_change(self, waited: Duration, limits: Duration) -> Duration {
        let until = if self == Patience::Preferences { limits / Self::PREFERENCES } else { limits };
        until.saturating_sub(waited)
    }

    /// Whether the pods that a decision awaits are waited for before it is given as an answer.
    pub fn waits_for(self, decision: &Decision) -> bool {
        let worth_it = match self {
            Patience::None => false,
            Patience::Limits => decision.is_uncertain(),
            Patience::Preferences => true,
        };
        worth_it && !decision.effects().awaited.is_empty()
    }
}
