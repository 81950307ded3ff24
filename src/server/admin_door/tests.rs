//! Everybody who may come to the door, and every way in which the API server may answer.

mod flood;
mod reasons;
mod secrets;

use std::collections::HashMap;
use std::net::{IpAddr, Ipv4Addr};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use bytes::Bytes;
use http_body_util::{BodyExt, Full};
use hyper::header::{AUTHORIZATION, WWW_AUTHENTICATE};
use hyper::{Method, Request, Response};
use kube::Client;
use kube::client::Body;
use serde_json::{Value, json};

use super::{Access, AdminDoor, AdminMetrics, Reviews};
use crate::cluster::Freshness;
use crate::cluster::access_review::AccessReviewer;
use crate::config::Config;
use crate::logging::{LogMetrics, Throttle};
use crate::metrics::Registry;
use crate::server::admin::AdminService;
use crate::server::readiness::Readiness;
use crate::store::Store;

const TOKENS: &str = "/apis/authentication.k8s.io/v1/tokenreviews";
const ACCESS: &str = "/apis/authorization.k8s.io/v1/subjectaccessreviews";

/// An API server that knows two tokens: `scraper`, who may get metrics and readiness, and `guest`, who may do nothing.
#[derive(Default)]
struct FakeApi {
    asked: Mutex<Vec<(String, Value)>>,
    /// What is answered instead of a review; no status is a connection that breaks.
    instead: HashMap<&'static str, (Option<u16>, &'static str)>,
    slow: Option<Duration>,
    under_way: AtomicUsize,
    most_under_way: AtomicUsize,
}

impl FakeApi {
    fn answering(path: &'static str, status: Option<u16>, body: &'static str) -> Arc<Self> {
        Arc::new(Self { instead: HashMap::from([(path, (status, body))]), ..Self::default() })
    }

    fn client(self: &Arc<Self>) -> Client {
        let api = self.clone();
        let service = tower::service_fn(move |request: Request<Body>| {
            let api = api.clone();
            async move { api.answer(request).await }
        });
        Client::new(service, "default")
    }

    async fn answer(&self, request: Request<Body>) -> Result<Response<Full<Bytes>>, std::io::Error> {
        let path = request.uri().path().to_owned();
        let body = request.into_body().collect().await.map_err(std::io::Error::other)?.to_bytes();
        let question: Value = serde_json::from_slice(&body)?;
        let now = self.under_way.fetch_add(1, Ordering::SeqCst) + 1;
        self.most_under_way.fetch_max(now, Ordering::SeqCst);
        if let Some(time) = self.slow {
            tokio::time::sleep(time).await;
        }
        self.under_way.fetch_sub(1, Ordering::SeqCst);
        let (status, text) = match self.instead.get(path.as_str()) {
            Some((None, _)) => return Err(std::io::Error::other("the connection broke")),
            Some((Some(status), text)) => (*status, (*text).to_owned()),
            None => (201, Self::review(&path, &question).to_string()),
        };
        self.asked.lock().unwrap_or_else(PoisonError::into_inner).push((path, question));
        let answer = Response::builder().status(status).header("content-type", "application/json");
        answer.body(Full::new(Bytes::from(text))).map_err(std::io::Error::other)
    }

    fn review(path: &str, question: &Value) -> Value {
        let mut answer = question.clone();
        let spec = &question["spec"];
        answer["status"] = if path == TOKENS {
            match spec["token"].as_str() {
                Some(name @ ("scraper" | "guest")) => {
                    json!({"authenticated": true, "user": {"username": name,
                    "uid": "7", "groups": ["system:authenticated"], "extra": {"key": ["value"]}}})
                }
                _ => json!({"authenticated": false, "error": "invalid bearer token"}),
            }
        } else {
            let wanted = &spec["nonResourceAttributes"];
            let known = ["/metrics", "/readyz"].iter().any(|path| wanted["path"] == *path);
            json!({"allowed": spec["user"] == "scraper" && known && wanted["verb"] == "get"})
        };
        answer
    }

    fn asked(&self) -> Vec<(String, Value)> {
        self.asked.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

fn door(access: Access) -> Arc<AdminDoor> {
    let freshness = Arc::new(Freshness::default());
    freshness.mark_all_current();
    door_of(access, freshness)
}

fn door_of(access: Access, freshness: Arc<Freshness>) -> Arc<AdminDoor> {
    let registry = Arc::new(Registry::new().expect("a registry"));
    let complaints = Throttle::new(LogMetrics::register(&registry).expect("metrics"));
    let metrics = AdminMetrics::register(&registry).expect("metrics");
    let store = Arc::new(Store::new(Config::default(), &registry).expect("metrics"));
    let readiness = Readiness { store: store.clone(), freshness, draining: Arc::default() };
    let service =
        AdminService { store, pending: Arc::default(), readiness, registry, api: None, level: None };
    Arc::new(AdminDoor { access, service: Arc::new(service), metrics, complaints })
}

fn reviewed(api: &Arc<FakeApi>) -> Arc<AdminDoor> {
    door(asking(api))
}

fn asking(api: &Arc<FakeApi>) -> Access {
    Access::Reviewed(Box::new(Reviews::new(AccessReviewer::new(api.client()))))
}

struct Told {
    status: u16,
    challenge: Option<String>,
    body: String,
}

async fn ask(door: &AdminDoor, method: &Method, path: &str, authorization: Option<&str>) -> Told {
    ask_from(peer(1), door, method, path, authorization).await
}

fn peer(number: u8) -> IpAddr {
    Ipv4Addr::new(192, 0, 2, number).into()
}

async fn ask_from(
    peer: IpAddr,
    door: &AdminDoor,
    method: &Method,
    path: &str,
    authorization: Option<&str>,
) -> Told {
    let mut request = Request::builder().method(method).uri(path);
    if let Some(value) = authorization {
        request = request.header(AUTHORIZATION, value);
    }
    let answer = door.handle(request.body(Full::new(Bytes::new())).expect("a request"), peer).await;
    let challenge = answer.headers().get(WWW_AUTHENTICATE);
    Told {
        status: answer.status().as_u16(),
        challenge: challenge.map(|value| value.to_str().expect("text").to_owned()),
        body: String::from_utf8(answer.into_body().collect().await.expect("a body").to_bytes().to_vec())
            .expect("text"),
    }
}

async fn get(door: &AdminDoor, path: &str, token: &str) -> Told {
    ask(door, &Method::GET, path, Some(&format!("Bearer {token}"))).await
}

fn refused(door: &AdminDoor) -> [u64; 4] {
    super::Refusal::LABELS.map(|why| count(door, &format!("berth_admin_refused_total{{why=\"{why}\"}}")))
}

fn count(door: &AdminDoor, series: &str) -> u64 {
    let page = String::from_utf8(door.service.registry.render()).expect("text");
    let value = page.lines().find_map(|line| line.strip_prefix(series)?.strip_prefix(' ')?.parse().ok());
    value.unwrap_or_else(|| panic!("no {series}"))
}

#[tokio::test]
async fn on_loopback_everything_is_open() {
    let door = door(Access::Loopback);
    for path in super::super::admin::PATHS.into_iter().filter(|path| !path.starts_with("/debug")) {
        assert_eq!(ask(&door, &Method::GET, path, None).await.status, 200, "{path}");
    }
    assert_eq!(refused(&door), [0; 4]);
    let listed = ask(&door, &Method::GET, "/", None).await.body;
    for line in listed.lines() {
        let path = line.split([' ', '?']).next().unwrap_or_default();
        assert!(super::super::admin::PATHS.contains(&path), "{path} is counted as another");
    }
}

#[tokio::test]
async fn probes_need_no_token_and_cost_no_review() {
    let api = Arc::new(FakeApi::default());
    let door = reviewed(&api);
    for path in ["/livez", "/readyz", "/readyz?verbose"] {
        assert_eq!(ask(&door, &Method::GET, path, None).await.status, 200, "{path}");
    }
    assert_eq!(get(&door, "/livez", "nonsense").await.status, 200, "nor is one looked at");
    for path in ["/livez/", "//livez", "/livez/../metrics", "/%6civez"] {
        assert_eq!(ask(&door, &Method::GET, path, None).await.status, 401, "{path}");
    }
    assert_eq!(api.asked(), []);
}

#[tokio::test]
async fn who_brings_no_token_is_asked_for_one() {
    let api = Arc::new(FakeApi::default());
    let door = reviewed(&api);
    let cases = [None, Some("Bearer"), Some("Bearer  "), Some("Basic c2NyYXBlcg=="), Some("scraper")];
    for authorization in cases {
        for path in ["/metrics", "/", "/configz", "/debug/cache/compare", "/nowhere"] {
            let told = ask(&door, &Method::GET, path, authorization).await;
            assert_eq!(
                (told.status, told.challenge.as_deref()),
                (401, Some("Bearer")),
                "{path} {authorization:?}"
            );
        }
    }
    assert_eq!(api.asked(), [], "there is nothing to ask");
    assert_eq!(refused(&door), [25, 0, 0, 0]);
}

#[tokio::test]
async fn the_api_server_says_who_may_get_what() {
    let api = Arc::new(FakeApi::default());
    let door = reviewed(&api);
    for (token, path, status) in [
        ("scraper", "/metrics", 200),
        ("scraper", "/metrics?name=value", 200),
        ("scraper", "/configz", 403),
        ("guest", "/metrics", 403),
        ("guest", "/nowhere", 403),
        ("stranger", "/metrics", 401),
        (&"x".repeat(super::LONGEST_TOKEN + 1), "/metrics", 401),
    ] {
        let told = get(&door, path, token).await;
        let short: String = token.chars().take(9).collect();
        assert_eq!(told.status, status, "{short} {path}: {}", told.body);
        assert!(!told.body.contains(token), "the token is not repeated");
    }
    assert_eq!(ask(&door, &Method::GET, "/metrics", Some("bearer   scraper ")).await.status, 200);
    let told = get(&door, "/configz", "guest").await;
    assert!(
        told.body.contains("may not get /configz") && told.body.contains("nonResourceURLs"),
        "{}",
        told.body
    );
    assert_eq!(refused(&door), [0, 2, 4, 0]);
    for (path, code, expected) in
        [("/metrics", "200", 3), ("/metrics", "401", 2), ("/configz", "403", 2), ("other", "403", 1)]
    {
        let series = format!("berth_admin_requests_total{{code=\"{code}\",path=\"{path}\"}}");
        assert_eq!(count(&door, &series), expected, "{series}");
    }
    let (path, access) = api.asked()[1].clone();
    assert_eq!(path, ACCESS);
    let who = json!({"user": "scraper", "uid": "7", "groups": ["system:authenticated"],
        "extra": {"key": ["value"]}, "nonResourceAttributes": {"path": "/metrics", "verb": "get"}});
    assert_eq!(access["spec"], who, "all that is known of the user is passed on, and nothing of the token");
}

#[tokio::test]
async fn a_change_takes_the_right_to_change() {
    let api = Arc::new(FakeApi::default());
    let door = reviewed(&api);
    for method in [Method::PUT, Method::HEAD, Method::DELETE] {
        assert_eq!(get(&door, "/metrics", "scraper").await.status, 200);
        let told = ask(&door, &method, "/metrics", Some("Bearer scraper")).await;
        assert_eq!(told.status, 403, "{method}: the right to get is none to {method}");
        let (_, last) = api.asked().pop().expect("a review");
        let verb = method.as_str().to_lowercase();
        assert_eq!(last["spec"]["nonResourceAttributes"], json!({"path": "/metrics", "verb": verb}));
    }
    assert_eq!(ask(&door, &Method::PUT, "/debug/loglevel", Some("Bearer guest")).await.status, 403);
    assert_eq!(ask(&door, &Method::PUT, "/debug/loglevel", None).await.status, 401);
}

#[tokio::test]
async fn without_a_review_nobody_is_let_in() {
    let denied = r#"{"kind":"Status","apiVersion":"v1","status":"Failure","message":"no","reason":"Forbidden","code":403}"#;
    for (place, answer) in [TOKENS, ACCESS].into_iter().flat_map(|place| {
        let answers = [
            (None, ""),
            (Some(403), denied),
            (Some(401), denied),
            (Some(500), "oops"),
            (Some(201), "{"),
            (Some(404), ""),
        ];
        answers.map(|answer| (place, answer))
    }) {
        let api = FakeApi::answering(place, answer.0, answer.1);
        let door = reviewed(&api);
        for _ in 0..2 {
            let told = get(&door, "/metrics", "scraper").await;
            assert_eq!(told.status, 503, "{place} {answer:?}: {}", told.body);
        }
        assert_eq!(refused(&door), [0, 0, 0, 2], "{place} {answer:?}");
        assert_eq!(ask(&door, &Method::GET, "/readyz", None).await.status, 200, "probes go on");
    }
}

#[tokio::test]
async fn what_the_api_server_does_not_say_is_a_no() {
    let user = r#"{"spec":{},"status":{"user":{"username":"scraper"}}}"#;
    let both = r#"{"spec":{},"status":{"allowed":true,"denied":true}}"#;
    for (place, body, status) in [
        (TOKENS, r#"{"spec":{}}"#, 401),
        (TOKENS, user, 401),
        (TOKENS, r#"{"spec":{},"status":{"authenticated":true}}"#, 401),
        (ACCESS, r#"{"spec":{}}"#, 403),
        (ACCESS, both, 403),
    ] {
        let api = FakeApi::answering(place, Some(201), body);
        assert_eq!(get(&reviewed(&api), "/metrics", "scraper").await.status, status, "{place} {body}");
    }
}

#[tokio::test]
async fn what_was_said_is_remembered_for_a_moment() {
    let api = Arc::new(FakeApi::default());
    let door = reviewed(&api);
    for (token, path, reviews) in [
        ("scraper", "/metrics", 2),
        ("scraper", "/metrics", 2),
        ("stranger", "/metrics", 3),
        ("stranger", "/metrics", 3),
        ("scraper", "/configz", 5),
        ("scraper", "/configz", 5),
    ] {
        get(&door, path, token).await;
        assert_eq!(api.asked().len(), reviews, "{token} {path}");
    }
}

#[tokio::test]
async fn an_api_server_that_does_not_answer_holds_nobody_up_for_ever() {
    let api = Arc::new(FakeApi { slow: Some(Duration::from_mins(1)), ..FakeApi::default() });
    let reviewer = AccessReviewer::new(api.client());
    let door = door(Access::Reviewed(Box::new(Reviews::within(Duration::from_millis(20), reviewer))));
    let told = get(&door, "/metrics", "scraper").await;
    assert_eq!(told.status, 503, "{}", told.body);
    assert_eq!(refused(&door), [0, 0, 0, 1]);
}

#[tokio::test]
async fn without_an_api_server_nobody_can_vouch() {
    let door = door(Access::Nobody);
    for authorization in [None, Some("Bearer scraper")] {
        let told = ask(&door, &Method::GET, "/metrics", authorization).await;
        assert_eq!(told.status, 403);
        assert!(told.body.contains("from a file") && told.body.contains("loopback"), "{}", told.body);
    }
    for path in ["/livez", "/readyz"] {
        assert_eq!(ask(&door, &Method::GET, path, None).await.status, 200);
    }
    assert_eq!(refused(&door), [0, 0, 2, 0]);
}
