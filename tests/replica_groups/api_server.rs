//! The API server, as far as Berth calls it: bindings.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use berth::cluster::Binder;
use berth::cluster::binder::ApiBinder;
use http_body_util::Full;
use hyper::{Request, Response, StatusCode};
use kube::Client;
use kube::client::Body;
use tokio::runtime::{Builder, Runtime};

/// Answers bindings as it is told to, without a socket.
pub struct ApiServer {
    runtime: Runtime,
    client: Client,
    desk: Arc<Mutex<Desk>>,
}

/// What to answer next, and what was asked last.
#[derive(Default)]
struct Desk {
    status: StatusCode,
    asked: Option<String>,
}

impl ApiServer {
    pub fn start() -> Self {
        let runtime = Builder::new_current_thread().enable_all().build().expect("a runtime");
        let desk: Arc<Mutex<Desk>> = Arc::default();
        let shared = desk.clone();
        let service = tower::service_fn(move |request: Request<Body>| {
            let mut desk = shared.lock().unwrap_or_else(PoisonError::into_inner);
            desk.asked = Some(request.uri().path().to_owned());
            let body = format!(
                r#"{{"kind":"Status","apiVersion":"v1","metadata":{{}},"message":"as told","code":{}}}"#,
                desk.status.as_u16()
            );
            let mut answer = Response::new(Full::new(hyper::body::Bytes::from(body)));
            *answer.status_mut() = desk.status;
            std::future::ready(Ok::<_, std::convert::Infallible>(answer))
        });
        let client = {
            let _inside = runtime.enter();
            Client::new(service, "default")
        };
        Self { runtime, client, desk }
    }

    pub fn binder(&self) -> Binder {
        Binder::Api(ApiBinder::new(self.client.clone(), Duration::from_mins(1)))
    }

    /// Runs a call by Berth that will be answered with this status; tells which pod it was about.
    pub fn answering<R>(&self, status: StatusCode, call: impl Future<Output = R>) -> (R, Option<String>) {
        *self.desk.lock().unwrap_or_else(PoisonError::into_inner) = Desk { status, asked: None };
        let result = self.runtime.block_on(call);
        let asked = self.desk.lock().unwrap_or_else(PoisonError::into_inner).asked.take();
        (result, asked)
    }
}
