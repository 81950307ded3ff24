//! Plays many histories on all processors, and reports what was broken.

use std::collections::BTreeMap;
use std::fmt::Write;
use std::sync::Mutex;
use std::thread;

use crate::api_server::ApiServer;
use crate::berth_process;
use crate::differential::rng::Rng;
use crate::differential::seeds::repeated_batches;
use crate::play::{play, tell};
use crate::scenario::Scenario;
use crate::shrink::shrink;

/// A history that broke a promise.
struct Broken {
    seed: u64,
    id: u64,
    promise: &'static str,
}

/// Plays so many histories; panics if one of them breaks a promise.
pub fn run(prefix: &str, count: u64, generate: fn(&mut Rng) -> Scenario) {
    let work = Mutex::new(repeated_batches(prefix, count).collect::<Vec<_>>().into_iter());
    let broken = Mutex::new(Vec::new());
    let config = berth_process::config();
    thread::scope(|scope| {
        for _ in 0..thread::available_parallelism().map_or(1, usize::from) {
            scope.spawn(|| {
                let api = ApiServer::start();
                loop {
                    let next = work.lock().expect("nobody panicked here").next();
                    let Some((seed, ids)) = next else { break };
                    for id in ids {
                        let outcome = play(&generate(&mut Rng::of(seed, id)), &api, &config);
                        if let Err(violation) = outcome {
                            let broken_one = Broken { seed, id, promise: violation.promise };
                            broken.lock().expect("nobody panicked here").push(broken_one);
                        }
                    }
                }
            });
        }
    });
    let mut broken = broken.into_inner().expect("nobody panicked here");
    broken.sort_by_key(|one| (one.promise, one.seed, one.id));
    assert!(broken.is_empty(), "{}", report(&broken, generate));
}

/// Of each promise that was broken the number of histories, and the first of them made small.
fn report(broken: &[Broken], generate: fn(&mut Rng) -> Scenario) -> String {
    let (api, config) = (ApiServer::start(), berth_process::config());
    let mut counts: BTreeMap<&str, usize> = BTreeMap::new();
    let mut report = String::new();
    for Broken { seed, id, promise } in broken {
        let count = counts.entry(promise).or_default();
        *count += 1;
        if *count > 1 {
            continue;
        }
        let scenario = generate(&mut Rng::of(*seed, *id));
        let same = |other: &Scenario| {
            play(other, &api, &config).is_err_and(|violation| violation.promise == *promise)
        };
        let small = shrink(&scenario, same);
        let story = tell(&small, &api, &config).join("\n");
        let _ = write!(report, "\n\n== {promise}: seed {seed}, history {id}, made small\n{small}{story}");
    }
    format!("broken promises, and in how many histories: {counts:?}{report}")
}
