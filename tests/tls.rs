//! Encrypted verbs: both HTTP versions, client certificates, renewal, and no plain HTTP by mistake.
#![allow(clippy::expect_used, clippy::panic, reason = "a test fails by panicking")]

mod support;
mod tls {
    pub mod authority;
    pub mod client;
    mod clients;
    mod made_by_berth;
    mod renewal;
    mod rotation;
    mod strangers;
    pub mod volume;
}

use std::net::SocketAddr;
use std::path::Path;

use berth::app::{App, Options, Source};
use hyper::Version;
use support::running::Running;
use support::small_cluster::{CONFIG_HEAD, SNAPSHOT, names_call};
use tempfile::TempDir;
use tls::authority::Authority;
use tls::client::{Client, Trust};

const BOTH: &str = r#"[{"Host":"node-a","Score":0},{"Host":"node-b","Score":0}]"#;

fn call() -> String {
    names_call("p", &["node-a", "node-b"])
}

/// Berth with a certificate of `server` in its directory, demanding certificates of `clients` if given.
fn start(server: &Authority, clients: Option<&Authority>) -> Running {
    let directory = tempfile::tempdir().expect("a temporary directory");
    server.issue("first").write(directory.path());
    let path = |name: &str| directory.path().join(name).display().to_string();
    let mut config = format!(
        "{CONFIG_HEAD}server:\n  tls:\n    certFile: {}\n    keyFile: {}\n",
        path("tls.crt"),
        path("tls.key")
    );
    if let Some(clients) = clients {
        std::fs::write(path("clients.crt"), clients.pem()).expect("written");
        config = format!("{config}    clientCAFile: {}\n", path("clients.crt"));
    }
    let file = directory.path().join("berth.yaml");
    std::fs::write(&file, config).expect("written");
    Running::start_with(directory, file, Source::SnapshotText(SNAPSHOT.to_owned()))
}

#[test]
fn both_http_versions_are_spoken_as_the_client_likes() {
    let authority = Authority::new();
    let berth = start(&authority, None);
    let trust = Trust::of(&authority);
    for (offered, version) in [
        (&["h2", "http/1.1"][..], Version::HTTP_2),
        (&["h2"], Version::HTTP_2),
        (&["http/1.1"], Version::HTTP_11),
        (&[], Version::HTTP_11),
    ] {
        let answer = berth.runtime.block_on(async {
            let mut client = Client::connect(berth.verbs, &trust, offered).await?;
            // Twice, since a connection that serves one request only would be of little use.
            client.post("/prioritize", &call()).await?;
            client.post("/prioritize", &call()).await
        });
        let answer = answer.expect("an answer");
        assert_eq!((answer.status, answer.version), (200, version), "{offered:?}");
        assert_eq!(answer.body, BOTH);
        assert_eq!(answer.content_length, Some(BOTH.len().to_string()), "{offered:?}");
    }
    assert_eq!(berth.admin("/readyz").status, 200, "probes on loopback need no TLS");
}

#[test]
fn who_does_not_know_the_authority_does_not_talk_to_us() {
    let berth = start(&Authority::new(), None);
    let stranger = Trust::of(&Authority::new());
    assert!(berth.runtime.block_on(Client::connect(berth.verbs, &stranger, &["h2"])).is_err());
    let plain = berth.connect().ask(support::raw_http::post("/filter", call()));
    assert!(plain.is_err(), "no plain HTTP on an encrypted port");
}

fn start_on(
    listen: &str,
    admin_listen: &str,
    config: &Path,
) -> anyhow::Result<(App, tokio::runtime::Runtime)> {
    let runtime = tokio::runtime::Runtime::new()?;
    let address = |text: &str| text.parse::<SocketAddr>();
    let options = Options {
        config: Some(config.to_owned()),
        source: Source::SnapshotText(SNAPSHOT.to_owned()),
        listen: address(listen)?,
        admin_listen: address(admin_listen)?,
        admission_listen: None,
    };
    let app = runtime.block_on(App::start(options, None))?;
    Ok((app, runtime))
}

fn written(directory: &TempDir, config: &str) -> std::path::PathBuf {
    let file = directory.path().join("berth.yaml");
    std::fs::write(&file, format!("{CONFIG_HEAD}{config}")).expect("written");
    file
}

#[test]
fn plain_http_that_others_can_reach_is_refused_unless_asked_for() {
    let directory = tempfile::tempdir().expect("a temporary directory");
    let (everywhere, here) = ("0.0.0.0:0", "127.0.0.1:0");
    let secure = written(&directory, "");
    for (listen, admin) in [(everywhere, here), (here, everywhere), ("[::]:0", here)] {
        let error = start_on(listen, admin, &secure).err().map(|error| format!("{error:#}"));
        let error = error.expect("refused");
        for part in ["plain HTTP", "server.tls", "server.insecure: true"] {
            assert!(error.contains(part), "{listen} {admin}: no {part:?} in {error}");
        }
    }
    let insecure = written(&directory, "server: {insecure: true}\n");
    let (app, runtime) = start_on(everywhere, here, &insecure).expect("as asked for");
    runtime.block_on(app.stop());
}

#[test]
fn files_that_are_no_certificates_are_named() {
    let directory = tempfile::tempdir().expect("a temporary directory");
    let identity = Authority::new().issue("berth");
    identity.write(directory.path());
    std::fs::write(directory.path().join("garbage"), "garbage").expect("written");
    for (cert, key, says) in [
        ("nowhere", "tls.key", "nowhere"),
        ("garbage", "tls.key", "garbage"),
        ("tls.crt", "garbage", "garbage"),
        ("tls.crt", "tls.crt", "tls.crt"),
    ] {
        let path = |name: &str| directory.path().join(name).display().to_string();
        let config = written(
            &directory,
            &format!("server: {{tls: {{certFile: {}, keyFile: {}}}}}\n", path(cert), path(key)),
        );
        let error = start_on("127.0.0.1:0", "127.0.0.1:0", &config).err().expect("refused");
        assert!(format!("{error:#}").contains(says), "{error:#}");
    }
}

fn admitting(config: &Path, source: &str) -> anyhow::Result<(App, tokio::runtime::Runtime)> {
    let runtime = tokio::runtime::Runtime::new()?;
    let free: SocketAddr = "127.0.0.1:0".parse()?;
    let options = Options {
        config: Some(config.to_owned()),
        source: Source::SnapshotText(source.to_owned()),
        listen: free,
        admin_listen: free,
        admission_listen: Some(free),
    };
    let app = runtime.block_on(App::start(options, None))?;
    Ok((app, runtime))
}

#[test]
fn reviews_are_answered_over_tls_and_nowhere_else() {
    let authority = Authority::new();
    let directory = tempfile::tempdir().expect("a temporary directory");
    let error = admitting(&written(&directory, ""), SNAPSHOT).err().map(|error| format!("{error:#}"));
    let error = error.expect("refused");
    for part in ["--admission-listen", "server.tls", "berth certs"] {
        assert!(error.contains(part), "no {part:?} in {error}");
    }

    authority.issue("first").write(directory.path());
    let path = |name: &str| directory.path().join(name).display().to_string();
    let config =
        format!("server:\n  tls:\n    certFile: {}\n    keyFile: {}\n", path("tls.crt"), path("tls.key"));
    let (app, runtime) = admitting(&written(&directory, &config), SNAPSHOT).expect("Berth starts");
    let address = app.admission_address.expect("an address");
    let review = r#"{"apiVersion":"admission.k8s.io/v1","kind":"AdmissionReview","request":{"uid":"u-7","operation":"CREATE",
        "kind":{"group":"","version":"v1","kind":"Pod"},"namespace":"default","object":{"metadata":{"name":"llm-0","labels":
        {"leaderworkerset.sigs.k8s.io/name":"llm","leaderworkerset.sigs.k8s.io/group-index":"0"},
        "annotations":{"berth.dev/replicaUniqueNodeSelector":"pool"}},"spec":{}}}}"#;
    let trust = Trust::of(&authority);
    for (path, body, status, part) in [
        ("/mutate?timeout=5s", review, 200, r#""uid":"u-7","allowed":true,"patchType":"JSONPatch""#),
        ("/mutate", "{", 400, "not JSON"),
        ("/mutate", "{}", 400, "admissionReviewVersions"),
        ("/filter", review, 404, "/mutate"),
    ] {
        let answer = runtime.block_on(async {
            let mut client = Client::connect(address, &trust, &["h2", "http/1.1"]).await?;
            client.post(path, body).await
        });
        let answer = answer.expect("an answer");
        assert_eq!(answer.status, status, "{path} {body}");
        assert!(answer.body.contains(part), "{path}: no {part:?} in {}", answer.body);
    }
    let mut plain = support::raw_http::Connection::open(address).expect("a connection");
    assert!(plain.ask(support::raw_http::post("/mutate", review)).is_err(), "no plain HTTP");
    runtime.block_on(app.stop());
}
