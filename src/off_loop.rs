//! A long piece of work keeps a thread busy, and the event loop has only as many as the machine has cores: probes, metrics and
//! other pods' calls must not wait for it.

use tokio::runtime::{Handle, RuntimeFlavor};
use tokio::task::block_in_place;

/// Does some work where it holds up nobody else: another thread takes over the other tasks of this one meanwhile. On a
/// runtime with a single thread, or outside of any, there is nobody to hand them to.
pub(crate) fn off_the_event_loop<R>(work: impl FnOnce() -> R) -> R {
    match Handle::try_current().map(|runtime| runtime.runtime_flavor()) {
        Ok(RuntimeFlavor::MultiThread) => block_in_place(work),
        _ => work(),
    }
}
