//! The composition root: makes the parts, starts their tasks, and ends them.

mod reload;
mod upkeep;

use std::io::Write;
use std::net::SocketAddr;
use std::panic::AssertUnwindSafe;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use anyhow::{Context, bail};
use futures::FutureExt;
use tokio::net::TcpListener;
use tokio::sync::watch;
use tokio::task::JoinHandle;

use crate::cluster::api::Api;
use crate::cluster::binder::ApiBinder;
use crate::cluster::snapshot_file::{self, Loaded};
use crate::cluster::watch::Follower;
use crate::cluster::{Binder, EventRecorder, Freshness};
use crate::config::{self, Config, Tls};
use crate::json::Interner;
use crate::logging::LevelControl;
use crate::metrics::Metrics;
use crate::model::Kind;
use crate::server::admin::AdminService;
use crate::server::listener::{self, Listening};
use crate::server::tls::Certificates;
use crate::server::verbs_service::VerbsService;
use crate::store::Store;
use crate::verbs::{GroupEvents, Verbs};
use crate::view::change::Change;

/// What `berth serve` was told.
#[derive(Clone, Debug)]
pub struct Options {
    /// The configuration file; absent means defaults.
    pub config: Option<PathBuf>,
    /// Where the cluster comes from.
    pub source: Source,
    /// Where the verbs are served.
    pub listen: SocketAddr,
    /// Where the admin endpoints are served.
    pub admin_listen: SocketAddr,
}

/// Where the cluster comes from.
#[derive(Clone, Debug)]
pub enum Source {
    /// A file.
    SnapshotFile(PathBuf),
    /// The text of a file.
    SnapshotText(String),
    /// An API server, found through this kubeconfig, or the usual ones, or the in-cluster account.
    ApiServer(Option<PathBuf>),
}

/// A running Berth.
pub struct App {
    /// Where the verbs are served.
    pub verbs_address: SocketAddr,
    /// Where the admin endpoints are served.
    pub admin_address: SocketAddr,
    /// The cluster, for whoever embeds Berth and has news of it.
    pub store: Arc<Store>,
    draining: Arc<AtomicBool>,
    stop_verbs: watch::Sender<bool>,
    stop_admin: watch::Sender<bool>,
    verbs_server: JoinHandle<()>,
    admin_server: JoinHandle<()>,
    background: Vec<JoinHandle<()>>,
}

/// What all parts share.
struct Shared {
    metrics: Arc<Metrics>,
    interner: Arc<Interner>,
    store: Arc<Store>,
    freshness: Arc<Freshness>,
}

impl App {
    /// Starts everything; returns once both ports accept connections.
    pub async fn start(options: Options, level: Option<LevelControl>) -> anyhow::Result<Self> {
        // Read before it is loaded: a change made since then is a change to the reloader.
        let seen = options.config.as_ref().and_then(|path| std::fs::read_to_string(path).ok());
        let config = match &options.config {
            Some(path) => config::load(path)?,
            None => Config::default(),
        };
        let tls = config.server.tls.as_ref();
        for address in [options.listen, options.admin_listen] {
            require_safe(address, tls.is_some(), config.server.insecure)?;
        }
        let verbs_certificates = tls.map(Certificates::load).transpose()?.map(Arc::new);
        let admin_certificates = admin_certificates(tls, options.admin_listen)?.map(Arc::new);
        let certificates: Vec<_> = verbs_certificates.iter().chain(&admin_certificates).cloned().collect();
        let shared = Shared::new(config)?;
        let verbs_listener = bind(options.listen).await?;
        let admin_listener = bind(options.admin_listen).await?;
        let verbs_address = verbs_listener.local_addr()?;
        let admin_address = admin_listener.local_addr()?;

        let Connected { api, binder, event_recorder, mut background } =
            connect(&options.source, &shared).await?;
        let group_events = Arc::new(GroupEvents::new(event_recorder, shared.metrics.clone()));
        background.push(shared.keep_up(group_events.clone()));
        if let Some(file) = options.config {
            let reloader = reload::Reloader {
                file,
                seen,
                store: shared.store.clone(),
                certificates,
                metrics: shared.metrics.clone(),
            };
            background.push(tokio::spawn(reloader.run()));
        }
        let draining = Arc::new(AtomicBool::new(false));
        let admin = Arc::new(AdminService {
            store: shared.store.clone(),
            freshness: shared.freshness.clone(),
            metrics: shared.metrics.clone(),
            group_events: group_events.clone(),
            api,
            level,
            draining: draining.clone(),
        });
        let verbs = Arc::new(VerbsService::new(Arc::new(Verbs {
            store: shared.store.clone(),
            freshness: shared.freshness.clone(),
            binder,
            interner: shared.interner.clone(),
            group_events,
            metrics: shared.metrics.clone(),
        })));

        let (stop_verbs, verbs_stopped) = watch::channel(false);
        let (stop_admin, admin_stopped) = watch::channel(false);
        let verbs_server = tokio::spawn(listener::serve(
            verbs_listener,
            shared.listening("verbs", verbs_certificates),
            move |request| {
                let verbs = verbs.clone();
                async move { verbs.handle(request).await }
            },
            shared.metrics.clone(),
            verbs_stopped,
        ));
        let admin_server = tokio::spawn(listener::serve(
            admin_listener,
            shared.listening("admin", admin_certificates),
            move |request| {
                let admin = admin.clone();
                async move { admin.handle(request).await }
            },
            shared.metrics.clone(),
            admin_stopped,
        ));
        Ok(Self {
            verbs_address,
            admin_address,
            store: shared.store,
            draining,
            stop_verbs,
            stop_admin,
            verbs_server,
            admin_server,
            background,
        })
    }

    /// Prints where it listens: the one line on standard output that others wait for.
    pub fn announce(&self) -> std::io::Result<()> {
        let mut out = std::io::stdout().lock();
        writeln!(out, "listening verbs={} admin={}", self.verbs_address, self.admin_address)?;
        out.flush()
    }

    /// Stops in order: not ready, no new connections, requests under way finish, then the rest.
    pub async fn stop(self) {
        self.draining.store(true, Ordering::Relaxed);
        let _ = self.stop_verbs.send(true);
        let _ = self.verbs_server.await;
        let _ = self.stop_admin.send(true);
        let _ = self.admin_server.await;
        for task in self.background {
            task.abort();
        }
    }
}

impl Shared {
    fn keep_up(&self, group_events: Arc<GroupEvents>) -> JoinHandle<()> {
        let (store, freshness, interner) =
            (self.store.clone(), self.freshness.clone(), self.interner.clone());
        tokio::spawn(async move {
            let upkeep =
                || upkeep::run(store.clone(), freshness.clone(), interner.clone(), group_events.clone());
            supervise("upkeep", || {}, upkeep).await;
        })
    }

    fn new(config: Config) -> anyhow::Result<Self> {
        let metrics = Arc::new(Metrics::new()?);
        let store = Arc::new(Store::new(config, metrics.clone()));
        Ok(Self { interner: Arc::default(), store, freshness: Arc::default(), metrics })
    }

    fn listening(&self, name: &'static str, certificates: Option<Arc<Certificates>>) -> Listening {
        let snapshot = self.store.snapshot();
        let server = &snapshot.config().server;
        Listening {
            name,
            certificates,
            idle: server.timeouts.idle.0,
            max_connections: server.limits.max_connections,
            drain: server.timeouts.drain.0,
        }
    }

    fn load(&self, loaded: Loaded) {
        let Loaded { objects, other_kinds, undecodable } = loaded;
        tracing::info!(objects = objects.len(), other_kinds, undecodable, "snapshot loaded");
        for (reason, count) in [("other_kind", other_kinds), ("undecodable", undecodable)] {
            self.metrics.snapshot_skipped.with_label_values(&[reason]).inc_by(count as u64);
        }
        self.store.apply(objects.into_iter().map(Change::Upsert));
        self.freshness.mark_all_current();
    }
}

/// What comes from where the cluster is.
struct Connected {
    api: Option<Api>,
    binder: Binder,
    event_recorder: EventRecorder,
    background: Vec<JoinHandle<()>>,
}

async fn connect(source: &Source, shared: &Shared) -> anyhow::Result<Connected> {
    match source {
        Source::SnapshotFile(path) => shared.load(snapshot_file::load(path, &shared.interner)?),
        Source::SnapshotText(text) => shared.load(snapshot_file::parse(text, &shared.interner)?),
        Source::ApiServer(kubeconfig) => {
            let client = client(kubeconfig.as_ref()).await?;
            let api = Api::new(client.clone(), shared.interner.clone(), shared.metrics.clone());
            let follower = Follower {
                api: api.clone(),
                store: shared.store.clone(),
                freshness: shared.freshness.clone(),
                metrics: shared.metrics.clone(),
            };
            let follow = |kind| {
                let follower = follower.clone();
                tokio::spawn(async move {
                    // A kind that nobody follows any more must not pass for current.
                    let cut = || follower.freshness.mark_cut(kind);
                    supervise(kind.label(), cut, || follower.clone().follow(kind)).await;
                })
            };
            let mut background: Vec<_> = Kind::ALL.into_iter().map(follow).collect();
            let (event_recorder, posting) = EventRecorder::posting(client.clone(), shared.metrics.clone());
            background.push(tokio::spawn(posting));
            let patience = shared.store.snapshot().config().server.timeouts.bind.0;
            let binder = Binder::Api(ApiBinder::new(client, patience));
            return Ok(Connected { api: Some(api), binder, event_recorder, background });
        }
    }
    Ok(Connected {
        api: None,
        binder: Binder::InMemory(shared.store.clone()),
        event_recorder: EventRecorder::silent(shared.metrics.clone()),
        background: Vec::new(),
    })
}

/// Runs a task that should never end; begins it anew, after a pause, if it panics.
async fn supervise<F: Future<Output = ()>>(task: &str, on_panic: impl Fn(), begin: impl Fn() -> F) {
    while AssertUnwindSafe(begin()).catch_unwind().await.is_err() {
        on_panic();
        tracing::error!(task, "task panicked, beginning it anew");
        tokio::time::sleep(Duration::from_secs(1)).await;
    }
}

async fn client(kubeconfig: Option<&PathBuf>) -> anyhow::Result<kube::Client> {
    let mut config = match kubeconfig {
        Some(path) => {
            let file = kube::config::Kubeconfig::read_from(path)
                .with_context(|| format!("cannot use kubeconfig {}", path.display()))?;
            kube::Config::from_custom_kubeconfig(file, &kube::config::KubeConfigOptions::default())
                .await
                .with_context(|| format!("cannot use kubeconfig {}", path.display()))?
        }
        None => kube::Config::infer().await.context(
            "found neither a kubeconfig nor an in-cluster account; pass --kubeconfig FILE, \
             or --snapshot FILE to serve a cluster from a file",
        )?,
    };
    // Watches bring their own pauses; a binding repeated behind our back would be told "already bound".
    config.default_retry = false;
    Ok(kube::Client::try_from(config)?)
}

async fn bind(address: SocketAddr) -> anyhow::Result<TcpListener> {
    listener::bind(address).await.with_context(|| format!("cannot listen on {address}"))
}

/// Probes and scrapers bring no certificates of their own, so the admin port asks for none; and on loopback
/// it is plain, as kubelets and people expect.
fn admin_certificates(tls: Option<&Tls>, address: SocketAddr) -> anyhow::Result<Option<Certificates>> {
    match tls {
        Some(tls) if !address.ip().is_loopback() => {
            Ok(Some(Certificates::load(&Tls { client_ca_file: None, ..tls.clone() })?))
        }
        _ => Ok(None),
    }
}

fn require_safe(address: SocketAddr, encrypted: bool, insecure: bool) -> anyhow::Result<()> {
    if !encrypted && !insecure && !address.ip().is_loopback() {
        bail!(
            "refusing plain HTTP on {address}, which others can reach: set server.tls in the \
             configuration, or server.insecure: true if the network is trusted"
        );
    }
    Ok(())
}
