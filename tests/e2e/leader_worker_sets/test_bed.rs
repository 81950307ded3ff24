//! Does the controller itself work here? Without Berth.

use anyhow::{Context, Result, ensure};
use kube::ResourceExt;
use kube::api::ListParams;

use super::racks::rack;
use super::stage::Stage;
use crate::fixtures::leader_worker_set;
use crate::preemption::setup::Setup;
use crate::progress::report;

const LABELS: &str = "leaderworkerset.sigs.k8s.io";

#[tokio::test]
async fn a_set_becomes_a_leader_and_a_worker() -> Result<()> {
    Stage::play(&Setup::alone()?, rack("only", 2), async |stage| {
        stage.arrive(leader_worker_set("llm").pods(|pod| pod.cpu("1")).build()).await?;
        stage.until("a leader and a worker", |groups| groups.are_whole(1, 2)).await?;

        let pods = stage.pods().list(&ListParams::default()).await?.items;
        let mut members = Vec::new();
        for pod in &pods {
            let label = |name| pod.labels().get(&format!("{LABELS}/{name}")).cloned().context(name);
            ensure!(label("name")? == "llm" && label("group-index")? == "0");
            ensure!(!label("template-revision-hash")?.is_empty());
            let size = pod.annotations().get(&format!("{LABELS}/size"));
            ensure!(size.is_some_and(|size| size == "2"), "the size is {size:?}");
            members.push((label("worker-index")?, pod.name_any(), label("group-key")?));
        }
        members.sort();
        report(&format!("{members:?}"));
        let [(first, leader, key), (second, worker, same)] = &members[..] else {
            anyhow::bail!("there are {} members", members.len());
        };
        ensure!((&**first, &**second, &**leader, &**worker) == ("0", "1", "llm-0", "llm-0-1"));
        ensure!(key == same && !key.is_empty());
        Ok(())
    })
    .await
}
