//! kwok, which plays the kubelet of every node.

use std::path::Path;
use std::time::Duration;

use anyhow::{Context, Result};

use super::binaries::Binaries;
use super::ports::on_free_ports;
use super::process::Process;
use super::workspace::Workspace;
use crate::http_get;

const READY_LIMIT: Duration = Duration::from_mins(1);

/// The binary brings no stages of its own.
const CONFIGURATION: &str = include_str!("kwok.yaml");

pub async fn start(binaries: &Binaries, workspace: &Workspace, kubeconfig: &Path) -> Result<Process> {
    let configuration = workspace.write("kwok.yaml", CONFIGURATION)?;
    on_free_ports(async |[port]| {
        let args = [
            format!("--kubeconfig={}", kubeconfig.display()),
            format!("--config={}", configuration.display()),
            "--manage-all-nodes=true".to_owned(),
            "--cidr=10.0.0.0/8".to_owned(),
            "--node-ip=127.0.0.1".to_owned(),
            format!("--server-address=127.0.0.1:{port}"),
        ];
        let mut process = Process::spawn(workspace, "kwok", &binaries.path("kwok"), args)?;
        let address = ([127, 0, 0, 1], port).into();
        process
            .wait_ready(READY_LIMIT, async |_| {
                let (status, body) = http_get::get(address, "/readyz").await?;
                (status == 200).then_some(()).context(body)
            })
            .await?;
        Ok(process)
    })
    .await
}
