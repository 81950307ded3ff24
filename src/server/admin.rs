//! The admin port: health, metrics, configuration, and looking inside.

use std::sync::Arc;
use std::time::Duration;

use hyper::body::Body;
use hyper::header::{ALLOW, HeaderValue};
use hyper::{Method, Request, StatusCode};

use super::readiness::{Readiness, Reasons};
use super::{Answer, answer, body, json, text};
use crate::cluster::api::Api;
use crate::cluster::compare::compare;
use crate::config::{self, PendingRestart};
use crate::logging::LevelControl;
use crate::metrics::Registry;
use crate::off_loop::off_the_event_loop;
use crate::store::Store;
use crate::wire::reply::problem;

const ENDPOINTS: &str = "/livez\n/readyz\n/readyz?verbose\n/metrics\n/configz\n/debug/cache/compare\n\
                         /debug/loglevel (GET, PUT)\n";

/// Every endpoint: a closed set, for metrics.
pub(super) const PATHS: [&str; 7] =
    ["/", "/livez", "/readyz", "/metrics", "/configz", "/debug/cache/compare", "/debug/loglevel"];

/// Answers requests on the admin port, whoever asks: who may is decided in [`super::admin_door`].
pub(crate) struct AdminService {
    /// The cluster, and the settings in force.
    pub store: Arc<Store>,
    /// Which settings of the file are not, until the next start.
    pub pending: Arc<PendingRestart>,
    /// Whether Berth is ready.
    pub readiness: Readiness,
    /// What is measured.
    pub registry: Arc<Registry>,
    /// The API server to compare with, unless the cluster came from a file.
    pub api: Option<Api>,
    /// The log level.
    pub level: Option<LevelControl>,
}

impl AdminService {
    /// Answers one request of somebody who may know so much of what is wrong.
    pub async fn handle<B>(&self, request: Request<B>, reasons: Reasons) -> Answer
    where
        B: Body,
        B::Error: Into<Box<dyn std::error::Error + Send + Sync>>,
    {
        let path = request.uri().path().to_owned();
        let verbose = request.uri().query().is_some_and(|query| {
            query.split('&').any(|part| part == "verbose" || part.starts_with("verbose="))
        });
        match (request.method(), path.as_str()) {
            (&Method::PUT, "/debug/loglevel") => self.set_level(request).await,
            (&Method::GET | &Method::HEAD, path) => match path {
                "/" => text(StatusCode::OK, ENDPOINTS),
                "/livez" => text(StatusCode::OK, "ok\n"),
                "/readyz" => self.readyz(verbose, reasons),
                "/metrics" => self.metrics(),
                "/configz" => self.configz(),
                "/debug/cache/compare" => self.compare().await,
                "/debug/loglevel" => self.level(),
                _ => json(StatusCode::NOT_FOUND, problem("no such endpoint; / lists them")),
            },
            _ => {
                let allowed = if path == "/debug/loglevel" { "GET, HEAD, PUT" } else { "GET, HEAD" };
                let told = format!("this endpoint takes {allowed}");
                let mut answer = json(StatusCode::METHOD_NOT_ALLOWED, problem(&told));
                answer.headers_mut().insert(ALLOW, HeaderValue::from_static(allowed));
                answer
            }
        }
    }

    fn readyz(&self, verbose: bool, reasons: Reasons) -> Answer {
        let ready = self.readiness.is_ready();
        let mut lines = if verbose || !ready { self.readiness.report(reasons) } else { String::new() };
        lines.push_str(if ready { "ok\n" } else { "not ready\n" });
        text(if ready { StatusCode::OK } else { StatusCode::SERVICE_UNAVAILABLE }, lines)
    }

    /// Every group is looked at for the page, which takes a while where there are many.
    fn metrics(&self) -> Answer {
        let page = off_the_event_loop(|| self.registry.render());
        answer(StatusCode::OK, "text/plain; version=0.0.4; charset=utf-8", page)
    }

    fn configz(&self) -> Answer {
        match config::show(self.store.snapshot().config(), &self.pending.fields()) {
            Ok(body) => json(StatusCode::OK, body),
            Err(error) => json(StatusCode::INTERNAL_SERVER_ERROR, problem(&error.to_string())),
        }
    }

    async fn compare(&self) -> Answer {
        let Some(api) = &self.api else {
            let reason = "the cluster came from a file, there is no API server to compare with";
            return json(StatusCode::NOT_FOUND, problem(reason));
        };
        match compare(api, &self.store).await {
            Ok(comparison) => match serde_json::to_vec(&comparison) {
                Ok(body) => json(StatusCode::OK, body),
                Err(error) => json(StatusCode::INTERNAL_SERVER_ERROR, problem(&error.to_string())),
            },
            Err(error) => json(StatusCode::BAD_GATEWAY, problem(&error.to_string())),
        }
    }

    fn level(&self) -> Answer {
        match &self.level {
            Some(level) => text(StatusCode::OK, level.get() + "\n"),
            None => json(StatusCode::NOT_FOUND, problem("logging is not Berth's own here")),
        }
    }

    async fn set_level<B>(&self, request: Request<B>) -> Answer
    where
        B: Body,
        B::Error: Into<Box<dyn std::error::Error + Send + Sync>>,
    {
        let body = match body::read(request.into_body(), 1024, Duration::from_secs(5)).await {
            Ok(body) => body,
            Err(error) => return json(error.status(), problem(&error.to_string())),
        };
        let wanted = String::from_utf8_lossy(&body);
        match self.level.as_ref().map(|level| level.set(wanted.trim())) {
            Some(Ok(())) => {
                tracing::info!(level = wanted.trim(), "log level changed");
                self.level()
            }
            Some(Err(error)) => json(StatusCode::BAD_REQUEST, problem(&error)),
            None => self.level(),
        }
    }
}
