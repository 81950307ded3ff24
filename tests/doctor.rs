//! `berth doctor` over TLS: what kube-scheduler's `tlsConfig` and Berth's `server.tls` name, as files and on the wire.
#![allow(clippy::expect_used, reason = "a test fails by panicking")]

mod support;
mod tls {
    pub mod authority;
}

use std::path::Path;
use std::process::Command;

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
    let output = command.output().expect("berth runs");
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
