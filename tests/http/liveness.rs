//! Dear decisions hold up nobody else.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering::Relaxed};
use std::time::{Duration, Instant};

use berth::app::Source;
use serde_json::Value;

use crate::support::dear_groups::{HOST, RACK, UNIT, ZONE, apart, call, list, member, node, requiring};
use crate::support::raw_http::{Connection, get, post};
use crate::support::running::Running;
use crate::support::small_cluster::CONFIG_HEAD;

const NODES: usize = 2_000;
/// More than the runtime has threads on a small machine.
const CALLERS: usize = 4;
const PROBES: usize = 40;
const PROMPT: Duration = Duration::from_millis(100);

/// A group that is as dear as a group can be: all members unlike, and none wants another near.
fn members() -> Vec<Value> {
    let unlike = |at: usize| requiring(ZONE, apart(&[HOST, UNIT, RACK], member("dear", at, 250, 100 + at)));
    (0..250).map(unlike).collect()
}

fn start() -> Running {
    let directory = tempfile::tempdir().expect("a temporary directory");
    let file = directory.path().join("berth.yaml");
    // Decisions that are not cut short: it is the event loop that is looked at.
    let config = format!("{CONFIG_HEAD}server: {{timeouts: {{decision: 20s}}}}\n");
    std::fs::write(&file, config).expect("a written configuration");
    let objects: Vec<Value> = (0..NODES).map(node).chain(members()).collect();
    Running::start_with(directory, file, Source::SnapshotText(list(&objects)))
}

#[test]
fn probes_and_other_pods_are_answered_while_dear_decisions_are_made() {
    let berth = start();
    let (stop, answered) = (Arc::new(AtomicBool::new(false)), Arc::new(AtomicUsize::new(0)));
    let callers: Vec<_> = members()[..CALLERS]
        .iter()
        .map(|member| {
            let (stop, answered) = (stop.clone(), answered.clone());
            let (address, body) = (berth.verbs, call(member, NODES));
            std::thread::spawn(move || {
                let mut connection = Connection::open(address).expect("a connection");
                while !stop.load(Relaxed) {
                    assert_eq!(connection.ask(post("/filter", &body)).expect("an answer").status, 200);
                    answered.fetch_add(1, Relaxed);
                }
            })
        })
        .collect();
    let mut probe = Connection::open(berth.admin).expect("a connection");
    let late = (0..PROBES).filter(|_| {
        std::thread::sleep(Duration::from_millis(25));
        let began = Instant::now();
        assert_eq!(probe.ask(get("/livez")).expect("an answer").status, 200);
        began.elapsed() > PROMPT
    });
    // The machine has other things to do as well: a probe or two may be late, but not because a decision is in their way.
    let late = late.count();
    stop.store(true, Relaxed);
    for caller in callers {
        caller.join().expect("no panic");
    }
    assert!(late <= 2, "{late} of {PROBES} probes took longer than {PROMPT:?}");
    assert!(answered.load(Relaxed) >= CALLERS, "decisions were made meanwhile");
}
