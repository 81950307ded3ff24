//! How many requests are under way.

use std::sync::atomic::{AtomicUsize, Ordering};

use prometheus::IntGauge;

/// Counts requests; turning one away costs nothing but the answer.
#[derive(Debug, Default)]
pub struct InFlight(AtomicUsize);

/// A place among the requests under way, given back on drop.
pub struct Place<'a> {
    inflight: &'a InFlight,
    gauge: IntGauge,
}

impl InFlight {
    /// A place, unless `limit` are taken.
    pub fn enter(&self, limit: usize, gauge: IntGauge) -> Option<Place<'_>> {
        let free = |taken: usize| (taken < limit).then_some(taken + 1);
        self.0.fetch_update(Ordering::Relaxed, Ordering::Relaxed, free).ok()?;
        gauge.inc();
        Some(Place { inflight: self, gauge })
    }
}

impl Drop for Place<'_> {
    fn drop(&mut self) {
        self.inflight.0.fetch_sub(1, Ordering::Relaxed);
        self.gauge.dec();
    }
}
