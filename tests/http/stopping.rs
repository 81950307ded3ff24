//! Told to stop: readiness goes, what is under way is answered, and nothing new is let in.

use crate::support::raw_http::{Connection, post, post_head};
use crate::support::running::Running;
use crate::support::small_cluster::names_call;
use crate::support::waiting::until_true;

#[test]
fn a_request_under_way_is_answered_and_new_ones_are_refused() {
    let mut berth = Running::start("");
    let body = names_call("p", &["node-a"]);
    let mut idle = berth.connect();
    assert_eq!(idle.ask(post("/filter", &body)).expect("an answer").status, 200);
    let mut under_way = berth.connect();
    under_way.send(post_head("/filter", body.len())).expect("sent");
    until_true("the request is under way", || berth.count(r#"berth_inflight_requests{verb="filter"}"#) == 1);
    assert_eq!(berth.admin("/readyz").status, 200);

    let app = berth.app.take().expect("running");
    let stopping = berth.runtime.spawn(app.stop());
    until_true("no new connections", || Connection::open(berth.verbs).is_err());
    let readiness = berth.admin("/readyz");
    assert_eq!(readiness.status, 503, "not ready while draining");
    assert!(readiness.body.contains("[-] shutdown"), "{}", readiness.body);
    assert_eq!(berth.admin("/livez").status, 200, "but alive");
    assert!(idle.ends(), "an idle connection is closed");
    assert!(!stopping.is_finished(), "somebody is still being served");

    under_way.send(&body).expect("sent");
    let answer = under_way.receive().expect("the answer that was owed");
    assert_eq!(answer.status, 200, "{}", answer.body);
    assert!(under_way.ends(), "and then the connection is closed");
    berth.runtime.block_on(stopping).expect("stopped");
    assert!(Connection::open(berth.admin).is_err(), "the admin port goes last");
}

#[test]
fn a_request_that_never_ends_holds_up_the_end_only_so_long() {
    let mut berth = Running::start("server: {timeouts: {drain: 200ms}}\n");
    let mut endless = berth.connect();
    endless.send(post_head("/filter", 100)).expect("sent");
    until_true("the request is under way", || berth.count(r#"berth_inflight_requests{verb="filter"}"#) == 1);
    let app = berth.app.take().expect("running");
    let began = std::time::Instant::now();
    berth.runtime.block_on(app.stop());
    assert!(began.elapsed() < std::time::Duration::from_secs(5), "took {:?}", began.elapsed());
}
