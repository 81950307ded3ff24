//! What is measured of requests to the API server: all of them, where they leave.

use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Instant;

use hyper::http::{Method, Request, Response, StatusCode, Uri};
use prometheus::{Histogram, IntCounterVec};
use tower::{Layer, Service};

use crate::metrics::{NO_LABELS, Registry, create_series};

/// From an idle API server's answer to more than anybody's patience.
const BIND_SECONDS: &[f64] =
    &[0.001, 0.002_5, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 4.0, 5.0, 10.0];

/// What is asked of the API server.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum ApiVerb {
    List,
    Watch,
    Get,
    Bind,
    Patch,
    Event,
    Review,
    Other,
}

impl ApiVerb {
    const ALL: [ApiVerb; 8] = [
        ApiVerb::List,
        ApiVerb::Watch,
        ApiVerb::Get,
        ApiVerb::Bind,
        ApiVerb::Patch,
        ApiVerb::Event,
        ApiVerb::Review,
        ApiVerb::Other,
    ];

    const fn label(self) -> &'static str {
        match self {
            ApiVerb::List => "list",
            ApiVerb::Watch => "watch",
            ApiVerb::Get => "get",
            ApiVerb::Bind => "bind",
            ApiVerb::Patch => "patch",
            ApiVerb::Event => "event",
            ApiVerb::Review => "review",
            ApiVerb::Other => "other",
        }
    }

    fn of(method: &Method, uri: &Uri) -> Self {
        let parameter = |name: &str| {
            let mut pairs = uri.query().unwrap_or_default().split('&');
            pairs.any(|pair| pair.split('=').next() == Some(name))
        };
        let last = uri.path().rsplit('/').next().unwrap_or_default();
        match *method {
            Method::GET if parameter("watch") => ApiVerb::Watch,
            Method::GET if is_collection(uri.path()) => ApiVerb::List,
            Method::GET => ApiVerb::Get,
            Method::PATCH => ApiVerb::Patch,
            Method::POST if last == "binding" => ApiVerb::Bind,
            Method::POST if last == "events" => ApiVerb::Event,
            Method::POST if last.ends_with("reviews") => ApiVerb::Review,
            _ => ApiVerb::Other,
        }
    }
}

/// Whether a path names all objects of a kind, in the cluster or in a namespace.
fn is_collection(path: &str) -> bool {
    let parts: Vec<&str> = path.split('/').filter(|part| !part.is_empty()).collect();
    let version = match parts.first() {
        Some(&"api") => 2,
        Some(&"apis") => 3,
        _ => return false,
    };
    match parts.get(version..) {
        Some(["namespaces", _, rest @ ..]) if !rest.is_empty() => rest.len() == 1,
        Some(rest) => rest.len() == 1,
        None => false,
    }
}

/// Statuses that are told apart; there are few others, and they are counted together.
const CODES: [&str; 12] =
    ["200", "201", "401", "403", "404", "409", "410", "422", "429", "500", "503", "504"];
const OTHER_CODE: &str = "other";
/// No answer at all, or none in time.
const NO_ANSWER: &str = "error";

fn code(status: StatusCode) -> &'static str {
    CODES.into_iter().find(|code| *code == status.as_str()).unwrap_or(OTHER_CODE)
}

/// Metrics of requests to the API server.
#[derive(Clone, Debug)]
pub struct ApiMetrics {
    requests: IntCounterVec,
    bind_duration: Histogram,
}

impl ApiMetrics {
    /// Registers them.
    pub fn register(registry: &Registry) -> Result<Self, prometheus::Error> {
        let requests = registry.counter(
            "api_requests_total",
            "Requests to the API server, by what was asked and the status of the answer; error for no answer.",
            &["verb", "code"],
        )?;
        let bind_duration = registry.histogram_with(
            BIND_SECONDS,
            "bind_api_duration_seconds",
            "Time the API server took for a binding.",
            NO_LABELS,
        )?;
        for verb in ApiVerb::ALL {
            let codes = CODES.into_iter().chain([OTHER_CODE, NO_ANSWER]);
            create_series(&requests, codes.map(|code| [verb.label(), code]));
        }
        Ok(Self { requests, bind_duration: bind_duration.with_label_values(NO_LABELS) })
    }
}

/// Counts what passes through a client.
impl<S> Layer<S> for ApiMetrics {
    type Service = Measured<S>;

    fn layer(&self, inner: S) -> Measured<S> {
        Measured { inner, metrics: self.clone() }
    }
}

/// A client's service, with all that passes through it counted.
#[derive(Clone, Debug)]
pub struct Measured<S> {
    inner: S,
    metrics: ApiMetrics,
}

impl<S, B, R> Service<Request<B>> for Measured<S>
where
    S: Service<Request<B>, Response = Response<R>>,
    S::Future: Send + 'static,
{
    type Response = S::Response;
    type Error = S::Error;
    type Future = Pin<Box<dyn Future<Output = Result<S::Response, S::Error>> + Send>>;

    fn poll_ready(&mut self, context: &mut Context<'_>) -> Poll<Result<(), S::Error>> {
        self.inner.poll_ready(context)
    }

    fn call(&mut self, request: Request<B>) -> Self::Future {
        let verb = ApiVerb::of(request.method(), request.uri());
        let under_way =
            UnderWay { verb, code: NO_ANSWER, began: Instant::now(), metrics: self.metrics.clone() };
        let answer = self.inner.call(request);
        Box::pin(async move {
            // All of it moves in here, to be dropped with the future.
            let mut under_way = under_way;
            let answer = answer.await;
            if let Ok(answer) = &answer {
                under_way.code = code(answer.status());
            }
            answer
        })
    }
}

/// A request that is counted when it ends, also if nobody waits for its answer any more.
struct UnderWay {
    verb: ApiVerb,
    code: &'static str,
    began: Instant,
    metrics: ApiMetrics,
}

impl Drop for UnderWay {
    fn drop(&mut self) {
        self.metrics.requests.with_label_values(&[self.verb.label(), self.code]).inc();
        if self.verb == ApiVerb::Bind {
            self.metrics.bind_duration.observe(self.began.elapsed().as_secs_f64());
        }
    }
}

#[cfg(test)]
mod tests {
    use hyper::http::{Method, StatusCode, Uri};

    use super::{ApiVerb, code};

    #[test]
    fn requests_are_told_apart_by_method_and_path() {
        for (method, target, expected) in [
            (Method::GET, "/api/v1/pods?limit=500&fieldSelector=status.phase!%3DFailed", ApiVerb::List),
            (Method::GET, "/api/v1/namespaces", ApiVerb::List),
            (Method::GET, "/api/v1/namespaces/d", ApiVerb::Get),
            (Method::GET, "/api/v1/namespaces/d/pods", ApiVerb::List),
            (Method::GET, "/api/v1/namespaces/d/pods/p", ApiVerb::Get),
            (Method::GET, "/apis/apps/v1/replicasets", ApiVerb::List),
            (Method::GET, "/apis/apps/v1/replicasets?watch=true&resourceVersion=1", ApiVerb::Watch),
            (Method::GET, "/apis/jobset.x-k8s.io", ApiVerb::Get),
            (Method::GET, "/version", ApiVerb::Get),
            (Method::POST, "/api/v1/namespaces/d/pods/p/binding", ApiVerb::Bind),
            (Method::POST, "/api/v1/namespaces/d/events", ApiVerb::Event),
            (Method::POST, "/apis/authentication.k8s.io/v1/tokenreviews", ApiVerb::Review),
            (Method::PATCH, "/api/v1/namespaces/d/pods/p/status", ApiVerb::Patch),
            (Method::DELETE, "/api/v1/namespaces/d/pods/p", ApiVerb::Other),
        ] {
            let uri: Uri = target.parse().expect("a target");
            assert_eq!(ApiVerb::of(&method, &uri), expected, "{method} {target}");
        }
    }

    #[test]
    fn codes_are_a_closed_set() {
        assert_eq!(code(StatusCode::FORBIDDEN), "403");
        assert_eq!(code(StatusCode::IM_A_TEAPOT), "other");
    }
}
