//! Accepts connections and serves requests on them until told to stop.

use std::convert::Infallible;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use hyper::Request;
use hyper::body::Incoming;
use hyper::server::conn::{http1, http2};
use hyper::service::service_fn;
use hyper_util::rt::{TokioExecutor, TokioIo, TokioTimer};
use hyper_util::server::graceful::{GracefulShutdown, Watcher};
use prometheus::{IntCounterVec, IntGaugeVec};
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{Semaphore, watch};

use super::Answer;
use super::tls::Certificates;
use crate::metrics::Registry;

/// How long a client may take to agree on encryption.
const HANDSHAKE: Duration = Duration::from_secs(10);

/// Requests at once on one HTTP/2 connection. kube-scheduler uses a single one, for all bindings under way too;
/// what is too much is turned away request by request.
const MAX_STREAMS: u32 = 4096;

/// Metrics of connections.
#[derive(Clone, Debug)]
pub struct ConnectionMetrics {
    connections: IntCounterVec,
    connections_open: IntGaugeVec,
}

impl ConnectionMetrics {
    /// Registers them. The series of a listener are there once it is served.
    pub fn register(registry: &Registry) -> Result<Self, prometheus::Error> {
        Ok(Self {
            connections: registry.counter("connections_total", "TCP connections accepted.", &["listener"])?,
            connections_open: registry.gauge("connections_open", "TCP connections open.", &["listener"])?,
        })
    }
}

/// Settings of one listener.
#[derive(Clone)]
pub struct Listening {
    /// `verbs` or `admin`, in metrics.
    pub name: &'static str,
    /// With which certificate, if with any.
    pub certificates: Option<Arc<Certificates>>,
    /// For how long a connection may be idle, or a request's head be under way.
    pub idle: Duration,
    /// Most connections at once.
    pub max_connections: usize,
    /// How long requests under way may take once told to stop.
    pub drain: Duration,
}

/// Binds an address.
pub async fn bind(address: SocketAddr) -> std::io::Result<TcpListener> {
    TcpListener::bind(address).await
}

/// Serves until `stop` turns true, then lets requests under way finish.
pub async fn serve<H, F>(
    listener: TcpListener,
    listening: Listening,
    handle: H,
    metrics: ConnectionMetrics,
    mut stop: watch::Receiver<bool>,
) where
    H: Fn(Request<Incoming>) -> F + Clone + Send + Sync + 'static,
    F: Future<Output = Answer> + Send + 'static,
{
    let graceful = GracefulShutdown::new();
    let places = Arc::new(Semaphore::new(listening.max_connections));
    let accepted = metrics.connections.with_label_values(&[listening.name]);
    let open = metrics.connections_open.with_label_values(&[listening.name]);
    loop {
        let stream = tokio::select! {
            accept = listener.accept() => match accept {
                Ok((stream, _)) => stream,
                Err(error) => {
                    // Mostly a lack of file descriptors: pause rather than spin.
                    tracing::warn!(listener = listening.name, %error, "connection not accepted");
                    tokio::time::sleep(Duration::from_millis(50)).await;
                    continue;
                }
            },
            () = told_to(&mut stop) => break,
        };
        accepted.inc();
        let Ok(place) = places.clone().try_acquire_owned() else {
            tracing::warn!(listener = listening.name, "connection closed: too many are open");
            continue;
        };
        let (listening, handle) = (listening.clone(), handle.clone());
        let (watcher, open) = (graceful.watcher(), open.clone());
        tokio::spawn(async move {
            open.inc();
            converse(stream, &listening, handle, watcher).await;
            open.dec();
            drop(place);
        });
    }
    drop(listener);
    if tokio::time::timeout(listening.drain, graceful.shutdown()).await.is_err() {
        tracing::warn!(listener = listening.name, "requests still under way are abandoned");
    }
}

/// Waits for the word; a sender that is gone has nothing more to say either.
async fn told_to(stop: &mut watch::Receiver<bool>) {
    let _ = stop.wait_for(|stop| *stop).await;
}

async fn converse<H, F>(stream: TcpStream, listening: &Listening, handle: H, watcher: Watcher)
where
    H: Fn(Request<Incoming>) -> F + Clone + Send + Sync + 'static,
    F: Future<Output = Answer> + Send + 'static,
{
    // Answers are one write each; waiting to fill a packet would only add latency.
    let _ = stream.set_nodelay(true);
    let Some(certificates) = &listening.certificates else {
        return exchange(stream, Protocol::Http1, listening, handle, watcher).await;
    };
    match tokio::time::timeout(HANDSHAKE, certificates.acceptor().accept(stream)).await {
        Ok(Ok(stream)) => {
            let protocol = match stream.get_ref().1.alpn_protocol() {
                Some(b"h2") => Protocol::Http2,
                _ => Protocol::Http1,
            };
            exchange(stream, protocol, listening, handle, watcher).await;
        }
        Ok(Err(error)) => tracing::debug!(listener = listening.name, %error, "TLS handshake failed"),
        Err(_) => tracing::debug!(listener = listening.name, "TLS handshake too slow"),
    }
}

/// What is spoken is settled before the first request: HTTP/2 only where TLS agreed on it.
#[derive(Clone, Copy)]
enum Protocol {
    Http1,
    Http2,
}

async fn exchange<S, H, F>(stream: S, protocol: Protocol, listening: &Listening, handle: H, watcher: Watcher)
where
    S: AsyncRead + AsyncWrite + Unpin + Send + 'static,
    H: Fn(Request<Incoming>) -> F + Clone + Send + Sync + 'static,
    F: Future<Output = Answer> + Send + 'static,
{
    let service = service_fn(move |request| {
        let answer = handle(request);
        async move { Ok::<_, Infallible>(answer.await) }
    });
    let stream = TokioIo::new(stream);
    let end = match protocol {
        // hyper's timer for a request's head also runs while the connection is idle, so it has to be the
        // longer of the two; see `Timeouts::idle`.
        Protocol::Http1 => {
            let mut builder = http1::Builder::new();
            builder.timer(TokioTimer::new()).header_read_timeout(listening.idle);
            watcher.watch(builder.serve_connection(stream, service)).await
        }
        Protocol::Http2 => {
            let mut builder = http2::Builder::new(TokioExecutor::new());
            builder.timer(TokioTimer::new()).keep_alive_interval(listening.idle);
            builder.max_concurrent_streams(MAX_STREAMS);
            watcher.watch(builder.serve_connection(stream, service)).await
        }
    };
    if let Err(error) = end {
        tracing::debug!(listener = listening.name, %error, "connection ended early");
    }
}
