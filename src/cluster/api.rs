//! Lists and watches of one kind, read object by object.
//!
//! Objects are taken as raw JSON first: one that cannot be read is skipped and counted, and does not
//! take the rest of its list with it. The stock reflectors decode a page as a whole, and keep bookmarks
//! to themselves, which are what tells a quiet watch from a dead one.

use std::sync::Arc;
use std::time::Duration;

use futures::{Stream, StreamExt};
use hyper::http;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::APIGroup;
use kube::Client;
use kube::api::{ListParams, WatchEvent, WatchParams};
use kube::core::Request;
use serde::Deserialize;
use serde_json::value::RawValue;

use super::WatchMetrics;
use crate::json::{Interner, ListMeta, Slimmed, Undecodable, slim};
use crate::logging::Throttle;
use crate::model::{Kind, Object};
use crate::view::change::Change;

/// Objects per page: large enough for few round trips, small enough to stay a modest answer.
const PAGE: u32 = 500;
/// How long the API server lets a watch run before it ends it in good order.
const WATCH_SECONDS: u32 = 290;
/// A list page or the opening of a watch that takes longer than this is given up.
const PATIENCE: Duration = Duration::from_secs(30);

/// Why a list or watch failed.
#[derive(Debug, thiserror::Error)]
pub enum ApiError {
    /// The version to go on from is too old: only a new list helps.
    #[error("the resource version is too old")]
    TooOld,
    /// No answer in time.
    #[error("no answer within {} s", PATIENCE.as_secs())]
    TimedOut,
    /// Anything else.
    #[error(transparent)]
    Kube(#[from] kube::Error),
}

impl ApiError {
    fn from_kube(error: kube::Error) -> Self {
        match error {
            kube::Error::Api(status) if status.code == 410 => ApiError::TooOld,
            other => ApiError::Kube(other),
        }
    }

    /// Whether the resource is not served. A kind that is served but forbidden is something else: nobody knows what is in it.
    pub(crate) fn is_absent(&self) -> bool {
        self.code() == Some(404)
    }

    /// The status that the API server answered with, if it did.
    pub(crate) fn code(&self) -> Option<u16> {
        match self {
            ApiError::Kube(kube::Error::Api(status)) => Some(status.code),
            ApiError::TooOld => Some(410),
            ApiError::TimedOut | ApiError::Kube(_) => None,
        }
    }
}

/// What one event of a watch means.
pub enum Told {
    /// A change, and the version it brings the kind to.
    Change(Option<Change>, Option<String>),
    /// A sign of life, and the version reached.
    Bookmark(String),
}

/// Reads objects from an API server.
#[derive(Clone)]
pub struct Api {
    client: Client,
    interner: Arc<Interner>,
    metrics: WatchMetrics,
    complaints: Arc<Throttle>,
}

#[derive(Deserialize)]
struct RawList {
    #[serde(default)]
    metadata: ListMeta,
    items: Option<Vec<Box<RawValue>>>,
}

#[derive(Deserialize)]
struct Versioned {
    metadata: VersionedMeta,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct VersionedMeta {
    resource_version: Option<String>,
}

impl Api {
    /// Reads with the given client.
    pub fn new(client: Client, interner: Arc<Interner>, metrics: WatchMetrics, complaints: Throttle) -> Self {
        Self { client, interner, metrics, complaints: Arc::new(complaints) }
    }

    /// Where a kind is served, or `None` if it is not installed. Of an optional kind the version that
    /// the API server prefers is taken.
    pub async fn locate(&self, kind: Kind) -> Result<Option<String>, ApiError> {
        let (group, plural) = (kind.group(), kind.plural());
        if kind.is_built_in() {
            let root = if group.is_empty() { "/api".to_owned() } else { format!("/apis/{group}") };
            return Ok(Some(format!("{root}/v1/{plural}")));
        }
        let request =
            http::Request::get(format!("/apis/{group}")).body(Vec::new()).map_err(kube::Error::HttpError)?;
        match in_time(self.client.request::<APIGroup>(request)).await {
            Ok(served) => {
                let version = served.preferred_version.or_else(|| served.versions.into_iter().next());
                Ok(version.map(|version| format!("/apis/{}/{plural}", version.group_version)))
            }
            Err(error) if error.is_absent() => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// All objects of a kind, and the version to watch from.
    pub async fn list(&self, kind: Kind, path: &str) -> Result<(Vec<Object>, String), ApiError> {
        let mut params = ListParams { limit: Some(PAGE), ..ListParams::default() };
        params.field_selector = field_selector(kind);
        let mut objects = Vec::new();
        loop {
            let request = Request::new(path).list(&params).map_err(kube::Error::BuildRequest)?;
            let page: RawList = in_time(self.client.request(request)).await?;
            for raw in page.items.iter().flatten() {
                if let Some(Change::Upsert(object)) = self.read(kind, raw.get()) {
                    objects.push(object);
                }
            }
            match page.metadata.continue_token.filter(|token| !token.is_empty()) {
                Some(token) => params.continue_token = Some(token),
                None => return Ok((objects, page.metadata.resource_version.unwrap_or_default())),
            }
        }
    }

    /// What happens to a kind after `version`.
    pub async fn watch(
        &self,
        kind: Kind,
        path: &str,
        version: &str,
    ) -> Result<impl Stream<Item = Result<Told, ApiError>> + use<>, ApiError> {
        let mut params = WatchParams::default().timeout(WATCH_SECONDS);
        params.field_selector = field_selector(kind);
        let request = Request::new(path).watch(&params, version).map_err(kube::Error::BuildRequest)?;
        let events = in_time(self.client.request_events::<Box<RawValue>>(request)).await?;
        let api = self.clone();
        let told = events.map(move |event| match event.map_err(ApiError::from_kube)? {
            WatchEvent::Added(raw) | WatchEvent::Modified(raw) => {
                Ok(Told::Change(api.read(kind, raw.get()), version_of(&raw)))
            }
            WatchEvent::Deleted(raw) => {
                let change = api.read(kind, raw.get()).map(|change| match change {
                    Change::Upsert(object) => Change::Remove(kind, object.key()),
                    other => other,
                });
                Ok(Told::Change(change, version_of(&raw)))
            }
            WatchEvent::Bookmark(bookmark) => Ok(Told::Bookmark(bookmark.metadata.resource_version)),
            WatchEvent::Error(status) => Err(ApiError::from_kube(kube::Error::Api(status))),
        });
        Ok(told)
    }

    /// What an object means for the cache. One that cannot be read takes its stale copy with it.
    fn read(&self, kind: Kind, text: &str) -> Option<Change> {
        match slim(kind, text, &self.interner) {
            Ok(Slimmed::Kept(object)) => Some(Change::Upsert(object)),
            Ok(Slimmed::Uninteresting(key)) => Some(Change::Remove(kind, key)),
            Err(error) => {
                self.metrics.undecodable.with_label_values(&[kind.label()]).inc();
                if self.complaints.may_speak(("undecodable", kind.label())) {
                    tracing::warn!(kind = kind.label(), %error, "object skipped");
                }
                let Undecodable { key, .. } = error;
                key.map(|key| Change::Remove(kind, key))
            }
        }
    }
}

/// Failed pods hold no room and others come in their stead; leaving them out on the server's side saves their transfer.
/// Of those that have succeeded, members of groups must not be waited for.
fn field_selector(kind: Kind) -> Option<String> {
    (kind == Kind::Pod).then(|| "status.phase!=Failed".to_owned())
}

fn version_of(raw: &RawValue) -> Option<String> {
    serde_json::from_str::<Versioned>(raw.get()).ok()?.metadata.resource_version
}

async fn in_time<T>(call: impl Future<Output = Result<T, kube::Error>>) -> Result<T, ApiError> {
    match tokio::time::timeout(PATIENCE, call).await {
        Ok(answer) => answer.map_err(ApiError::from_kube),
        Err(_) => Err(ApiError::TimedOut),
    }
}
