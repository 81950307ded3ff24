//! What happens to the Services of a set's groups, one thing after another.

use std::time::Duration;

use anyhow::{Result, ensure};
use kube::ResourceExt;
use kube::api::{DeleteParams, Patch, PatchParams};
use serde_json::json;
use tokio::time::sleep;

use super::bed::{ASKS, Bed};
use super::exact::managed;
use crate::fixtures::leader_worker_set;

/// Many times as long as Services take to come.
const SETTLED: Duration = Duration::from_secs(8);

#[tokio::test]
async fn each_group_has_a_headless_service_of_exactly_its_pods_while_the_option_is_on() -> Result<()> {
    Bed::play(async |bed| {
        let foreign = bed.foreign("llm-1").await?;
        let mut berth = bed.start_berth_with("").await?;
        bed.arrive(Bed::asking("llm", 2, 3)).await?;
        // By its pods, and not by the object.
        let by_template = leader_worker_set("other").replicas(1);
        let by_template = by_template.pods(|pod| pod.annotation(ASKS.0, ASKS.1).cpu("10m"));
        crate::fixtures::create(&bed.client, &by_template.build()).await?;
        sleep(SETTLED).await;
        ensure!(managed(&bed.client).await?.is_empty(), "the option is off");
        berth.terminate(Duration::from_secs(20)).await?;

        let mut first = bed.start_berth().await?;
        bed.until_exact(3).await?;
        ensure!(
            bed.services().get("llm-1").await?.resource_version() == Some(foreign),
            "somebody else's was touched"
        );
        let names: Vec<_> = managed(&bed.client).await?.iter().map(ResourceExt::name_any).collect();
        ensure!(
            names.contains(&"llm-0".to_owned()) && names.iter().any(|name| name.starts_with("llm-1-")),
            "{names:?}"
        );

        bed.scale("llm", 4).await?;
        bed.until_exact(5).await?;
        bed.scale("llm", 1).await?;
        bed.until_exact(2).await?;

        // Somebody changes one, and deletes another.
        let patch = json!({"spec": {"selector": {"app": "x"}, "publishNotReadyAddresses": false}});
        bed.services().patch("llm-0", &PatchParams::default(), &Patch::Merge(patch)).await?;
        bed.services().delete("other-0", &DeleteParams::default()).await?;
        bed.until_exact(2).await?;

        // A group that starts anew.
        bed.pods().delete("llm-0", &DeleteParams::default()).await?;
        bed.until_exact(2).await?;

        // Two of them, and the one that is active ends.
        let second = bed.start_berth().await?;
        first.terminate(Duration::from_secs(20)).await?;
        bed.scale("llm", 2).await?;
        bed.until_exact(3).await?;
        let active = second.metric_sum("berth_controller_active", &[]).await?;
        ensure!(active == 1.0, "the one that is left is not active");

        bed.delete_set("llm").await?;
        bed.delete_set("other").await?;
        bed.until_exact(0).await?;
        ensure!(bed.services().get_opt("llm-1").await?.is_some(), "somebody else's went");
        Ok(())
    })
    .await
}

#[tokio::test]
async fn what_goes_while_no_berth_is_there_takes_its_service_with_it() -> Result<()> {
    Bed::play(async |bed| {
        let mut berth = bed.start_berth().await?;
        bed.arrive(Bed::asking("llm", 3, 2)).await?;
        bed.until_exact(3).await?;
        berth.kill9()?;
        bed.scale("llm", 1).await?;
        // The garbage collector alone.
        bed.until_exact(1).await
    })
    .await
}
