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
use super::watch_problem::Attempt;
use super::{Freshness, ProblemLog, WatchMetrics};
use crate::model::Kind;
use crate::store::Store;
use crate::view::change::Change;

/// Events applied at once, so that a burst costs few publications.
const BATCH: usize = 256;
/// A watch that says nothing for so long is reopened. API servers send bookmarks about once a minute
/// on kinds that see traffic; reopening is one cheap request, and the only way to notice a
/// connection that died without a word.
const SILENCE: Duration = Duration::from_secs(30);
/// What is reopened within this time counts as never cut.
const REOPENING: Duration = Duration::from_secs(2);
/// How often to look whether an optional kind has been installed, or groups have been switched on.
const ABSENT: Duration = Duration::from_secs(30);
/// The first and the longest pause after a failure.
const BACKOFF: (Duration, Duration) = (Duration::from_millis(200), Duration::from_secs(3));
/// A watch that lasted so long was worth opening, even if it told nothing.
const WORTHWHILE: Duration = Duration::from_secs(5);

/// How far a kind has been followed.
#[derive(Default)]
struct Progress {
    /// The version to go on from; without one, a list is needed.
    version: Option<String>,
    /// Whether the watch at hand told anything.
    fruitful: bool,
    /// What is being tried.
    attempt: Attempt,
}

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
    pub metrics: WatchMetrics,
    /// Who says what is wrong.
    pub problems: Arc<ProblemLog>,
}

impl Follower {
    /// Follows `kind` for ever.
    pub async fn follow(self, kind: Kind) {
        let mut progress = Progress::default();
        let mut pause = BACKOFF.0;
        loop {
            let began = Instant::now();
            progress.fruitful = false;
            let failed = match self.round(kind, &mut progress).await {
                Ok(()) => false,
                Err(ApiError::TooOld) => {
                    tracing::info!(kind = kind.label(), "resource version too old, listing again");
                    progress.version = None;
                    false
                }
                Err(error) => {
                    self.metrics.watch_failures.with_label_values(&[kind.label()]).inc();
                    let problem = self.problems.tell(kind, progress.attempt, &error);
                    self.freshness.mark_problem(kind, problem);
                    true
                }
            };
            // API servers end the watches of those who cannot keep up: they are to go on at once. But a watch that
            // ends as soon as it is opened, and tells nothing, is no better than one that fails.
            let worked = progress.fruitful || began.elapsed() >= WORTHWHILE;
            if worked {
                pause = BACKOFF.0;
            }
            if failed || !worked {
                self.freshness.mark_cut(kind);
                tokio::time::sleep(pause).await;
                pause = (pause * 2).min(BACKOFF.1);
            }
        }
    }

    /// One list if there is no version to go on from, and one watch until it ends. An optional kind that is not
    /// served is sat out, and so is one that is of no interest while groups, or those of its source, are switched off. One
    /// that is served but not to us is not: nobody knows what is in it.
    async fn round(&self, kind: Kind, progress: &mut Progress) -> Result<(), ApiError> {
        if !self.store.view().recogniser().reads(kind) {
            return self.sit_out(kind, progress).await;
        }
        match self.list_and_watch(kind, progress).await {
            Err(error) if !kind.is_built_in() && error.is_absent() => {
                tracing::debug!(kind = kind.label(), %error, "optional kind is not there");
                self.sit_out(kind, progress).await
            }
            result => result,
        }
    }

    async fn list_and_watch(&self, kind: Kind, progress: &mut Progress) -> Result<(), ApiError> {
        progress.attempt = Attempt::Locate;
        let Some(path) = self.noticing_delay(kind, self.api.locate(kind)).await? else {
            return self.sit_out(kind, progress).await;
        };
        let from = if let Some(version) = &progress.version {
            version
        } else {
            self.freshness.mark_cut(kind);
            progress.attempt = Attempt::List;
            let (objects, listed_at) = self.api.list(kind, &path).await?;
            self.metrics.relists.with_label_values(&[kind.label()]).inc();
            tracing::debug!(kind = kind.label(), objects = objects.len(), "listed");
            self.store.apply([Change::Replace(kind, objects)]);
            self.freshness.mark_heard(kind);
            progress.version.insert(listed_at)
        };
        progress.attempt = Attempt::Watch;
        let told = self.noticing_delay(kind, self.api.watch(kind, &path, from)).await?;
        progress.attempt = Attempt::Read;
        // The status is here: API servers send it when they have accepted a watch, and not with its first event. Only now it
        // is known that what was listed will be kept current.
        self.freshness.mark_open(kind);
        self.problems.is_well(kind);
        let mut batches = std::pin::pin!(told.ready_chunks(BATCH));
        while let Ok(Some(batch)) = tokio::time::timeout(SILENCE, batches.next()).await {
            if batch.iter().any(Result::is_ok) {
                self.freshness.mark_heard(kind);
            }
            self.take_in(batch, progress)?;
        }
        Ok(())
    }

    /// A watch that is reopened in good time counts as open all along; one that is not is cut.
    async fn noticing_delay<T>(&self, kind: Kind, call: impl Future<Output = T>) -> T {
        let mut call = std::pin::pin!(call);
        if let Ok(answer) = tokio::time::timeout(REOPENING, call.as_mut()).await {
            return answer;
        }
        self.freshness.mark_cut(kind);
        call.await
    }

    /// Applies what came before a failure, so that the version to go on from is never ahead of the cache.
    fn take_in(&self, batch: Vec<Result<Told, ApiError>>, progress: &mut Progress) -> Result<(), ApiError> {
        let mut changes = Vec::with_capacity(batch.len());
        let mut failure = None;
        for told in batch {
            match told {
                Ok(Told::Change(change, reached)) => {
                    changes.extend(change);
                    progress.version = reached.or(progress.version.take());
                    progress.fruitful = true;
                }
                Ok(Told::Bookmark(reached)) => {
                    progress.version = Some(reached);
                    progress.fruitful = true;
                }
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

    /// A kind that is not there, or of no interest, is complete as it is: empty.
    async fn sit_out(&self, kind: Kind, progress: &mut Progress) -> Result<(), ApiError> {
        progress.version = None;
        self.store.apply([Change::Replace(kind, Vec::new())]);
        self.freshness.mark_open(kind);
        tokio::time::sleep(ABSENT).await;
        Ok(())
    }
}
