//! The composition root: makes the parts, starts what runs, and stops it.
//!
//! ```text
//!   connect     where the cluster comes from: an API server that is followed, or a file
//!   listeners   where requests come in, as a list: an address, its certificates, who answers
//!   services    what runs in the background, as a list: supervised, begun anew after a panic
//!   reload      the service that takes in changed configuration and certificates
//!   upkeep      the service that expires and sweeps
//! ```

mod connect;
mod listeners;
mod reload;
mod services;
mod upkeep;

use std::io::Write;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use self::connect::{Connected, connect};
use self::listeners::{Endpoint, RunningListeners};
use self::reload::{ReloadMetrics, Reloader};
use self::services::{RunningServices, Service};
use self::upkeep::Upkeep;
use crate::cluster::Freshness;
use crate::cluster::freshness::FreshnessMetrics;
use crate::config::{self, Config, Tls};
use crate::json::Interner;
use crate::logging::{LevelControl, LogMetrics, Throttle};
use crate::metrics::Registry;
use crate::server::admin::AdminService;
use crate::server::listener::ConnectionMetrics;
use crate::server::verbs_metrics::RequestMetrics;
use crate::server::verbs_service::VerbsService;
use crate::store::Store;
use crate::verbs::{GroupEvents, GroupMetrics, Nominations, Rests, Verbs, VerbsMetrics};

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
    listeners: RunningListeners,
    services: RunningServices,
}

/// What all parts share.
struct Shared {
    registry: Arc<Registry>,
    log_metrics: LogMetrics,
    interner: Arc<Interner>,
    store: Arc<Store>,
    freshness: Arc<Freshness>,
}

impl App {
    /// Starts everything; returns once all ports accept connections.
    pub async fn start(options: Options, level: Option<LevelControl>) -> anyhow::Result<Self> {
        // Read before it is loaded: a change made since then is a change to the reloader.
        let seen = options.config.as_ref().and_then(|path| std::fs::read_to_string(path).ok());
        let config = match &options.config {
            Some(path) => config::load(path)?,
            None => Config::default(),
        };
        let server = config.server.clone();
        let tls = server.tls.as_ref();
        let admin_tls = admin_tls(tls, options.admin_listen);
        let verbs_endpoint = Endpoint::bind("verbs", options.listen, tls, &server).await?;
        let admin_endpoint =
            Endpoint::bind("admin", options.admin_listen, admin_tls.as_ref(), &server).await?;
        let (verbs_address, admin_address) = (verbs_endpoint.address(), admin_endpoint.address());

        let shared = Shared::new(config)?;
        let Connected { api, binder, event_recorder, nominator, mut services } =
            connect(&options.source, &shared).await?;
        let group_metrics = GroupMetrics::register(&shared.registry)?;
        let group_events = Arc::new(GroupEvents::new(event_recorder, group_metrics));
        let (shown, store) = (group_events.clone(), shared.store.clone());
        shared.registry.before_rendering(move || shown.publish(&store.view()));
        let draining = Arc::new(AtomicBool::new(false));
        let verbs_metrics =
            VerbsMetrics::register(&shared.registry, shared.store.snapshot().engine().metrics())?;

        let upkeep = Upkeep {
            store: shared.store.clone(),
            freshness: shared.freshness.clone(),
            interner: shared.interner.clone(),
            group_events: group_events.clone(),
        };
        services.push(Service::new("upkeep", move || upkeep.clone().run()));
        let reload_metrics = ReloadMetrics::register(&shared.registry)?;
        if let Some(file) = options.config {
            let endpoints = [&verbs_endpoint, &admin_endpoint];
            let reloader = Arc::new(Reloader {
                file,
                seen: seen.into(),
                store: shared.store.clone(),
                certificates: endpoints.into_iter().filter_map(Endpoint::certificates).collect(),
                metrics: reload_metrics,
            });
            services.push(Service::new("reload", move || reloader.clone().run()));
        }

        let admin = Arc::new(AdminService {
            store: shared.store.clone(),
            freshness: shared.freshness.clone(),
            registry: shared.registry.clone(),
            api,
            level,
            draining: draining.clone(),
        });
        let verbs = Arc::new(Verbs {
            store: shared.store.clone(),
            freshness: shared.freshness.clone(),
            binder,
            interner: shared.interner.clone(),
            group_events,
            nominations: Nominations::new(nominator),
            rests: Rests::default(),
            metrics: verbs_metrics,
        });
        services.extend(group_services(&verbs));
        let request_metrics = RequestMetrics::register(&shared.registry)?;
        let verbs = Arc::new(VerbsService::new(verbs, request_metrics, shared.throttle()));
        let connections = ConnectionMetrics::register(&shared.registry)?;
        // They are stopped in this order: the admin port still tells how the verbs' requests come to their end.
        let listeners = vec![
            verbs_endpoint.answered_by(&server, connections.clone(), move |request| {
                let verbs = verbs.clone();
                async move { verbs.handle(request).await }
            }),
            admin_endpoint.answered_by(&server, connections, move |request| {
                let admin = admin.clone();
                async move { admin.handle(request).await }
            }),
        ];
        Ok(Self {
            verbs_address,
            admin_address,
            store: shared.store,
            draining,
            services: RunningServices::start(services),
            listeners: RunningListeners::start(listeners),
        })
    }

    /// Prints where it listens: the one line on standard output that others wait for.
    pub fn print_addresses(&self) -> std::io::Result<()> {
        let mut out = std::io::stdout().lock();
        write!(out, "listening")?;
        for (name, address) in self.listeners.addresses() {
            write!(out, " {name}={address}")?;
        }
        writeln!(out)?;
        out.flush()
    }

    /// Stops in order: not ready, no new connections, requests under way finish, then the rest.
    pub async fn stop(self) {
        self.draining.store(true, Ordering::Relaxed);
        self.listeners.stop().await;
        self.services.stop();
    }
}

impl Shared {
    fn new(config: Config) -> anyhow::Result<Self> {
        let registry = Arc::new(Registry::new()?);
        let build_info = registry.float_gauge("build_info", "The version running.", &["version"])?;
        build_info.with_label_values(&[env!("CARGO_PKG_VERSION")]).set(1.0);
        let log_metrics = LogMetrics::register(&registry)?;
        let store = Arc::new(Store::new(config, &registry)?);
        let shown = store.clone();
        registry.before_rendering(move || shown.refresh_metrics());
        let freshness = Arc::new(Freshness::default());
        let (shown, metrics) = (freshness.clone(), FreshnessMetrics::register(&registry)?);
        registry.before_rendering(move || shown.publish(&metrics));
        Ok(Self { registry, log_metrics, interner: Arc::default(), store, freshness })
    }

    fn throttle(&self) -> Throttle {
        Throttle::new(self.log_metrics.clone())
    }
}

/// Probes and scrapers bring no certificates of their own, so the admin port asks for none; and on loopback
/// it is plain, as kubelets and people expect.
fn admin_tls(tls: Option<&Tls>, address: SocketAddr) -> Option<Tls> {
    let tls = tls.filter(|_| !address.ip().is_loopback())?;
    Some(Tls { client_ca_file: None, ..tls.clone() })
}

/// What keeps reservations and nominations of replica groups up to date.
fn group_services(verbs: &Arc<Verbs>) -> [Service; 4] {
    let [keeper, planner, writer, announcer] = [(); 4].map(|()| verbs.clone());
    [
        Service::new("reservations", move || {
            let keeper = keeper.clone();
            async move { keeper.keep_reservations_up_to_date().await }
        }),
        Service::new("nominations", move || {
            let planner = planner.clone();
            async move { planner.keep_nominations_up_to_date().await }
        }),
        Service::new("nominations-writer", move || {
            let writer = writer.clone();
            async move { writer.write_nominations().await }
        }),
        Service::new("announcements", move || {
            let announcer = announcer.clone();
            async move { announcer.announce_room().await }
        }),
    ]
}
