//! The composition root: makes the parts, starts their tasks, and ends them.

mod reload;
mod upkeep;

use self::reload::ReloadMetrics;
use std::io::Write;
use std::net::SocketAddr;
use std::panic::AssertUnwindSafe;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use anyhow::{Context, bail};
use arc_swap::ArcSwap;
use futures::FutureExt;
use tokio::net::TcpListener;
use tokio::sync::watch;
use tokio::task::JoinHandle;

use crate::cluster::api::Api;
use crate::cluster::binder::ApiBinder;
use crate::cluster::event_recorder::EventMetrics;
use crate::cluster::freshness::FreshnessMetrics;
use crate::cluster::snapshot_file::{self, Loaded, SnapshotMetrics};
use crate::cluster::watch::Follower;
use crate::cluster::{Binder, EventRecorder, Freshness, Store, StoreMetrics, WatchMetrics};
use crate::config::{self, Config, Tls};
use crate::engine::{Engine, EngineMetrics};
use crate::json::Interner;
use crate::logging::{LevelControl, LogMetrics, Throttle};
use crate::metrics::Registry;
use crate::model::Kind;
use crate::server::admin::AdminService;
use crate::server::listener::{self, ConnectionMetrics, Listening};
use crate::server::tls::Certificates;
use crate::server::verbs_metrics::RequestMetrics;
use crate::server::verbs_service::VerbsService;
use crate::verbs::{GroupEvents, GroupMetrics, Verbs, VerbsMetrics};
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
    config: Arc<ArcSwap<Config>>,
    registry: Arc<Registry>,
    log_metrics: LogMetrics,
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
        let group_metrics = GroupMetrics::register(&shared.registry)?;
        let group_events = Arc::new(GroupEvents::new(event_recorder, group_metrics));
        let (shown, store) = (group_events.clone(), shared.store.clone());
        shared.registry.before_rendering(move || shown.publish(&store.view()));
        background.push(shared.keep_up(group_events.clone()));
        let engine_metrics = EngineMetrics::register(&shared.registry)?;
        let reload_metrics = ReloadMetrics::register(&shared.registry)?;
        let verbs_metrics = VerbsMetrics::register(&shared.registry, &engine_metrics)?;
        let engine = Engine::new(&shared.config.load(), engine_metrics.clone());
        let engine = Arc::new(ArcSwap::from_pointee(engine));
        if let Some(file) = options.config {
            let reloader = reload::Reloader {
                file,
                seen,
                config: shared.config.clone(),
                engine: engine.clone(),
                store: shared.store.clone(),
                certificates,
                engine_metrics,
                metrics: reload_metrics,
            };
            background.push(tokio::spawn(reloader.run()));
        }
        let draining = Arc::new(AtomicBool::new(false));
        let admin = Arc::new(AdminService {
            store: shared.store.clone(),
            freshness: shared.freshness.clone(),
            config: shared.config.clone(),
            registry: shared.registry.clone(),
            api,
            level,
            draining: draining.clone(),
        });
        let verbs = Arc::new(Verbs {
            store: shared.store.clone(),
            freshness: shared.freshness.clone(),
            engine,
            binder,
            config: shared.config.clone(),
            interner: shared.interner.clone(),
            group_events,
            metrics: verbs_metrics,
        });
        let request_metrics = RequestMetrics::register(&shared.registry)?;
        let verbs = Arc::new(VerbsService::new(verbs, request_metrics, shared.throttle()));
        let connection_metrics = ConnectionMetrics::register(&shared.registry)?;

        let (stop_verbs, verbs_stopped) = watch::channel(false);
        let (stop_admin, admin_stopped) = watch::channel(false);
        let verbs_server = tokio::spawn(listener::serve(
            verbs_listener,
            shared.listening("verbs", verbs_certificates),
            move |request| {
                let verbs = verbs.clone();
                async move { verbs.handle(request).await }
            },
            connection_metrics.clone(),
            verbs_stopped,
        ));
        let admin_server = tokio::spawn(listener::serve(
            admin_listener,
            shared.listening("admin", admin_certificates),
            move |request| {
                let admin = admin.clone();
                async move { admin.handle(request).await }
            },
            connection_metrics,
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
        let registry = Arc::new(Registry::new()?);
        let build_info = registry.float_gauge("build_info", "The version running.", &["version"])?;
        build_info.with_label_values(&[env!("CARGO_PKG_VERSION")]).set(1.0);
        let log_metrics = LogMetrics::register(&registry)?;
        let store = Arc::new(Store::new(StoreMetrics::register(&registry)?));
        let shown = store.clone();
        registry.before_rendering(move || shown.refresh_metrics());
        let freshness = Arc::new(Freshness::default());
        let (shown, metrics) = (freshness.clone(), FreshnessMetrics::register(&registry)?);
        registry.before_rendering(move || shown.publish(&metrics));
        store.recognise_groups(&config);
        let config = Arc::new(ArcSwap::from_pointee(config));
        Ok(Self { config, registry, log_metrics, interner: Arc::default(), store, freshness })
    }

    fn listening(&self, name: &'static str, certificates: Option<Arc<Certificates>>) -> Listening {
        let server = &self.config.load().server;
        Listening {
            name,
            certificates,
            idle: server.timeouts.idle.0,
            max_connections: server.limits.max_connections,
            drain: server.timeouts.drain.0,
        }
    }

    fn throttle(&self) -> Throttle {
        Throttle::new(self.log_metrics.clone())
    }

    fn load(&self, loaded: Loaded, metrics: &SnapshotMetrics) {
        metrics.count(&loaded);
        let Loaded { objects, other_kinds, undecodable } = loaded;
        tracing::info!(objects = objects.len(), other_kinds, undecodable, "snapshot loaded");
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
    // All of them are registered wherever the cluster comes from, so that the page always shows the same metrics.
    let snapshot_metrics = SnapshotMetrics::register(&shared.registry)?;
    let watch_metrics = WatchMetrics::register(&shared.registry)?;
    let event_metrics = EventMetrics::register(&shared.registry)?;
    match source {
        Source::SnapshotFile(path) => {
            shared.load(snapshot_file::load(path, &shared.interner)?, &snapshot_metrics);
        }
        Source::SnapshotText(text) => {
            shared.load(snapshot_file::parse(text, &shared.interner)?, &snapshot_metrics);
        }
        Source::ApiServer(kubeconfig) => {
            let client = client(kubeconfig.as_ref()).await?;
            let api =
                Api::new(client.clone(), shared.interner.clone(), watch_metrics.clone(), shared.throttle());
            let follower = Follower {
                api: api.clone(),
                store: shared.store.clone(),
                freshness: shared.freshness.clone(),
                metrics: watch_metrics,
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
            let (event_recorder, posting) = EventRecorder::posting(client.clone(), event_metrics);
            background.push(tokio::spawn(posting));
            let patience = shared.config.load().server.timeouts.bind.0;
            let binder = Binder::Api(ApiBinder::new(client, patience));
            return Ok(Connected { api: Some(api), binder, event_recorder, background });
        }
    }
    Ok(Connected {
        api: None,
        binder: Binder::InMemory(shared.store.clone()),
        event_recorder: EventRecorder::silent(event_metrics),
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
