//! Groups that once took seconds or gigabytes.

use std::time::Duration;

use serde_json::{Value, json};

use super::cluster::{Cluster, NODES};
use super::usage::memory;
use crate::support::dear_groups::{
    HOST, RACK, UNIT, ZONE, annotate, apart, behind, member, on, pod, requiring, with_priority, worker,
};

/// The budget of a decision is 500 ms by default. These have to be far from it, in a slow build too.
const LIMIT: Duration = Duration::from_millis(250);

/// A cluster where nothing is given up, however busy the machine is: the time that was really spent is looked at.
fn patient(settings: &str) -> Cluster {
    Cluster::new(&format!("server: {{timeouts: {{decision: 1m}}}}\n{settings}"))
}

/// So many members wait, of which the first asks; all are let in and bound one after the other.
fn place(cluster: &Cluster, members: &[Value], count: usize) -> Duration {
    let mut longest = Duration::ZERO;
    for pod in &members[..count] {
        let answer = cluster.filter(pod);
        assert_eq!(answer.error(), "", "{}", pod["metadata"]["name"]);
        longest = longest.max(answer.time).max(cluster.prioritize(pod).time);
        let node = answer.body["NodeNames"][0].as_str().unwrap_or_else(|| panic!("no node: {}", answer.body));
        let mut bound = pod.clone();
        bound["spec"]["nodeName"] = json!(node);
        cluster.add(&[bound]);
    }
    longest
}

#[test]
fn groups_that_keep_apart_are_placed_in_no_time() {
    let group = |size: usize, change: &dyn Fn(Value) -> Value| -> Vec<Value> {
        (0..size).map(|at| change(member("g", at, size, 500))).collect()
    };
    for (name, settings, members) in [
        ("two apart by a label of each node", "", group(2, &|pod| requiring(ZONE, apart(&[UNIT], pod)))),
        (
            "two apart in the whole cluster",
            "",
            group(2, &|pod| annotate(apart(&[UNIT], pod), &[("berth.dev/preferred-topology", ZONE)])),
        ),
        ("one to a rack, in one zone", "", group(30, &|pod| requiring(ZONE, apart(&[RACK], pod)))),
        ("apart by three keys", "", group(30, &|pod| requiring(ZONE, apart(&[RACK, UNIT, HOST], pod)))),
        ("one to a host", "", group(600, &|pod| requiring(ZONE, apart(&[HOST], pod)))),
        (
            "as many hosts as possible",
            "replicaGroups: {packing: MostHosts}\n",
            group(1_000, &|pod| requiring(ZONE, pod)),
        ),
    ] {
        for others_are_seen in [false, true] {
            let cluster = patient(settings);
            cluster.add(if others_are_seen { &members } else { &members[..1] });
            let longest = place(&cluster, &members, members.len().min(10));
            assert!(longest < LIMIT, "{name}: {longest:?}");
            println!("{name}, all members seen: {others_are_seen}: {longest:?}");
        }
    }
}

#[test]
fn two_hundred_members_that_are_all_different() {
    for (name, keys) in [("not apart", &[][..]), ("one to a host", &[HOST]), ("one to a unit", &[UNIT])] {
        let cluster = patient("");
        let unlike = |at: usize| apart(keys, requiring(ZONE, member("g", at, 200, 100 + at)));
        let members: Vec<Value> = (0..200).map(unlike).collect();
        cluster.add(&members);
        let longest = place(&cluster, &members, 4);
        println!("two hundred unlike members, {name}: {longest:?}");
        assert!(longest < LIMIT, "{name}: {longest:?}");
    }
}

#[test]
fn evictions_are_weighed_for_hundreds_of_candidates() {
    let cluster = patient("");
    let victims: Vec<Value> = (0..NODES).map(|at| on(at, pod(&format!("low-{at}"), 8_000))).collect();
    cluster.add(&victims);
    for (name, size, keys) in
        [("alike", 40, &[][..]), ("unlike", 40, &[]), ("unlike and apart", 40, &[HOST, UNIT])]
    {
        let milli_cpu = |at: usize| if name == "alike" { 2_000 } else { 1_000 + at % 3 };
        let members: Vec<Value> = (0..size)
            .map(|at| with_priority(9, requiring(ZONE, apart(keys, member(name, at, size, milli_cpu(at))))))
            .collect();
        cluster.add(&members);
        let victims: Vec<(usize, String)> = (0..600).map(|at| (at, format!("low-{at}"))).collect();
        let answer = cluster.preempt(&members[0], &victims);
        println!("preempt, {name}: {:?}", answer.time);
        let kept = answer.body["NodeNameToMetaVictims"].as_object().expect("a map").len();
        assert!(kept > 0, "{name}: the group fits once they are gone");
        assert!(answer.time < LIMIT, "{name}: {:?}", answer.time);
        let filtered = cluster.filter(&members[0]);
        assert!(filtered.error().is_empty() && filtered.time < LIMIT, "{name}: {:?}", filtered.time);
    }
}

#[test]
fn subgroups_beyond_the_limit_are_refused_and_the_others_cost_little() {
    let cluster = patient("replicaGroups: {limits: {members: 10000}}\n");
    let before = memory();
    for (size, subgroup_size) in [(10_000, 1), (512, 1), (10_000, 30)] {
        let worker = worker("llm", size, subgroup_size, 100);
        cluster.add(&behind(std::slice::from_ref(&worker)));
        let answer = cluster.filter(&worker);
        assert!(answer.says("too many subgroups"), "{}", answer.body);
        assert!(answer.time < LIMIT, "{:?}", answer.time);
    }
    // One rack for each part, and racks of twenty nodes.
    for (size, subgroup_size) in [(100, 1), (1_000, 10), (250, 1)] {
        let worker = worker("llm", size, subgroup_size, 100);
        cluster.add(&behind(std::slice::from_ref(&worker)));
        let answer = cluster.filter(&worker);
        println!("{size} members in subgroups of {subgroup_size}: {:?}", answer.time);
        assert_eq!(
            (answer.error(), answer.passing() > 0),
            ("", size / subgroup_size <= 100),
            "{size} {subgroup_size}"
        );
        assert!(answer.time < LIMIT, "{:?}", answer.time);
    }
    let grown = memory().saturating_sub(before) >> 20;
    assert!(grown < 64, "{grown} MiB more");
}

#[test]
fn a_decision_ends_with_its_budget_and_says_so() {
    let cluster = Cluster::new("server: {timeouts: {decision: 1ms}}\n");
    let members: Vec<Value> = (0..250)
        .map(|at| apart(&[HOST, UNIT, RACK], requiring(ZONE, member("g", at, 250, 100 + at))))
        .collect();
    cluster.add(&members);
    let answer = cluster.filter(&members[0]);
    assert_eq!(answer.error(), "berth: the decision would have taken too long");
    assert!(answer.body["NodeNames"].is_null() && answer.body["FailedNodes"].is_null(), "{}", answer.body);
    assert!(answer.time < Duration::from_millis(100), "{:?}", answer.time);
    let reservations = cluster.0.store.view().ledger().reservations().len();
    assert_eq!(reservations, 0, "what is not decided has no effect");
    cluster.add(&[on(0, pod("low", 1_000))]);
    let kept = cluster.preempt(&with_priority(9, members[0].clone()), &[(0, "low".to_owned())]);
    let nodes = kept.body["NodeNameToMetaVictims"].as_object().expect("a map");
    assert!(
        nodes.is_empty(),
        "nobody is evicted for a group of which nobody knows that it fits: {}",
        kept.body
    );
}
