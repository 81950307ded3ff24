//! Whether a connection is used. hyper has a timer for this on HTTP/1.1 only, and even there none for a client that does not
//! take its answers.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::time::Instant;

/// The requests of one connection.
pub(super) struct Activity {
    under_way: AtomicUsize,
    /// When the last one was answered, or the connection began.
    idle_since: Mutex<Instant>,
}

/// A request, for as long as its answer is made.
pub(super) struct UnderWay(Arc<Activity>);

impl Activity {
    /// Of a connection that begins now.
    pub(super) fn new() -> Arc<Self> {
        Arc::new(Self { under_way: AtomicUsize::new(0), idle_since: Mutex::new(Instant::now()) })
    }

    /// A request has come.
    pub(super) fn begin(self: &Arc<Self>) -> UnderWay {
        self.under_way.fetch_add(1, Ordering::SeqCst);
        UnderWay(self.clone())
    }

    /// Counts the time from now on.
    pub(super) fn begin_anew(&self) {
        *self.lock() = Instant::now();
    }

    /// Waits until no request has been under way for so long.
    pub(super) async fn idle_for(&self, limit: Duration) {
        loop {
            // Requests only move the end away, so nothing has to be woken by them.
            let end = if self.under_way.load(Ordering::SeqCst) > 0 { Instant::now() } else { *self.lock() };
            let end = end + limit;
            if end <= Instant::now() {
                return;
            }
            tokio::time::sleep_until(end).await;
        }
    }

    fn lock(&self) -> MutexGuard<'_, Instant> {
        self.idle_since.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for UnderWay {
    fn drop(&mut self) {
        // In this order: whoever sees no request sees the time of the last one too.
        self.0.begin_anew();
        self.0.under_way.fetch_sub(1, Ordering::SeqCst);
    }
}
