//! Random pods, groups and topologies: no call runs for longer than its budget and a little more, and memory stays.

use std::time::Duration;

use serde_json::Value;

use super::cluster::{Answered, Cluster, NODES};
use super::usage::memory;
use crate::support::dear_groups::{
    HOST, RACK, UNIT, ZONE, annotate, apart, evicting_nobody, member, near, on, pod, requiring, volumes,
    with_claim, with_port, with_priority, worker,
};
use crate::support::random::{Cases, Rng, Seeds};

const BUDGET: Duration = Duration::from_millis(100);
/// For what is no deciding: decoding, encoding, the ledger; and for the way from the last look at the clock to the end.
const SLACK: Duration = Duration::from_millis(150);
/// How much more memory may be in use at any time than before the first case.
const GROWTH: usize = 256 << 20;

const KEYS: [&str; 5] = [ZONE, RACK, HOST, UNIT, "example.com/missing"];

fn some_keys<'k>(rng: &mut Rng, keys: &[&'k str]) -> Vec<&'k str> {
    keys.iter().copied().filter(|_| rng.chance(40)).collect()
}

/// The members of a group, whatever a tenant could think of.
fn group(rng: &mut Rng, name: &str) -> Vec<Value> {
    let size = rng.weighted(&[(3, 2), (3, 30), (3, 300), (2, 1_500), (1, 10_000)]);
    if rng.chance(25) {
        return vec![worker(name, size, rng.pick(&[1, 2, 8, 60]), rng.within(1..2_000))];
    }
    let kinds = rng.weighted(&[(4, 1), (3, 3), (2, 60), (1, 400)]);
    let (required, preferred) =
        (rng.chance(70).then(|| rng.pick(&KEYS)), rng.chance(40).then(|| rng.pick(&KEYS)));
    let many: Vec<String> = (0..rng.pick(&[3, 16, 40])).map(|at| format!("key-{at}")).collect();
    let many: Vec<&str> = many.iter().map(String::as_str).collect();
    let keys = if rng.one_in(8) { many } else { some_keys(rng, &KEYS) };
    let (exclusive, priority, milli_cpu) = (rng.one_in(5), rng.pick(&[0, 0, 9]), rng.pick(&[10, 500, 3_000]));
    let seen = rng.within(1..size.min(600) + 1);
    let near_keys = if rng.one_in(4) { some_keys(rng, &KEYS) } else { Vec::new() };
    let (ports, claims) = (rng.weighted(&[(4, 0), (1, 1), (1, 50)]), rng.weighted(&[(4, 0), (1, 1), (1, 3)]));
    let evicts = !rng.one_in(5);
    let build = |at: usize| {
        let mut pod = member(name, at, size, milli_cpu + at % kinds);
        pod = if let Some(key) = required { requiring(key, pod) } else { pod };
        pod = if let Some(key) = preferred {
            annotate(pod, &[("berth.dev/preferred-topology", key)])
        } else {
            pod
        };
        pod = if exclusive { annotate(pod, &[("berth.dev/exclusive", "Cluster")]) } else { pod };
        pod = if keys.is_empty() { pod } else { apart(&keys, pod) };
        pod = if near_keys.is_empty() { pod } else { near(&near_keys, pod) };
        pod = if ports > 0 { with_port(8_000 + at % ports, pod) } else { pod };
        pod = if claims > 0 { with_claim(&format!("zone-{}", at % claims), pod) } else { pod };
        pod = if evicts { pod } else { evicting_nobody(pod) };
        with_priority(priority, pod)
    };
    (0..seen).map(build).collect()
}

/// Single pods on the nodes, some of which keep away from others.
fn residents(rng: &mut Rng) -> Vec<Value> {
    let (share, keys) = (rng.pick(&[0, 10, 60]), some_keys(rng, &KEYS));
    let milli_cpu = rng.pick(&[100, 4_000, 8_000]);
    let mut residents = Vec::new();
    for at in 0..NODES {
        if rng.chance(share) {
            let single = pod(&format!("low-{at}"), milli_cpu);
            residents.push(on(at, if rng.chance(20) { apart(&keys, single) } else { single }));
        }
    }
    residents
}

/// Groups that have begun, of one running member each: what they lack has to be worked out.
fn begun(rng: &mut Rng) -> Vec<Value> {
    let (count, size) = (rng.weighted(&[(3, 0), (1, 40), (1, 400)]), rng.pick(&[2, 20]));
    let (key, milli_cpu) = (rng.pick(&KEYS), rng.pick(&[1, 1_000]));
    let first =
        |at: usize| on(at * 5 % NODES, requiring(key, member(&format!("begun{at}"), 0, size, milli_cpu)));
    (0..count).map(first).collect()
}

#[test]
fn no_call_takes_longer_than_its_budget_and_memory_stays() {
    let packing = ["FewestHosts", "MostHosts"];
    let clusters = packing.map(|packing| {
        Cluster::new(&format!(
            "server: {{timeouts: {{decision: 100ms}}}}\nreplicaGroups: {{packing: {packing}}}\n"
        ))
    });
    for cluster in &clusters {
        cluster.add(&volumes());
    }
    let cases = Cases::new("BERTH_BUDGET", 60, Seeds::Fixed);
    let before = memory();
    let (mut longest, mut undecided, mut calls, mut most) = (Duration::ZERO, 0, 0, 0);
    for origin in cases.each() {
        let rng = &mut origin.rng();
        let cluster = &clusters[rng.below(2)];
        cluster.clear();
        let residents = residents(rng);
        cluster.add(&residents);
        cluster.add(&begun(rng));
        let victims: Vec<(usize, String)> = (0..NODES)
            .filter_map(|at| {
                let name = format!("low-{at}");
                residents.iter().any(|pod| pod["metadata"]["name"] == *name).then_some((at, name))
            })
            .take(300)
            .collect();
        for at in 0..rng.within(1..4) {
            let members = group(rng, &format!("g{at}"));
            cluster.add(&members);
            for pod in members.iter().take(2) {
                let mut judge = |what: &str, answer: &Answered| {
                    assert!(
                        answer.time < BUDGET + SLACK,
                        "{}: {what} ran {:?}",
                        cases.name(origin),
                        answer.time
                    );
                    longest = longest.max(answer.time);
                    calls += 1;
                };
                let filtered = cluster.filter(pod);
                judge("filter", &filtered);
                undecided += usize::from(filtered.error().contains("too long"));
                judge("prioritize", &cluster.prioritize(pod));
                if !victims.is_empty() {
                    judge("preempt", &cluster.preempt(&with_priority(99, pod.clone()), &victims));
                }
                if let Some(node) = filtered.body["NodeNames"][0].as_str() {
                    let mut bound = pod.clone();
                    bound["spec"]["nodeName"] = node.into();
                    cluster.add(&[bound]);
                }
            }
        }
        most = most.max(memory().saturating_sub(before));
        assert!(most < GROWTH, "{}: {} MiB more", cases.name(origin), most >> 20);
    }
    println!(
        "{calls} calls, {undecided} of filter undecided, the longest {longest:?}, {} MiB more at most",
        most >> 20
    );
}
