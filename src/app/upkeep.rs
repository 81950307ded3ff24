//! What has to happen now and then.

use std::sync::Arc;
use std::time::{Duration, Instant};

use crate::cluster::Freshness;
use crate::json::Interner;
use crate::model::Kind;
use crate::store::Store;
use crate::verbs::GroupEvents;

const TICK: Duration = Duration::from_secs(1);
/// The most that one tick may let the ledger's clock run on. Whoever was stopped for longer (a debugger, a suspended
/// machine) has heard of nothing meanwhile, and must not give up what was promised before it has.
const LONGEST_TICK: Duration = Duration::from_secs(2);
const SWEEP_EVERY: u32 = 60;
/// What is kept for calls that ask for it, and no call asked for during so many sweeps, is dropped; it is made again when
/// needed.
const IDLE_SWEEPS: u64 = 10;

/// Expires ledger entries, and drops counters, domains, strings and news that nobody uses.
#[derive(Clone)]
pub(super) struct Upkeep {
    /// Where the ledger and the counters are.
    pub(super) store: Arc<Store>,
    /// Whether time runs for ledger entries.
    pub(super) freshness: Arc<Freshness>,
    /// Where the strings are.
    pub(super) interner: Arc<Interner>,
    /// What was said about groups.
    pub(super) group_events: Arc<GroupEvents>,
}

impl Upkeep {
    /// Does so for ever.
    pub(super) async fn run(self) {
        let Self { store, freshness, interner, group_events } = self;
        let mut ticks: u32 = 0;
        let mut last = Instant::now();
        loop {
            tokio::time::sleep(TICK).await;
            let elapsed = last.elapsed().min(LONGEST_TICK);
            last = Instant::now();
            // While the pod watch is cut, no confirmation can arrive, so nobody's time runs.
            let watching = freshness.staleness(Kind::Pod).is_zero();
            if watching && !store.view().ledger().is_empty() {
                store.write(|view| view.advance(elapsed));
            }
            ticks = ticks.wrapping_add(1);
            if ticks.is_multiple_of(SWEEP_EVERY) {
                if store.view().counters() + store.view().topologies() > 0 {
                    store.write(|view| {
                        view.sweep_unused(IDLE_SWEEPS);
                        Vec::new()
                    });
                }
                interner.sweep();
                group_events.look_for_dissenters(&store.view());
                group_events.forget(&store.view());
            }
        }
    }
}
