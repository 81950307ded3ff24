//! Random histories of a cluster and its scheduler, replayed against a simple model of the truth.
//!
//! An imagined API server ([`world`]) has one event queue per kind, which is delivered late, or lost and
//! made up for by a list. Calls come from a scheduler that may be ahead of our watch or behind it. After
//! every step the view must equal the [`model`], and once everything has been delivered and every decision
//! has come to its end, the view must equal the API server.
//!
//! | variable                | meaning                               |
//! |-------------------------|---------------------------------------|
//! | `BERTH_HISTORIES_CASES` | how many histories, instead of 2,000  |
//! | `BERTH_HISTORIES_SEED`  | their seed, instead of a fresh one    |
//! | `BERTH_HISTORIES_CASE`  | only the one with this number         |
#![allow(clippy::expect_used, reason = "a test fails by panicking")]

mod histories {
    pub mod model;
    pub mod recount;
    pub mod replay;
    pub mod step;
    pub mod world;
}
mod support;

use histories::replay::{Replay, Seen};
use histories::step::{Step, any_history};
use support::random::{Cases, Seeds, check};

fn replay(steps: &[Step]) -> Replay {
    let mut replay = Replay::default();
    for (at, step) in steps.iter().enumerate() {
        replay.take(step);
        replay.compare(&format!("after step {at}, {step:?}"));
    }
    replay
}

/// What happened in a history that was played to its end.
fn settled(steps: &[Step]) -> Seen {
    let mut replay = replay(steps);
    replay.settle();
    replay.seen
}

#[test]
fn the_view_equals_the_model_after_every_step_of_any_history() {
    let cases = Cases::new("BERTH_HISTORIES", 2_000, Seeds::Fresh);
    check(&cases, any_history, |steps| settled(steps));
}

#[test]
fn random_histories_reach_every_corner_of_the_life_cycle() {
    // A generator that never gets somewhere proves nothing about it.
    let mut seen = Seen::default();
    for history in check(&Cases::always(300), any_history, |steps| settled(steps)) {
        seen.add(&history);
    }
    let missing = seen.missing();
    assert!(missing.is_empty(), "never happened in 300 histories: {missing:?}");
}

mod told_by_hand {
    //! The orders of events that the issue names, one by one, so that each has a name when it breaks.

    use super::histories::step::Step::{self, *};
    use super::replay;

    const P: usize = 0;
    const ALL: usize = 8;

    fn check(steps: &[Step], place: Option<&str>, entries: usize) {
        let mut replay = replay(steps);
        assert_eq!(replay.place_of_newest(P).as_deref(), place, "{steps:?}");
        assert_eq!(replay.ledger_len(), entries, "{steps:?}");
        replay.settle();
    }

    #[test]
    fn the_bind_answer_comes_before_the_watch_event() {
        let steps = [Create(P), Filter(P, 0, 3), Bind(P, 0, 1), Execute(0, true), Answer(0, true)];
        check(&steps, Some("node-1"), 1);
        check(&[&steps[..], &[Deliver(ALL)]].concat(), Some("node-1"), 0);
    }

    #[test]
    fn the_watch_event_comes_before_the_bind_answer() {
        let steps = [Create(P), Filter(P, 0, 3), Bind(P, 0, 1), Execute(0, true), Deliver(ALL)];
        check(&[&steps[..], &[Answer(0, true)]].concat(), Some("node-1"), 0);
    }

    #[test]
    fn a_pod_is_deleted_while_assumed() {
        let steps = [Create(P), Deliver(ALL), Bind(P, 0, 1), Delete(P)];
        check(&steps, Some("node-1"), 1);
        check(&[&steps[..], &[Deliver(ALL)]].concat(), None, 0);
    }

    #[test]
    fn a_recreated_pod_is_another_pod() {
        let steps = [Create(P), Deliver(ALL), Bind(P, 0, 1), Delete(P), Create(P), Filter(P, 0, 1)];
        check(&steps, Some("node-0"), 2);
        check(&[&steps[..], &[Deliver(ALL)]].concat(), Some("node-0"), 1);
        check(&[&steps[..], &[RelistPods]].concat(), Some("node-0"), 1);
    }

    #[test]
    fn a_recreation_that_the_watch_missed_comes_with_a_list() {
        let steps = [Create(P), Filter(P, 0, 1), Bind(P, 0, 1), Delete(P), Create(P), RelistPods];
        check(&steps, None, 0);
    }

    #[test]
    fn a_refused_binding_gives_the_place_back() {
        let steps = [Create(P), Deliver(ALL), Bind(P, 0, 1), Execute(0, false), Answer(0, true)];
        check(&steps, None, 0);
    }

    #[test]
    fn a_refusal_leaves_a_newer_attempt_alone() {
        let steps = [Create(P), Bind(P, 0, 1), Execute(0, false), Filter(P, 0, 3), Answer(0, true)];
        check(&steps, None, 1);
    }

    #[test]
    fn a_binding_without_an_answer_is_remembered_until_it_expires() {
        let steps = [Create(P), Deliver(ALL), Bind(P, 0, 1), Execute(0, false), Answer(0, false)];
        check(&steps, Some("node-1"), 1);
        check(&[&steps[..], &[Advance(9)]].concat(), Some("node-1"), 1);
        check(&[&steps[..], &[Advance(9), Advance(1)]].concat(), None, 0);
    }

    #[test]
    fn calls_that_come_after_the_confirmation_change_nothing() {
        let steps = [Create(P), BoundByOther(P, 2), Deliver(ALL), Filter(P, 0, 1), Bind(P, 0, 1)];
        check(&steps, Some("node-2"), 0);
    }

    #[test]
    fn a_failed_attempt_ends_an_offer_but_not_a_binding_under_way() {
        let offered = [Create(P), Deliver(ALL), Filter(P, 0, 1), FailAttempt(P, 7), Deliver(ALL)];
        check(&offered, None, 0);
        let binding = [Create(P), Deliver(ALL), Bind(P, 0, 1), FailAttempt(P, 7), Deliver(ALL)];
        check(&binding, Some("node-1"), 1);
    }

    #[test]
    fn a_failure_that_was_known_when_the_attempt_began_does_not_end_it() {
        let steps = [Create(P), FailAttempt(P, 7), Filter(P, 0, 1), Deliver(ALL)];
        check(&steps, Some("node-0"), 1);
    }

    #[test]
    fn a_finished_pod_holds_no_place() {
        let steps = [Create(P), BoundByOther(P, 2), Deliver(ALL), Finish(P), Deliver(ALL)];
        check(&steps, None, 0);
    }
}
