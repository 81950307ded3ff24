//! What others have to pay for groups that a tenant makes up.

use std::time::Duration;

use serde_json::{Value, json};

use super::cluster::{Cluster, NODES};
use crate::support::dear_groups::{ZONE, member, on, pod, requiring};

const GROUPS: usize = 2_000;

/// A tenant has begun so many groups of three, one pod of each on a node of its choice. Half of them have slots, for the others the
/// namespace may have no more.
fn begun() -> (Cluster, Duration) {
    let cluster = Cluster::new("");
    let first = |at: usize| on(at % NODES, requiring(ZONE, member(&format!("made-up-{at}"), 0, 3, 1)));
    cluster.add(&(0..GROUPS).map(first).collect::<Vec<_>>());
    let (_, time) = super::usage::timed(|| cluster.0.bring_reservations_up_to_date().expect("no panic"));
    (cluster, time)
}

fn volume(name: &str) -> Value {
    json!({"apiVersion": "v1", "kind": "PersistentVolume", "metadata": {"name": name}, "spec": {}})
}

#[test]
#[ignore = "a measurement"]
fn what_a_volume_costs_the_next_one_who_asks() {
    let (cluster, time) = begun();
    println!(
        "worked out for {GROUPS} groups in {time:?}: {} reserved",
        cluster.0.store.view().ledger().reservations().len()
    );
    for at in 0..3 {
        cluster.add(&[volume(&format!("v{at}"))]);
        let answer = cluster.filter(&pod(&format!("single-{at}"), 100));
        println!("a single pod after a volume: {:?} {}", answer.time, answer.error());
        cluster.add(&[volume(&format!("w{at}"))]);
        let members = [0, 1].map(|of| requiring(ZONE, member(&format!("innocent-{at}"), of, 2, 100)));
        cluster.add(&members);
        let answer = cluster.filter(&members[0]);
        println!("an innocent group after a volume: {:?} {}", answer.time, answer.error());
    }
}

#[test]
fn a_volume_costs_nobody_more_than_a_look_at_some_groups() {
    let (cluster, _) = begun();
    for at in 0..3 {
        cluster.add(&[volume(&format!("v{at}"))]);
        let in_doubt = || cluster.0.store.view().doubtful_groups().count();
        let before = in_doubt();
        assert!(before > GROUPS / 2, "{before}");
        let answer = cluster.filter(&pod(&format!("single-{at}"), 100));
        assert_eq!(answer.error(), "");
        assert!((before - 40..before).contains(&in_doubt()), "{before} {}", in_doubt());
        let members = [0, 1].map(|of| requiring(ZONE, member(&format!("innocent-{at}"), of, 2, 100)));
        cluster.add(&members);
        let answer = cluster.filter(&members[0]);
        // Its namespace has used up its slots; but it is an answer.
        assert_eq!(answer.error(), "");
    }
}
