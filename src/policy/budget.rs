//! How much one decision may cost.
//!
//! What a tenant writes into its pods decides how much there is to look at. So whoever looks at many things says so
//! ([`Budget::spend`]) and stops when the budget is spent. What has been found until then is worth nothing: the engine
//! throws it away and answers that there is no decision.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};
use std::time::Instant;

/// So many steps are taken between two looks at the clock. A step is one look at one class of members on one host, or at
/// one pod: far below a microsecond each.
const STEPS_PER_LOOK: u64 = 2_048;

/// What one decision may cost. It says when to give up and never what to answer, so policies stay functions of what they
/// are asked.
#[derive(Debug)]
pub struct Budget {
    end: End,
    /// Steps that may be taken before the end is looked at, or before it is there.
    left: AtomicU64,
    spent: AtomicBool,
}

#[derive(Debug)]
enum End {
    Never,
    /// At this time.
    At(Instant),
    /// When all steps have been taken.
    AfterSteps,
}

impl Budget {
    /// As much as it takes: for questions that nobody waits for.
    pub fn unlimited() -> &'static Self {
        static UNLIMITED: Budget = Budget::ending(End::Never, u64::MAX);
        &UNLIMITED
    }

    /// Until then.
    pub fn until(deadline: Instant) -> Self {
        Self::ending(End::At(deadline), 0)
    }

    /// So many steps: the same on every machine, however fast it is.
    pub fn of_steps(steps: u64) -> Self {
        Self::ending(End::AfterSteps, steps)
    }

    const fn ending(end: End, left: u64) -> Self {
        Self { end, left: AtomicU64::new(left), spent: AtomicBool::new(false) }
    }

    /// Takes some steps. False if the budget does not allow them: what is under way is to end, whatever it returns.
    pub fn spend(&self, steps: usize) -> bool {
        let steps = steps as u64;
        // One decision is made by one thread: nobody else takes steps between these two.
        match self.left.load(Relaxed).checked_sub(steps) {
            Some(left) => self.left.store(left, Relaxed),
            None => self.look(),
        }
        !self.is_spent()
    }

    /// How many steps may still be taken, of one that was given in steps.
    pub(super) fn left(&self) -> u64 {
        self.left.load(Relaxed)
    }

    /// Whether it did not suffice.
    pub fn is_spent(&self) -> bool {
        self.spent.load(Relaxed)
    }

    fn look(&self) {
        let over = match self.end {
            End::Never => false,
            End::At(deadline) => Instant::now() >= deadline,
            End::AfterSteps => true,
        };
        if over {
            self.spent.store(true, Relaxed);
        }
        self.left.store(if over { 0 } else { STEPS_PER_LOOK }, Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use std::time::{Duration, Instant};

    use super::Budget;

    #[test]
    fn a_budget_ends_once_and_for_all() {
        let steps = Budget::of_steps(10);
        assert!(steps.spend(10) && !steps.is_spent());
        assert!(!steps.spend(1) && steps.is_spent() && !steps.spend(0), "spent is spent");
        let over = Budget::until(Instant::now());
        assert!(!over.spend(1), "the clock is looked at first of all");
        let long = Budget::until(Instant::now() + Duration::from_mins(10));
        assert!((0..10_000).all(|_| long.spend(1_000)));
        assert!(Budget::unlimited().spend(usize::MAX));
    }
}
