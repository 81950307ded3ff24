//! Decisions that may take long are made off the event loop.

use crate::off_loop::off_the_event_loop;

/// A larger body takes milliseconds to read.
const LARGE: usize = 1 << 20;

/// Whether reading a body is worth the hop, which costs as much as a tenth of an ordinary call.
pub(super) fn is_large(body: &[u8]) -> bool {
    body.len() > LARGE
}

/// Does some work off the event loop if it may take long.
pub(super) fn off_the_event_loop_if<R>(takes_long: bool, work: impl FnOnce() -> R) -> R {
    if takes_long { off_the_event_loop(work) } else { work() }
}
