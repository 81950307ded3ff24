//! Reading a request's body within bounds.

use std::time::Duration;

use bytes::Bytes;
use http_body_util::{BodyExt, LengthLimitError, Limited};
use hyper::StatusCode;
use hyper::body::Body;

/// Why a body was not read.
#[derive(Debug, thiserror::Error)]
pub enum BodyError {
    /// Longer than allowed.
    #[error("body is larger than {0} bytes")]
    TooLarge(usize),
    /// Not all there in time.
    #[error("body did not arrive in time")]
    TooSlow,
    /// The connection ended before the body did.
    #[error("body was cut off")]
    CutOff,
}

impl BodyError {
    /// Every label, for metrics that exist from the start.
    pub const LABELS: [&'static str; 3] = ["too_large", "too_slow", "cut_off"];

    /// The label in metrics.
    pub const fn label(&self) -> &'static str {
        match self {
            BodyError::TooLarge(_) => Self::LABELS[0],
            BodyError::TooSlow => Self::LABELS[1],
            BodyError::CutOff => Self::LABELS[2],
        }
    }

    /// The status to answer with.
    pub const fn status(&self) -> StatusCode {
        match self {
            BodyError::TooLarge(_) => StatusCode::PAYLOAD_TOO_LARGE,
            BodyError::TooSlow => StatusCode::REQUEST_TIMEOUT,
            BodyError::CutOff => StatusCode::BAD_REQUEST,
        }
    }
}

/// The whole body as one piece.
pub async fn read<B>(body: B, limit: usize, patience: Duration) -> Result<Bytes, BodyError>
where
    B: Body,
    B::Error: Into<Box<dyn std::error::Error + Send + Sync>>,
{
    // What is announced as too large is not read at all.
    if body.size_hint().lower() > limit as u64 {
        return Err(BodyError::TooLarge(limit));
    }
    match tokio::time::timeout(patience, Limited::new(body, limit).collect()).await {
        Ok(Ok(collected)) => Ok(collected.to_bytes()),
        Ok(Err(error)) if error.is::<LengthLimitError>() => Err(BodyError::TooLarge(limit)),
        Ok(Err(_)) => Err(BodyError::CutOff),
        Err(_) => Err(BodyError::TooSlow),
    }
}
