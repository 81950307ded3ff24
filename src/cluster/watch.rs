//! Follows one kind for as long as the process lives, whatever breaks.
//!
//! ```text
//!            +--------+  listed   +----------+  ended in order, or silent
//!   start -->|  list  |---------->|  watch   |--------------+
//!            +--------+           +----------+<-------------+  from the last version
//!                 ^                 |      |
//!                 |   version       |      | broken: cut, wait a little
//!                 +---- too old ----+      +--> watch from the last version
//! ```

use std::sync::Arc;
use std::time::{Duration, Instant};

use futures::StreamExt;

use super::api::{Api, ApiError, Told};
use super::{Freshness, Store};
use crate::metrics::Metrics;
use crate::model::Kind;
use crate::view::change::Change;

/// Events applied at once, so that a burst costs few publications.
const BATCH: usize = 256;
/// A watch that says nothing for so long is reopened. API servers send bookmarks about once a minute
/// on kinds that see traffic; reopening is one cheap request, and the only way to notice a
/// connection that died without a word.
const SILENCE: Duration = Duration::from_secs(30);
/// How often to look whether an optional kind has been installed.
const ABSENT: Duration = Duration::from_secs(30);
/// The first and the longest pause after a failure.
const BACKOFF: (Duration, Duration) = (Duration::from_millis(200), Duration::from_secs(5));

/// What a watch needs.
#[derive(Clone)]
pub struct Follower {
    /// Where objects come from.
    pub api: Api,
    /// Where they go.
    pub store: Arc<Store>,
    /// Who is told how current they are.
    pub freshness: Arc<Freshness>,
    /// Who counts failures.
    pub metrics: Arc<Metrics>,
}

impl Follower {
    /// Follows `kind` for ever.
    pub async fn follow(self, kind: Kind) {
        let mut version = None;
        let mut pause = BACKOFF.0;
        loop {
            let began = Instant::now();
            let failed = match self.round(kind, &mut version).await {
                Ok(()) => false,
                Err(ApiError::TooOld) => {
                    tracing::info!(kind = kind.label(), "resource version too old, listing again");
                    version = None;
                    false
                }
                Err(error) => {
                    self.metrics.watch_failures.with_label_values(&[kind.label()]).inc();
                    tracing::warn!(kind = kind.label(), %error, retry_in = ?pause, "watch cut");
                    true
                }
            };
            let lasted = began.elapsed() >= BACKOFF.1;
            if lasted {
                pause = BACKOFF.0;
            }
            // A watch that ends as soon as it is opened is no better than one that fails.
            if failed || !lasted {
                self.freshness.mark_cut(kind);
                tokio::time::sleep(pause).await;
                pause = (pause * 2).min(BACKOFF.1);
            }
        }
    }

    /// One list if there is no version to go on from, and one watch until it ends.
    async fn round(&self, kind: Kind, version: &mut Option<String>) -> Result<(), ApiError> {
        let Some(path) = self.locate(kind).await? else {
            return self.sit_out(kind, version).await;
        };
        let from = match version {
            Some(version) => version,
            None => match self.api.list(kind, &path).await {
                Ok((objects, listed_at)) => {
                    self.metrics.relists.with_label_values(&[kind.label()]).inc();
                    tracing::debug!(kind = kind.label(), objects = objects.len(), "listed");
                    self.store.apply([Change::Replace(kind, objects)]);
                    self.freshness.mark_synced(kind);
                    version.insert(listed_at)
                }
                Err(error) if !kind.is_built_in() && error.is_not_found() => {
                    return self.sit_out(kind, version).await;
                }
                Err(error) => return Err(error),
            },
        };
        let told = self.api.watch(kind, &path, from).await?;
        self.freshness.mark_open(kind);
        let mut batches = std::pin::pin!(told.ready_chunks(BATCH));
        while let Ok(Some(batch)) = tokio::time::timeout(SILENCE, batches.next()).await {
            self.freshness.mark_heard(kind);
            self.take_in(batch, version)?;
        }
        Ok(())
    }

    /// Applies what came before a failure, so that the version to go on from is never ahead of the cache.
    fn take_in(
        &self,
        batch: Vec<Result<Told, ApiError>>,
        version: &mut Option<String>,
    ) -> Result<(), ApiError> {
        let mut changes = Vec::with_capacity(batch.len());
        let mut failure = None;
        for told in batch {
            match told {
                Ok(Told::Change(change, reached)) => {
                    changes.extend(change);
                    *version = reached.or(version.take());
                }
                Ok(Told::Bookmark(reached)) => *version = Some(reached),
                Err(error) => {
                    failure = Some(error);
                    break;
                }
            }
        }
        if !changes.is_empty() {
            self.store.apply(changes);
        }
        failure.map_or(Ok(()), Err)
    }

    async fn locate(&self, kind: Kind) -> Result<Option<String>, ApiError> {
        match self.api.locate(kind).await {
            Err(error) if !kind.is_built_in() && error.is_forbidden() => {
                tracing::warn!(kind = kind.label(), "not allowed to look for this optional kind");
                Ok(None)
            }
            located => located,
        }
    }

    /// An optional kind that is not there is complete as it is: empty.
    async fn sit_out(&self, kind: Kind, version: &mut Option<String>) -> Result<(), ApiError> {
        *version = None;
        self.store.apply([Change::Replace(kind, Vec::new())]);
        self.freshness.mark_synced(kind);
        self.freshness.mark_open(kind);
        tokio::time::sleep(ABSENT).await;
        Ok(())
    }
}
