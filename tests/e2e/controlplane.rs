//! A real Kubernetes control plane on loopback ports: etcd, kube-apiserver,
//! kube-controller-manager, and kwok in place of the kubelets. The `LeaderWorkerSet` controller, if wanted.
//!
//! ```text
//!  test ── ControlPlane::run ──> etcd <── kube-apiserver <── kube-controller-manager, leaderworkerset-manager
//!                                               ^  ^  ^───── kwok
//!            start_scheduler ──> kube-scheduler ┘  │
//!            start_berth     ──> berth ────────────┘
//! ```

mod account;
mod apiserver;
mod binaries;
mod certificates;
mod controller_manager;
mod etcd;
mod https_probe;
mod kwok;
mod leader_worker_set;
pub mod ports;
mod process;
mod scheduler;
pub mod scheduler_config;
mod watchdog;
mod workspace;

use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};
use kube::config::{KubeConfigOptions, Kubeconfig};
use kube::{Client, Config};
use tokio::sync::{Mutex, MutexGuard};
use tokio::time::timeout;

use crate::berth_process::{BerthOptions, BerthProcess};
use crate::progress::report;
pub use account::BERTH;
use apiserver::ApiServer;
pub use binaries::Binaries;
pub use certificates::{Authority, Identity};
use etcd::Etcd;
pub use https_probe::HttpsProbe;
pub use ports::free_ports;
pub use process::Process;
pub use scheduler::Scheduler;
pub use workspace::Workspace;

/// Two clusters at once would fight for the cores and spoil each other's time limits.
static TURN: Mutex<()> = Mutex::const_new(());

/// What a test can choose about its cluster.
#[derive(Clone, Debug)]
#[allow(clippy::struct_excessive_bools, reason = "each switches one part of the control plane on")]
pub struct Options {
    /// Run kube-controller-manager: Deployments, Jobs, disruption budgets and so on.
    pub controllers: bool,
    /// Run kwok: bound pods become Running, deleted pods disappear.
    pub kubelets: bool,
    /// Run the `LeaderWorkerSet` controller, which needs the other controllers.
    pub leader_worker_sets: bool,
    /// A further version of Kubernetes, where it brings components of its own: [`Binaries::of_version`].
    pub version: Option<&'static str>,
    /// How long the test may take once the cluster is up. Used by [`ControlPlane::run`].
    pub limit: Duration,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            controllers: true,
            kubelets: true,
            leader_worker_sets: false,
            version: None,
            limit: Duration::from_mins(5),
        }
    }
}

/// The fields are dropped in this order: clients before servers, the logs when nobody writes to
/// them any more, and the turn last.
pub struct ControlPlane {
    helpers: Vec<Process>,
    apiserver: ApiServer,
    etcd: Etcd,
    binaries: Binaries,
    authority: Authority,
    kubeconfig: PathBuf,
    berth_kubeconfig: PathBuf,
    scheduler_kubeconfig: PathBuf,
    client: Client,
    workspace: Workspace,
    _turn: MutexGuard<'static, ()>,
}

impl ControlPlane {
    /// Runs one test on a fresh cluster, within the options' time limit. The logs are kept unless
    /// the test passes.
    pub async fn run(options: Options, test: impl AsyncFnOnce(&mut Self) -> Result<()>) -> Result<()> {
        let limit = options.limit;
        let mut plane = Self::start(options).await?;
        match timeout(limit, test(&mut plane)).await {
            Ok(outcome) => outcome?,
            Err(_) => bail!("the test took longer than {limit:?}"),
        }
        plane.finish()
    }

    /// Waits for its turn, compiles what is missing, and starts a cluster without a scheduler.
    /// Dropping the result ends it and keeps the logs: see [`ControlPlane::finish`].
    pub async fn start(options: Options) -> Result<Self> {
        let turn = TURN.lock().await;
        let binaries = Binaries::of_version(options.version).await?;
        let started = Instant::now();
        let workspace = Workspace::create()?;
        let authority = Authority::create(&workspace)?;
        let etcd = Etcd::start(&binaries, &workspace).await?;
        let apiserver = ApiServer::start(&binaries, &workspace, &authority, &etcd).await?;
        let kubeconfig =
            apiserver.write_kubeconfig(&workspace, &authority, "kubeconfig", apiserver::TOKEN)?;
        let client = connect(&kubeconfig).await?;
        account::give_rights(&client).await?;
        let [berth_kubeconfig, scheduler_kubeconfig] = [account::BERTH, account::SCHEDULER].map(|user| {
            apiserver.write_kubeconfig(&workspace, &authority, &format!("kubeconfig-of-{user}"), user)
        });
        let mut plane = Self {
            helpers: Vec::new(),
            apiserver,
            etcd,
            binaries,
            authority,
            kubeconfig,
            berth_kubeconfig: berth_kubeconfig?,
            scheduler_kubeconfig: scheduler_kubeconfig?,
            client,
            workspace,
            _turn: turn,
        };
        plane.start_helpers(&options).await?;
        report(&format!("cluster is up after {:.1?}", started.elapsed()));
        Ok(plane)
    }

    async fn start_helpers(&mut self, options: &Options) -> Result<()> {
        let (binaries, workspace, kubeconfig) = (&self.binaries, &self.workspace, &self.kubeconfig);
        if options.leader_worker_sets {
            leader_worker_set::define_kinds(binaries, &self.client).await?;
        }
        let controllers =
            wanted(options.controllers, || controller_manager::start(binaries, workspace, kubeconfig));
        let kubelets = wanted(options.kubelets, || kwok::start(binaries, workspace, kubeconfig));
        let leader_worker_sets = wanted(options.leader_worker_sets, || {
            leader_worker_set::start(binaries, workspace, &self.authority, kubeconfig, &self.client)
        });
        let (sets, controllers, kubelets) = tokio::try_join!(leader_worker_sets, controllers, kubelets)?;
        self.helpers = [sets, controllers, kubelets].into_iter().flatten().collect();
        Ok(())
    }

    /// The test passed. Fails if a component died unnoticed; deletes the logs otherwise.
    pub fn finish(mut self) -> Result<()> {
        self.etcd.process.ensure_running()?;
        self.apiserver.ensure_running()?;
        for helper in &mut self.helpers {
            helper.ensure_running()?;
        }
        self.workspace.mark_passed();
        Ok(())
    }

    /// An administrator's client.
    pub fn client(&self) -> Client {
        self.client.clone()
    }

    /// An administrator's kubeconfig file.
    pub fn kubeconfig(&self) -> &Path {
        &self.kubeconfig
    }

    /// Signs certificates for servers that the test starts.
    pub fn authority(&self) -> &Authority {
        &self.authority
    }

    /// The cluster's folder, for a test's own files.
    pub fn workspace(&self) -> &Workspace {
        &self.workspace
    }

    /// A program of the test bed, such as `kubectl`.
    pub fn program(&self, name: &str) -> PathBuf {
        self.binaries.path(name)
    }

    /// Writes a kubeconfig of whoever has this token.
    pub fn write_kubeconfig(&self, name: &str, token: &str) -> Result<PathBuf> {
        self.apiserver.write_kubeconfig(&self.workspace, &self.authority, name, token)
    }

    /// Starts kube-scheduler with the given configuration text, under an account that may do what kube-schedulers may. Its
    /// extenders, if it has any, are pointed to `extender` (`http://127.0.0.1:PORT`).
    pub async fn start_scheduler(&self, configuration: &str, extender: Option<&str>) -> Result<Scheduler> {
        let text = scheduler_config::adapt(configuration, &self.scheduler_kubeconfig, extender)?;
        let file = self.workspace.fresh_path("kube-scheduler-config", "yaml");
        std::fs::write(&file, text).context("cannot write the scheduler's configuration")?;
        Scheduler::start(&self.binaries, &self.workspace, &file).await
    }

    /// Starts Berth against this cluster, under an account with exactly the rights that are shipped, and waits until it is
    /// ready.
    pub async fn start_berth(&self, options: BerthOptions<'_>) -> Result<BerthProcess> {
        BerthProcess::start(&self.workspace, &self.berth_kubeconfig, options).await
    }

    /// How long kube-apiserver and etcd have been on a processor so far.
    pub fn cpu_time(&self) -> Result<Duration> {
        Ok(self.apiserver.cpu_time()? + self.etcd.process.cpu_time()?)
    }

    /// Begins an outage of the API server.
    pub fn stop_apiserver(&mut self) -> Result<()> {
        self.apiserver.take_down()
    }

    /// Ends the outage: same port, same data.
    pub async fn start_apiserver(&mut self) -> Result<()> {
        self.apiserver.bring_up(&self.workspace).await
    }

    pub async fn restart_apiserver(&mut self) -> Result<()> {
        self.stop_apiserver()?;
        self.start_apiserver().await
    }
}

async fn connect(kubeconfig: &Path) -> Result<Client> {
    let kubeconfig = Kubeconfig::read_from(kubeconfig)?;
    let config = Config::from_custom_kubeconfig(kubeconfig, &KubeConfigOptions::default()).await?;
    Ok(Client::try_from(config)?)
}

async fn wanted<F>(wanted: bool, start: impl FnOnce() -> F) -> Result<Option<Process>>
where
    F: Future<Output = Result<Process>>,
{
    if wanted { start().await.map(Some) } else { Ok(None) }
}
