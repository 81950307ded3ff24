//! What was tried a moment ago, so that it is not tried again at once.

use std::collections::HashMap;
use std::time::{Duration, Instant};

use crate::group_services::Action;
use crate::model::{Name, ObjectKey};

/// The watch shows a change long before this; if it does not, the change is looked at again.
const UNSEEN: Duration = Duration::from_secs(5);
/// The first and the longest pause after a failure.
const BACKOFF: (Duration, Duration) = (Duration::from_secs(1), Duration::from_mins(5));

/// What is remembered of a Service.
#[derive(Debug)]
struct Attempt {
    /// The version that it was decided on.
    version: Option<Name>,
    /// When it may be tried again, if it is to be done on that version once more.
    again: Instant,
    failures: u32,
}

/// What was tried lately, by Service.
#[derive(Debug, Default)]
pub(super) struct Memory(HashMap<ObjectKey, Attempt>);

impl Memory {
    /// When something may be done; `None` at once.
    pub(super) fn due(&self, action: &Action, now: Instant) -> Option<Instant> {
        let attempt = self.0.get(action.key())?;
        // What failed rests, whatever has changed meanwhile; what succeeded only until the watch shows it.
        let is_same = attempt.version.as_ref() == action.version();
        ((is_same || attempt.failures > 0) && attempt.again > now).then_some(attempt.again)
    }

    /// It was done, and the watch will show it.
    pub(super) fn done(&mut self, action: &Action, now: Instant) {
        let attempt = Attempt { version: action.version().cloned(), again: now + UNSEEN, failures: 0 };
        self.0.insert(action.key().clone(), attempt);
    }

    /// It failed.
    pub(super) fn failed(&mut self, action: &Action, now: Instant) {
        let failures = self.0.get(action.key()).map_or(0, |attempt| attempt.failures);
        let pause = BACKOFF.0.saturating_mul(1 << failures.min(16)).min(BACKOFF.1);
        let attempt =
            Attempt { version: action.version().cloned(), again: now + pause, failures: failures + 1 };
        self.0.insert(action.key().clone(), attempt);
    }

    /// Forgets Services about which there is nothing to do any more.
    pub(super) fn keep_only(&mut self, actions: &[Action], now: Instant) {
        let mut known = std::mem::take(&mut self.0);
        self.0 = actions
            .iter()
            .filter_map(|action| known.remove_entry(action.key()))
            // What was done may not show yet: then it is not to be done for another reason either.
            .collect();
        self.0.extend(known.into_iter().filter(|(_, attempt)| attempt.failures == 0 && attempt.again > now));
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;
    use std::time::{Duration, Instant};

    use super::{Action, BACKOFF, Memory, UNSEEN};
    use crate::model::{ManagedService, ObjectKey};

    fn delete(version: &str) -> Action {
        let managed = ManagedService {
            made_for: "LeaderWorkerSet/llm/0".into(),
            uid: "u".into(),
            version: version.into(),
            owners: Box::default(),
            is_headless: true,
            publishes_not_ready: true,
            terminating: false,
        };
        Action::Delete(ObjectKey::new("default", "llm-0"), Arc::new(managed))
    }

    #[test]
    fn what_was_done_is_not_done_again_before_the_watch_shows_it() {
        let (mut memory, now) = (Memory::default(), Instant::now());
        assert_eq!(memory.due(&delete("1"), now), None);
        memory.done(&delete("1"), now);
        assert_eq!(memory.due(&delete("1"), now), Some(now + UNSEEN));
        assert_eq!(memory.due(&delete("2"), now), None, "it shows something else");
        assert_eq!(memory.due(&delete("1"), now + UNSEEN), None, "it was lost");
    }

    #[test]
    fn what_fails_again_and_again_rests_longer_and_longer_but_not_for_ever() {
        let (mut memory, mut now) = (Memory::default(), Instant::now());
        let mut pauses = Vec::new();
        for _ in 0..12 {
            memory.failed(&delete("1"), now);
            memory.keep_only(&[delete("1")], now);
            let due = memory.due(&delete("2"), now).expect("it rests");
            pauses.push(due - now);
            now = due;
        }
        assert_eq!(pauses[..3], [1, 2, 4].map(Duration::from_secs));
        assert_eq!(pauses[11], BACKOFF.1);
        memory.keep_only(&[], now);
        assert_eq!(memory.due(&delete("1"), now), None, "it is another story by now");
    }
}
