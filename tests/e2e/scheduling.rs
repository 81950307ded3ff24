//! A real kube-scheduler drives Berth, with the configuration that Berth ships.

use std::path::PathBuf;
use std::sync::LazyLock;
use std::time::{Duration, Instant};

use anyhow::{Result, ensure};
use serde_json::Value;

use crate::berth_process::{BerthOptions, BerthProcess};
use crate::controlplane::{ControlPlane, Options};
use crate::fixtures::{BindingsWatch, create, create_all, deployment, nodes, pods, service};
use crate::metrics_text::Metrics;
use crate::progress::report;

/// The configuration that Berth ships, as it is; the test bed only changes addresses.
pub const SHIPPED: &str = include_str!("../../deploy/kube-scheduler-config.yaml");
const MINUTE: Duration = Duration::from_mins(1);

/// The binary under test: the one that was built with the tests, unless `BERTH_BINARY` names another.
pub fn berth() -> BerthOptions<'static> {
    static BINARY: LazyLock<PathBuf> = LazyLock::new(|| {
        std::env::var_os("BERTH_BINARY").unwrap_or_else(|| env!("CARGO_BIN_EXE_berth").into()).into()
    });
    BerthOptions::new(&BINARY)
}

/// Asks Berth to compare its cache with the API server: no difference, and nothing under way.
pub async fn ensure_cache_is_right(berth: &BerthProcess, at_least: u64) -> Result<()> {
    let deadline = Instant::now() + MINUTE;
    loop {
        let (status, body) = berth.get("/debug/cache/compare").await?;
        ensure!(status == 200, "compare answers {status}: {body}");
        let comparison: Value = serde_json::from_str(&body)?;
        let compared = comparison["compared"].as_u64().unwrap_or(0);
        let differences = comparison["differences"].as_array().map_or(usize::MAX, Vec::len);
        if compared >= at_least && differences == 0 && comparison["ledger"] == 0 {
            report(&format!("compared {compared} objects, no difference, ledger empty"));
            return Ok(());
        }
        report(&format!("compared {compared}: {differences} differences, ledger {}", comparison["ledger"]));
        ensure!(
            Instant::now() < deadline,
            "cache and API server differ, or the ledger does not run empty: {body}"
        );
        tokio::time::sleep(Duration::from_millis(500)).await;
    }
}

/// Berth could read every call and object that it was sent, and had an answer.
pub fn ensure_all_understood(metrics: &Metrics) -> Result<()> {
    for name in [
        "berth_bad_requests_total",
        "berth_shed_requests_total",
        "berth_panics_total",
        "berth_undecodable_objects_total",
    ] {
        ensure!(metrics.sum(name, &[]) == 0.0, "{name} is not 0");
    }
    Ok(())
}

/// 1,000 pods on 200 nodes, scheduled through Berth; what must hold however the two are connected.
async fn schedule_a_thousand(
    plane: &ControlPlane,
    berth: &BerthProcess,
    configuration: &str,
    url: &str,
) -> Result<Calls> {
    let client = plane.client();
    create_all(&client, &nodes(200).zones(3).racks(25).build()).await?;
    create(&client, &service("web")).await?;
    let _scheduler = plane.start_scheduler(configuration, Some(url)).await?;
    let bindings = BindingsWatch::start(&client).await?;

    let started = Instant::now();
    create_all(&client, &pods("web", 980, |pod| pod.label("app", "web").cpu("100m"))).await?;
    create(&client, &deployment("api").replicas(20).build()).await?;
    bindings.wait_until_bound(1000, 3 * MINUTE).await?;
    report(&format!("1000 pods bound in {:.1?}", started.elapsed()));
    bindings.ensure_bound_once()?;
    ensure_cache_is_right(berth, 1200).await?;

    let metrics = berth.metrics().await?;
    let calls = Calls::read(&metrics);
    report(&format!("{calls:?}"));
    let bound = metrics.sum("berth_bindings_total", &[("result", "bound")]);
    ensure!(bound == 1000.0, "Berth bound {bound} pods");
    ensure!(calls.bind == 1000.0 && calls.filter >= 1000.0 && calls.prioritize >= 1000.0, "{calls:?}");
    ensure_all_understood(&metrics)?;
    ensure!(metrics.sum("berth_cache_objects", &[("kind", "Pod")]) >= 1000.0);
    ensure!(metrics.sum("berth_cache_objects", &[("kind", "Node")]) == 200.0);
    Ok(calls)
}

/// What Berth counted.
#[derive(Debug)]
struct Calls {
    filter: f64,
    prioritize: f64,
    bind: f64,
    connections: f64,
}

impl Calls {
    fn read(metrics: &Metrics) -> Self {
        let calls =
            |verb| metrics.sum("berth_request_duration_seconds_count", &[("verb", verb), ("code", "200")]);
        Self {
            filter: calls("filter"),
            prioritize: calls("prioritize"),
            bind: calls("bind"),
            connections: metrics.sum("berth_connections_total", &[("listener", "verbs")]),
        }
    }
}

#[tokio::test]
async fn a_thousand_pods_are_bound_through_berth() -> Result<()> {
    ControlPlane::run(Options::default(), async |plane| {
        let berth = plane.start_berth(berth()).await?;
        let calls = schedule_a_thousand(plane, &berth, SHIPPED, &berth.url()).await?;
        // Go keeps two idle connections, and kube-scheduler binds in the background: only bindings that
        // overlap may open one. Were replies chunked or connections closed, it would be one per call.
        ensure!(calls.connections <= calls.bind + 5.0, "{calls:?}");
        Ok(())
    })
    .await
}

#[tokio::test]
async fn over_tls_a_handful_of_connections_carries_everything() -> Result<()> {
    ControlPlane::run(Options::default(), async |plane| {
        let identity = plane.authority().issue(plane.workspace(), "berth")?;
        let config = plane.workspace().write("berth.yaml", &format!(
            "apiVersion: config.berth.dev/v1alpha1\nkind: BerthConfiguration\nserver:\n  tls:\n    certFile: {}\n    keyFile: {}\n",
            identity.certificate.display(),
            identity.key.display(),
        ))?;
        let berth = plane.start_berth(berth().config(&config)).await?;
        let url = format!("https://{}", berth.verbs_address());
        let secured = SHIPPED
            .replace("# enableHTTPS: true", "enableHTTPS: true")
            .replace("# tlsConfig:", "tlsConfig:")
            .replace("#   caFile: /etc/kubernetes/pki/ca.crt", &format!("  caFile: {}", plane.authority().certificate.display()));
        let calls = schedule_a_thousand(plane, &berth, &secured, &url).await?;
        ensure!(calls.connections <= 5.0, "{calls:?}");
        Ok(())
    })
    .await
}
