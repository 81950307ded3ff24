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
//! | promise | checked where |
//! |---|---|
//! | 1 together | `promises/answers`: one domain is offered; `promises/bindings`: nobody is bound elsewhere, and what is declined is declined with reason; late binds and takeovers included; the same of subgroups |
//! | 2 all or nothing | `promises/answers`: the rest fits wherever the member goes, by the exact packer of `room`; `promises/room`: it still does after everybody else's choices; `promises/expiry`: not for ever; `promises/bindings`: it did, or does, when the first one is bound late; `promises/wholeness`: nobody is left in pieces |
//! | 3 exclusive | `promises/bindings` |
//! | 4 required and preferred | `promises/bindings`: one preferred domain if one would have done in a calm moment |
//! | 5 spread, 6 best fit | `promises/choice`: in calm moments, with members that are alike |
//! | 7 recovery | `promises/recovery` and `promises/room`: the room of a member that is gone is kept for one time to live; finished ones are not waited for (`truth`, `room`) |
//! | 8 preemption | not here: `tests/preemption` |
//! | 9 said out loud | `promises/answers`: a reason for every node that is not offered |
//! | 10 nobody pays for another's annotations | `promises/limits`: slots of a namespace, their longest life, exclusive claims; all of the above for those beside the hostile tenant |
//! | two Berths owe the same | `promises/takeover`; `takeover`: either of them may be asked |
//!
//! | variable             | meaning                                                      |
//! |----------------------|--------------------------------------------------------------|
//! | `BERTH_GROUPS_CASES` | how many histories, instead of 10,000                        |
//! | `BERTH_GROUPS_SEED`  | their seed, instead of one that is always the same           |
//! | `BERTH_GROUPS_CASE`  | only the one with this number                                |
//! | `BERTH_CONTEST_...`  | the same of contests between groups, of which there are 2,000 |
#![allow(clippy::expect_used, clippy::panic, reason = "a test fails by panicking")]

mod api_server;
mod berth_process;
mod campaign;
mod controllers;
mod disturbances;
mod generator;
mod hostile;
mod objects;
mod play;
mod promises;
mod room;
mod scenario;
mod scheduling;
mod shrink;
mod storage;
#[path = "../support/mod.rs"]
mod support;
mod takeover;
mod tally;
mod truth;
mod watch;
mod world;

use api_server::ApiServer;
use support::random::{Cases, Seeds};

// The seed is fixed by default, so that what fails is a change's own fault; `make campaign` takes fresh ones.
#[test]
fn promises_hold_in_any_history() {
    campaign::run(&Cases::new("BERTH_GROUPS", 10_000, Seeds::Fixed), generator::history);
}

#[test]
fn groups_that_compete_for_room_are_never_left_in_pieces() {
    campaign::run(&Cases::new("BERTH_CONTEST", 2_000, Seeds::Fixed), generator::contest);
}

/// The generator is only worth what it reaches.
#[test]
fn random_histories_reach_what_they_are_made_for() {
    let api = ApiServer::start();
    let mut counts = tally::counts();
    for origin in Cases::always(1_000).each() {
        let scenario = generator::history(&mut origin.rng());
        if let Ok(seen) = play::play(&scenario, &api) {
            tally::count(&mut counts, &seen);
        }
    }
    println!("{counts}");
    counts.check();
}
