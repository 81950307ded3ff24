//! Ports that others reach: what they are offered, and how much of it one of them may have.

use std::net::{Ipv4Addr, SocketAddr};

use hyper::Version;
use tempfile::TempDir;
use tokio::io::AsyncReadExt;
use tokio::net::{TcpSocket, TcpStream};

use super::authority::Authority;
use super::client::{Client, Trust};
use crate::{BOTH, call, start_on, written};

const EVERYWHERE: &str = "0.0.0.0:0";

/// A configuration with certificates of `server` and, if given, of `clients`, and with room for so many connections.
fn configured(server: &Authority, clients: Option<&Authority>, room: usize) -> (TempDir, std::path::PathBuf) {
    let directory = tempfile::tempdir().expect("a temporary directory");
    server.issue("berth").write(directory.path());
    let path = |name: &str| directory.path().join(name).display().to_string();
    let mut tls = format!("certFile: {}, keyFile: {}", path("tls.crt"), path("tls.key"));
    if let Some(clients) = clients {
        std::fs::write(path("clients.crt"), clients.pem()).expect("written");
        tls = format!("{tls}, clientCAFile: {}", path("clients.crt"));
    }
    let config = format!("server: {{limits: {{maxConnections: {room}}}, tls: {{{tls}}}}}\n");
    let file = written(&directory, &config);
    (directory, file)
}

fn local(address: SocketAddr) -> SocketAddr {
    SocketAddr::from((Ipv4Addr::LOCALHOST, address.port()))
}

async fn silent(to: SocketAddr) -> TcpStream {
    let socket = TcpSocket::new_v4().expect("a socket");
    socket.bind(SocketAddr::from(([127, 0, 0, 2], 0))).expect("an address of this machine");
    socket.connect(to).await.expect("a connection")
}

#[test]
fn kube_scheduler_gets_in_while_a_stranger_opens_all_the_connections_it_can() {
    let (server, clients) = (Authority::new(), Authority::new());
    let (_directory, config) = configured(&server, Some(&clients), 32);
    let (app, runtime) = start_on(EVERYWHERE, "127.0.0.1:0", &config).expect("Berth starts");
    let verbs = local(app.verbs_address);
    let trust = Trust::of(&server).showing(&clients.issue("kube-scheduler"));
    runtime.block_on(async {
        let mut flood = Vec::new();
        for _ in 0..40 {
            flood.push(silent(verbs).await);
        }
        for closed in &mut flood[2..] {
            assert!(matches!(closed.read(&mut [0]).await, Ok(0) | Err(_)), "one peer has two of 32 places");
        }
        // More than a stranger may have, for each has shown its certificate before the next one comes.
        let mut kept = Vec::new();
        for protocol in ["h2", "http/1.1"].into_iter().cycle().take(10) {
            let mut client = Client::connect(verbs, &trust, &[protocol]).await.expect("let in");
            assert_eq!(client.post("/prioritize", &call()).await.expect("an answer").body, BOTH);
            kept.push(client);
        }
        drop(flood);
    });
    runtime.block_on(app.stop());
}

#[test]
fn without_client_certificates_everybody_is_a_stranger() {
    let server = Authority::new();
    let (_directory, config) = configured(&server, None, 32);
    let (app, runtime) = start_on(EVERYWHERE, "127.0.0.1:0", &config).expect("Berth starts");
    let (verbs, trust) = (local(app.verbs_address), Trust::of(&server));
    runtime.block_on(async {
        let mut kept = Vec::new();
        for _ in 0..2 {
            let mut client = Client::connect(verbs, &trust, &["h2"]).await.expect("let in");
            assert_eq!(client.post("/prioritize", &call()).await.expect("an answer").body, BOTH);
            kept.push(client);
        }
        assert!(Client::connect(verbs, &trust, &["h2"]).await.is_err(), "the third is closed at once");
    });
    runtime.block_on(app.stop());
}

#[test]
fn an_admin_port_that_others_reach_offers_http_1_only() {
    let server = Authority::new();
    let (_directory, config) = configured(&server, None, 4096);
    let (app, runtime) = start_on("127.0.0.1:0", EVERYWHERE, &config).expect("Berth starts");
    let (admin, trust) = (local(app.admin_address), Trust::of(&server));
    runtime.block_on(async {
        for offered in [&["h2", "http/1.1"][..], &["http/1.1"]] {
            let mut client = Client::connect(admin, &trust, offered).await.expect("connected");
            let answer = client.post("/livez", "").await.expect("an answer");
            assert_eq!((answer.status, answer.version), (405, Version::HTTP_11), "{offered:?}");
        }
        let refused = Client::connect(admin, &trust, &["h2"]).await.err().map(|error| format!("{error:?}"));
        let refused = refused.expect("HTTP/2 alone is none of it");
        assert!(refused.contains("NoApplicationProtocol"), "{refused}");
    });
    runtime.block_on(app.stop());
}
