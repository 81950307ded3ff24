//! Two groups and room for one.

use anyhow::{Context, Result, ensure};
use k8s_openapi::api::core::v1::{Event, Pod};
use kube::ResourceExt;
use kube::api::{Api, DeleteParams, ListParams};

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

/// Waits until Berth has said something about a set in an Event, and gives back all that it said, oldest first.
async fn news_of(stage: &Stage, set: &str, awaited: &str) -> Result<Vec<String>> {
    let events: Api<Event> = Api::default_namespaced(stage.client.clone());
    loop {
        let mut said = events.list(&ListParams::default()).await?.items;
        said.retain(|event| {
            let about = event.involved_object.name.as_deref().unwrap_or_default();
            event.reporting_component.as_deref() == Some("berth") && about.starts_with(set)
        });
        said.sort_by_key(|event| {
            event.metadata.name.clone().and_then(|name| Some(name.rsplit_once('.')?.1.to_owned()))
        });
        let said: Vec<_> = said.into_iter().filter_map(|event| event.reason).collect();
        if said.iter().any(|reason| reason == awaited) {
            report(&format!("said of {set}: {}", said.join(", ")));
            return Ok(said);
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
        news_of(stage, first, "ReplicaGroupComplete").await?;
        news_of(stage, second, "ReplicaGroupWaiting").await?;

        stage.sets().delete(first, &DeleteParams::background()).await?;
        stage.until("the other one to start", |groups| groups.are_whole(1, SIZE)).await?;
        ensure!(stage.groups().get(&format!("{second}/0"))?.is_whole(SIZE));
        let said = news_of(stage, second, "ReplicaGroupComplete").await?;
        // Each of four members was tried several times, and that alone is no news.
        ensure!(said.len() <= 6, "{} Events for one group: {said:?}", said.len());
        Ok(())
    })
    .await
}
