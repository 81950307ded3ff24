//! Groups that once took seconds or gigabytes, and larger ones.

use std::time::Duration;

use serde_json::Value;

use super::berth_process::BerthProcess;
use super::table::{Row, print};
use crate::support::dear_groups::{
    HOST, RACK, UNIT, ZONE, annotate, apart, behind, call, member, node, node_name, on, pod, preempt_call,
    requiring, with_priority, worker,
};

/// One member per host may cost this at the most, all its calls together.
const PER_MEMBER: Duration = Duration::from_millis(20);

struct Case {
    name: &'static str,
    settings: &'static str,
    nodes: usize,
    members: Vec<Value>,
    /// How many of them are asked about, and bound if they are let in.
    asked: usize,
}

fn members(size: usize, build: impl Fn(usize, Value) -> Value) -> Vec<Value> {
    (0..size).map(|at| build(at, member("g", at, size, 500))).collect()
}

/// All members wait; kube-scheduler asks about one after the other, with every node as a candidate.
fn place(case: Case) -> Row {
    let Case { name, settings, nodes, members, asked } = case;
    let mut objects: Vec<Value> = (0..nodes).map(node).collect();
    objects.extend(behind(&members));
    objects.extend(members.iter().cloned());
    let mut berth = BerthProcess::start(settings, &objects);
    // What every pod costs, whatever it is. It has a place afterwards: nobody has to wait for its bind call.
    let single = pod("single", 100);
    berth.ask("/filter", &call(&single, nodes));
    berth.bind(&single, &node_name(nodes - 1));
    let (before, _) = berth.memory();
    let (mut times, mut longest_call, mut outcome) = (Vec::new(), Duration::ZERO, "placed");
    for pod in &members[..asked.min(members.len())] {
        let body = call(pod, nodes);
        let filtered = berth.ask("/filter", &body);
        let mut calls = vec![filtered.took];
        let node = filtered.body["NodeNames"][0].as_str().map(str::to_owned);
        if let Some(node) = &node {
            calls.push(berth.ask("/prioritize", &body).took);
            calls.push(berth.bind(pod, node).took);
        } else {
            let error = filtered.body["Error"].as_str().unwrap_or_default();
            outcome = if error.is_empty() { "refused" } else { "gave up" };
        }
        times.push(calls.iter().sum());
        longest_call = calls.into_iter().max().unwrap_or_default().max(longest_call);
    }
    let grown = berth.memory().1.saturating_sub(before);
    Row { case: name.to_owned(), nodes, members: members.len(), times, longest_call, grown, outcome }
}

/// kube-scheduler would evict one of hundreds of pods.
fn preempt(name: &str, nodes: usize, size: usize, build: impl Fn(usize) -> Value) -> Row {
    let mut objects: Vec<Value> = (0..nodes).map(node).collect();
    objects.extend((0..nodes).map(|at| on(at, pod(&format!("low-{at}"), 8_000))));
    let members: Vec<Value> = (0..size).map(|at| with_priority(9, requiring(ZONE, build(at)))).collect();
    objects.extend(behind(&members));
    objects.extend(members.iter().cloned());
    let mut berth = BerthProcess::start("", &objects);
    let (before, _) = berth.memory();
    let victims: Vec<(usize, String)> = (0..600).map(|at| (at, format!("low-{at}"))).collect();
    let answer = berth.ask("/preempt", &preempt_call(&members[0], &victims));
    let kept = answer.body["NodeNameToMetaVictims"].as_object().map_or(0, serde_json::Map::len);
    let grown = berth.memory().1.saturating_sub(before);
    Row {
        case: format!("preempt over 600 candidates, {name}"),
        nodes,
        members: size,
        times: vec![answer.took],
        longest_call: answer.took,
        grown,
        outcome: if kept > 0 { "candidates left" } else { "none left" },
    }
}

fn subgroups(size: usize, subgroup_size: usize) -> Row {
    let name = "a rack for each subgroup";
    let settings = "replicaGroups: {limits: {members: 10000}}\n";
    let row = place(Case {
        name,
        settings,
        nodes: 2_000,
        members: vec![worker("llm", size, subgroup_size, 100)],
        asked: 1,
    });
    Row { case: format!("{name} of {subgroup_size}"), members: size, ..row }
}

#[test]
#[ignore = "measures the release build; run it with `make cost`"]
fn cost_of_one_member_per_host() {
    let group = || members(1_000, |_, pod| requiring(ZONE, apart(&[HOST], pod)));
    let row =
        place(Case { name: "one to a host", settings: "", nodes: 5_000, members: group(), asked: 1_000 });
    let mean = row.mean();
    print(&[row]);
    assert!(mean < PER_MEMBER, "{mean:?} a member");
}

#[test]
#[ignore = "measures the release build; run it with `make cost`"]
fn cost_of_the_dearest_groups() {
    let nodes = 2_000;
    let case =
        |name, settings, members: Vec<Value>| place(Case { name, settings, nodes, members, asked: 10 });
    let preferring = |pod| annotate(pod, &[("berth.dev/preferred-topology", ZONE)]);
    let unlike = |keys: &'static [&'static str]| {
        (0..200).map(|at| apart(keys, requiring(ZONE, member("g", at, 200, 100 + at)))).collect::<Vec<_>>()
    };
    let mut rows = vec![
        case(
            "two apart by a label of each node",
            "",
            members(2, |_, pod| requiring(ZONE, apart(&[UNIT], pod))),
        ),
        case("two apart in the whole cluster", "", members(2, |_, pod| preferring(apart(&[UNIT], pod)))),
        case("one to a rack, in one zone", "", members(30, |_, pod| requiring(ZONE, apart(&[RACK], pod)))),
        case(
            "apart by three keys",
            "",
            members(30, |_, pod| requiring(ZONE, apart(&[RACK, UNIT, HOST], pod))),
        ),
        case("one to a host", "", members(600, |_, pod| requiring(ZONE, apart(&[HOST], pod)))),
        case(
            "on as many hosts as possible",
            "replicaGroups: {packing: MostHosts}\n",
            members(1_000, |_, pod| requiring(ZONE, pod)),
        ),
        case("all different", "", unlike(&[])),
        case("all different, one to a host", "", unlike(&[HOST])),
        case("all different, one to a unit", "", unlike(&[UNIT])),
    ];
    rows.push(preempt("alike", nodes, 40, |at| member("g", at, 40, 2_000)));
    rows.push(preempt("unlike and apart", nodes, 40, |at| {
        apart(&[HOST, UNIT], member("g", at, 40, 1_000 + at % 3))
    }));
    rows.extend(
        [(10_000, 1), (512, 1), (10_000, 30), (250, 1), (1_000, 10), (100, 1)].map(|(a, b)| subgroups(a, b)),
    );
    print(&rows);
}

#[test]
#[ignore = "measures the release build; run it with `make cost`"]
fn cost_of_ten_thousand_members_on_five_thousand_nodes() {
    const LARGE: &str = "replicaGroups: {limits: {members: 10000, slotsPerNamespace: 20000}}\n";
    const SPREAD: &str =
        "replicaGroups: {packing: MostHosts, limits: {members: 10000, slotsPerNamespace: 20000}}\n";
    let case = |name, settings, members: Vec<Value>| {
        place(Case { name, settings, nodes: 5_000, members, asked: 10 })
    };
    let kinds = |kinds: usize, keys: &'static [&'static str]| {
        let one = |at: usize| apart(keys, requiring(ZONE, member("g", at, 10_000, 100 + at % kinds)));
        (0..10_000).map(one).collect::<Vec<_>>()
    };
    print(&[
        case("alike", LARGE, members(10_000, |_, pod| requiring(ZONE, pod))),
        case("alike, on as many hosts as possible", SPREAD, members(10_000, |_, pod| requiring(ZONE, pod))),
        case(
            "alike, anywhere, one zone preferred",
            LARGE,
            members(10_000, |_, pod| annotate(pod, &[("berth.dev/preferred-topology", ZONE)])),
        ),
        case(
            "one to a host, which cannot be",
            LARGE,
            members(10_000, |_, pod| requiring(ZONE, apart(&[HOST], pod))),
        ),
        case("250 kinds", LARGE, kinds(250, &[])),
        case("250 kinds, apart by a key of few values", LARGE, kinds(250, &["example.com/missing"])),
    ]);
}
