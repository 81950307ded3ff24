//! Groups that others make, in the words of each: whole, and in one rack.

use anyhow::{Result, ensure};
use k8s_openapi::api::batch::v1::Job;
use k8s_openapi::api::core::v1::Node;
use serde_json::json;

use super::racks::{REQUIRED, member, rack, rack_of};
use super::stage::Stage;
use crate::fixtures::{RACK, create, create_all, pods, statefulset};
use crate::preemption::setup::Setup;

const SIZE: usize = 4;

/// One rack that three members would prefer, for its nodes have something to spare, and one with room for all.
fn racks() -> Vec<Node> {
    [rack_of("small", 3, |node| node.cpu("7")), rack("large", SIZE)].concat()
}

async fn ensure_whole_in_the_large_rack(stage: &Stage) -> Result<()> {
    let groups = stage.until("a whole group", |groups| groups.are_whole(1, SIZE)).await?;
    let racks = groups.per_rack()?;
    ensure!(racks.contains_key("large"), "the group is in {racks:?}");
    Ok(())
}

#[tokio::test]
async fn a_job_of_a_job_set_is_a_group() -> Result<()> {
    Stage::play(&Setup::shipped(""), racks(), async |stage| {
        // As the JobSet controller makes them, but for the affinity that its webhook would add.
        let labels = json!({"jobset.sigs.k8s.io/jobset-name": "train",
            "jobset.sigs.k8s.io/job-key": "0f6c8a5e", "jobset.sigs.k8s.io/restart-attempt": "0"});
        let annotations = json!({"alpha.jobset.sigs.k8s.io/exclusive-topology": RACK});
        let job: Job = serde_json::from_value(json!({
            "metadata": {"name": "train-workers-0", "namespace": "default", "labels": labels,
                "annotations": annotations},
            "spec": {"parallelism": SIZE, "completions": SIZE, "completionMode": "Indexed", "template": {
                "metadata": {"labels": labels, "annotations": annotations},
                "spec": {"restartPolicy": "Never", "containers": [{"name": "app", "image": "none",
                    "resources": {"requests": {"cpu": "4"}}}]}}}
        }))?;
        create(&stage.client, &job).await?;
        ensure_whole_in_the_large_rack(stage).await
    })
    .await
}

#[tokio::test]
async fn a_pod_group_of_kueue_is_a_group() -> Result<()> {
    Stage::play(&Setup::shipped(""), racks(), async |stage| {
        let pods = pods("train", SIZE, |pod| {
            pod.cpu("4")
                .label("kueue.x-k8s.io/pod-group-name", "train")
                .annotation("kueue.x-k8s.io/pod-group-total-count", &SIZE.to_string())
                .annotation("kueue.x-k8s.io/podset-required-topology", RACK)
        });
        create_all(&stage.client, &pods).await?;
        ensure_whole_in_the_large_rack(stage).await
    })
    .await
}

#[tokio::test]
async fn any_pods_are_a_group_by_annotation() -> Result<()> {
    Stage::play(&Setup::shipped(""), racks(), async |stage| {
        let set = statefulset("cache").replicas(4).pods(|pod| {
            // The label is for us: a record of pods has no annotations.
            let pod = member(pod).label("example.com/group", "cache");
            pod.annotation("berth.dev/group", "cache").annotation("berth.dev/group-size", &SIZE.to_string())
        });
        create(&stage.client, &set.build()).await?;
        ensure_whole_in_the_large_rack(stage).await
    })
    .await
}
