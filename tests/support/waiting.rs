//! Waiting for something to become true, with an end.

use std::time::{Duration, Instant};

const DEADLINE: Duration = Duration::from_secs(20);

/// Asks again and again until there is an answer.
pub fn until<T>(what: &str, mut ask: impl FnMut() -> Option<T>) -> T {
    let began = Instant::now();
    loop {
        if let Some(answer) = ask() {
            return answer;
        }
        assert!(began.elapsed() < DEADLINE, "still not, after {DEADLINE:?}: {what}");
        std::thread::sleep(Duration::from_millis(10));
    }
}

/// Asks again and again until it is so.
pub fn until_true(what: &str, mut ask: impl FnMut() -> bool) {
    until(what, || ask().then_some(()));
}
