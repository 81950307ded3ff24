//! A full cluster, an urgent pod, and an eviction that costs no more than it must.

use anyhow::{Context, ensure};

use super::Stage;
use crate::demo::cluster::Cluster;
use crate::demo::map;
use crate::demo::workload::{BATCH, LLM, Pod, URGENT, WEB};

pub async fn tell(stage: &mut Stage) -> anyhow::Result<()> {
    stage.screen.chapter("The cluster is full, and an urgent pod arrives")?;
    for pod in LLM.pods().chain(BATCH.pods()) {
        stage.scheduler.place(pod, &mut stage.cluster).await?;
        stage.bound += 1;
    }
    ensure!(stage.cluster.nodes.iter().all(|node| !node.has_room()), "a place is left in the full cluster");
    let urgent = URGENT.pods().next().context("there is no urgent pod")?;
    stage.screen.print(&[
        format!(
            "  The last {} places went to {} pods of batch (priority {}) and to one",
            LLM.replicas + BATCH.replicas,
            BATCH.replicas,
            BATCH.priority
        ),
        format!(
            "  LeaderWorkerSet replica, llm: {} pods on {} nodes (priority {}) that are of",
            LLM.replicas, LLM.replicas, LLM.priority
        ),
        "  use only together. Now urgent arrives, with priority 1000.".to_owned(),
        String::new(),
    ])?;

    let candidates = dry_run(&stage.cluster, &urgent);
    let kept = stage.scheduler.preempt(&urgent, &candidates).await?;
    let chosen = choose(stage, &candidates, &kept)?;
    evict(stage, &urgent, chosen).await
}

/// On each node the least important pod would have to go, as in kube-scheduler's own dry run.
fn dry_run(cluster: &Cluster, urgent: &Pod) -> Vec<(String, Pod)> {
    let candidate = |node: &crate::demo::cluster::Node| {
        let lower = node.pods.iter().filter(|pod| pod.workload.priority < urgent.workload.priority);
        let victim = lower.min_by_key(|pod| pod.workload.priority)?;
        Some((node.name.clone(), victim.clone()))
    };
    cluster.nodes.iter().filter_map(candidate).collect()
}

/// Shows what Berth left of the candidates, and takes the first.
fn choose<'a>(
    stage: &mut Stage,
    candidates: &'a [(String, Pod)],
    kept: &[String],
) -> anyhow::Result<&'a (String, Pod)> {
    let with = |app: &str| {
        let victims = candidates.iter().filter(|(_, victim)| victim.workload.app == app);
        (victims.clone().count(), victims.filter(|(node, _)| kept.contains(node)).count())
    };
    let ((llm, llm_kept), (batch, batch_kept)) = (with(LLM.app), with(BATCH.app));
    stage.screen.print(&[
        format!("  POST /preempt with {} candidates, one victim on each:", candidates.len()),
        format!("    {llm:3}  a member of llm   kube-scheduler's choice: the lowest priority"),
        format!("    {batch:3}  a pod of batch"),
        format!("    {:3}  a pod that is more important", candidates.len() - llm - batch),
        String::new(),
    ])?;
    ensure!(
        llm == LLM.replicas && llm_kept == 0 && batch_kept == batch && kept.len() == batch,
        "Berth kept {} candidates, {llm_kept} of them with victims of llm; this is a bug in its preemption",
        kept.len()
    );
    stage
        .screen
        .checked(&format!("Berth keeps the {batch} with batch: a member of llm would cost its replica"))?;
    let chosen = candidates.iter().find(|(node, _)| kept.contains(node));
    chosen.context("Berth kept no candidate")
}

/// The victim goes, and while a second place gets free elsewhere, the urgent pod takes the one made for it.
async fn evict(stage: &mut Stage, urgent: &Pod, (node, victim): &(String, Pod)) -> anyhow::Result<()> {
    let elsewhere = stage.cluster.nodes.iter().filter(|other| other.name != *node);
    let mut finished = elsewhere.filter_map(|other| {
        let pod = other.pods.iter().find(|pod| pod.workload.app == WEB.app)?;
        Some((other.name.clone(), pod.clone()))
    });
    let (other, finished) = finished.next().context("no pod of web runs")?;
    for pod in [victim, &finished] {
        stage.cluster.remove(&pod.name);
        stage.watch.gone(pod);
    }
    let offered = stage.scheduler.place_nominated(urgent.clone(), node, &mut stage.cluster).await?;
    ensure!(
        offered == [node.clone()],
        "of {node} and {other} Berth named {offered:?} for a pod nominated to {node}"
    );
    stage.bound += 1;
    stage.screen.checked(&format!("{} is evicted from {node}, now urgent's nominated node", victim.name))?;
    stage.screen.checked(&format!("{other} has room as well, but filter names {node} alone"))?;
    let members = stage.cluster.pods().filter(|pod| pod.workload.app == LLM.app).count();
    ensure!(members == LLM.replicas, "{members} members of llm are left");
    stage.shown.preemption =
        format!("urgent runs for one pod of batch; llm keeps {members} of {} members", LLM.replicas);
    stage.screen.checked(&format!("urgent runs there; llm has {members} of {} members", LLM.replicas))?;

    let scrape = stage.scrape().await?;
    let outcome = |outcome: &str| {
        scrape.count(&format!("berth_preemption_candidates_total{{mode=\"enforce\",outcome=\"{outcome}\"}}"))
    };
    let nominated = scrape.count("berth_nominated_node_total{result=\"kept\"}")?;
    stage.screen.checked(&format!(
        "counted: {} candidates kept, {} outranked; {nominated} nominated node kept",
        outcome("kept")?,
        outcome("outranked")?
    ))?;
    let picture = map::draw(&stage.cluster, stage.screen.paint);
    stage.screen.print(&[""])?;
    stage.screen.print(&picture)?;
    Ok(())
}
