//! Where requests come in: addresses, their certificates, and who answers there.

use std::net::{IpAddr, SocketAddr};
use std::time::Duration;

use anyhow::{Context, bail};
use futures::FutureExt;
use futures::future::BoxFuture;
use hyper::Request;
use hyper::body::Incoming;
use tokio::net::TcpListener;
use tokio::sync::watch;
use tokio::task::JoinHandle;

use crate::config::Server;
use crate::server::Answer;
use crate::server::listener::{self, ConnectionMetrics, Encryption, Listening, is_loopback};

/// An address that is taken, and on which nobody answers yet.
pub(super) struct Endpoint {
    name: &'static str,
    socket: TcpListener,
    address: SocketAddr,
    encryption: Option<Encryption>,
    is_for_strangers: bool,
}

/// How many peers that have shown no certificate it takes to have all connections.
const SHARES: usize = 16;

/// For how long somebody who has shown no certificate may keep a connection that is not used.
const IDLE_STRANGER: Duration = Duration::from_secs(15);

impl Endpoint {
    /// Takes the address. Without `encryption` it is served in plain text, which is refused where others can reach it unless
    /// the settings say that the network is trusted.
    pub(super) async fn bind(
        name: &'static str,
        address: SocketAddr,
        encryption: Option<Encryption>,
        settings: &Server,
    ) -> anyhow::Result<Self> {
        if encryption.is_none() && !settings.insecure && !is_loopback(address) {
            bail!(
                "refusing plain HTTP on {address}, which others can reach: set server.tls in the \
                 configuration, or server.insecure: true if the network is trusted"
            );
        }
        let socket = listener::bind(address).await.with_context(|| format!("cannot listen on {address}"))?;
        let address = socket.local_addr()?;
        Ok(Self { name, socket, address, encryption, is_for_strangers: false })
    }

    /// Says that those come in here of whom nothing is known beforehand, unless only this machine reaches it.
    pub(super) fn for_strangers(self) -> Self {
        Self { is_for_strangers: !is_loopback(self.address), ..self }
    }

    /// Whether everybody on the way can read what is said.
    pub(super) fn is_plain(&self) -> bool {
        self.encryption.is_none()
    }

    /// Whether nobody may take the places of kube-scheduler, or of the kubelet's probes, by opening connections. Over plain
    /// HTTP kube-scheduler itself opens one for each binding that is under way, and cannot be told from anybody else: who has
    /// the verbs served like that says that the network is trusted.
    fn limits_peers(&self) -> bool {
        !is_loopback(self.address) && (self.is_for_strangers || self.encryption.is_some())
    }

    /// The address, with the port that was picked where 0 was asked for.
    pub(super) fn address(&self) -> SocketAddr {
        self.address
    }

    /// Says who answers the requests that come in here, each with the address it comes from.
    pub(super) fn answered_by<H, F>(
        self,
        settings: &Server,
        metrics: ConnectionMetrics,
        handler: H,
    ) -> Listener
    where
        H: Fn(Request<Incoming>, IpAddr) -> F + Clone + Send + Sync + 'static,
        F: Future<Output = Answer> + Send + 'static,
    {
        let (most, idle) = (settings.limits.max_connections, settings.timeouts.idle.0);
        let idle = if self.is_for_strangers { idle.min(IDLE_STRANGER) } else { idle };
        let of_one_peer = if self.limits_peers() { most.div_ceil(SHARES) } else { most };
        let listening = Listening {
            name: self.name,
            encryption: self.encryption,
            idle,
            max_connections: most,
            max_of_one_peer: of_one_peer,
            drain: settings.timeouts.drain.0,
        };
        let socket = self.socket;
        // The handler's type is forgotten here and not in its calls, which would cost every request an allocation.
        let serve = move |stop| listener::serve(socket, listening, handler, metrics, stop).boxed();
        Listener { name: self.name, address: self.address, serve: Box::new(serve) }
    }
}

/// Serves until told to stop.
type Serve = Box<dyn FnOnce(watch::Receiver<bool>) -> BoxFuture<'static, ()> + Send>;

/// An address and who answers there.
pub(super) struct Listener {
    name: &'static str,
    address: SocketAddr,
    serve: Serve,
}

/// Listeners that have been started.
pub(super) struct RunningListeners(Vec<RunningListener>);

struct RunningListener {
    name: &'static str,
    address: SocketAddr,
    stop: watch::Sender<bool>,
    task: JoinHandle<()>,
}

impl RunningListeners {
    /// Starts every listener on a task of its own.
    pub(super) fn start(listeners: Vec<Listener>) -> Self {
        let start = |Listener { name, address, serve }| {
            let (stop, stopped) = watch::channel(false);
            RunningListener { name, address, stop, task: tokio::spawn(serve(stopped)) }
        };
        Self(listeners.into_iter().map(start).collect())
    }

    /// Where each listens, by name.
    pub(super) fn addresses(&self) -> impl Iterator<Item = (&'static str, SocketAddr)> {
        self.0.iter().map(|listener| (listener.name, listener.address))
    }

    /// Stops one after another, in the order in which they were started. Each takes no new connections and lets the
    /// requests under way finish before the next is stopped.
    pub(super) async fn stop(self) {
        for RunningListener { stop, task, .. } in self.0 {
            let _ = stop.send(true);
            let _ = task.await;
        }
    }
}
