//! The `LeaderWorkerSet` controller, with its webhooks, which kube-apiserver calls on a loopback port.
//!
//! ```text
//!  test ── a LeaderWorkerSet ──> kube-apiserver ──webhooks──> manager: defaults, labels, affinity
//!                                      ^───────────────────── manager: StatefulSets, for leaders and workers
//! ```

mod manifests;

use std::path::Path;
use std::time::Duration;

use anyhow::{Context, Result, ensure};
use k8s_openapi::api::core::v1::Pod;
use kube::api::PostParams;
use kube::{Api, Client, ResourceExt};
use serde_json::json;

use super::binaries::Binaries;
use super::certificates::Authority;
use super::ports::on_free_ports;
use super::process::Process;
use super::workspace::Workspace;
use crate::http_get;

const READY_LIMIT: Duration = Duration::from_mins(1);
const MANIFESTS: &str = "leaderworkerset";
const LABELS: &str = "leaderworkerset.sigs.k8s.io";

/// Installs the API. To be done before kube-controller-manager starts: its garbage collector looks for new kinds twice a
/// minute only, and until then deletes nothing that belonged to a set.
pub async fn define_kinds(binaries: &Binaries, client: &Client) -> Result<()> {
    manifests::define_kinds(client, &binaries.manifests(MANIFESTS)).await
}

/// Starts the manager, and returns when it takes part in the creation of pods.
pub async fn start(
    binaries: &Binaries,
    workspace: &Workspace,
    authority: &Authority,
    kubeconfig: &Path,
    client: &Client,
) -> Result<Process> {
    let manifests = binaries.manifests(MANIFESTS);
    // The names of the files are the manager's choice.
    std::fs::create_dir_all(workspace.path("leaderworkerset"))?;
    let identity = authority.issue(workspace, "leaderworkerset/tls")?;
    let certificates = identity.certificate.parent().context("no folder")?;
    let (mut process, webhooks) = on_free_ports(async |[webhooks, health]| {
        let text = configuration(webhooks, health, certificates);
        let configuration = workspace.write("leaderworkerset.yaml", &text)?;
        let args = [
            format!("--kubeconfig={}", kubeconfig.display()),
            format!("--config={}", configuration.display()),
        ];
        let program = binaries.path("leaderworkerset-manager");
        let mut process = Process::spawn(workspace, "leaderworkerset-manager", &program, args)?;
        let address = ([127, 0, 0, 1], health).into();
        process
            .wait_ready(READY_LIMIT, async |_| {
                let (status, body) = http_get::get(address, "/readyz").await?;
                (status == 200).then_some(()).context(body)
            })
            .await?;
        Ok((process, webhooks))
    })
    .await?;
    manifests::register_webhooks(client, &manifests, webhooks, &authority.certificate).await?;
    process.wait_ready(READY_LIMIT, async |_| ensure_webhooks_answer(client).await).await?;
    Ok(process)
}

fn configuration(webhooks: u16, health: u16, certificates: &Path) -> String {
    format!(
        "apiVersion: config.lws.x-k8s.io/v1alpha1
kind: Configuration
webhook: {{host: 127.0.0.1, port: {webhooks}, certDir: {certificates}}}
health: {{healthProbeBindAddress: '127.0.0.1:{health}'}}
metrics: {{bindAddress: '0'}}
leaderElection: {{leaderElect: false}}
internalCertManagement: {{enable: false}}
clientConnection: {{qps: 2000, burst: 4000}}
",
        certificates = certificates.display()
    )
}

/// The manager calls itself ready before it has registered what it serves. The webhook for pods comes after the controllers
/// and the other webhooks that we need, and asking about a pod leaves no trace.
async fn ensure_webhooks_answer(client: &Client) -> Result<()> {
    let leader: Pod = serde_json::from_value(json!({
        "metadata": {
            "name": "probe-7",
            "labels": {format!("{LABELS}/name"): "probe", format!("{LABELS}/worker-index"): "0"},
            "annotations": {format!("{LABELS}/size"): "2"},
        },
        "spec": {"containers": [{"name": "probe", "image": "none"}]},
    }))?;
    let pods: Api<Pod> = Api::default_namespaced(client.clone());
    let pretend = PostParams { dry_run: true, ..PostParams::default() };
    let labelled = pods.create(&pretend, &leader).await?;
    let index = labelled.labels().get(&format!("{LABELS}/group-index"));
    ensure!(index.is_some_and(|index| index == "7"), "the webhook did not touch the pod");
    Ok(())
}
