//! kube-scheduler with a configuration of the test's choice.

use std::path::Path;
use std::time::Duration;

use anyhow::Result;

use super::binaries::Binaries;
use super::https_probe::HttpsProbe;
use super::ports::on_free_ports;
use super::process::Process;
use super::workspace::Workspace;

const READY_LIMIT: Duration = Duration::from_mins(1);

/// Killed when dropped, so that the next one can have other profiles.
pub struct Scheduler {
    pub process: Process,
    probe: HttpsProbe,
    port: u16,
}

impl Scheduler {
    pub async fn start(binaries: &Binaries, workspace: &Workspace, configuration: &Path) -> Result<Self> {
        on_free_ports(async |[port]| {
            let args = [
                format!("--config={}", configuration.display()),
                // Overrules the file: a successor would wait for the lease of its predecessor.
                "--leader-elect=false".to_owned(),
                "--bind-address=127.0.0.1".to_owned(),
                format!("--secure-port={port}"),
                "--authorization-always-allow-paths=/healthz,/readyz,/livez,/metrics,/configz".to_owned(),
                "--v=2".to_owned(),
            ];
            let program = binaries.path("kube-scheduler");
            let mut process = Process::spawn(workspace, "kube-scheduler", &program, args)?;
            let probe = HttpsProbe::new(port, None)?;
            process.wait_ready(READY_LIMIT, async |_| probe.get("/readyz").await).await?;
            Ok(Self { process, probe, port })
        })
        .await
    }

    /// The port of loopback on which it serves its metrics, over TLS with a certificate of its own.
    pub fn port(&self) -> u16 {
        self.port
    }

    /// Its metrics in Prometheus' text form.
    pub async fn metrics(&self) -> Result<String> {
        self.probe.get("/metrics").await
    }

    pub fn stop(mut self) -> Result<()> {
        self.process.kill().map(drop)
    }
}
