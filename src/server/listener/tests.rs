//! Connections that are not used, and peers that come too often.

use std::net::{Ipv4Addr, SocketAddr};
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use http_body_util::{BodyExt, Full};
use hyper::client::conn::http2::{self, SendRequest};
use hyper::{Request, StatusCode};
use hyper_util::rt::{TokioExecutor, TokioIo};
use rcgen::{BasicConstraints, CertificateParams, CertifiedIssuer, IsCa, KeyPair};
use rustls::pki_types::{PrivateKeyDer, ServerName};
use rustls::{ClientConfig, RootCertStore};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpSocket, TcpStream};
use tokio::sync::watch;
use tokio::time::{Instant, timeout};
use tokio_rustls::TlsConnector;
use tokio_rustls::client::TlsStream;

use super::{ConnectionMetrics, Encryption, Listening, bind, is_loopback, serve};
use crate::config::Tls;
use crate::metrics::Registry;
use crate::server::text;
use crate::server::tls::{Certificates, ClientCertificates};

const IDLE: Duration = Duration::from_secs(1);
const PATIENCE: Duration = Duration::from_secs(20);

#[test]
fn loopback_is_what_nobody_else_reaches() {
    let parsed = |address: &str| is_loopback(address.parse().expect("an address"));
    for address in ["127.0.0.1:1", "127.8.9.10:1", "[::1]:1", "[::ffff:127.0.0.1]:1", "[::ffff:127.1.2.3]:1"]
    {
        assert!(parsed(address), "{address}");
    }
    for address in
        ["0.0.0.0:1", "[::]:1", "[::ffff:0.0.0.0]:1", "10.0.0.1:1", "[::ffff:10.0.0.1]:1", "[fe80::1]:1"]
    {
        assert!(!parsed(address), "{address}");
    }
}

/// A listener that demands certificates, and clients that have them.
struct Served {
    address: SocketAddr,
    client: ClientConfig,
    _stop: watch::Sender<bool>,
}

impl Served {
    /// Answers `/slow` after more than the idle time, and everything else at once.
    async fn start(max_of_one_peer: usize) -> Self {
        let folder = tempfile::tempdir().expect("a folder");
        let path = |name: &str| folder.path().join(name);
        let mut params = CertificateParams::default();
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        let authority = CertifiedIssuer::self_signed(params, KeyPair::generate().expect("a key"));
        let authority = authority.expect("an authority");
        let issue = |name: &str| {
            let key = KeyPair::generate().expect("a key");
            let params = CertificateParams::new([name.to_owned()]).expect("a name");
            (params.signed_by(&key, &authority).expect("signed"), key)
        };
        let (certificate, key) = issue("localhost");
        for (name, content) in
            [("tls.crt", certificate.pem()), ("tls.key", key.serialize_pem()), ("ca.crt", authority.pem())]
        {
            std::fs::write(path(name), content).expect("written");
        }
        let files = Tls {
            cert_file: path("tls.crt"),
            key_file: path("tls.key"),
            client_ca_file: Some(path("ca.crt")),
        };
        let certificates = Arc::new(Certificates::load(&files).expect("good files"));
        let listening = Listening {
            name: "verbs",
            encryption: Some(Encryption { certificates, clients: ClientCertificates::Demanded }),
            idle: IDLE,
            max_connections: 100,
            max_of_one_peer,
            drain: Duration::ZERO,
        };
        let socket = bind(SocketAddr::from((Ipv4Addr::UNSPECIFIED, 0))).await.expect("a port");
        let address = SocketAddr::from((Ipv4Addr::LOCALHOST, socket.local_addr().expect("bound").port()));
        let metrics = ConnectionMetrics::register(&Registry::new().expect("a registry"), &["verbs"]);
        let (stop, stopped) = watch::channel(false);
        let answer = |request: Request<_>, _| async move {
            if request.uri().path() == "/slow" {
                tokio::time::sleep(IDLE * 2).await;
            }
            text(StatusCode::OK, "x".repeat(1 << 20))
        };
        tokio::spawn(serve(socket, listening, answer, metrics.expect("metrics"), stopped));

        let mut roots = RootCertStore::empty();
        roots.add(authority.der().clone()).expect("an authority");
        let (certificate, key) = issue("kube-scheduler");
        let key = PrivateKeyDer::try_from(key.serialize_der()).expect("a key");
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let client = ClientConfig::builder_with_provider(provider)
            .with_safe_default_protocol_versions()
            .expect("versions")
            .with_root_certificates(roots)
            .with_client_auth_cert(vec![certificate.der().clone()], key)
            .expect("a certificate");
        Self { address, client, _stop: stop }
    }

    async fn encrypted(&self, from: [u8; 4], protocol: &str) -> std::io::Result<TlsStream<TcpStream>> {
        let mut config = self.client.clone();
        config.alpn_protocols = vec![protocol.as_bytes().to_vec()];
        let name = ServerName::try_from("localhost").expect("a name");
        TlsConnector::from(Arc::new(config)).connect(name, self.plain(from).await).await
    }

    async fn plain(&self, from: [u8; 4]) -> TcpStream {
        let socket = TcpSocket::new_v4().expect("a socket");
        socket.bind(SocketAddr::from((from, 0))).expect("an address of this machine");
        socket.connect(self.address).await.expect("a connection")
    }

    async fn http2(&self) -> (SendRequest<Full<Bytes>>, tokio::task::JoinHandle<()>) {
        let stream = TokioIo::new(self.encrypted([127, 0, 0, 1], "h2").await.expect("let in"));
        let (sender, connection) = http2::handshake(TokioExecutor::new(), stream).await.expect("HTTP/2");
        (sender, tokio::spawn(async { drop(connection.await) }))
    }
}

fn request(path: &str) -> Request<Full<Bytes>> {
    Request::get(format!("https://localhost{path}")).body(Full::new(Bytes::new())).expect("a request")
}

async fn ends(mut stream: TlsStream<TcpStream>) {
    let mut rest = Vec::new();
    // However it ends: cut short is an end too.
    let _ = timeout(PATIENCE, stream.read_to_end(&mut rest)).await.expect("the connection ends");
}

#[tokio::test]
async fn who_agrees_on_a_protocol_and_says_nothing_is_sent_away() {
    let served = Served::start(100).await;
    for protocol in ["h2", "http/1.1"] {
        ends(served.encrypted([127, 0, 0, 1], protocol).await.expect("let in")).await;
    }
}

#[tokio::test]
async fn who_answers_pings_but_asks_nothing_is_sent_away() {
    let served = Served::start(100).await;
    let (sender, connection) = served.http2().await;
    timeout(PATIENCE, connection).await.expect("the connection ends").expect("no panic");
    assert!(sender.is_closed());
}

#[tokio::test]
async fn a_connection_in_use_is_kept_and_ends_after_its_last_answer() {
    let served = Served::start(100).await;
    let (mut sender, connection) = served.http2().await;
    let began = Instant::now();
    // Longer than the idle time with one request, and with several in a row.
    for path in ["/slow", "/", "/", "/", "/", "/", "/"] {
        let answer = sender.send_request(request(path)).await.expect("an answer");
        assert_eq!(answer.into_body().collect().await.expect("a body").to_bytes().len(), 1 << 20);
        tokio::time::sleep(IDLE / 4).await;
    }
    assert!(began.elapsed() > IDLE * 3);
    timeout(PATIENCE, connection).await.expect("the connection ends").expect("no panic");
}

#[tokio::test]
async fn who_does_not_take_an_answer_is_left() {
    let served = Served::start(100).await;
    let mut stream = served.encrypted([127, 0, 0, 1], "http/1.1").await.expect("let in");
    // More than all buffers on the way hold.
    for _ in 0..64 {
        stream.write_all(b"GET / HTTP/1.1\r\nHost: localhost\r\n\r\n").await.expect("sent");
    }
    tokio::time::sleep(IDLE * 3).await;
    let mut read = Vec::new();
    let _ = timeout(PATIENCE, stream.read_to_end(&mut read)).await.expect("the connection ends");
    assert!(read.len() < 63 << 20, "{} bytes were sent to a client that took none", read.len());
}

#[tokio::test]
async fn who_shows_no_certificate_takes_no_place_of_who_does() {
    let served = Served::start(2).await;
    // Nothing comes of these, and Berth cannot know it before the handshake has taken too long.
    let _silent = [served.plain([127, 0, 0, 1]).await, served.plain([127, 0, 0, 1]).await];
    let refused = served.encrypted([127, 0, 0, 1], "h2").await;
    assert!(refused.is_err(), "the third of one peer is closed at once");
    let mut kept = Vec::new();
    for _ in 0..10 {
        let mut stream = served.encrypted([127, 0, 0, 2], "http/1.1").await.expect("let in");
        // The server has seen the certificate when it answers, and not before.
        stream.write_all(b"GET / HTTP/1.1\r\nHost: localhost\r\n\r\n").await.expect("sent");
        stream.read_exact(&mut [0]).await.expect("an answer");
        kept.push(stream);
    }
}
