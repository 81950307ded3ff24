//! Does the test bed itself work? Everything here runs without Berth.

mod echo_extender;

use std::time::{Duration, Instant};

use anyhow::{Result, ensure};
use k8s_openapi::api::core::v1::Pod;
use kube::Api;

use crate::controlplane::scheduler_config::PLAIN;
use crate::controlplane::{ControlPlane, Options};
use crate::fixtures::{
    BindingsWatch, create, create_all, deployment, node, nodes, pod, pods, priority_class, service,
    wait_until_all_bound,
};
use crate::progress::report;
use crate::recorder::Recorder;
use echo_extender::EchoExtender;

const MINUTE: Duration = Duration::from_mins(1);

#[tokio::test]
async fn a_thousand_pods_on_two_hundred_nodes_are_bound_once() -> Result<()> {
    ControlPlane::run(Options::default(), async |plane| {
        let client = plane.client();
        let _scheduler = plane.start_scheduler(PLAIN, None).await?;
        let bindings = BindingsWatch::start(&client).await?;

        create_all(&client, &nodes(200).zones(3).racks(25).build()).await?;
        create(&client, &service("web")).await?;
        let started = Instant::now();
        let web = pods("web", 1000, |pod| pod.label("app", "web").cpu("100m"));
        create_all(&client, &web).await?;
        bindings.wait_until_bound(1000, 2 * MINUTE).await?;
        report(&format!("1000 pods bound in {:.1?}", started.elapsed()));

        create(&client, &deployment("api").replicas(20).build()).await?;
        bindings.wait_until_bound(1020, MINUTE).await?;
        bindings.ensure_bound_once()
    })
    .await
}

#[tokio::test]
async fn a_preempted_pod_makes_room() -> Result<()> {
    ControlPlane::run(Options::default(), async |plane| {
        let client = plane.client();
        create(&client, &node("only").cpu("2").build()).await?;
        create(&client, &priority_class("high", 1000)).await?;
        let bindings = BindingsWatch::start(&client).await?;
        let scheduler = plane.start_scheduler(PLAIN, None).await?;

        create(&client, &pod("low").cpu("1500m").build()).await?;
        bindings.wait_until_bound(1, MINUTE).await?;
        let high = pod("high").cpu("1500m").priority_class("high");
        create(&client, &high.build()).await?;
        bindings
            .wait_for("the pod of high priority", MINUTE, |bindings| {
                bindings.node_of("default/high").is_some()
            })
            .await?;

        let low = Api::<Pod>::default_namespaced(client).get_opt("low").await?;
        ensure!(low.is_none(), "the victim is still there");
        bindings.ensure_bound_once()?;
        scheduler.stop()
    })
    .await
}

#[tokio::test]
async fn scheduling_goes_on_after_a_restart_of_the_api_server() -> Result<()> {
    ControlPlane::run(Options::default(), async |plane| {
        let client = plane.client();
        create_all(&client, &nodes(10).build()).await?;
        let bindings = BindingsWatch::start(&client).await?;
        let scheduler = plane.start_scheduler(PLAIN, None).await?;
        create_all(&client, &pods("before", 20, |pod| pod)).await?;
        bindings.wait_until_bound(20, MINUTE).await?;

        let started = Instant::now();
        plane.restart_apiserver().await?;
        report(&format!("API server is back after {:.1?}", started.elapsed()));
        create_all(&client, &pods("after", 20, |pod| pod)).await?;
        bindings.wait_until_bound(40, MINUTE).await?;
        bindings.ensure_bound_once()?;

        // Another scheduler takes over where this one ends.
        scheduler.stop()?;
        let _successor = plane.start_scheduler(PLAIN, None).await?;
        create_all(&client, &pods("later", 20, |pod| pod)).await?;
        wait_until_all_bound(&client, 60, MINUTE).await
    })
    .await
}

#[tokio::test]
async fn calls_to_an_extender_are_recorded() -> Result<()> {
    const CONFIGURATION: &str = "apiVersion: kubescheduler.config.k8s.io/v1
kind: KubeSchedulerConfiguration
extenders:
- urlPrefix: http://127.0.0.1:8888
  filterVerb: filter
  nodeCacheCapable: true
";
    ControlPlane::run(Options::default(), async |plane| {
        let client = plane.client();
        let extender = EchoExtender::start().await?;
        let recorder = Recorder::start(extender.address(), 100).await?;
        let url = recorder.url();
        let _scheduler = plane.start_scheduler(CONFIGURATION, Some(&url)).await?;
        create_all(&client, &nodes(10).build()).await?;
        create_all(&client, &pods("p", 20, |pod| pod)).await?;
        wait_until_all_bound(&client, 20, MINUTE).await?;

        let calls = recorder.take();
        ensure!(calls.len() >= 20, "only {} calls on record", calls.len());
        for call in calls {
            let request: serde_json::Value = serde_json::from_slice(&call.request)?;
            let response: serde_json::Value = serde_json::from_slice(&call.response)?;
            ensure!((call.path.as_str(), call.status) == ("/filter", 200));
            ensure!(request["NodeNames"] == response["NodeNames"]);
        }
        Ok(())
    })
    .await
}
