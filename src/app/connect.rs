//! Where the cluster comes from: an API server that is followed, or a file that is read once.

use std::path::PathBuf;

use anyhow::Context;

use super::services::Service;
use super::{Shared, Source};
use crate::cluster::api::Api;
use crate::cluster::binder::ApiBinder;
use crate::cluster::event_recorder::EventMetrics;
use crate::cluster::nominator::Nominator;
use crate::cluster::snapshot_file::{self, Loaded, SnapshotMetrics};
use crate::cluster::watch::Follower;
use crate::cluster::{Binder, EventRecorder, WatchMetrics};
use crate::model::Kind;
use crate::view::change::Change;

/// What depends on where the cluster comes from.
pub(super) struct Connected {
    /// The API server, if there is one.
    pub(super) api: Option<Api>,
    /// Who carries out bindings.
    pub(super) binder: Binder,
    /// Who posts Events.
    pub(super) event_recorder: EventRecorder,
    /// Who writes nominations.
    pub(super) nominator: Nominator,
    /// What keeps the cache current and posts Events.
    pub(super) services: Vec<Service>,
}

/// Reads the file, or makes a client of the API server; nothing is followed until the services are started.
pub(super) async fn connect(source: &Source, shared: &Shared) -> anyhow::Result<Connected> {
    // All of them are registered wherever the cluster comes from, so that the page always shows the same metrics.
    let snapshot_metrics = SnapshotMetrics::register(&shared.registry)?;
    let watch_metrics = WatchMetrics::register(&shared.registry)?;
    let event_metrics = EventMetrics::register(&shared.registry)?;
    let loaded = match source {
        Source::SnapshotFile(path) => snapshot_file::load(path, &shared.interner)?,
        Source::SnapshotText(text) => snapshot_file::parse(text, &shared.interner)?,
        Source::ApiServer(kubeconfig) => {
            let client = client(kubeconfig.as_ref()).await?;
            return Ok(follow(client, shared, watch_metrics, event_metrics));
        }
    };
    snapshot_metrics.count(&loaded);
    take_in(loaded, shared);
    Ok(Connected {
        api: None,
        binder: Binder::InMemory(shared.store.clone()),
        event_recorder: EventRecorder::silent(event_metrics),
        nominator: Nominator::None,
        services: Vec::new(),
    })
}

fn take_in(loaded: Loaded, shared: &Shared) {
    let Loaded { objects, other_kinds, undecodable } = loaded;
    tracing::info!(objects = objects.len(), other_kinds, undecodable, "snapshot loaded");
    shared.store.apply(objects.into_iter().map(Change::Upsert));
    shared.freshness.mark_all_current();
}

fn follow(
    client: kube::Client,
    shared: &Shared,
    watch_metrics: WatchMetrics,
    event_metrics: EventMetrics,
) -> Connected {
    let api = Api::new(client.clone(), shared.interner.clone(), watch_metrics.clone(), shared.throttle());
    let follower = Follower {
        api: api.clone(),
        store: shared.store.clone(),
        freshness: shared.freshness.clone(),
        metrics: watch_metrics,
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
    Connected { api: Some(api), binder, event_recorder, nominator: Nominator::Api(client), services }
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
