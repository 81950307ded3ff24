//! Reviews of access: remembered for a moment, few at a time, and fewer still for one peer.

use std::net::IpAddr;
use std::time::{Duration, Instant};

use tokio::sync::Semaphore;

use super::remembered::{Question, Remembered};
use crate::cluster::access_review::{AccessReviewer, Review, ReviewError};
use crate::server::peers::Peers;

/// Reviews under way at once. Whoever sends tokens at random has Berth ask no more of the API server than this.
pub(super) const AT_ONCE: usize = 8;
/// Requests that wait for their review or have it under way. More are refused at once.
pub(super) const WAITING: usize = 64;
/// How many of these may come from one peer. It is fewer than are under way at once, so that a peer with nothing but bad
/// tokens, and all of them slow to review, leaves places for another one's.
pub(super) const OF_ONE_PEER: usize = 4;
const _: () = assert!(OF_ONE_PEER < AT_ONCE);
/// How long a request waits for its review in all.
const PATIENCE: Duration = Duration::from_secs(5);

/// Why there is no review.
#[derive(Debug, thiserror::Error)]
pub(super) enum NoReview {
    /// Too many wait already.
    #[error("{WAITING} requests wait for a review already")]
    Busy,
    /// Too many of this peer wait already.
    #[error("{OF_ONE_PEER} requests of {0} wait for a review already")]
    PeerBusy(IpAddr),
    /// The API server takes too long.
    #[error("no review within {0:?}")]
    TooSlow(Duration),
    /// The API server refused, or could not be asked.
    #[error(transparent)]
    Review(#[from] ReviewError),
}

/// Finds out who may ask what.
pub(crate) struct Reviews {
    reviewer: AccessReviewer,
    remembered: Remembered,
    places: Semaphore,
    waiting: Semaphore,
    peers: Peers,
    patience: Duration,
}

impl Reviews {
    /// By asking the API server.
    pub(crate) fn new(reviewer: AccessReviewer) -> Self {
        Self::within(PATIENCE, reviewer)
    }

    /// With so much patience.
    pub(super) fn within(patience: Duration, reviewer: AccessReviewer) -> Self {
        let (places, waiting) = (Semaphore::new(AT_ONCE), Semaphore::new(WAITING));
        let peers = Peers::with_most(OF_ONE_PEER);
        Self { reviewer, remembered: Remembered::default(), places, waiting, peers, patience }
    }

    /// What the API server says, now or a moment ago. That it says nothing is not remembered.
    pub(super) async fn review(
        &self,
        peer: IpAddr,
        token: &str,
        verb: &str,
        path: &str,
    ) -> Result<Review, NoReview> {
        let question = Question::new(token, verb, path);
        if let Some(review) = self.remembered.get(&question, Instant::now()) {
            return Ok(review);
        }
        let _of_peer = self.peers.place_for(peer).ok_or(NoReview::PeerBusy(peer))?;
        let _waits = self.waiting.try_acquire().map_err(|_| NoReview::Busy)?;
        let review = async {
            // Never closed, so it is a place or no place yet.
            let _place = self.places.acquire().await.map_err(|_| NoReview::Busy)?;
            // Somebody may have asked the same while this request waited.
            if let Some(review) = self.remembered.get(&question, Instant::now()) {
                return Ok(review);
            }
            let review = self.reviewer.review(token, verb, path).await?;
            self.remembered.put(question, review, Instant::now());
            Ok(review)
        };
        let answer = tokio::time::timeout(self.patience, review).await;
        answer.unwrap_or(Err(NoReview::TooSlow(self.patience)))
    }
}
