//! What was used: time on a processor by this thread, and memory by the process.
//!
//! Time on the processor, because other tests run on the same machine: waiting for one costs nobody anything.

use std::fs;
use std::time::Duration;

const PAGE: usize = 4096;

/// How long this thread has run so far.
fn time() -> Duration {
    let text = fs::read_to_string("/proc/thread-self/schedstat").expect("Linux tells");
    let nanos = text.split(' ').next().and_then(|first| first.parse().ok()).expect("a number first");
    Duration::from_nanos(nanos)
}

/// What something returns, and how long it ran.
pub fn timed<R>(work: impl FnOnce() -> R) -> (R, Duration) {
    let before = time();
    let result = work();
    (result, time().saturating_sub(before))
}

/// Memory of the process that is in use.
pub fn memory() -> usize {
    let text = fs::read_to_string("/proc/self/statm").expect("Linux tells");
    let pages: usize = text.split(' ').nth(1).and_then(|resident| resident.parse().ok()).expect("a number");
    pages * PAGE
}
