//! The composition root: makes the parts, starts what runs, and stops it.
//!
//! ```text
//!   client      how the API server is reached
//!   connect     where the cluster comes from: an API server that is followed, or a file
//!   kubeconfig  when the client certificate of the kubeconfig ends
//!   listeners   where requests come in, as a list: an address, its certificates, who answers
//!   services    what runs in the background, as a list: supervised, begun anew after a panic
//!   reload      the service that takes in changed configuration
//!   renewal     the service that takes in renewed certificates
//!   upkeep      the service that expires and sweeps
//! ```

mod client;
mod connect;
mod kubeconfig;
mod listeners;
mod reload;
mod renewal;
mod services;
mod upkeep;

use std::io::Write;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

pub(crate) use self::client::{NoClientConfig, client_config};
use self::connect::{Connected, connect};
use self::listeners::{Endpoint, Listener, RunningListeners};
use self::reload::{ReloadMetrics, Reloader};
use self::renewal::Renewer;
pub(crate) use self::renewal::check_certificates;
use self::services::{RunningServices, Service};
use self::upkeep::Upkeep;
use crate::build_info;
use crate::cluster::access_review::AccessReviewer;
use crate::cluster::freshness::FreshnessMetrics;
use crate::cluster::lease::Leases;
use crate::cluster::service_writer::ServiceWriter;
use crate::cluster::{EventRecorder, Freshness};
use crate::config::{self, Config, PendingRestart};
use crate::controllers::election::{Election, ElectionMetrics};
use crate::controllers::group_services::{GroupServiceMetrics, GroupServices};
use crate::json::Interner;
use crate::logging::{LevelControl, LogMetrics, Throttle};
use crate::metrics::Registry;
use crate::server::admin::AdminService;
use crate::server::admin_door::{Access, AdminDoor, AdminMetrics, Reviews};
use crate::server::admission_metrics::AdmissionMetrics;
use crate::server::admission_service::AdmissionService;
use crate::server::listener::{ConnectionMetrics, Encryption, is_loopback};
use crate::server::readiness::Readiness;
use crate::server::tls::{CertificateMetrics, Certificates, ClientCertificates};
use crate::server::verbs_metrics::RequestMetrics;
use crate::server::verbs_service::VerbsService;
use crate::store::Store;
use crate::verbs::{GroupEvents, GroupMetrics, Nominations, Reckoning, Rests, Verbs, VerbsMetrics};

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
    /// Where the API server may ask about pods that are created, if anywhere.
    pub admission_listen: Option<SocketAddr>,
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
    /// Where admission reviews are answered, if anywhere.
    pub admission_address: Option<SocketAddr>,
    /// The cluster, for whoever embeds Berth and has news of it.
    pub store: Arc<Store>,
    #[cfg(test)]
    registry: Arc<Registry>,
    draining: Arc<AtomicBool>,
    listeners: RunningListeners,
    services: RunningServices,
    election: Option<Arc<Election>>,
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
        let certificates = server.tls.as_ref().map(Certificates::load).transpose()?.map(Arc::new);
        let encrypted =
            |clients| certificates.clone().map(|certificates| Encryption { certificates, clients });
        let verbs_encryption = encrypted(ClientCertificates::Demanded);
        // Probes and scrapers bring no certificates of their own, so the admin port asks for none; and on loopback it is
        // plain, as kubelets and people expect.
        let admin_is_local = is_loopback(options.admin_listen);
        let admin_encryption = encrypted(ClientCertificates::NotAsked).filter(|_| !admin_is_local);
        let verbs_endpoint = Endpoint::bind("verbs", options.listen, verbs_encryption, &server).await?;
        let admin_endpoint = Endpoint::bind("admin", options.admin_listen, admin_encryption, &server).await?;
        let admin_endpoint = admin_endpoint.for_strangers();
        let (verbs_address, admin_address) = (verbs_endpoint.address(), admin_endpoint.address());
        // The API server brings no certificate unless it is told to.
        let encryption = encrypted(ClientCertificates::NotAsked);
        let admission_endpoint = admission_endpoint(options.admission_listen, encryption, &server).await?;
        let admission_address = admission_endpoint.as_ref().map(Endpoint::address);

        let shared = Shared::new(config)?;
        let certificate_metrics = CertificateMetrics::register(&shared.registry)?;
        let Connected { api, reviewer, binder, event_recorder, nominator, writing, mut services } =
            connect(&options.source, &shared, &certificate_metrics).await?;
        let (election, controllers) = controllers(writing, event_recorder.clone(), &shared)?;
        services.extend(controllers);
        let group_events = group_events(event_recorder, &shared)?;
        let draining = Arc::new(AtomicBool::new(false));
        let verbs_metrics =
            VerbsMetrics::register(&shared.registry, shared.store.snapshot().engine().metrics())?;

        services.push(shared.upkeep(group_events.clone()));
        let (reload, pending) = reloading(options.config, seen, &shared)?;
        services.extend(reload);
        services.extend(certificates.map(|certificates| renewal(certificates, certificate_metrics)));

        let readiness = Readiness {
            store: shared.store.clone(),
            freshness: shared.freshness.clone(),
            draining: draining.clone(),
        };
        readiness.register(&shared.registry)?;
        let admin = Arc::new(AdminService {
            store: shared.store.clone(),
            pending,
            readiness,
            registry: shared.registry.clone(),
            api,
            level,
        });
        let admin = Arc::new(AdminDoor {
            access: admin_access(&admin_endpoint, reviewer),
            service: admin,
            metrics: AdminMetrics::register(&shared.registry)?,
            complaints: shared.throttle(),
        });
        let verbs = Arc::new(Verbs {
            store: shared.store.clone(),
            freshness: shared.freshness.clone(),
            binder,
            interner: shared.interner.clone(),
            group_events,
            nominations: Nominations::new(nominator),
            rests: Rests::default(),
            reckoning: Reckoning::default(),
            metrics: verbs_metrics,
        });
        services.extend(group_services(&verbs));
        let request_metrics = RequestMetrics::register(&shared.registry)?;
        let verbs = Arc::new(VerbsService::new(verbs, request_metrics, shared.throttle()));
        let admission_metrics = AdmissionMetrics::register(&shared.registry)?;
        let connections = ConnectionMetrics::register(&shared.registry, &["verbs", "admin", "admission"])?;
        // They are stopped in this order: the admin port still tells how the verbs' requests come to their end.
        let mut listeners = vec![
            verbs_endpoint.answered_by(&server, connections.clone(), move |request, _| {
                let verbs = verbs.clone();
                async move { verbs.handle(request).await }
            }),
            admin_endpoint.answered_by(&server, connections.clone(), move |request, peer| {
                let admin = admin.clone();
                async move { admin.handle(request, peer).await }
            }),
        ];
        listeners.extend(
            admission_endpoint.map(|endpoint| {
                admission_listener(endpoint, &shared, &server, admission_metrics, connections)
            }),
        );
        Ok(Self {
            verbs_address,
            admin_address,
            admission_address,
            store: shared.store,
            #[cfg(test)]
            registry: shared.registry,
            draining,
            election,
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
        if let Some(election) = self.election {
            election.release().await;
        }
    }
}

/// The service that takes in renewed certificates.
fn renewal(certificates: Arc<Certificates>, metrics: CertificateMetrics) -> Service {
    let renewer = Arc::new(Renewer::new(certificates, metrics));
    Service::new("renewal", move || renewer.clone().run())
}

impl Shared {
    fn new(config: Config) -> anyhow::Result<Self> {
        let registry = Arc::new(Registry::new()?.with_process()?);
        let build = registry.gauge(
            "build_info",
            "The version running, its commit, its compiler, and the Kubernetes it is built for.",
            &["version", "commit", "rust", "kubernetes"],
        )?;
        let labels = [build_info::VERSION, build_info::COMMIT, build_info::RUST, build_info::KUBERNETES];
        build.with_label_values(&labels).set(1);
        let log_metrics = LogMetrics::register(&registry)?;
        let store = Arc::new(Store::new(config, &registry)?);
        let shown = store.clone();
        registry.before_rendering(move || shown.refresh_metrics());
        let freshness = Arc::new(Freshness::default());
        let (shown, metrics) = (freshness.clone(), FreshnessMetrics::register(&registry)?);
        registry.before_rendering(move || shown.publish(&metrics));
        Ok(Self { registry, log_metrics, interner: Arc::default(), store, freshness })
    }

    /// What expires and sweeps.
    fn upkeep(&self, group_events: Arc<GroupEvents>) -> Service {
        let (store, freshness, interner) =
            (self.store.clone(), self.freshness.clone(), self.interner.clone());
        let upkeep = Upkeep { store, freshness, interner, group_events };
        Service::new("upkeep", move || upkeep.clone().run())
    }

    fn throttle(&self) -> Throttle {
        Throttle::new(self.log_metrics.clone())
    }
}

/// What takes in changes of the configuration file, if there is one, and where it notes what waits for a restart.
fn reloading(
    file: Option<PathBuf>,
    seen: Option<String>,
    shared: &Shared,
) -> anyhow::Result<(Option<Service>, Arc<PendingRestart>)> {
    let pending = Arc::new(PendingRestart::default());
    let metrics = ReloadMetrics::register(&shared.registry)?;
    let service = file.map(|file| {
        let (store, pending) = (shared.store.clone(), pending.clone());
        let reloader = Arc::new(Reloader { file, seen: seen.into(), store, pending, metrics });
        Service::new("reload", move || reloader.clone().run())
    });
    Ok((service, pending))
}

/// The address for admission reviews, if there is to be one. The API server speaks TLS only, on loopback too.
async fn admission_endpoint(
    address: Option<SocketAddr>,
    encryption: Option<Encryption>,
    server: &config::Server,
) -> anyhow::Result<Option<Endpoint>> {
    let Some(address) = address else { return Ok(None) };
    if encryption.is_none() {
        anyhow::bail!(
            "--admission-listen {address} needs server.tls in the configuration: the API server calls webhooks over TLS \
             only; `berth certs` makes certificates to start with"
        );
    }
    Ok(Some(Endpoint::bind("admission", address, encryption, server).await?.for_strangers()))
}

/// Who answers reviews there.
fn admission_listener(
    endpoint: Endpoint,
    shared: &Shared,
    server: &config::Server,
    metrics: AdmissionMetrics,
    connections: ConnectionMetrics,
) -> Listener {
    let (store, interner) = (shared.store.clone(), shared.interner.clone());
    let admission = Arc::new(AdmissionService::new(store, interner, metrics, shared.throttle()));
    endpoint.answered_by(server, connections, move |request, _| {
        let admission = admission.clone();
        async move { admission.handle(request).await }
    })
}

/// Only a Berth whose admin port others can reach has access reviewed.
fn admin_access(endpoint: &Endpoint, reviewer: Option<AccessReviewer>) -> Access {
    match reviewer {
        _ if is_loopback(endpoint.address()) => Access::Loopback,
        Some(reviewer) => {
            if endpoint.is_plain() {
                let help = "set server.tls, or let nobody send any";
                tracing::warn!(address = %endpoint.address(), help, "bearer tokens for the admin port travel in clear");
            }
            Access::Reviewed(Box::new(Reviews::new(reviewer)))
        }
        None => Access::Nobody,
    }
}

/// Who says how groups are doing, in Events and metrics.
fn group_events(event_recorder: EventRecorder, shared: &Shared) -> anyhow::Result<Arc<GroupEvents>> {
    let metrics = GroupMetrics::register(&shared.registry)?;
    let group_events = Arc::new(GroupEvents::new(event_recorder, metrics));
    let (shown, store) = (group_events.clone(), shared.store.clone());
    shared.registry.before_rendering(move || {
        let snapshot = store.snapshot();
        shown.publish(snapshot.view(), &snapshot.config().replica_groups.topology_keys());
    });
    Ok(group_events)
}

/// What writes to the API server by itself, one Berth at a time; nothing where there is none.
fn controllers(
    writing: Option<(Leases, ServiceWriter)>,
    event_recorder: EventRecorder,
    shared: &Shared,
) -> anyhow::Result<(Option<Arc<Election>>, Vec<Service>)> {
    let metrics = GroupServiceMetrics::register(&shared.registry)?;
    let election_metrics = ElectionMetrics::register(&shared.registry)?;
    let Some((leases, writer)) = writing else { return Ok((None, Vec::new())) };
    let election = Arc::new(Election::new(leases, shared.store.clone(), election_metrics));
    let controller = Arc::new(GroupServices {
        store: shared.store.clone(),
        freshness: shared.freshness.clone(),
        writer,
        election: election.clone(),
        event_recorder,
        metrics,
    });
    let candidate = election.clone();
    let services = vec![
        Service::new("group-services", move || {
            let controller = controller.clone();
            async move { controller.run().await }
        }),
        Service::new("group-services-lease", move || {
            let candidate = candidate.clone();
            async move { candidate.campaign().await }
        }),
    ];
    Ok((Some(election), services))
}

/// What keeps reservations and nominations of replica groups up to date.
fn group_services(verbs: &Arc<Verbs>) -> [Service; 5] {
    let [keeper, planner, writer, announcer, reporter] = [(); 5].map(|()| verbs.clone());
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
        Service::new("own-nodes", move || {
            let reporter = reporter.clone();
            async move { reporter.report_groups_that_await_nodes().await }
        }),
    ]
}

#[cfg(test)]
mod tests;
