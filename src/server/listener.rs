//! Accepts connections and serves requests on them until told to stop.

mod activity;

use std::convert::Infallible;
use std::net::{IpAddr, SocketAddr};
use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use hyper::Request;
use hyper::body::Incoming;
use hyper::header::{CONNECTION, HeaderValue};
use hyper::server::conn::{http1, http2};
use hyper::service::service_fn;
use hyper_util::rt::{TokioExecutor, TokioIo, TokioTimer};
use hyper_util::server::graceful::GracefulConnection;
use prometheus::{IntCounterVec, IntGaugeVec};
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{Semaphore, mpsc, watch};

use self::activity::Activity;
use super::Answer;
use super::peers::{Peers, Place};
use super::tls::{Certificates, ClientCertificates};
use crate::metrics::{Registry, create_series};

/// How long a client may take to agree on encryption.
const HANDSHAKE: Duration = Duration::from_secs(10);

/// How long a client that was told that its connection ends may take to read what it is still owed.
const FAREWELL: Duration = Duration::from_secs(10);

/// Requests at once on one HTTP/2 connection. kube-scheduler uses a single one, for all bindings under way too;
/// what is too much is turned away request by request.
const MAX_STREAMS: u32 = 4096;

/// Metrics of connections.
#[derive(Clone, Debug)]
pub struct ConnectionMetrics {
    connections: IntCounterVec,
    connections_refused: IntCounterVec,
    connections_open: IntGaugeVec,
}

impl ConnectionMetrics {
    /// Registers them, with the series of these listeners.
    pub fn register(registry: &Registry, listeners: &[&'static str]) -> Result<Self, prometheus::Error> {
        let metrics = Self {
            connections: registry.counter("connections_total", "TCP connections accepted.", &["listener"])?,
            connections_refused: registry.counter(
                "connections_refused_total",
                "TCP connections closed at once, because too many were open.",
                &["listener"],
            )?,
            connections_open: registry.gauge("connections_open", "TCP connections open.", &["listener"])?,
        };
        create_series(&metrics.connections, listeners.iter().map(|name| [*name]));
        create_series(&metrics.connections_refused, listeners.iter().map(|name| [*name]));
        create_series(&metrics.connections_open, listeners.iter().map(|name| [*name]));
        Ok(metrics)
    }
}

/// Settings of one listener.
#[derive(Clone)]
pub struct Listening {
    /// `verbs` or `admin`, in metrics.
    pub name: &'static str,
    /// With which certificates, if with any.
    pub encryption: Option<Encryption>,
    /// For how long a connection may be without a request, from its first moment on, or a request's head be under way.
    pub idle: Duration,
    /// Most connections at once.
    pub max_connections: usize,
    /// Most connections of one peer that has not shown a certificate, those included that have yet to agree on encryption.
    pub max_of_one_peer: usize,
    /// How long requests under way may take once told to stop.
    pub drain: Duration,
}

/// How a listener serves TLS.
#[derive(Clone)]
pub struct Encryption {
    /// The certificates in force.
    pub certificates: Arc<Certificates>,
    /// Whether clients have to show one.
    pub clients: ClientCertificates,
}

impl Encryption {
    /// Tells when the client authorities are others, to a listener that looks at them.
    fn outdated(&self) -> Option<watch::Receiver<()>> {
        let demanded = self.clients == ClientCertificates::Demanded;
        demanded.then(|| self.certificates.authorities_changed())
    }
}

/// Whether nobody but this machine reaches what listens on the address. An address that stands for all of the machine's
/// is none of loopback's.
pub fn is_loopback(address: SocketAddr) -> bool {
    address.ip().to_canonical().is_loopback()
}

/// Binds an address.
pub async fn bind(address: SocketAddr) -> std::io::Result<TcpListener> {
    TcpListener::bind(address).await
}

/// Serves until `stop` turns true, then lets requests under way finish. Who answers is told the address of who asks.
pub async fn serve<H, F>(
    listener: TcpListener,
    listening: Listening,
    handle: H,
    metrics: ConnectionMetrics,
    mut stop: watch::Receiver<bool>,
) where
    H: Fn(Request<Incoming>, IpAddr) -> F + Clone + Send + Sync + 'static,
    F: Future<Output = Answer> + Send + 'static,
{
    // Nothing is ever sent: it ends when the last connection has dropped its sender.
    let (connection_open, mut connections_end) = mpsc::channel::<Infallible>(1);
    let places = Arc::new(Semaphore::new(listening.max_connections));
    let peers = Peers::with_most(listening.max_of_one_peer);
    let accepted = metrics.connections.with_label_values(&[listening.name]);
    let open = metrics.connections_open.with_label_values(&[listening.name]);
    loop {
        let (stream, peer) = tokio::select! {
            accept = listener.accept() => match accept {
                Ok(accepted) => accepted,
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
        let free = places.clone().try_acquire_owned().ok();
        let Some((place, of_peer)) = free.and_then(|place| Some((place, peers.place_for(peer.ip())?))) else {
            // Counted, and said to who looks closely: whoever opens them by the thousand must not fill the log too.
            metrics.connections_refused.with_label_values(&[listening.name]).inc();
            tracing::debug!(listener = listening.name, %peer, "connection closed: too many are open");
            continue;
        };
        let (listening, handle) = (listening.clone(), handle.clone());
        let (stop, open, connection_open) = (stop.clone(), open.clone(), connection_open.clone());
        tokio::spawn(async move {
            open.inc();
            let handle = move |request| handle(request, peer.ip());
            converse(stream, of_peer, &listening, handle, stop).await;
            open.dec();
            drop((place, connection_open));
        });
    }
    drop((listener, connection_open));
    if tokio::time::timeout(listening.drain, connections_end.recv()).await.is_err() {
        tracing::warn!(listener = listening.name, "requests still under way are abandoned");
    }
}

/// Waits for the word; a sender that is gone has nothing more to say either.
async fn told_to(stop: &mut watch::Receiver<bool>) {
    let _ = stop.wait_for(|stop| *stop).await;
}

/// Agrees on encryption if there is to be some, and serves. Whoever shows a certificate gives back the place among the
/// connections of its peer, so that a kube-scheduler may have as many as it needs, and whoever has none cannot take them all.
async fn converse<H, F>(
    stream: TcpStream,
    of_peer: Place,
    listening: &Listening,
    handle: H,
    stop: watch::Receiver<bool>,
) where
    H: Fn(Request<Incoming>) -> F + Clone + Send + Sync + 'static,
    F: Future<Output = Answer> + Send + 'static,
{
    // Answers are one write each; waiting to fill a packet would only add latency.
    let _ = stream.set_nodelay(true);
    let Some(encryption) = &listening.encryption else {
        let terms = Terms { protocol: Protocol::Http1, outdated: None, stop };
        exchange(stream, terms, listening, handle).await;
        return drop(of_peer);
    };
    // Before the acceptor is taken: a change in between concerns this connection too.
    let outdated = encryption.outdated();
    let acceptor = encryption.certificates.acceptor(encryption.clients);
    match tokio::time::timeout(HANDSHAKE, acceptor.accept(stream)).await {
        Ok(Ok(stream)) => {
            let agreed = stream.get_ref().1;
            let protocol = match agreed.alpn_protocol() {
                Some(b"h2") => Protocol::Http2,
                _ => Protocol::Http1,
            };
            let of_stranger = agreed.peer_certificates().is_none().then_some(of_peer);
            exchange(stream, Terms { protocol, outdated, stop }, listening, handle).await;
            drop(of_stranger);
        }
        Ok(Err(error)) => tracing::debug!(listener = listening.name, %error, "TLS handshake failed"),
        Err(_) => tracing::debug!(listener = listening.name, "TLS handshake too slow"),
    }
}

/// On what a connection is served.
struct Terms {
    protocol: Protocol,
    /// Tells that who is let in has changed since the handshake.
    outdated: Option<watch::Receiver<()>>,
    /// Tells that the listener stops.
    stop: watch::Receiver<bool>,
}

/// What is spoken is settled before the first request: HTTP/2 only where TLS agreed on it.
#[derive(Clone, Copy)]
enum Protocol {
    Http1,
    Http2,
}

/// Serves a connection to its end. One on which no request comes for long is ended, whether it ever had one or not: a client
/// that has agreed on HTTP/2 need not say a word, and one that has asked need not take its answer.
///
/// Who was let in by client authorities that are no longer in force has to come anew, and
/// without a failed call: on HTTP/2 the client is told to use another connection, and what is under way is
/// answered; on HTTP/1.1 the next answer is the last, because a connection closed between two requests may meet
/// one that was just sent.
async fn exchange<S, H, F>(stream: S, terms: Terms, listening: &Listening, handle: H)
where
    S: AsyncRead + AsyncWrite + Unpin + Send + 'static,
    H: Fn(Request<Incoming>) -> F + Clone + Send + Sync + 'static,
    F: Future<Output = Answer> + Send + 'static,
{
    let Terms { protocol, outdated, stop } = terms;
    let stream = TokioIo::new(stream);
    let activity = Activity::new();
    let used = activity.clone();
    let end = match protocol {
        // hyper's timer for a request's head also runs while the connection is idle, so it has to be the
        // longer of the two; see `Timeouts::idle`.
        Protocol::Http1 => {
            let service = service_fn(move |request| {
                let (under_way, answer, outdated) = (used.begin(), handle(request), outdated.clone());
                async move {
                    let _under_way = under_way;
                    let mut answer = answer.await;
                    if outdated.is_some_and(|outdated| outdated.has_changed().unwrap_or(false)) {
                        answer.headers_mut().insert(CONNECTION, HeaderValue::from_static("close"));
                    }
                    Ok::<_, Infallible>(answer)
                }
            });
            let mut builder = http1::Builder::new();
            builder.timer(TokioTimer::new()).header_read_timeout(listening.idle);
            drive(builder.serve_connection(stream, service), stop, None, &activity, listening.idle).await
        }
        Protocol::Http2 => {
            let service = service_fn(move |request| {
                let (under_way, answer) = (used.begin(), handle(request));
                async move {
                    let _under_way = under_way;
                    Ok::<_, Infallible>(answer.await)
                }
            });
            let mut builder = http2::Builder::new(TokioExecutor::new());
            // Its pings would tell that somebody is there, which is no reason to keep a connection that is not used.
            builder.max_concurrent_streams(MAX_STREAMS);
            drive(builder.serve_connection(stream, service), stop, outdated, &activity, listening.idle).await
        }
    };
    if let Err(error) = end {
        tracing::debug!(listener = listening.name, %error, "connection ended early");
    }
}

/// Serves until the connection ends; once told so, or once it is idle for too long, lets it end after the requests under
/// way. Who does not take leave then is left; when the listener stops, that is up to [`serve`].
async fn drive<C: GracefulConnection>(
    connection: C,
    mut stop: watch::Receiver<bool>,
    outdated: Option<watch::Receiver<()>>,
    activity: &Activity,
    idle: Duration,
) -> Result<(), C::Error> {
    let mut connection = pin!(connection);
    let outdated = async {
        if let Some(mut outdated) = outdated
            && outdated.changed().await.is_ok()
        {
            return;
        }
        std::future::pending::<()>().await;
    };
    tokio::select! {
        end = connection.as_mut() => return end,
        () = told_to(&mut stop) => {}
        () = outdated => {}
        () = activity.idle_for(idle) => {}
    }
    connection.as_mut().graceful_shutdown();
    activity.begin_anew();
    let left_alone = async {
        activity.idle_for(idle.min(FAREWELL)).await;
        if *stop.borrow() {
            std::future::pending::<()>().await;
        }
    };
    tokio::select! {
        end = connection => end,
        () = left_alone => Ok(()),
    }
}

#[cfg(test)]
mod tests;
