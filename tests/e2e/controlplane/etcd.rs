//! etcd: a single member that never waits for the disk.

use std::time::Duration;

use anyhow::{Context, Result};

use super::binaries::Binaries;
use super::ports::on_free_ports;
use super::process::Process;
use super::workspace::Workspace;
use crate::http_get;

const READY_LIMIT: Duration = Duration::from_secs(30);

#[derive(Debug)]
pub struct Etcd {
    pub process: Process,
    /// Where clients connect.
    pub url: String,
}

impl Etcd {
    pub async fn start(binaries: &Binaries, workspace: &Workspace) -> Result<Self> {
        on_free_ports(async |[client, peer]| {
            let url = format!("http://127.0.0.1:{client}");
            let peer = format!("http://127.0.0.1:{peer}");
            // A first attempt that found its port taken may have left something.
            let data = workspace.data();
            let _ = std::fs::remove_dir_all(&data);
            let args = [
                "--name=test".to_owned(),
                format!("--data-dir={}", data.display()),
                format!("--listen-client-urls={url}"),
                format!("--advertise-client-urls={url}"),
                format!("--listen-peer-urls={peer}"),
                format!("--initial-advertise-peer-urls={peer}"),
                format!("--initial-cluster=test={peer}"),
                "--unsafe-no-fsync".to_owned(),
                "--log-level=warn".to_owned(),
            ];
            let mut process = Process::spawn(workspace, "etcd", &binaries.path("etcd"), args)?;
            let address = ([127, 0, 0, 1], client).into();
            process
                .wait_ready(READY_LIMIT, async |_| {
                    let (status, body) = http_get::get(address, "/health").await?;
                    (status == 200).then_some(()).context(body)
                })
                .await?;
            Ok(Self { process, url })
        })
        .await
    }
}
