//! A reverse proxy between kube-scheduler and an extender that keeps what it forwards, so that
//! real requests can become test data.

use std::net::SocketAddr;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use anyhow::{Context, Result, anyhow};
use http_body_util::{BodyExt, Full, Limited};
use hyper::body::{Bytes, Incoming};
use hyper::client::conn::http1::SendRequest;
use hyper::service::service_fn;
use hyper::{Request, Response, StatusCode, header};
use hyper_util::rt::TokioIo;
use tokio::net::{TcpListener, TcpStream};
use tokio::task::{JoinHandle, JoinSet};
use tokio::time::timeout;

/// A request with 5,000 full Node objects stays below.
const BODY_LIMIT: usize = 128 << 20;
/// Longer than any extender timeout a test would set.
const FORWARD_LIMIT: Duration = Duration::from_secs(30);

/// One forwarded call.
#[derive(Clone, Debug)]
pub struct Exchange {
    pub path: String,
    pub request: Bytes,
    pub status: u16,
    pub response: Bytes,
}

/// Stops listening when dropped.
#[derive(Debug)]
pub struct Recorder {
    address: SocketAddr,
    tape: Arc<Tape>,
    acceptor: JoinHandle<()>,
}

#[derive(Debug)]
struct Tape {
    target: SocketAddr,
    exchanges: Mutex<Vec<Exchange>>,
    /// Memory is bounded by keeping the first so many.
    capacity: usize,
}

impl Recorder {
    /// Forwards to `target` and keeps the first `capacity` calls; later ones are only forwarded.
    pub async fn start(target: SocketAddr, capacity: usize) -> Result<Self> {
        let listener = TcpListener::bind("127.0.0.1:0").await?;
        let address = listener.local_addr()?;
        let tape = Arc::new(Tape { target, exchanges: Mutex::default(), capacity });
        let acceptor = tokio::spawn(accept(listener, Arc::clone(&tape)));
        Ok(Self { address, tape, acceptor })
    }

    /// What kube-scheduler's `urlPrefix` should say.
    pub fn url(&self) -> String {
        format!("http://{}", self.address)
    }

    /// What was recorded since the last call, in the order of the answers.
    pub fn take(&self) -> Vec<Exchange> {
        std::mem::take(&mut *self.tape.lock())
    }
}

impl Drop for Recorder {
    fn drop(&mut self) {
        self.acceptor.abort();
    }
}

impl Tape {
    fn lock(&self) -> std::sync::MutexGuard<'_, Vec<Exchange>> {
        self.exchanges.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn keep(&self, exchange: Exchange) {
        let mut exchanges = self.lock();
        if exchanges.len() < self.capacity {
            exchanges.push(exchange);
        }
    }
}

/// The connections are this task's, so that they end with it.
async fn accept(listener: TcpListener, tape: Arc<Tape>) {
    let mut connections = JoinSet::new();
    while let Ok((stream, _)) = listener.accept().await {
        connections.spawn(serve(stream, Arc::clone(&tape)));
        while connections.try_join_next().is_some() {}
    }
}

/// One connection of kube-scheduler's has one connection to the extender behind it.
async fn serve(stream: TcpStream, tape: Arc<Tape>) {
    let upstream = tokio::sync::Mutex::new(None);
    let service = service_fn(|request| async {
        let answer = timeout(FORWARD_LIMIT, forward(request, &tape, &upstream)).await;
        let answer = answer.unwrap_or_else(|_| Err(anyhow!("no answer within {FORWARD_LIMIT:?}")));
        Ok::<_, hyper::Error>(answer.unwrap_or_else(|error| bad_gateway(&error)))
    });
    // kube-scheduler goes when it likes; a broken connection is its business.
    let _ = hyper::server::conn::http1::Builder::new().serve_connection(TokioIo::new(stream), service).await;
}

type Upstream = tokio::sync::Mutex<Option<SendRequest<Full<Bytes>>>>;

async fn forward(
    request: Request<Incoming>,
    tape: &Tape,
    upstream: &Upstream,
) -> Result<Response<Full<Bytes>>> {
    let (head, body) = request.into_parts();
    let body = collect(body).await.context("request")?;
    let mut outgoing = Request::builder().method(&head.method).uri(&head.uri);
    for name in [header::HOST, header::CONTENT_TYPE, header::ACCEPT] {
        if let Some(value) = head.headers.get(&name) {
            outgoing = outgoing.header(name, value);
        }
    }
    let outgoing = outgoing.body(Full::new(body.clone()))?;

    let mut upstream = upstream.lock().await;
    let mut sender = match upstream.take() {
        Some(open) if !open.is_closed() => open,
        _ => connect(tape.target).await?,
    };
    sender.ready().await?;
    let (answer, content) = sender.send_request(outgoing).await?.into_parts();
    let content = collect(content).await.context("response")?;
    *upstream = Some(sender);

    tape.keep(Exchange {
        path: head.uri.path().to_owned(),
        request: body,
        status: answer.status.as_u16(),
        response: content.clone(),
    });
    let mut response = Response::new(Full::new(content));
    *response.status_mut() = answer.status;
    if let Some(kind) = answer.headers.get(header::CONTENT_TYPE) {
        response.headers_mut().insert(header::CONTENT_TYPE, kind.clone());
    }
    Ok(response)
}

async fn connect(target: SocketAddr) -> Result<SendRequest<Full<Bytes>>> {
    let stream = TcpStream::connect(target).await.with_context(|| format!("the extender at {target}"))?;
    stream.set_nodelay(true)?;
    let (sender, connection) = hyper::client::conn::http1::handshake(TokioIo::new(stream)).await?;
    // Ends by itself when the sender is dropped.
    tokio::spawn(connection);
    Ok(sender)
}

async fn collect(body: Incoming) -> Result<Bytes> {
    let body = Limited::new(body, BODY_LIMIT).collect().await;
    Ok(body.map_err(|error| anyhow!(error))?.to_bytes())
}

fn bad_gateway(error: &anyhow::Error) -> Response<Full<Bytes>> {
    let mut response = Response::new(Full::new(Bytes::from(format!("{error:#}"))));
    *response.status_mut() = StatusCode::BAD_GATEWAY;
    response
}
