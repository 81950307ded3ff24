//! `berth certs`: what it writes works as it says, and only with its own authority.

use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::{Command, Output};

use berth::app::Source;

use super::authority::{Authority, Identity};
use super::client::{Client, Trust};
use crate::support::running::Running;
use crate::support::small_cluster::{CONFIG_HEAD, SNAPSHOT};
use crate::{BOTH, call};

const FILES: [&str; 6] =
    ["ca.crt", "ca.key", "server.crt", "server.key", "kube-scheduler.crt", "kube-scheduler.key"];

fn certs(folder: &Path, arguments: &[&str]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_berth"));
    command.arg("certs").arg("--out").arg(folder).args(arguments).output().expect("berth runs")
}

fn made(folder: &Path, arguments: &[&str]) -> String {
    let output = certs(folder, arguments);
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).expect("text")
}

fn complaint(folder: &Path, arguments: &[&str]) -> String {
    let output = certs(folder, arguments);
    assert!(!output.status.success() && output.stdout.is_empty());
    String::from_utf8(output.stderr).expect("text")
}

fn read(folder: &Path, name: &str) -> String {
    std::fs::read_to_string(folder.join(name)).expect("a file")
}

fn identity(folder: &Path, name: &str) -> Identity {
    Identity::read(&folder.join(format!("{name}.crt")), &folder.join(format!("{name}.key")))
}

/// Berth with the part of its configuration that was printed.
fn start(printed: &str) -> Running {
    let from = printed.find("server:\n").expect("Berth's part");
    let part = printed[from..].split("\n\n").next().expect("its end");
    let directory = tempfile::tempdir().expect("a folder");
    let file = directory.path().join("berth.yaml");
    std::fs::write(&file, format!("{CONFIG_HEAD}{part}\n")).expect("written");
    Running::start_with(directory, file, Source::SnapshotText(SNAPSHOT.to_owned()))
}

fn ask(berth: &Running, trust: &Trust) -> anyhow::Result<String> {
    berth.runtime.block_on(async {
        let mut client = Client::connect(berth.verbs, trust, &["h2"]).await?;
        Ok(client.post("/prioritize", &call()).await?.body)
    })
}

#[test]
fn the_set_works_as_printed_and_with_no_other_authority() {
    let directory = tempfile::tempdir().expect("a folder");
    let folder = directory.path().join("new folder");
    let printed = made(&folder, &["--host", "berth.example.com", "--service", "berth.berth-system"]);
    let berth = start(&printed);
    let scheduler = identity(&folder, "kube-scheduler");
    let trust = |ca: &str| Trust::of_pem(ca);
    let ca = read(&folder, "ca.crt");
    assert_eq!(ask(&berth, &trust(&ca).showing(&scheduler)).expect("let in"), BOTH);
    assert!(ask(&berth, &trust(&ca)).is_err(), "no certificate");
    assert!(ask(&berth, &trust(&ca).showing(&identity(&folder, "server"))).is_err(), "Berth is no client");

    let other = directory.path().join("other");
    made(&other, &[]);
    let stranger = identity(&other, "kube-scheduler");
    assert!(ask(&berth, &trust(&ca).showing(&stranger)).is_err(), "another set's client");
    assert!(
        ask(&berth, &trust(&read(&other, "ca.crt")).showing(&scheduler)).is_err(),
        "another set's server"
    );

    let quoted = |name: &str| format!("{:?}", folder.join(name).display().to_string());
    let scheduler_part = format!(
        "  enableHTTPS: true\n  tlsConfig:\n    caFile: {}\n    certFile: {}\n    keyFile: {}\n",
        quoted("ca.crt"),
        quoted("kube-scheduler.crt"),
        quoted("kube-scheduler.key")
    );
    assert!(printed.contains(&scheduler_part), "{printed}");
    for name in ["localhost", "127.0.0.1", "::1", "berth.example.com", "berth.berth-system.svc.cluster.local"]
    {
        assert!(printed.contains(name), "no {name} in {printed}");
    }
}

#[test]
fn keys_are_for_their_owner_and_nothing_is_replaced_unasked() {
    let directory = tempfile::tempdir().expect("a folder");
    let folder = directory.path();
    made(folder, &[]);
    for name in FILES {
        let mode = std::fs::metadata(folder.join(name)).expect("it is there").permissions().mode() & 0o777;
        assert_eq!(mode, if name.strip_suffix(".key").is_some() { 0o600 } else { 0o644 & mode }, "{name}");
    }
    let contents = || FILES.map(|name| read(folder, name));
    let first = contents();
    assert!(complaint(folder, &[]).contains("--force"));
    // One file is enough to stop it, and then nothing is written.
    for name in &FILES[1..] {
        std::fs::remove_file(folder.join(name)).expect("removed");
    }
    assert!(complaint(folder, &[]).contains("ca.crt exists"));
    assert_eq!(std::fs::read_dir(folder).expect("a folder").count(), 1);
    made(folder, &["--force"]);
    let second = contents();
    assert!(first.iter().zip(&second).all(|(first, second)| first != second), "all of it is new");

    std::fs::set_permissions(folder.join("server.key"), PermissionsExt::from_mode(0o644)).expect("changed");
    made(folder, &["--reuse-ca", "--force"]);
    let third = contents();
    assert_eq!(third[..2], second[..2], "the authority is kept");
    assert!(second[2..].iter().zip(&third[2..]).all(|(second, third)| second != third), "the others are new");
    let mode = std::fs::metadata(folder.join("server.key")).expect("there").permissions().mode();
    assert_eq!(mode & 0o777, 0o600, "whatever mode the old key had");
}

#[test]
fn a_renewed_set_of_the_same_authority_needs_no_change_elsewhere() {
    let directory = tempfile::tempdir().expect("a folder");
    let folder = directory.path();
    let printed = made(folder, &[]);
    let (ca, before) = (read(folder, "ca.crt"), identity(folder, "kube-scheduler"));
    made(folder, &["--reuse-ca", "--force", "--days", "30"]);
    let berth = start(&printed);
    for client in [before, identity(folder, "kube-scheduler")] {
        assert_eq!(ask(&berth, &Trust::of_pem(&ca).showing(&client)).expect("let in"), BOTH);
    }
}

#[test]
fn what_makes_no_sense_is_refused_in_words() {
    let directory = tempfile::tempdir().expect("a folder");
    let folder = directory.path();
    for (arguments, said) in [
        (&["--host", "a b"][..], "neither an IP address nor a host name"),
        (&["--host", ""], "neither an IP address nor a host name"),
        (&["--host", "https://berth:8888"], "neither an IP address nor a host name"),
        (&["--host", "192.0.2.300"], "neither an IP address nor a host name"),
        (&["--host=-a-"], "neither an IP address nor a host name"),
        (&["--service=-a.b"], "neither an IP address nor a host name"),
        (&["--service", "berth"], "NAME.NAMESPACE"),
        (&["--days", "0"], "0 days"),
        (&["--days", "99999999"], "99999999 days"),
        (&["--reuse-ca"], "ca.crt"),
    ] {
        let complaint = complaint(folder, arguments);
        assert!(complaint.contains(said), "{arguments:?}: {complaint}");
        assert_eq!(
            std::fs::read_dir(folder).expect("a folder").count(),
            0,
            "{arguments:?}: nothing is written"
        );
    }
    // An authority whose key is another's, and one that is none.
    made(folder, &[]);
    Authority::new().issue("x").write(folder);
    std::fs::copy(folder.join("tls.key"), folder.join("ca.key")).expect("copied");
    assert!(complaint(folder, &["--reuse-ca", "--force"]).contains("another authority's key"));
    std::fs::copy(folder.join("tls.crt"), folder.join("ca.crt")).expect("copied");
    assert!(complaint(folder, &["--reuse-ca", "--force"]).contains("no certificate authority"));
}

/// The end of a certificate, in days from now, and its names.
fn end_and_names(folder: &Path, name: &str) -> (i64, Vec<String>) {
    let pem = read(folder, name);
    let (_, block) = x509_parser::pem::parse_x509_pem(pem.as_bytes()).expect("PEM");
    let certificate = block.parse_x509().expect("a certificate");
    let names = certificate.subject_alternative_name().expect("readable");
    let names =
        names.map_or(Vec::new(), |names| names.value.general_names.iter().map(ToString::to_string).collect());
    let left = certificate.validity().time_to_expiration().expect("it is valid");
    ((left.whole_hours() + 12) / 24, names)
}

#[test]
fn no_certificate_outlives_its_authority() {
    let directory = tempfile::tempdir().expect("a folder");
    let folder = directory.path();
    let days = |name: &str| end_and_names(folder, name).0;
    let printed = made(folder, &["--ca-days", "30", "--days", "365"]);
    assert!(printed.contains("Not for 365 days: the authority ends on"), "{printed}");
    assert_eq!(["ca.crt", "server.crt", "kube-scheduler.crt"].map(days), [30; 3]);
    let printed = made(folder, &["--reuse-ca", "--force", "--days", "20"]);
    assert!(!printed.contains("Not for"), "{printed}");
    assert_eq!(["ca.crt", "server.crt", "kube-scheduler.crt"].map(days), [30, 20, 20]);
    let printed = made(folder, &["--reuse-ca", "--force"]);
    assert!(printed.contains("Not for 365 days: the authority ends on"), "{printed}");
    assert_eq!(["ca.crt", "server.crt", "kube-scheduler.crt"].map(days), [30; 3]);
}

#[test]
fn a_renewed_certificate_keeps_its_names() {
    let directory = tempfile::tempdir().expect("a folder");
    let folder = &directory.path().join("pki's");
    let names = || end_and_names(folder, "server.crt").1;
    let printed =
        made(folder, &["--service", "berth.berth-system", "--host", "192.0.2.10", "--host", "2001:db8::1"]);
    let before = names();
    assert_eq!(before.len(), 3 + 3 + 2, "{before:?}");
    let told = printed.lines().find_map(|line| line.strip_prefix("#   berth ")).expect("how to renew");
    assert!(told.ends_with("pki'\\''s' --reuse-ca --force"), "{told}");

    let printed = made(folder, &["--reuse-ca", "--force"]);
    assert!(printed.contains("berth.berth-system.svc.cluster.local, 192.0.2.10, 2001:db8::1"), "{printed}");
    assert_eq!(names(), before, "without naming them");
    made(folder, &["--reuse-ca", "--force", "--host", "more.example"]);
    let mut after = names();
    after.sort();
    let mut all = [before, vec!["DNSName(more.example)".to_owned()]].concat();
    all.sort();
    assert_eq!(after, all, "and with others besides");

    let key = read(folder, "server.key");
    std::fs::write(folder.join("server.crt"), "garbage").expect("written");
    let complaint = complaint(folder, &["--reuse-ca", "--force"]);
    assert!(complaint.contains("cannot take over the names of"), "{complaint}");
    assert_eq!(read(folder, "server.key"), key, "nothing is written");
    std::fs::remove_file(folder.join("server.crt")).expect("removed");
    made(folder, &["--reuse-ca", "--force"]);
    assert_eq!(names().len(), 3, "whoever takes it away begins anew");
}
