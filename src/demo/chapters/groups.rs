//! Two replica groups that want the same rack: how they wedge each other pod by pod, and how one of them runs.

use std::collections::BTreeMap;

use anyhow::ensure;

use super::{Stage, Wedge};
use crate::decision::Reason;
use crate::demo::cluster::{Cluster, Node};
use crate::demo::workload::{ALPHA, BETA, CRON, Pod, Workload};
use crate::demo::{occupants, unaided};
use crate::wire::reply::text;

/// What single pods are told where room is reserved for a group.
const KEPT_OFF: &str = text::of_rejection(Reason::ReservedForGroup);
/// Members between two single pods.
const MEMBERS_PER_SINGLE: usize = 4;
/// The widest line.
const WIDTH: usize = 80;

pub async fn tell(stage: &mut Stage) -> anyhow::Result<()> {
    stage.screen.chapter("Two replica groups want the same rack")?;
    let rack = set_up(stage)?;
    without_berth(stage, &rack)?;
    with_berth(stage, &rack).await?;
    the_second_starts(stage, &rack).await
}

/// A new rack joins, the only one with room for one of the groups.
fn set_up(stage: &mut Stage) -> anyhow::Result<String> {
    let rack = stage.cluster.grow();
    for node in stage.cluster.rack(&rack) {
        stage.watch.joined(node)?;
    }
    let (size, places) = (ALPHA.replicas, room(&stage.cluster, &rack));
    let wide_enough = stage.cluster.nodes.iter().filter(|node| room(&stage.cluster, &node.rack) >= size);
    ensure!(
        wide_enough.into_iter().all(|node| node.rack == rack) && places < size + BETA.replicas,
        "{rack} is not the only one with room for just one group; this is a bug in the demo"
    );
    stage.screen.print(&[
        format!("  A new rack, {rack}, has {places} free places. Two LeaderWorkerSet replicas, alpha"),
        format!("  and beta, have {size} pods each, to run in one rack or not at all; no other rack"),
        "  has that much room. Their pods arrive by turns, single pods in between.".to_owned(),
        String::new(),
        format!("  {}", occupants::legend()),
        String::new(),
    ])?;
    Ok(rack)
}

/// The pods in the order of their arrival.
fn arrivals() -> impl Iterator<Item = Pod> {
    let members: Vec<Pod> = ALPHA.pods().zip(BETA.pods()).flat_map(|(a, b)| [a, b]).collect();
    let mut singles = CRON.pods();
    let mut all = Vec::new();
    for some in members.chunks(MEMBERS_PER_SINGLE) {
        all.extend_from_slice(some);
        all.extend(singles.next());
    }
    all.into_iter()
}

/// What would happen pod by pod, worked out on a copy of the cluster.
fn without_berth(stage: &mut Stage, rack: &str) -> anyhow::Result<()> {
    let mut copy = stage.cluster.clone();
    for pod in arrivals() {
        unaided::place(pod, &mut copy)?;
    }
    let (alpha, beta, size) = (copy.count(ALPHA), copy.count(BETA), ALPHA.replicas);
    ensure!(
        [alpha, beta].iter().all(|placed| (1..size).contains(placed)) && room(&copy, rack) == 0,
        "alpha has {alpha} and beta {beta} of {size} pods, so there is no wedge to avoid"
    );
    let picture = occupants::draw(&copy, rack, stage.screen.paint);
    stage.wedge = Some(Wedge { unaided: picture.clone(), placed: (alpha, beta), ..Wedge::default() });
    stage.shown.groups = format!("pod by pod {alpha} and {beta} of {size} run");
    stage.screen.print(&[
        "  Without Berth, on a copy of the cluster: each pod to the emptiest node, and".to_owned(),
        "  members to the rack of their first, as pod affinity has it.".to_owned(),
        format!("      {picture}"),
        format!(
            "      {alpha} of {size} and {beta} of {size}: a wedge. Neither runs, and neither makes room."
        ),
        String::new(),
    ])?;
    Ok(())
}

/// The same pods in the same order, with Berth asked about each.
async fn with_berth(stage: &mut Stage, rack: &str) -> anyhow::Result<()> {
    let mut waiting = BTreeMap::new();
    let mut kept_off: usize = 0;
    for pod in arrivals() {
        let owner = pod.workload.app;
        let attempt = stage.scheduler.attempt(pod, &mut stage.cluster).await?;
        stage.bound += usize::from(attempt.node.is_some());
        if owner == CRON.app {
            kept_off += usize::from(attempt.turned_down.contains_key(KEPT_OFF));
            ensure!(attempt.node.is_some(), "no node was left for a single pod: {:?}", attempt.turned_down);
        } else if owner == BETA.app && waiting.is_empty() {
            waiting = attempt.turned_down;
        }
    }
    let picture = occupants::draw(&stage.cluster, rack, stage.screen.paint);
    if let Some(wedge) = &mut stage.wedge {
        wedge.aided.clone_from(&picture);
    }
    stage.screen.print(&[
        "  The same arrivals with Berth, over HTTP:".to_owned(),
        format!("      {picture}"),
        String::new(),
    ])?;
    whole_in(stage, ALPHA, rack)?;
    ensure!(stage.cluster.count(BETA) == 0, "some of beta run though there is no room for all of it");
    stage.screen.checked("beta waits and holds nothing. Berth's words to its first pod:")?;
    let mut words: Vec<_> = waiting.into_iter().collect();
    words.sort_by_key(|(_, nodes)| *nodes);
    for (reason, nodes) in words {
        stage.screen.print(&quoted(nodes, &reason))?;
    }
    ensure!(kept_off > 0, "no single pod was kept off the room of alpha");
    let singles = CRON.replicas;
    stage.screen.checked(&format!(
        "{kept_off} of {singles} single pods came while alpha was incomplete and were kept off:"
    ))?;
    stage.screen.print(&[format!("      {KEPT_OFF}"), String::new()])?;
    Ok(())
}

/// The first group is deleted, and the pods of the second are tried again.
async fn the_second_starts(stage: &mut Stage, rack: &str) -> anyhow::Result<()> {
    let gone: Vec<Pod> = stage.cluster.pods().filter(|pod| pod.workload.app == ALPHA.app).cloned().collect();
    for pod in &gone {
        stage.cluster.remove(&pod.name);
        stage.watch.gone(pod);
    }
    for pod in BETA.pods() {
        stage.scheduler.place(pod, &mut stage.cluster).await?;
        stage.bound += 1;
    }
    let picture = occupants::draw(&stage.cluster, rack, stage.screen.paint);
    stage.screen.print(&[
        "  alpha is deleted, and the pods of beta are tried again:".to_owned(),
        format!("      {picture}"),
        String::new(),
    ])?;
    whole_in(stage, BETA, rack)?;
    let size = BETA.replicas;
    let with_berth = format!("; with Berth {size} of {size}, then {size} of {size}");
    stage.shown.groups.push_str(&with_berth);

    let scrape = stage.scrape().await?;
    let complete = scrape.count("berth_groups{state=\"complete\"}")?;
    let came = scrape.count("berth_reservations_ended_total{how=\"fulfilled\"}")?;
    let slots = scrape.count("berth_reserved_slots")?;
    ensure!(
        (complete, came, slots) == (1, 2, 0),
        "Berth counts {complete} complete groups, {came} for which room was kept to the end, and {slots} slots kept"
    );
    stage.screen.checked(&format!(
        "counted: {came} groups had room kept until they were whole; {slots} places kept now"
    ))?;
    Ok(())
}

fn whole_in(stage: &mut Stage, group: Workload, rack: &str) -> anyhow::Result<()> {
    let pods = stage.cluster.rack(rack).flat_map(|node| &node.pods);
    let inside = pods.filter(|pod| pod.workload.app == group.app).count();
    let (app, size) = (group.app, group.replicas);
    ensure!(
        inside == size,
        "{inside} of {size} pods of {app} are in {rack}; this is a bug in Berth's replica groups"
    );
    stage.screen.checked(&format!("{app} is whole: {inside} of {size} pods in {rack}"))?;
    Ok(())
}

fn room(cluster: &Cluster, rack: &str) -> usize {
    cluster.rack(rack).map(Node::room).sum()
}

/// Words of Berth's, and for how many nodes they were said.
fn quoted(nodes: usize, words: &str) -> Vec<String> {
    let mut lines = vec![format!("      {nodes:2} nodes:")];
    for word in words.split(' ') {
        match lines.last_mut() {
            Some(line) if line.len() + 1 + word.len() <= WIDTH => {
                line.push(' ');
                line.push_str(word);
            }
            _ => lines.push(format!("                {word}")),
        }
    }
    lines
}
