//! Where the cluster comes from: an API server that is followed, or a file that is read once.

use std::sync::Arc;

use kube::client::ClientBuilder;

use super::client::client_config;
use super::kubeconfig::client_certificate_end;
use super::services::Service;
use super::{Shared, Source};
use crate::cluster::access_review::AccessReviewer;
use crate::cluster::api::Api;
use crate::cluster::binder::ApiBinder;
use crate::cluster::event_recorder::EventMetrics;
use crate::cluster::lease::Leases;
use crate::cluster::nominator::Nominator;
use crate::cluster::service_writer::ServiceWriter;
use crate::cluster::snapshot_file::{self, Loaded, SnapshotMetrics};
use crate::cluster::watch::Follower;
use crate::cluster::{ApiMetrics, Binder, EventRecorder, ProblemLog, WatchMetrics};
use crate::model::Kind;
use crate::server::tls::CertificateMetrics;
use crate::view::change::Change;

/// What depends on where the cluster comes from.
pub(super) struct Connected {
    /// The API server, if there is one.
    pub(super) api: Option<Api>,
    /// Who says what others may do, if anybody.
    pub(super) reviewer: Option<AccessReviewer>,
    /// Who carries out bindings.
    pub(super) binder: Binder,
    /// Who posts Events.
    pub(super) event_recorder: EventRecorder,
    /// Who writes nominations.
    pub(super) nominator: Nominator,
    /// Where Leases are, and who writes the Services of groups, where there is an API server.
    pub(super) writing: Option<(Leases, ServiceWriter)>,
    /// What keeps the cache current and posts Events.
    pub(super) services: Vec<Service>,
}

/// Reads the file, or makes a client of the API server; nothing is followed until the services are started.
pub(super) async fn connect(
    source: &Source,
    shared: &Shared,
    certificate_metrics: &CertificateMetrics,
) -> anyhow::Result<Connected> {
    // All of them are registered wherever the cluster comes from, so that the page always shows the same metrics.
    let snapshot_metrics = SnapshotMetrics::register(&shared.registry)?;
    let watch_metrics = WatchMetrics::register(&shared.registry)?;
    let event_metrics = EventMetrics::register(&shared.registry)?;
    let api_metrics = ApiMetrics::register(&shared.registry)?;
    let loaded = match source {
        Source::SnapshotFile(path) => snapshot_file::load(path, &shared.interner)?,
        Source::SnapshotText(text) => snapshot_file::parse(text, &shared.interner)?,
        Source::ApiServer(kubeconfig) => {
            let config = client_config(kubeconfig.as_ref()).await?;
            let problems = Arc::new(ProblemLog::new(config.cluster_url.to_string()));
            if let Some(end) = client_certificate_end(&config.auth_info) {
                certificate_metrics.show_kubeconfig(end);
            }
            let namespace = config.default_namespace.clone();
            let client = ClientBuilder::try_from(config)?.with_layer(&api_metrics).build();
            let leases = Leases::new(client.clone(), namespace);
            return Ok(follow(client, leases, shared, watch_metrics, event_metrics, problems));
        }
    };
    snapshot_metrics.count(&loaded);
    take_in(loaded, shared);
    Ok(Connected {
        api: None,
        reviewer: None,
        binder: Binder::InMemory(shared.store.clone()),
        event_recorder: EventRecorder::silent(event_metrics),
        nominator: Nominator::None,
        writing: None,
        services: Vec::new(),
    })
}

fn take_in(loaded: Loaded, shared: &Shared) {
    loaded.report();
    shared.store.apply(loaded.objects.into_iter().map(Change::Upsert));
    shared.freshness.mark_all_current();
}

fn follow(
    client: kube::Client,
    leases: Leases,
    shared: &Shared,
    watch_metrics: WatchMetrics,
    event_metrics: EventMetrics,
    problems: Arc<ProblemLog>,
) -> Connected {
    let api = Api::new(client.clone(), shared.interner.clone(), watch_metrics.clone(), shared.throttle());
    let follower = Follower {
        api: api.clone(),
        store: shared.store.clone(),
        freshness: shared.freshness.clone(),
        metrics: watch_metrics,
        problems,
    };
    let follow = |kind: Kind| {
        let (follower, freshness) = (follower.clone(), shared.freshness.clone());
        // A kind that nobody follows any more must not pass for current.
        Service::new(kind.label(), move || follower.clone().follow(kind))
            .on_panic(move || freshness.mark_cut(kind))
    };
    let mut services: Vec<_> = Kind::ALL.into_iter().map(follow).collect();
    let (event_recorder, poster) = EventRecorder::posting(client.clone(), event_metrics);
    services.push(Service::new("events", move || poster.clone().run()));
    let patience = shared.store.snapshot().config().server.timeouts.bind.0;
    let binder = Binder::Api(ApiBinder::new(client.clone(), patience));
    let reviewer = Some(AccessReviewer::new(client.clone()));
    let nominator = Nominator::Api(client.clone());
    let writing = Some((leases, ServiceWriter::new(client)));
    Connected { api: Some(api), reviewer, binder, event_recorder, nominator, writing, services }
}
