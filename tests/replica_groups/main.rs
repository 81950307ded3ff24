//! Replica groups keep their promises in random histories of a cluster.
//!
//! ```text
//!                    +-- truth --+-- news, late --> Berth <-- filter, prioritize, bind --+
//!   seed --> history-+           |                                                       |
//!                    +-----------+---- pods, nodes -----------> kube-scheduler ----------+
//! ```
//!
//! This test plays kube-scheduler, the API server and the controllers. Berth is asked as its callers ask it, in JSON,
//! and nothing is known here of how it finds its answers. What it promised is checked against the truth after every step.
//!
//! | variable             | meaning                                             |
//! |----------------------|-----------------------------------------------------|
//! | `BERTH_GROUPS_CASES` | how many histories, instead of 10,000               |
//! | `BERTH_GROUPS_SEED`  | the seed of the second half, instead of a fresh one |
#![allow(clippy::expect_used, clippy::panic, reason = "a test fails by panicking")]

mod api_server;
mod berth_process;
mod controllers;
#[path = "../support/differential/mod.rs"]
mod differential;
mod disturbances;
mod generator;
mod objects;
mod play;
mod promises;
mod room;
mod scenario;
mod scheduling;
mod shrink;
mod tally;
mod truth;
mod watch;
mod world;

use std::sync::Mutex;
use std::thread;

use api_server::ApiServer;
use differential::rng::Rng;
use differential::seeds::{FIXED_SEED, batches};
use scenario::Scenario;

/// Plays histories on all processors, and tells of the first that breaks a promise.
fn play_all(prefix: &str, count: u64, generate: fn(&mut Rng) -> Scenario) {
    let work = Mutex::new(batches(prefix, count).collect::<Vec<_>>().into_iter());
    let config = berth_process::config();
    thread::scope(|scope| {
        for _ in 0..thread::available_parallelism().map_or(1, usize::from) {
            scope.spawn(|| {
                let api = ApiServer::start();
                loop {
                    let next = work.lock().expect("nobody panicked here").next();
                    let Some((seed, ids)) = next else { break };
                    for id in ids {
                        let scenario = generate(&mut Rng::of(seed, id));
                        if let Err(violation) = play::play(&scenario, &api, &config) {
                            let same = |other: &Scenario| {
                                let again = play::play(other, &api, &config);
                                again.is_err_and(|other| other.promise == violation.promise)
                            };
                            let small = shrink::shrink(&scenario, same);
                            let story = play::tell(&small, &api, &config).join("\n");
                            panic!("seed {seed}, history {id}: {violation}\n{small:#?}\n{story}");
                        }
                    }
                }
            });
        }
    });
}

#[test]
fn promises_hold_in_any_history() {
    play_all("BERTH_GROUPS", 10_000, generator::history);
}

#[test]
fn groups_that_compete_for_room_are_never_left_in_pieces() {
    play_all("BERTH_CONTEST", 2_000, generator::contest);
}

/// The generator is only worth what it reaches.
#[test]
fn random_histories_reach_what_they_are_made_for() {
    let (api, config) = (ApiServer::start(), berth_process::config());
    let mut counts = tally::counts();
    for id in 0..1_000 {
        let scenario = generator::history(&mut Rng::of(FIXED_SEED, id));
        if let Ok(seen) = play::play(&scenario, &api, &config) {
            tally::count(&mut counts, &seen);
        }
    }
    println!("{counts}");
    counts.check();
}
