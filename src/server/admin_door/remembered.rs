//! What the API server has said a moment ago.

use std::collections::HashMap;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use ring::digest::{Context, SHA256};

use crate::cluster::access_review::Review;

/// For how long somebody stays in who may be out meanwhile: as long as kube-scheduler remembers it for its own port.
const GOOD: Duration = Duration::from_secs(10);
/// For how long somebody stays out who may be in meanwhile.
const BAD: Duration = Duration::from_secs(2);
/// How many answers are remembered.
const MOST: usize = 1024;

/// A question, as a hash: no token is kept.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) struct Question([u8; 32]);

impl Question {
    /// Whether the user of this token may do this.
    pub(super) fn new(token: &str, verb: &str, path: &str) -> Self {
        let mut context = Context::new(&SHA256);
        for part in [token, verb, path] {
            // With its length, so that no two questions read the same.
            context.update(&(part.len() as u64).to_be_bytes());
            context.update(part.as_bytes());
        }
        let mut hash = [0; 32];
        hash.copy_from_slice(context.finish().as_ref());
        Self(hash)
    }
}

/// Answers that are still good.
#[derive(Default)]
pub(super) struct Remembered(Mutex<HashMap<Question, Answered>>);

struct Answered {
    review: Review,
    until: Instant,
}

impl Remembered {
    /// What was said, unless that is too long ago.
    pub(super) fn get(&self, question: &Question, now: Instant) -> Option<Review> {
        self.lock().get(question).filter(|answered| now < answered.until).map(|answered| answered.review)
    }

    /// Remembers an answer. If there are too many, the one that would be forgotten next goes first, so whoever tries
    /// tokens at random makes Berth forget such answers and not those of good tokens.
    pub(super) fn put(&self, question: Question, review: Review, now: Instant) {
        let mut answers = self.lock();
        if answers.len() >= MOST {
            answers.retain(|_, answered| now < answered.until);
        }
        if answers.len() >= MOST {
            let next =
                answers.iter().min_by_key(|(_, answered)| answered.until).map(|(question, _)| *question);
            next.map(|next| answers.remove(&next));
        }
        let until = now + if review == Review::Authorised { GOOD } else { BAD };
        answers.insert(question, Answered { review, until });
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<Question, Answered>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use std::time::{Duration, Instant};

    use super::{BAD, GOOD, MOST, Question, Remembered};
    use crate::cluster::access_review::Review;

    #[test]
    fn good_answers_are_remembered_for_longer_than_bad_ones_and_neither_for_long() {
        let (remembered, now) = (Remembered::default(), Instant::now());
        for (review, life) in
            [(Review::Authorised, GOOD), (Review::NotAuthorised, BAD), (Review::UnknownToken, BAD)]
        {
            let question = Question::new(&format!("{review:?}"), "get", "/metrics");
            remembered.put(question, review, now);
            let last = now + life.saturating_sub(Duration::from_millis(1));
            assert_eq!(remembered.get(&question, last), Some(review));
            assert_eq!(remembered.get(&question, now + life), None);
        }
        assert!(BAD < GOOD && GOOD <= Duration::from_secs(10));
    }

    #[test]
    fn an_answer_is_for_its_token_verb_and_path_alone() {
        let (remembered, now) = (Remembered::default(), Instant::now());
        remembered.put(Question::new("token", "get", "/metrics"), Review::Authorised, now);
        for (token, verb, path) in [
            ("other", "get", "/metrics"),
            ("token", "put", "/metrics"),
            ("token", "get", "/configz"),
            ("tokenget", "", "/metrics"),
            ("token", "get/metrics", ""),
        ] {
            assert_eq!(remembered.get(&Question::new(token, verb, path), now), None, "{token} {verb} {path}");
        }
    }

    #[test]
    fn random_tokens_make_berth_forget_no_good_one_and_use_up_no_memory() {
        let (remembered, now) = (Remembered::default(), Instant::now());
        let good = Question::new("good", "get", "/metrics");
        remembered.put(good, Review::Authorised, now);
        for number in 0..3 * MOST {
            let question = Question::new(&number.to_string(), "get", "/metrics");
            remembered.put(question, Review::UnknownToken, now);
        }
        assert_eq!(remembered.lock().len(), MOST);
        assert_eq!(remembered.get(&good, now), Some(Review::Authorised));
    }
}
