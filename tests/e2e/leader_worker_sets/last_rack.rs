//! Two groups and room for one.

use anyhow::{Context, Result, ensure};
use k8s_openapi::api::core::v1::Pod;
use kube::ResourceExt;
use kube::api::{DeleteParams, ListParams};

use super::groups::SET;
use super::racks::{member, rack};
use super::stage::Stage;
use crate::fixtures::leader_worker_set;
use crate::preemption::setup::Setup;
use crate::progress::report;

const SIZE: usize = 4;

/// What kube-scheduler says about a pod that it could not place.
fn complaint(pod: &Pod) -> Option<String> {
    let conditions = pod.status.as_ref()?.conditions.as_ref()?;
    let scheduled = conditions.iter().find(|condition| condition.type_ == "PodScheduled")?;
    (scheduled.status == "False").then(|| scheduled.message.clone().unwrap_or_default())
}

/// Waits until a pod of the set says why it is not placed.
async fn complaint_of(stage: &Stage, set: &str) -> Result<String> {
    let selected = ListParams::default().labels(&format!("{SET}={set}"));
    loop {
        let pods = stage.pods().list(&selected).await?;
        let found = pods.iter().find_map(|pod| Some((pod.name_any(), complaint(pod)?)));
        if let Some((pod, message)) = found {
            report(&format!("{pod} says: {message}"));
            return Ok(message);
        }
        tokio::time::sleep(std::time::Duration::from_millis(100)).await;
    }
}

#[tokio::test]
async fn one_runs_and_the_other_waits_for_it_to_end() -> Result<()> {
    // Room for six: with the first in place two members of the second would fit, and have to stay away.
    Stage::play(&Setup::shipped(""), rack("last", 6), async |stage| {
        let set = |name| leader_worker_set(name).size(4).pods(member).build();
        tokio::try_join!(stage.arrive(set("red")), stage.arrive(set("blue")))?;
        let groups = stage
            .until("one whole group and one that waits", |groups| {
                groups.whole(SIZE) == 1 && groups.0.values().any(|group| group.pending.len() == SIZE)
            })
            .await?;
        let first = groups.0.iter().find(|(_, group)| group.is_whole(SIZE));
        let first = first.and_then(|(name, _)| name.split('/').next()).context("none is whole")?;
        let second = if first == "red" { "blue" } else { "red" };
        let message = complaint_of(stage, second).await?;
        ensure!(message.contains("replica group"), "it is not said why {second} waits: {message}");
        ensure!(stage.groups().get(&format!("{second}/0"))?.bound.is_empty());

        stage.sets().delete(first, &DeleteParams::background()).await?;
        stage.until("the other one to start", |groups| groups.are_whole(1, SIZE)).await?;
        ensure!(stage.groups().get(&format!("{second}/0"))?.is_whole(SIZE));
        Ok(())
    })
    .await
}
