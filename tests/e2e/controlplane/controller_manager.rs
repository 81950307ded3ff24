//! kube-controller-manager with the controllers that make and remove pods.

use std::path::Path;
use std::time::Duration;

use anyhow::Result;

use super::binaries::Binaries;
use super::https_probe::HttpsProbe;
use super::ports::on_free_ports;
use super::process::Process;
use super::workspace::Workspace;

const READY_LIMIT: Duration = Duration::from_mins(1);

/// Left out on purpose: node lifecycle and taint eviction, because nothing renews the leases of
/// fake nodes; volumes, certificates and quotas, because no test needs them.
const CONTROLLERS: &[&str] = &[
    "daemonset-controller",
    "deployment-controller",
    "disruption-controller",
    "endpoints-controller",
    "endpointslice-controller",
    "garbage-collector-controller",
    "job-controller",
    "namespace-controller",
    "pod-garbage-collector-controller",
    "replicaset-controller",
    "replicationcontroller-controller",
    "serviceaccount-controller",
    "statefulset-controller",
    "ttl-after-finished-controller",
];

pub async fn start(binaries: &Binaries, workspace: &Workspace, kubeconfig: &Path) -> Result<Process> {
    on_free_ports(async |[port]| {
        let args = [
            format!("--kubeconfig={}", kubeconfig.display()),
            format!("--controllers={}", CONTROLLERS.join(",")),
            "--leader-elect=false".to_owned(),
            "--bind-address=127.0.0.1".to_owned(),
            format!("--secure-port={port}"),
            "--kube-api-qps=2000".to_owned(),
            "--kube-api-burst=4000".to_owned(),
            "--concurrent-replicaset-syncs=20".to_owned(),
            "--concurrent-statefulset-syncs=20".to_owned(),
            "--profiling=false".to_owned(),
        ];
        let program = binaries.path("kube-controller-manager");
        let mut process = Process::spawn(workspace, "kube-controller-manager", &program, args)?;
        let probe = HttpsProbe::new(port, None)?;
        process.wait_ready(READY_LIMIT, async |_| probe.get("/healthz").await).await?;
        Ok(process)
    })
    .await
}
