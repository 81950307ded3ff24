//! The receiving end of what the store publishes.

use std::sync::Arc;

use tokio::sync::broadcast::Receiver;
use tokio::sync::broadcast::error::{RecvError, TryRecvError};

use super::Changes;

/// Receives the changes of every publication since it was made, in their order.
pub struct Subscription {
    receiver: Receiver<Arc<Changes>>,
}

impl Subscription {
    pub(super) fn new(receiver: Receiver<Arc<Changes>>) -> Self {
        Self { receiver }
    }

    /// The next changes; `None` when the store is gone. Who comes too late for some is told that more has changed than
    /// is listed.
    pub async fn next(&mut self) -> Option<Arc<Changes>> {
        match self.receiver.recv().await {
            Ok(changes) => Some(changes),
            Err(RecvError::Lagged(_)) => Some(Arc::new(Changes::unlisted())),
            Err(RecvError::Closed) => None,
        }
    }

    /// The next changes, if there are any already.
    pub fn next_ready(&mut self) -> Option<Arc<Changes>> {
        match self.receiver.try_recv() {
            Ok(changes) => Some(changes),
            Err(TryRecvError::Lagged(_)) => Some(Arc::new(Changes::unlisted())),
            Err(TryRecvError::Empty | TryRecvError::Closed) => None,
        }
    }

    /// Completes with the next changes that are wanted, or when the store is gone.
    pub async fn until(&mut self, is_wanted: impl Fn(&Changes) -> bool) {
        while let Some(changes) = self.next().await {
            if is_wanted(&changes) {
                return;
            }
        }
    }
}
