//! Berth is killed, the API server goes away: nothing is lost, nothing is bound twice.

use std::time::{Duration, Instant};

use anyhow::{Result, ensure};

use crate::controlplane::{ControlPlane, Options};
use crate::fixtures::{BindingsWatch, create, create_all, nodes, pod, pods, service};
use crate::progress::report;
use crate::scheduling::{SHIPPED, berth, ensure_cache_is_right};

const MINUTE: Duration = Duration::from_mins(1);

#[tokio::test]
async fn berth_is_killed_three_times_and_every_pod_is_bound_exactly_once() -> Result<()> {
    ControlPlane::run(Options::default(), async |plane| {
        let client = plane.client();
        create_all(&client, &nodes(200).zones(3).racks(25).build()).await?;
        create(&client, &service("web")).await?;
        let process = plane.start_berth(berth()).await?;
        let _scheduler = plane.start_scheduler(SHIPPED, Some(&process.url())).await?;
        let bindings = BindingsWatch::start(&client).await?;

        let web = pods("web", 1000, |pod| pod.label("app", "web").cpu("100m"));
        let kills = async {
            let mut process = process;
            for _ in 0..3 {
                // In the thick of it: pods were bound since the last restart, and many are left.
                bindings.wait_until_bound(bindings.bound() + 100, 2 * MINUTE).await?;
                let options = berth().instead_of(&process);
                process.kill9()?;
                let at = bindings.bound();
                ensure!(at < 1000, "everything was bound before Berth was killed");
                report(&format!("killed with {at} pods bound"));
                process = plane.start_berth(options).await?;
            }
            Ok(process)
        };
        let ((), process) = tokio::try_join!(create_all(&client, &web), kills)?;
        bindings.wait_until_bound(1000, 4 * MINUTE).await?;
        bindings.ensure_bound_once()?;
        ensure_cache_is_right(&process, 1200).await
    })
    .await
}

#[tokio::test]
async fn the_api_server_comes_back_and_berth_recovers_by_itself() -> Result<()> {
    ControlPlane::run(Options::default(), async |plane| {
        let client = plane.client();
        create_all(&client, &nodes(50).zones(3).racks(5).build()).await?;
        let berth = plane.start_berth(berth()).await?;
        let _scheduler = plane.start_scheduler(SHIPPED, Some(&berth.url())).await?;
        create_all(&client, &pods("before", 100, |pod| pod.cpu("100m"))).await?;
        let bindings = BindingsWatch::start(&client).await?;
        bindings.wait_until_bound(100, 2 * MINUTE).await?;

        plane.stop_apiserver()?;
        let stale = || berth.metric_sum("berth_cache_staleness_seconds", &[("kind", "Pod")]);
        let deadline = Instant::now() + MINUTE;
        while stale().await? < 3.0 {
            ensure!(Instant::now() < deadline, "the staleness of a cut watch does not grow");
            tokio::time::sleep(Duration::from_millis(200)).await;
        }
        plane.start_apiserver().await?;

        let restarted = Instant::now();
        while stale().await? > 0.0 {
            ensure!(restarted.elapsed() < MINUTE, "the watch does not come back");
            tokio::time::sleep(Duration::from_millis(100)).await;
        }
        report(&format!("pod watch is back {:.1?} after the API server", restarted.elapsed()));
        create_all(&client, &pods("after", 100, |pod| pod.cpu("100m"))).await?;
        create(&client, &pod("last").cpu("100m").build()).await?;
        let bindings = BindingsWatch::start(&client).await?;
        bindings.wait_until_bound(201, 3 * MINUTE).await?;
        let (ready, body) = berth.get("/readyz?verbose").await?;
        ensure!(ready == 200, "not ready: {body}");
        ensure_cache_is_right(&berth, 250).await
    })
    .await
}
