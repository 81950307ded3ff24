//! The watching half of Berth, fed by the fake API server.

use std::sync::Arc;
use std::time::Duration;

use berth::cluster::api::Api;
use berth::cluster::watch::Follower;
use berth::cluster::{Freshness, ProblemLog, WatchMetrics};
use berth::config::Config;
use berth::json::Interner;
use berth::logging::{LogMetrics, Throttle};
use berth::metrics::Registry;
use berth::model::Kind;
use berth::store::Store;
use berth::view::View;
use tokio::runtime::Runtime;

use super::fake_api::FakeApi;
use crate::support::metrics_page;
use crate::support::waiting::until_true;

pub struct Following {
    pub store: Arc<Store>,
    pub freshness: Arc<Freshness>,
    registry: Registry,
    /// Ends the watches when dropped.
    _runtime: Runtime,
}

impl Following {
    pub fn start(server: &FakeApi, kinds: &[Kind]) -> Self {
        let runtime = Runtime::new().expect("a runtime");
        let guard = runtime.enter();
        let client = kube::Client::try_from(kube::Config::new(server.url())).expect("a client");
        let registry = Registry::new().expect("a registry");
        let metrics = WatchMetrics::register(&registry).expect("metrics");
        let complaints = Throttle::new(LogMetrics::register(&registry).expect("metrics"));
        let api = Api::new(client, Arc::new(Interner::default()), metrics.clone(), complaints);
        let store = Arc::new(Store::new(Config::default(), &registry).expect("metrics"));
        let freshness = Arc::new(Freshness::default());
        let problems = Arc::new(ProblemLog::new(server.url().to_string()));
        let follower =
            Follower { api, store: store.clone(), freshness: freshness.clone(), metrics, problems };
        for kind in kinds {
            runtime.spawn(follower.clone().follow(*kind));
        }
        drop(guard);
        Self { store, freshness, registry, _runtime: runtime }
    }

    pub fn view(&self) -> Arc<View> {
        self.store.view()
    }

    pub fn nodes(&self) -> Vec<String> {
        let view = self.view();
        let mut names: Vec<_> =
            view.hosts().filter(|host| host.node.is_some()).map(|h| h.name.to_string()).collect();
        names.sort();
        names
    }

    pub fn staleness(&self, kind: Kind) -> Duration {
        self.freshness.staleness(kind)
    }

    /// Whether readiness would go at this staleness limit; the kinds that nobody follows here count as fine.
    pub fn distrusted_when_limit_is(&self, limit: Duration) -> bool {
        for kind in Kind::ALL {
            if !self.freshness.is_synced(kind) {
                self.freshness.mark_open(kind);
            }
        }
        self.freshness.not_ready(limit).is_some()
    }

    pub fn until_synced(&self, kind: Kind) {
        until_true("synced", || self.freshness.is_synced(kind));
    }

    /// Waits until the list is in and the watch is open on both sides.
    pub fn until_watching(&self, server: &FakeApi, kind: Kind) {
        self.until_synced(kind);
        until_true("watching", || server.is_watched(kind) && self.staleness(kind).is_zero());
    }

    pub fn undecodable(&self, kind: Kind) -> u64 {
        self.count("berth_undecodable_objects_total", kind)
    }

    pub fn count(&self, metric: &str, kind: Kind) -> u64 {
        let page = String::from_utf8(self.registry.render()).expect("text");
        metrics_page::count(&page, &format!("{metric}{{kind=\"{}\"}}", kind.label()))
    }
}
