//! Plays many histories on all processors, and reports what was broken.

use std::collections::BTreeMap;
use std::fmt::Write;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;

use crate::api_server::ApiServer;
use crate::play::{play, tell};
use crate::scenario::Scenario;
use crate::support::random::shrink::shrink;
use crate::support::random::{Cases, Origin, Rng};

/// After so many histories it is told how far it is.
const PROGRESS: usize = 5_000;

/// A history that broke a promise.
struct Broken {
    origin: Origin,
    promise: &'static str,
}

/// Plays all histories; panics if one of them breaks a promise.
pub fn run(cases: &Cases, generate: fn(&mut Rng) -> Scenario) {
    let work = Mutex::new(cases.batches().into_iter());
    let broken = Mutex::new(Vec::new());
    let (played, all) = (AtomicUsize::new(0), cases.each().count());
    thread::scope(|scope| {
        for _ in 0..thread::available_parallelism().map_or(1, usize::from) {
            scope.spawn(|| {
                let api = ApiServer::start();
                loop {
                    let next = work.lock().expect("nobody panicked here").next();
                    let Some(batch) = next else { break };
                    let count = batch.len();
                    for origin in batch {
                        let outcome = play(&generate(&mut origin.rng()), &api);
                        if let Err(violation) = outcome {
                            let broken_one = Broken { origin, promise: violation.promise };
                            broken.lock().expect("nobody panicked here").push(broken_one);
                        }
                    }
                    let so_far = played.fetch_add(count, Ordering::Relaxed) + count;
                    if so_far.is_multiple_of(PROGRESS) {
                        let broken = broken.lock().expect("nobody panicked here").len();
                        println!("{so_far} of {all} histories, {broken} of them broken");
                    }
                }
            });
        }
    });
    let mut broken = broken.into_inner().expect("nobody panicked here");
    broken.sort_by_key(|one| (one.promise, one.origin));
    assert!(broken.is_empty(), "{}", report(cases, &broken, generate));
}

/// Of each promise that was broken the number of histories, and the first of them made small.
fn report(cases: &Cases, broken: &[Broken], generate: fn(&mut Rng) -> Scenario) -> String {
    let api = ApiServer::start();
    let mut counts: BTreeMap<&str, usize> = BTreeMap::new();
    let mut report = String::new();
    let numbers: Vec<u64> = broken.iter().map(|one| one.origin.number).collect();
    for Broken { origin, promise } in broken {
        let count = counts.entry(promise).or_default();
        *count += 1;
        if *count > 1 {
            continue;
        }
        let scenario = generate(&mut origin.rng());
        let same = |other: &Scenario| play(other, &api).is_err_and(|violation| violation.promise == *promise);
        let small = shrink(scenario, same);
        let name = cases.name(*origin);
        let story = tell(&small, &api).join("\n");
        let _ = write!(report, "\n\n== {promise}: {name}, made small\n{small}{story}");
    }
    format!("broken promises, and in how many histories: {counts:?}, cases {numbers:?}{report}")
}
