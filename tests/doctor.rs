//! `berth doctor` over TLS, and with tokens: what kube-scheduler's `tlsConfig` and Berth's `server.tls` name, as files and on the wire.
#![allow(clippy::expect_used, reason = "a test fails by panicking")]

mod support;
mod tls {
    pub mod authority;
}

use std::io::{BufRead, BufReader, Write};
use std::net::{SocketAddr, TcpListener};
use std::path::Path;
use std::process::{Command, Output};
use std::sync::{Arc, Mutex};

use berth::app::Source;
use support::running::Running;
use support::small_cluster::{CONFIG_HEAD, SNAPSHOT};
use tls::authority::{Authority, Identity};

const SHIPPED: &str = include_str!("../deploy/kube-scheduler-config.yaml");

fn write(directory: &Path, name: &str, content: &str) -> String {
    let path = directory.join(name);
    std::fs::write(&path, content).expect("written");
    path.display().to_string()
}

/// A Berth that demands client certificates of `clients`.
fn start(servers: &Authority, clients: &Authority) -> Running {
    let directory = tempfile::tempdir().expect("a temporary directory");
    let folder = directory.path();
    servers.issue("berth").write(folder);
    let authority = write(folder, "clients.crt", &clients.pem());
    let config = format!(
        "{CONFIG_HEAD}server:\n  tls: {{certFile: {0}/tls.crt, keyFile: {0}/tls.key, clientCAFile: {authority}}}\n",
        folder.display()
    );
    write(folder, "berth.yaml", &config);
    let file = folder.join("berth.yaml");
    Running::start_with(directory, file, Source::SnapshotText(SNAPSHOT.to_owned()))
}

/// kube-scheduler's side: whom it trusts, and what it shows.
struct Side<'a> {
    host: &'a str,
    trusts: Option<&'a Authority>,
    shows: Option<&'a Identity>,
    key_of: Option<&'a Identity>,
    server_name: &'a str,
    more: &'a str,
}

/// The codes that are found.
fn codes(berth: &Running, side: &Side<'_>) -> Vec<String> {
    let folder = berth.directory.path();
    let mut tls = Vec::new();
    if let Some(authority) = side.trusts {
        tls.push(format!("caFile: {}", write(folder, "ca.crt", &authority.pem())));
    }
    if let Some(shown) = side.shows {
        let key = &side.key_of.unwrap_or(shown).key;
        tls.push(format!("certFile: {}", write(folder, "client.crt", &shown.certificate)));
        tls.push(format!("keyFile: {}", write(folder, "client.key", key)));
    }
    if !side.server_name.is_empty() {
        tls.push(format!("serverName: {}", side.server_name));
    }
    if !side.more.is_empty() {
        tls.push(side.more.to_owned());
    }
    let url = format!("urlPrefix: https://{}:{}", side.host, berth.verbs.port());
    let ours = format!("{url}\n    enableHTTPS: true\n    tlsConfig: {{{}}}", tls.join(", "));
    let file = write(folder, "scheduler.yaml", &SHIPPED.replace("urlPrefix: http://127.0.0.1:8888", &ours));
    let mut command = Command::new(env!("CARGO_BIN_EXE_berth"));
    command.args(["doctor", "-o", "json", "--scheduler-config", &file, "--config"]);
    command.arg(folder.join("berth.yaml")).args(["--server", &format!("http://{}", berth.admin)]);
    command.env_remove("KUBECONFIG").env_remove("KUBERNETES_SERVICE_HOST").env("HOME", folder);
    found(&command.output().expect("berth runs"))
}

fn found(output: &Output) -> Vec<String> {
    let report: serde_json::Value = serde_json::from_slice(&output.stdout).expect("JSON");
    let checks = report["checks"].as_array().expect("checks").iter();
    let findings = checks.flat_map(|check| check["findings"].as_array().into_iter().flatten());
    findings.map(|finding| finding["code"].as_str().expect("a code").to_owned()).collect()
}

#[test]
fn both_sides_of_tls_are_compared_and_tried() {
    let (servers, clients, strangers) = (Authority::new(), Authority::new(), Authority::new());
    let berth = start(&servers, &clients);
    let (known, other, foreign) =
        (clients.issue("kube-scheduler"), clients.issue("other"), strangers.issue("kube-scheduler"));
    let good = || Side {
        host: "127.0.0.1",
        trusts: Some(&servers),
        shows: Some(&known),
        key_of: None,
        server_name: "",
        more: "",
    };
    assert_eq!(codes(&berth, &good()), Vec::<String>::new());
    for (what, side, expected) in [
        (
            "another authority",
            Side { trusts: Some(&strangers), ..good() },
            &["CertificateOfAnotherAuthority", "VerbsUnreachable"][..],
        ),
        (
            "a certificate of somebody else",
            Side { shows: Some(&foreign), ..good() },
            &["CertificateOfAnotherAuthority", "VerbsUnreachable"],
        ),
        ("no certificate", Side { shows: None, ..good() }, &["ClientCertificateMissing", "VerbsUnreachable"]),
        ("another key", Side { key_of: Some(&other), ..good() }, &["KeyMismatch"]),
        (
            "another name",
            Side { server_name: "berth.example", ..good() },
            &["CertificateForAnotherName", "VerbsUnreachable"],
        ),
        (
            "another name that nobody looks at",
            Side { trusts: None, server_name: "berth.example", more: "insecure: true", ..good() },
            &["CertificateNotVerified"],
        ),
        ("no authority", Side { trusts: None, ..good() }, &["CertificateNotVerified"]),
    ] {
        assert_eq!(codes(&berth, &side), expected, "{what}");
    }
    std::fs::remove_file(berth.directory.path().join("clients.crt")).expect("removed");
    assert_eq!(codes(&berth, &good()), ["CertificateUnusable"]);
}

/// Doctor with nothing to look at but the admin endpoints.
fn look_at(home: &Path, server: &str, more: &[&str]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_berth"));
    command.args(["doctor", "-o", "json", "--server", server]).args(more);
    command.env_remove("KUBECONFIG").env_remove("KUBERNETES_SERVICE_HOST").env("HOME", home);
    command.output().expect("berth runs")
}

#[test]
fn a_berth_off_loopback_is_looked_at_as_far_as_it_lets_doctor() {
    let berth = Running::start_open_to_all("server: {insecure: true}\n");
    let home = berth.directory.path();
    let token = write(home, "token", "nobody-vouches-for-it\n");
    let url = format!("http://{}", berth.admin);
    for more in [&[][..], &["--token-file", &token]] {
        let output = look_at(home, &url, more);
        let said = String::from_utf8_lossy(&output.stdout).into_owned();
        assert_eq!(
            (output.status.code(), found(&output)),
            (Some(0), vec!["AdminRefused".to_owned()]),
            "{said}"
        );
        let report: serde_json::Value = serde_json::from_slice(&output.stdout).expect("JSON");
        let checks = report["checks"].as_array().expect("checks");
        let ready = checks.iter().find(|check| check["name"] == "it is ready").expect("a check");
        assert_eq!(ready["result"], "ok", "{said}");
        assert!(!said.contains("nobody-vouches"), "the token is not repeated");
    }
}

#[test]
fn a_token_goes_over_tls_to_whom_the_authority_vouches_for_only() {
    let (servers, strangers) = (Authority::new(), Authority::new());
    let directory = tempfile::tempdir().expect("a temporary directory");
    servers.issue("berth").write(directory.path());
    let files = directory.path().display();
    let berth = Running::start_open_to_all(&format!(
        "server: {{tls: {{certFile: {files}/tls.crt, keyFile: {files}/tls.key}}}}\n"
    ));
    let home = directory.path();
    let token = write(home, "token", "t");
    let [good, bad] =
        [("good.crt", &servers), ("bad.crt", &strangers)].map(|(name, ca)| write(home, name, &ca.pem()));
    let url = format!("https://{}", berth.admin);
    let look = |more: &[&str]| look_at(home, &url, more);
    let known = look(&["--token-file", &token, "--ca-file", &good]);
    assert!(String::from_utf8_lossy(&known.stdout).contains("is answered 403"), "it had a token");
    assert_eq!((known.status.code(), found(&known)), (Some(0), vec!["AdminRefused".to_owned()]));
    assert_eq!(found(&look(&["--token-file", &token, "--ca-file", &bad])), ["AdminUnreachable"]);
    assert_eq!(found(&look(&[])), ["AdminRefused"], "whoever answers is asked how it is");
    let refused = look(&["--token-file", &token]);
    let said = String::from_utf8_lossy(&refused.stderr).into_owned();
    assert_eq!(refused.status.code(), Some(2), "{said}");
    assert!(said.contains("--ca-file"), "{said}");
}

/// Answers as a Berth off loopback whose API server vouches for the token `good`, and notes what it is asked.
fn guarded() -> (SocketAddr, Arc<Mutex<Vec<String>>>) {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    let address = listener.local_addr().expect("an address");
    let asked = Arc::new(Mutex::new(Vec::new()));
    let notes = asked.clone();
    std::thread::spawn(move || {
        for stream in listener.incoming() {
            let mut stream = stream.expect("a connection");
            let lines = BufReader::new(stream.try_clone().expect("a stream")).lines();
            let head: Vec<_> =
                lines.map(|line| line.expect("a line")).take_while(|line| !line.is_empty()).collect();
            let is_good = head.iter().any(|line| line.eq_ignore_ascii_case("authorization: bearer good"));
            let (status, body) = match head[0].split(' ').nth(1).expect("a path") {
                "/readyz?verbose" => ("200 OK", "ok\n"),
                "/metrics" if is_good => ("200 OK", "berth_config_current 0\n"),
                "/configz" if is_good => ("200 OK", CONFIG_HEAD),
                _ => ("401 Unauthorized", r#"{"error":"send a token"}"#),
            };
            notes.lock().expect("no panic").push(format!("{} {is_good}", head[0]));
            let length = body.len();
            let answer =
                format!("HTTP/1.1 {status}\r\ncontent-length: {length}\r\nconnection: close\r\n\r\n{body}");
            stream.write_all(answer.as_bytes()).expect("an answer");
        }
    });
    (address, asked)
}

#[test]
fn with_a_token_everything_is_looked_at_and_it_is_sent_only_where_it_is_wanted() {
    let directory = tempfile::tempdir().expect("a temporary directory");
    let (address, asked) = guarded();
    let token = write(directory.path(), "token", "good\n");
    let output = look_at(directory.path(), &format!("http://{address}"), &["--token-file", &token]);
    assert_eq!(found(&output), ["ConfigurationNotCurrent"], "{}", String::from_utf8_lossy(&output.stdout));
    let line = |path: &str, has_token: bool| format!("GET {path} HTTP/1.1 {has_token}");
    let expected = [
        line("/readyz?verbose", false),
        line("/metrics", false),
        line("/metrics", true),
        line("/configz", false),
        line("/configz", true),
    ];
    assert_eq!(*asked.lock().expect("no panic"), expected);
}
