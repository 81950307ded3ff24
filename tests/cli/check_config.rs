//! `berth check-config`.

use super::{assert_fails, file, run, shown, text};
use crate::support::small_cluster::{CONFIG_HEAD, SNAPSHOT};

#[test]
fn check_config_prints_what_it_would_accept_again() {
    let directory = tempfile::tempdir().expect("a temporary directory");
    let small = file(&directory, "small.yaml", &format!("{CONFIG_HEAD}server: {{ledgerTtl: 45s}}\n"));
    let first = run(&["check-config", shown(&small)]);
    assert!(first.status.success(), "{}", text(&first.stderr));
    let printed = text(&first.stdout);
    for part in ["ledgerTtl: 45s", "maxInFlight: 64", "defaultingType: System", "policy: Prefer"] {
        assert!(printed.contains(part), "no {part:?} in\n{printed}");
    }
    let whole = file(&directory, "whole.yaml", &printed);
    let second = run(&["check-config", shown(&whole)]);
    assert!(second.status.success(), "{}", text(&second.stderr));
    assert_eq!(text(&second.stdout), printed);
}

#[test]
fn check_config_names_the_field_that_is_wrong() {
    let directory = tempfile::tempdir().expect("a temporary directory");
    for (content, says) in [
        ("topologySpred: {}", "topologySpred"),
        ("topologySpread: {defaultingType: Sometimes}", "topologySpread.defaultingType"),
        ("server: {limits: {maxInFlight: many}}", "server.limits.maxInFlight"),
        ("server: {limits: {maxInFlite: 1}}", "maxInFlite"),
        ("server: {timeouts: {idle: 5s}}", "server.timeouts.idle"),
        ("server: [", "YAML"),
        ("kind: BerthConfiguration", "kind"),
    ] {
        let path = file(&directory, "bad.yaml", &format!("{CONFIG_HEAD}{content}\n"));
        assert_fails(content, &run(&["check-config", shown(&path)]), &["berth: ", says]);
    }
    let all = "servr: {}\nserver: {stalenessLimit: 60, limits: {maxInFlight: 0}}\n";
    let all = file(&directory, "all.yaml", &format!("{CONFIG_HEAD}{all}"));
    let output = run(&["check-config", shown(&all)]);
    let lines: Vec<_> = text(&output.stderr).lines().map(str::to_owned).collect();
    assert_eq!((output.status.code(), lines.len()), (Some(1), 3), "all of them: {lines:?}");
    for part in ["servr", "server.stalenessLimit: `60` has no unit; write 60s", "server.limits.maxInFlight"] {
        assert!(
            lines.iter().any(|line| line.starts_with("berth: ") && line.contains(part)),
            "{part} in {lines:?}"
        );
    }
    let nowhere = directory.path().join("nowhere.yaml");
    assert_fails("no file", &run(&["check-config", shown(&nowhere)]), &["nowhere.yaml"]);
    let empty = file(&directory, "empty.yaml", "");
    assert_fails("an empty file", &run(&["check-config", shown(&empty)]), &["berth: "]);
}

#[test]
fn check_config_looks_for_the_files_that_are_named() {
    let directory = tempfile::tempdir().expect("a temporary directory");
    let here = file(&directory, "tls.crt", "");
    let gone = directory.path().join("tls.key");
    let tls = format!("server: {{tls: {{certFile: {}, keyFile: {}}}}}\n", shown(&here), shown(&gone));
    let config = file(&directory, "berth.yaml", &format!("{CONFIG_HEAD}{tls}"));
    let output = run(&["check-config", shown(&config)]);
    assert_fails("a file that is not there", &output, &["server.tls.keyFile", shown(&gone)]);
    assert!(run(&["check-config", "--skip-files", shown(&config)]).status.success(), "unless told not to");
}

#[test]
fn what_serve_would_refuse_of_its_certificates_is_refused_by_check_config_too() {
    let directory = tempfile::tempdir().expect("a temporary directory");
    let path = |name: &str| directory.path().join(name);
    for folder in ["one", "other"] {
        let made = run(&["certs", "--out", shown(&path(folder))]);
        assert!(made.status.success(), "{}", text(&made.stderr));
    }
    file(&directory, "garbage", "garbage");
    let snapshot = file(&directory, "cluster.json", SNAPSHOT);
    let free = ["--listen", "127.0.0.1:0", "--admin-listen", "127.0.0.1:0", "--snapshot", shown(&snapshot)];
    for (cert, key, ca, says) in [
        ("one/server.crt", "other/server.key", "one/ca.crt", &["server.tls: ", "keyFile is not the key"][..]),
        ("garbage", "one/server.key", "one/ca.crt", &["server.tls.certFile: ", "holds no certificate"]),
        ("one/server.crt", "garbage", "one/ca.crt", &["server.tls.keyFile: ", "holds no private key"]),
        (
            "one/server.crt",
            "one/server.key",
            "garbage",
            &["server.tls.clientCAFile: ", "holds no certificate"],
        ),
        ("gone", "one/server.key", "one/ca.crt", &["server.tls.certFile: ", "gone: No such file"]),
    ] {
        let tls = [("certFile", cert), ("keyFile", key), ("clientCAFile", ca)]
            .map(|(field, name)| format!("{field}: {}", shown(&path(name))));
        let config = format!("{CONFIG_HEAD}server: {{tls: {{{}}}}}\n", tls.join(", "));
        let config = file(&directory, "berth.yaml", &config);
        let what = format!("{cert} with {key} and {ca}");
        assert_fails(&what, &run(&["check-config", shown(&config)]), says);
        assert_fails(&what, &run(&[&["serve", "--config", shown(&config)], &free[..]].concat()), says);
        assert!(run(&["check-config", "--skip-files", shown(&config)]).status.success(), "{what}");
    }
}

#[test]
fn the_schema_is_printed_for_editors() {
    let output = run(&["check-config", "--schema"]);
    assert!(output.status.success());
    assert_eq!(text(&output.stdout), include_str!("../../deploy/berth.schema.json"));
}
