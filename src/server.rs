//! HTTP: listeners, limits, TLS. Knows requests and answers, not what they mean.

pub(crate) mod admin;
pub(crate) mod admin_door;
pub mod admission_metrics;
pub mod admission_service;
mod body;
mod inflight;
pub(crate) mod listener;
mod peers;
pub(crate) mod readiness;
pub(crate) mod tls;
pub mod verbs_metrics;
pub mod verbs_service;

use bytes::Bytes;
use http_body_util::Full;
use hyper::header::{CONTENT_LENGTH, CONTENT_TYPE};
use hyper::http::HeaderValue;
use hyper::{Response, StatusCode};

/// Every answer is one known piece, so hyper sends a Content-Length and the connection is kept.
pub type Answer = Response<Full<Bytes>>;

fn answer(status: StatusCode, content_type: &'static str, body: impl Into<Bytes>) -> Answer {
    let body = body.into();
    let length = HeaderValue::from(body.len());
    let mut answer = Response::new(Full::new(body));
    *answer.status_mut() = status;
    answer.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static(content_type));
    answer.headers_mut().insert(CONTENT_LENGTH, length);
    answer
}

fn json(status: StatusCode, body: impl Into<Bytes>) -> Answer {
    answer(status, "application/json", body)
}

fn text(status: StatusCode, body: impl Into<Bytes>) -> Answer {
    answer(status, "text/plain; charset=utf-8", body)
}
