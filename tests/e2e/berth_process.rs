//! Berth itself, as a child process.

use std::net::SocketAddr;
use std::path::Path;
use std::time::Duration;

use anyhow::{Context, Result, ensure};

use crate::controlplane::{Process, Workspace};
use crate::http_get;
use crate::metrics_text::Metrics;

const READY_LIMIT: Duration = Duration::from_mins(1);

/// How to start it.
#[derive(Clone, Copy, Debug)]
pub struct BerthOptions<'a> {
    /// The binary: `Path::new(env!("CARGO_BIN_EXE_berth"))`.
    pub program: &'a Path,
    /// Port of the verbs; 0 picks a free one.
    pub port: u16,
    /// Port of the admin endpoints; 0 picks a free one.
    pub admin_port: u16,
    /// Address of the admin endpoints.
    pub admin_host: &'a str,
    /// The configuration file, if any.
    pub config: Option<&'a Path>,
    /// Whether it answers admission reviews, on a free port.
    pub admission: bool,
}

impl<'a> BerthOptions<'a> {
    /// Defaults and free ports.
    pub fn new(program: &'a Path) -> Self {
        Self { program, port: 0, admin_port: 0, admin_host: "127.0.0.1", config: None, admission: false }
    }

    pub fn config(mut self, file: &'a Path) -> Self {
        self.config = Some(file);
        self
    }

    /// For kube-apiserver to ask about new pods. The configuration has to name a certificate.
    pub fn with_admission(self) -> Self {
        Self { admission: true, ..self }
    }

    /// On the ports of a process that has ended: kube-scheduler does not learn of new ones.
    pub fn instead_of(mut self, predecessor: &BerthProcess) -> Self {
        self.port = predecessor.verbs.port();
        self.admin_port = predecessor.admin.port();
        self
    }
}

/// Killed when dropped.
#[derive(Debug)]
pub struct BerthProcess {
    process: Process,
    verbs: SocketAddr,
    admin: SocketAddr,
    admission: Option<SocketAddr>,
}

impl BerthProcess {
    pub async fn start(workspace: &Workspace, kubeconfig: &Path, options: BerthOptions<'_>) -> Result<Self> {
        let mut berth = Self::start_unready(workspace, kubeconfig, options).await?;
        let admin = berth.admin;
        berth
            .process
            .wait_ready(READY_LIMIT, async |_| {
                let (status, body) = http_get::get(admin, "/readyz?verbose").await?;
                ensure!(status == 200, "readyz says {status}: {body}");
                Ok(())
            })
            .await?;
        Ok(berth)
    }

    /// Waits only until it listens: for tests of what comes before readiness.
    pub async fn start_unready(
        workspace: &Workspace,
        kubeconfig: &Path,
        options: BerthOptions<'_>,
    ) -> Result<Self> {
        let mut args = vec![
            "serve".to_owned(),
            format!("--kubeconfig={}", kubeconfig.display()),
            format!("--listen=127.0.0.1:{}", options.port),
            format!("--admin-listen={}:{}", options.admin_host, options.admin_port),
        ];
        if let Some(config) = options.config {
            args.push(format!("--config={}", config.display()));
        }
        if options.admission {
            args.push("--admission-listen=127.0.0.1:0".to_owned());
        }
        let mut process = Process::spawn(workspace, "berth", options.program, args)?;
        let (verbs, admin, admission) = process
            .wait_ready(READY_LIMIT, async |process| {
                listening(&process.stdout()).context("it has not said where it listens")
            })
            .await?;
        Ok(Self { process, verbs, admin, admission })
    }

    /// What kube-scheduler's `urlPrefix` should say.
    pub fn url(&self) -> String {
        format!("http://{}", self.verbs)
    }

    pub fn verbs_address(&self) -> SocketAddr {
        self.verbs
    }

    pub fn admission_address(&self) -> Option<SocketAddr> {
        self.admission
    }

    pub fn admin_address(&self) -> SocketAddr {
        self.admin
    }

    /// The child process, for signals and logs.
    pub fn process(&mut self) -> &mut Process {
        &mut self.process
    }

    /// How long it has been on a processor so far.
    pub fn cpu_time(&self) -> Result<Duration> {
        self.process.cpu_time()
    }

    /// GET on the admin port: status and body.
    pub async fn get(&self, path: &str) -> Result<(u16, String)> {
        http_get::get(self.admin, path).await
    }

    pub async fn metrics(&self) -> Result<Metrics> {
        let (status, body) = self.get("/metrics").await?;
        ensure!(status == 200, "metrics answers {status}: {body}");
        Metrics::parse(&body)
    }

    /// Sum over the series that carry all these labels; 0 when there is none.
    pub async fn metric_sum(&self, name: &str, labels: &[(&str, &str)]) -> Result<f64> {
        Ok(self.metrics().await?.sum(name, labels))
    }

    /// SIGKILL.
    pub fn kill9(&mut self) -> Result<()> {
        self.process.kill().map(drop)
    }

    /// SIGTERM; the exit code, or `None` if a signal ended it.
    pub async fn terminate(&mut self, limit: Duration) -> Result<Option<i32>> {
        Ok(self.process.terminate(limit).await?.code())
    }
}

/// Reads `listening verbs=ADDR admin=ADDR`, perhaps with `admission=ADDR`. A line without its end is still being written.
fn listening(stdout: &str) -> Option<(SocketAddr, SocketAddr, Option<SocketAddr>)> {
    let complete = &stdout[..stdout.rfind('\n')?];
    complete.lines().find_map(|line| {
        let (verbs, admin) = line.strip_prefix("listening verbs=")?.split_once(" admin=")?;
        let (admin, admission) = match admin.split_once(" admission=") {
            Some((admin, admission)) => (admin, Some(admission.trim().parse().ok()?)),
            None => (admin, None),
        };
        Some((verbs.parse().ok()?, admin.trim().parse().ok()?, admission))
    })
}

#[cfg(test)]
mod tests {
    use super::listening;

    #[test]
    fn the_addresses_are_read_from_a_complete_line() {
        let line = "listening verbs=127.0.0.1:1 admin=127.0.0.1:23";
        assert_eq!(listening(line), None);
        let (verbs, admin, admission) = listening(&format!("hello\n{line}\n")).unwrap();
        assert_eq!((verbs.port(), admin.port(), admission), (1, 23, None));
        let (_, admin, admission) = listening(&format!("{line} admission=127.0.0.1:4\n")).unwrap();
        assert_eq!((admin.port(), admission.map(|address| address.port())), (23, Some(4)));
    }
}
