//! Bounded concurrency: what is too much is turned away at once.

use crate::support::raw_http::{Connection, post_head};
use crate::support::running::Running;
use crate::support::small_cluster::names_call;
use crate::support::waiting::until_true;

#[test]
fn more_requests_than_allowed_are_shed_and_not_queued() {
    let berth = Running::start("server: {limits: {maxInFlight: 1}}\n");
    let body = names_call("p", &["node-a"]);
    let mut slow = berth.connect();
    slow.send(post_head("/filter", body.len())).expect("sent");
    until_true("the slow request is under way", || {
        berth.count(r#"berth_inflight_requests{verb="filter"}"#) == 1
    });

    let shed = berth.post("/prioritize", &body);
    assert_eq!(shed.status, 503);
    assert!(shed.header("retry-after").is_some());
    assert!(shed.body.starts_with(r#"{"error":"#), "{}", shed.body);
    assert_eq!(berth.count(r#"berth_shed_requests_total{verb="prioritize"}"#), 1);

    slow.send(&body).expect("sent");
    assert_eq!(slow.receive().expect("an answer").status, 200, "who was first is served");
    assert_eq!(berth.post("/prioritize", &body).status, 200, "and the place is free again");
}

#[test]
fn more_connections_than_allowed_are_closed() {
    let berth = Running::start("server: {limits: {maxConnections: 2}}\n");
    let body = names_call("p", &["node-a"]);
    let mut kept: Vec<Connection> = (0..2).map(|_| berth.connect()).collect();
    for connection in &mut kept {
        let answer = connection.ask(crate::support::raw_http::post("/filter", &body)).expect("an answer");
        assert_eq!(answer.status, 200);
    }
    assert!(berth.connect().ends(), "the third is closed at once");
    drop(kept.pop());
    until_true("a place is free again", || {
        berth.connect().ask(crate::support::raw_http::post("/filter", &body)).is_ok_and(|a| a.status == 200)
    });
}

#[test]
fn nobody_takes_all_connections_of_an_admin_port_that_others_reach() {
    // A sixteenth of them for each peer: the probes of a kubelet come from another address than whoever floods the port.
    let berth = Running::start_open_to_all("server: {insecure: true, limits: {maxConnections: 32}}\n");
    let open = || Connection::open(berth.admin).expect("a connection");
    let mut kept: Vec<Connection> = (0..2).map(|_| open()).collect();
    for connection in &mut kept {
        assert_eq!(connection.ask(crate::support::raw_http::get("/livez")).expect("an answer").status, 200);
    }
    assert!(open().ends(), "the third of one peer is closed at once");
    drop(kept);
    until_true("a place is free again", || {
        open().ask(crate::support::raw_http::get("/livez")).is_ok_and(|answer| answer.status == 200)
    });
}
