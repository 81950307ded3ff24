//! Whether to claim a Lease, from what has been seen of it.

use std::time::{Duration, Instant};

use crate::cluster::lease::SeenLease;

/// What to do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Step {
    /// Write our name into it.
    Claim,
    /// Look again later.
    Wait,
}

/// Remembers when somebody else's Lease was first seen as it is now.
#[derive(Debug, Default)]
pub(super) struct Observer(Option<(String, Instant)>);

impl Observer {
    /// Takes in how it is now.
    pub(super) fn look(&mut self, lease: Option<&SeenLease>, own: &str, now: Instant) -> Step {
        let Some(lease) = lease.filter(|lease| !lease.holder.is_empty() && lease.holder != own) else {
            self.0 = None;
            return Step::Claim;
        };
        self.look_at_other(&lease.version, lease.duration, now)
    }

    fn look_at_other(&mut self, version: &str, duration: Duration, now: Instant) -> Step {
        match &self.0 {
            Some((known, since)) if known == version => {
                if now.duration_since(*since) >= duration {
                    Step::Claim
                } else {
                    Step::Wait
                }
            }
            _ => {
                self.0 = Some((version.to_owned(), now));
                Step::Wait
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::time::{Duration, Instant};

    use super::{Observer, Step};

    #[test]
    fn a_lease_that_somebody_holds_is_claimed_when_it_has_not_changed_for_its_whole_duration() {
        let (begin, duration) = (Instant::now(), Duration::from_secs(15));
        let mut observer = Observer::default();
        let mut look = |version: &str, seconds: u64| {
            observer.look_at_other(version, duration, begin + Duration::from_secs(seconds))
        };
        assert_eq!(look("1", 0), Step::Wait, "nobody knows how old it is");
        assert_eq!(look("1", 14), Step::Wait);
        assert_eq!(look("2", 15), Step::Wait, "it was renewed");
        assert_eq!(look("2", 29), Step::Wait);
        assert_eq!(look("2", 30), Step::Claim);
    }

    #[test]
    fn a_lease_that_nobody_holds_is_claimed_at_once() {
        let mut observer = Observer::default();
        assert_eq!(observer.look(None, "a", Instant::now()), Step::Claim);
    }
}
