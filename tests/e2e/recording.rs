//! Records what kube-scheduler really sends, to be kept as test data: `make record`.

use std::path::PathBuf;
use std::time::Duration;

use anyhow::{Context, Result};

use crate::controlplane::{ControlPlane, Options};
use crate::fixtures::{BindingsWatch, create, node, pod, priority_class};
use crate::recorder::Recorder;
use crate::scheduling::{SHIPPED, berth};

const MINUTE: Duration = Duration::from_mins(1);

#[tokio::test]
#[ignore = "writes test data; run it with `make record`"]
async fn record_every_verb_in_both_forms() -> Result<()> {
    record("names", SHIPPED).await?;
    record("objects", &SHIPPED.replace("nodeCacheCapable: true", "nodeCacheCapable: false")).await
}

/// Two small nodes, filled by two pods; a third of high priority has to preempt.
async fn record(form: &str, configuration: &str) -> Result<()> {
    ControlPlane::run(Options::default(), async |plane| {
        let client = plane.client();
        for name in ["node-a", "node-b"] {
            create(&client, &node(name).zone("zone-1").rack("rack-1").cpu("2").build()).await?;
        }
        create(&client, &priority_class("high", 1000)).await?;
        let berth = plane.start_berth(berth()).await?;
        let recorder = Recorder::start(berth.verbs_address(), 1000).await?;
        let _scheduler = plane.start_scheduler(configuration, Some(&recorder.url())).await?;
        let bindings = BindingsWatch::start(&client).await?;
        for (name, count) in [("first", 1), ("second", 2)] {
            create(&client, &pod(name).label("app", "web").cpu("1500m").build()).await?;
            bindings.wait_until_bound(count, MINUTE).await?;
        }
        create(&client, &pod("urgent").cpu("1500m").priority_class("high").build()).await?;
        let urgent = |bindings: &BindingsWatch| bindings.node_of("default/urgent").is_some();
        bindings.wait_for("the pod of high priority", 2 * MINUTE, urgent).await?;

        let folder = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/data/recorded");
        std::fs::create_dir_all(&folder)?;
        let exchanges = recorder.take();
        for verb in ["filter", "prioritize", "preempt", "bind"] {
            let wanted = |path: &str| path.trim_start_matches('/') == verb;
            let exchange = exchanges.iter().find(|exchange| wanted(&exchange.path));
            let exchange = exchange.with_context(|| format!("kube-scheduler never called {verb}"))?;
            std::fs::write(folder.join(format!("{verb}-{form}.request.json")), &exchange.request)?;
            std::fs::write(folder.join(format!("{verb}-{form}.response.json")), &exchange.response)?;
        }
        Ok(())
    })
    .await
}
