//! kube-apiserver, which can be taken away and brought back on the same port.

use std::path::PathBuf;
use std::time::Duration;

use anyhow::{Context, Result};

use super::binaries::Binaries;
use super::certificates::{Authority, service_account_key};
use super::etcd::Etcd;
use super::https_probe::HttpsProbe;
use super::ports::on_free_ports;
use super::process::Process;
use super::workspace::Workspace;

const READY_LIMIT: Duration = Duration::from_secs(90);
/// An administrator's.
pub const TOKEN: &str = "test-only";

/// Users that may do only what roles allow; their tokens are their names.
pub const USERS: [&str; 2] = [super::account::BERTH, super::account::SCHEDULER];

pub struct ApiServer {
    program: PathBuf,
    args: Vec<String>,
    port: u16,
    /// `None` while it is taken away.
    process: Option<Process>,
}

impl ApiServer {
    pub async fn start(
        binaries: &Binaries,
        workspace: &Workspace,
        authority: &Authority,
        etcd: &Etcd,
    ) -> Result<Self> {
        let shared = shared_args(workspace, authority, etcd)?;
        on_free_ports(async |[port]| {
            let mut args = shared.clone();
            args.push(format!("--secure-port={port}"));
            let mut server = Self { program: binaries.path("kube-apiserver"), args, port, process: None };
            server.bring_up(workspace).await?;
            Ok(server)
        })
        .await
    }

    /// Kills it: its watches break off without a good-bye. The data stays in etcd.
    pub fn take_down(&mut self) -> Result<()> {
        match self.process.take() {
            Some(mut process) => process.kill().map(drop),
            None => Ok(()),
        }
    }

    /// How long it has been on a processor since it was last started.
    pub fn cpu_time(&self) -> Result<Duration> {
        self.process.as_ref().map_or(Ok(Duration::ZERO), Process::cpu_time)
    }

    /// Starts it, for the first time or again on the same port, and waits until it serves.
    pub async fn bring_up(&mut self, workspace: &Workspace) -> Result<()> {
        let mut process = Process::spawn(workspace, "kube-apiserver", &self.program, &self.args)?;
        let probe = HttpsProbe::new(self.port, Some(TOKEN))?;
        process
            .wait_ready(READY_LIMIT, async |_| {
                probe.get("/readyz").await?;
                // A start-up hook makes it a moment after readiness; pods need it.
                probe.get("/api/v1/namespaces/default").await
            })
            .await?;
        self.process = Some(process);
        Ok(())
    }

    pub fn ensure_running(&mut self) -> Result<()> {
        let process = self.process.as_mut();
        process.context("kube-apiserver is down")?.ensure_running()
    }

    /// Writes a kubeconfig of whoever has this token.
    pub fn write_kubeconfig(
        &self,
        workspace: &Workspace,
        authority: &Authority,
        name: &str,
        token: &str,
    ) -> Result<PathBuf> {
        let content = format!(
            "apiVersion: v1
kind: Config
clusters:
- name: test
  cluster:
    server: https://127.0.0.1:{port}
    certificate-authority: {ca}
users:
- name: user
  user:
    token: {token}
contexts:
- name: test
  context:
    cluster: test
    user: user
current-context: test
",
            port = self.port,
            ca = authority.certificate.display(),
        );
        workspace.write(name, &content)
    }
}

fn shared_args(workspace: &Workspace, authority: &Authority, etcd: &Etcd) -> Result<Vec<String>> {
    let users = USERS.map(|user| format!("{user},{user},{user}\n")).concat();
    let tokens = workspace.write("tokens.csv", &format!("{TOKEN},admin,admin,system:masters\n{users}"))?;
    let identity = authority.issue(workspace, "kube-apiserver")?;
    let signing_key = service_account_key(workspace)?;
    Ok(vec![
        format!("--etcd-servers={}", etcd.url),
        "--bind-address=127.0.0.1".to_owned(),
        // Administrators may do everything, Berth and kube-scheduler what their roles allow.
        "--authorization-mode=RBAC".to_owned(),
        format!("--cert-dir={}", workspace.path("apiserver").display()),
        format!("--tls-cert-file={}", identity.certificate.display()),
        format!("--tls-private-key-file={}", identity.key.display()),
        format!("--token-auth-file={}", tokens.display()),
        "--service-account-issuer=https://kubernetes.default.svc".to_owned(),
        format!("--service-account-key-file={}", signing_key.public.display()),
        format!("--service-account-signing-key-file={}", signing_key.private.display()),
        "--service-cluster-ip-range=10.96.0.0/16".to_owned(),
        // A loopback address is refused as an endpoint of the `kubernetes` Service.
        "--endpoint-reconciler-type=none".to_owned(),
        // Bare pods come without a service account; and nodes are ready as created, while this
        // plugin would taint them until a node lifecycle controller (we run none) takes it off.
        "--disable-admission-plugins=ServiceAccount,TaintNodesByCondition".to_owned(),
        // Tests measure the scheduler, not the server's fairness between clients.
        "--enable-priority-and-fairness=false".to_owned(),
        "--max-requests-inflight=4000".to_owned(),
        "--max-mutating-requests-inflight=4000".to_owned(),
        "--profiling=false".to_owned(),
    ])
}
