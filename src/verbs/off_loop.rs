//! A long decision keeps a thread busy, and the event loop has only as many as the machine has cores: probes, metrics and other
//! pods' calls must not wait for one decision.

use tokio::runtime::{Handle, RuntimeFlavor};
use tokio::task::block_in_place;

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

/// Does some work where it holds up nobody else: another thread takes over the other tasks of this one meanwhile. On a
/// runtime with a single thread, or outside of any, there is nobody to hand them to.
pub(crate) fn off_the_event_loop<R>(work: impl FnOnce() -> R) -> R {
    match Handle::try_current().map(|runtime| runtime.runtime_flavor()) {
        Ok(RuntimeFlavor::MultiThread) => block_in_place(work),
        _ => work(),
    }
}
