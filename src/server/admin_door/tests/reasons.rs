//! Whom Berth tells why it is not ready.

use std::sync::Arc;

use hyper::Method;

use super::{Access, AdminDoor, FakeApi, TOKENS, ask, asking, door_of, refused};
use crate::cluster::{Freshness, Problem, WatchProblem};
use crate::model::Kind;

const SECRETS: [&str; 3] = ["https://10.0.0.1:6443", "may not list pods", "x509"];

/// Ready but for pods, and with trouble about nodes.
fn troubled(access: Access) -> Arc<AdminDoor> {
    let freshness = Arc::new(Freshness::default());
    for kind in Kind::ALL.into_iter().filter(|kind| *kind != Kind::Pod) {
        freshness.mark_open(kind);
    }
    let problem = |problem, text: &str| Arc::new(WatchProblem { problem, text: text.to_owned() });
    let unreachable = problem(Problem::Unreachable, "the API server at https://10.0.0.1:6443: x509");
    freshness.mark_problem(Kind::Pod, problem(Problem::Forbidden, "Berth's account may not list pods"));
    freshness.mark_problem(Kind::Node, unreachable);
    door_of(access, freshness)
}

#[tokio::test]
async fn strangers_are_told_what_is_wrong_but_not_why() {
    let api = Arc::new(FakeApi::default());
    let silent = FakeApi::answering(TOKENS, None, "");
    for (access, authorization) in [
        (asking(&api), None),
        (asking(&api), Some("Bearer stranger")),
        (asking(&api), Some("Bearer guest")),
        (asking(&silent), Some("Bearer scraper")),
        (Access::Nobody, Some("Bearer scraper")),
    ] {
        let door = troubled(access);
        for path in ["/readyz", "/readyz?verbose", "/readyz?verbose=1&verbose"] {
            let told = ask(&door, &Method::GET, path, authorization).await;
            assert_eq!(told.status, 503, "{path} {authorization:?}: a probe is answered whatever its token");
            for line in [
                "[+] shutdown",
                "[-] Pod: forbidden: reason withheld",
                "[+] Node: unreachable: reason withheld",
            ] {
                assert!(
                    told.body.lines().any(|said| said == line),
                    "{path} {authorization:?}: {}",
                    told.body
                );
            }
            for secret in SECRETS {
                assert!(!told.body.contains(secret), "{path} {authorization:?}: {}", told.body);
            }
        }
        assert_eq!(refused(&door), [0; 4], "nobody was refused");
    }
}

#[tokio::test]
async fn a_kind_that_is_only_late_is_marked_and_no_more_is_said() {
    let door = door_of(Access::Nobody, Arc::default());
    let told = ask(&door, &Method::GET, "/readyz", None).await;
    assert!(told.body.lines().any(|line| line == "[-] Pod: reason withheld"), "{}", told.body);
}

#[tokio::test]
async fn this_machine_and_who_may_get_readyz_are_told_why() {
    let api = Arc::new(FakeApi::default());
    for (access, authorization) in [(Access::Loopback, None), (asking(&api), Some("Bearer scraper"))] {
        let door = troubled(access);
        for path in ["/readyz", "/readyz?verbose"] {
            let told = ask(&door, &Method::GET, path, authorization).await;
            assert_eq!(told.status, 503, "{path}");
            assert!(told.body.contains("[-] Pod: not synced: forbidden: "), "{}", told.body);
            assert!(SECRETS.iter().all(|secret| told.body.contains(secret)), "{}", told.body);
        }
    }
}
