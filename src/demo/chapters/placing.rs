//! Two workloads are placed through filter, prioritize and bind.

use std::collections::HashSet;

use anyhow::ensure;

use super::Stage;
use crate::demo::cluster::{Cluster, ROOM};
use crate::demo::map;
use crate::demo::workload::{DB, Pod, WEB, Workload};

/// Pods between two redraws on a terminal.
const STRIDE: usize = 4;

pub async fn tell(stage: &mut Stage) -> anyhow::Result<()> {
    let pods: Vec<Pod> = WEB.pods().chain(DB.pods()).collect();
    let (before, total) = (stage.cluster.pods().count(), pods.len());
    stage.screen.chapter("Two workloads arrive")?;
    stage.screen.print(&[
        format!("  {} pods of web, then {} of db. For each one the demo, playing", WEB.replicas, DB.replicas),
        "  kube-scheduler, calls filter, prioritize and bind over HTTP.".to_owned(),
        String::new(),
    ])?;

    for (at, pod) in pods.into_iter().enumerate() {
        if at % STRIDE == 0 {
            let frame = picture(stage, at, total);
            stage.screen.frame(&frame).await?;
        }
        stage.scheduler.place(pod, &mut stage.cluster).await?;
        stage.bound += 1;
    }
    let last = picture(stage, total, total);
    stage.screen.settle(&last)?;
    stage.screen.print(&[""])?;

    check(&stage.cluster, before + total)?;
    stage
        .screen
        .checked(&format!("{total} of {total} pods have a node, and no node has more than {ROOM}"))?;
    for workload in [WEB, DB] {
        let line = format!("      {:4} {}", workload.app, by_zone(&stage.cluster, workload));
        stage.screen.print(&[line])?;
    }
    let skew = zone_skew(&stage.cluster, WEB);
    ensure!(skew <= 1, "the zones differ by {skew} pods of web; this is a bug in Berth's spreading");
    stage.screen.checked("web is spread evenly over the zones, though the cluster was lopsided")?;
    let zones: Vec<String> = zones(&stage.cluster, WEB).map(|(_, count)| count.to_string()).collect();
    stage.shown.spreading = format!("{total} pods placed; web spread {} over the zones", zones.join(", "));
    let words = credit(stage.scheduler.swayed, total);
    stage.screen.print(&words)?;
    Ok(())
}

fn picture(stage: &Stage, placed: usize, total: usize) -> Vec<String> {
    let paint = stage.screen.paint;
    let mut lines = map::draw(&stage.cluster, paint);
    lines.extend([String::new(), map::legend(paint)]);
    lines.push(format!("  {placed:3} of {total} placed"));
    lines
}

/// Who is to thank for the picture, by what was seen on the wire.
fn credit(swayed: usize, total: usize) -> [String; 5] {
    [
        String::new(),
        format!("  For {swayed} of {total} pods Berth preferred some nodes to others: by default"),
        "  it spreads the pods of a Service or ReplicaSet over zones and hosts. Between".to_owned(),
        "  equals the demo scheduler's own tie-break decides: the node with the fewest".to_owned(),
        "  pods, then a hash.".to_owned(),
    ]
}

/// The demo's own books, before Berth's are asked for.
fn check(cluster: &Cluster, expected: usize) -> anyhow::Result<()> {
    let names: HashSet<&str> = cluster.pods().map(|pod| pod.name.as_str()).collect();
    let (placed, distinct) = (cluster.pods().count(), names.len());
    ensure!(
        placed == expected && distinct == expected,
        "{placed} pods ({distinct} distinct) are on nodes, not {expected}; this is a bug in the demo"
    );
    for node in &cluster.nodes {
        ensure!(node.pods.len() <= ROOM, "{} holds {} pods, {ROOM} fit", node.name, node.pods.len());
    }
    Ok(())
}

fn by_zone(cluster: &Cluster, workload: Workload) -> String {
    let zones = zones(cluster, workload).map(|(name, count)| format!("{name} {count:3}"));
    zones.collect::<Vec<_>>().join("   ")
}

fn zone_skew(cluster: &Cluster, workload: Workload) -> usize {
    let counts: Vec<usize> = zones(cluster, workload).map(|(_, count)| count).collect();
    counts.iter().max().unwrap_or(&0) - counts.iter().min().unwrap_or(&0)
}

fn zones(cluster: &Cluster, workload: Workload) -> impl Iterator<Item = (&str, usize)> {
    cluster.nodes.chunk_by(|a, b| a.zone == b.zone).map(move |zone| {
        let pods = zone.iter().flat_map(|node| &node.pods);
        let count = pods.filter(|pod| pod.workload.app == workload.app).count();
        (zone.first().map(|node| node.zone.as_str()).unwrap_or_default(), count)
    })
}
