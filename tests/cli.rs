//! The program as a user meets it: help, exit codes, messages, standard output, signals.
#![allow(clippy::expect_used, clippy::panic, reason = "a test fails by panicking")]

#[path = "cli/check_config.rs"]
mod check_config;
mod support;

use std::io::{BufRead, BufReader, Read};
use std::net::{SocketAddr, TcpListener};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Output, Stdio};

use support::raw_http::{Connection, get, post};
use support::small_cluster::{CONFIG_HEAD, SNAPSHOT, names_call};
use support::waiting::until;
use tempfile::TempDir;

fn berth() -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_berth"));
    // Nothing of the machine's own may leak in.
    for variable in ["KUBECONFIG", "BERTH_LOG_FORMAT", "BERTH_LOG_LEVEL", "RUST_LOG", "RUST_BACKTRACE"] {
        command.env_remove(variable);
    }
    for variable in ["KUBERNETES_SERVICE_HOST", "KUBERNETES_SERVICE_PORT"] {
        command.env_remove(variable);
    }
    command
}

fn run(arguments: &[&str]) -> Output {
    berth().args(arguments).output().expect("berth runs")
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8(bytes.to_vec()).expect("text")
}

fn file(directory: &TempDir, name: &str, content: &str) -> PathBuf {
    let path = directory.path().join(name);
    std::fs::write(&path, content).expect("written");
    path
}

fn shown(path: &Path) -> &str {
    path.to_str().expect("a plain path")
}

/// Fails, in one line that says all of `says`.
fn assert_fails(what: &str, output: &Output, says: &[&str]) {
    let stderr = text(&output.stderr);
    assert!(!output.status.success(), "{what} must fail");
    assert!(output.status.code().is_some_and(|code| code < 100), "{what}: {:?}", output.status);
    assert_eq!(stderr.lines().count(), 1, "{what}: one line, not\n{stderr}");
    for part in says {
        assert!(stderr.contains(part), "{what}: no {part:?} in {stderr}");
    }
    assert!(output.stdout.is_empty(), "{what}: nothing on standard output");
}

/// A `berth serve` that is ended with the test.
struct Served {
    child: Child,
    verbs: SocketAddr,
    admin: SocketAddr,
    stdout: BufReader<std::process::ChildStdout>,
    first_line: String,
}

impl Drop for Served {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

impl Served {
    fn start(snapshot: &Path, more: &[&str]) -> Self {
        let mut command = berth();
        command.args(["serve", "--listen", "127.0.0.1:0", "--admin-listen", "127.0.0.1:0", "--snapshot"]);
        command.arg(snapshot).args(more).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = command.spawn().expect("berth starts");
        let mut stdout = BufReader::new(child.stdout.take().expect("piped"));
        let mut first_line = String::new();
        stdout.read_line(&mut first_line).expect("a line");
        let address = |name: &str| {
            let word = first_line.split_whitespace().find_map(|word| word.strip_prefix(name));
            word.and_then(|word| word.parse().ok()).unwrap_or_else(|| panic!("no {name} in {first_line:?}"))
        };
        let (verbs, admin) = (address("verbs="), address("admin="));
        Self { child, verbs, admin, stdout, first_line }
    }

    fn signal(&self, signal: &str) {
        let pid = self.child.id().to_string();
        let sent = Command::new("kill").args([signal, &pid]).status().expect("kill runs");
        assert!(sent.success());
    }

    /// How it ended, and what else it said on standard output and on standard error.
    fn end(mut self) -> (ExitStatus, String, String) {
        let status = until("berth ends", || self.child.try_wait().expect("a child"));
        let (mut out, mut err) = (String::new(), String::new());
        self.stdout.read_to_string(&mut out).expect("text");
        self.child.stderr.take().expect("piped").read_to_string(&mut err).expect("text");
        (status, out, err)
    }
}

#[test]
fn help_is_there_for_every_command() {
    for (arguments, says) in [
        (&["--help"][..], &["serve", "demo", "check-config", "doctor"][..]),
        (
            &["doctor", "--help"],
            &[
                "--scheduler-config",
                "--pre",
                "--config",
                "--kubeconfig",
                "--server",
                "--token-file",
                "--ca-file",
                "--output",
            ],
        ),
        (&["serve", "--help"], &["--config", "--snapshot", "--kubeconfig", "--listen", "--admin-listen"]),
        (&["serve", "--help"], &["127.0.0.1:8888", "127.0.0.1:8889"]),
        (&["demo", "--help"], &["built-in cluster"]),
        (&["check-config", "--help"], &["[FILE]", "--schema"]),
        (&["--version"], &["berth ", "(commit ", ", for Kubernetes 1.36)"]),
        (&["completion", "bash"], &["check-config", "--kubeconfig"]),
        (&["completion", "zsh"], &["#compdef berth"]),
    ] {
        let output = run(arguments);
        assert!(output.status.success(), "{arguments:?}");
        let help = text(&output.stdout);
        for part in says {
            assert!(help.contains(part), "{arguments:?}: no {part:?} in\n{help}");
        }
    }
    for arguments in [&["sail"][..], &["serve", "--listen", "nowhere"], &["check-config"], &[]] {
        assert_eq!(run(arguments).status.code(), Some(2), "{arguments:?}");
    }
}

#[test]
fn whoever_stops_reading_is_not_answered_with_a_panic() {
    let directory = tempfile::tempdir().expect("a temporary directory");
    let config = file(&directory, "berth.yaml", CONFIG_HEAD);
    let pki = directory.path().join("pki");
    for arguments in [
        &["demo"][..],
        &["check-config", shown(&config)],
        &["check-config", "--schema"],
        &["completion", "bash"],
        &["certs", "--out", shown(&pki)],
        &["doctor", "--pre", "--config", shown(&config)],
        &["doctor", "--pre", "--config", shown(&config), "-o", "json"],
        &["--help"],
    ] {
        let (reader, writer) = std::io::pipe().expect("a pipe");
        drop(reader);
        let mut command = berth();
        let output = command.args(arguments).env("HOME", directory.path()).stdout(writer).output();
        let output = output.expect("berth runs");
        assert_eq!(output.status.code(), Some(0), "{arguments:?}: {}", text(&output.stderr));
        assert_eq!(text(&output.stderr), "", "{arguments:?}");
    }
    let (reader, writer) = std::io::pipe().expect("a pipe");
    drop(reader);
    let output = berth().args(["check-config", "nowhere"]).stderr(writer).output().expect("berth runs");
    assert_eq!(output.status.code(), Some(1), "an error that nobody reads is one still");
}

#[test]
fn no_error_is_printed_twice() {
    let directory = tempfile::tempdir().expect("a temporary directory");
    let nowhere = directory.path().join("nowhere");
    let free = ["--listen", "127.0.0.1:0", "--admin-listen", "127.0.0.1:0"];
    for more in [
        &["check-config"][..],
        &["serve", free[0], free[1], free[2], free[3], "--config"],
        &["serve", free[0], free[1], free[2], free[3], "--snapshot"],
        &["serve", free[0], free[1], free[2], free[3], "--kubeconfig"],
    ] {
        let output = run(&[more, &[shown(&nowhere)]].concat());
        let said = text(&output.stderr);
        assert_eq!(said.matches("No such file or directory").count(), 1, "{more:?}: {said}");
    }
}

#[test]
fn an_unknown_log_level_is_refused_with_the_list_of_levels() {
    let directory = tempfile::tempdir().expect("a temporary directory");
    let snapshot = file(&directory, "cluster.json", SNAPSHOT);
    let serve =
        ["serve", "--listen", "127.0.0.1:0", "--admin-listen", "127.0.0.1:0", "--snapshot", shown(&snapshot)];
    let output = run(&[&serve[..], &["--log-level", "foo"]].concat());
    assert_fails("an unknown level", &output, &["`foo`", "off, error, warn, info, debug, trace"]);
    let served = Served::start(&snapshot, &[]);
    let mut admin = Connection::open(served.admin).expect("a connection");
    let put = "PUT /debug/loglevel HTTP/1.1\r\nHost: berth\r\nContent-Length: 7\r\n\r\nverbose";
    let answer = admin.ask(put).expect("an answer");
    assert!(answer.status == 400 && answer.body.contains("off, error, warn"), "{}", answer.body);
    assert_eq!(admin.ask(get("/debug/loglevel")).expect("an answer").body, "info\n");
}

#[test]
fn what_a_snapshot_lacks_is_said() {
    let directory = tempfile::tempdir().expect("a temporary directory");
    let list = |items: &str| format!(r#"{{"apiVersion":"v1","kind":"List","items":[{items}]}}"#);
    let bad = r#"{"apiVersion":"v1","kind":"Pod","metadata":{"name":7}}"#;
    for (name, items, says) in [
        ("empty", "", "the snapshot is empty"),
        (
            "nodeless",
            r#"{"apiVersion":"v1","kind":"Pod","metadata":{"name":"p"}}"#,
            "the snapshot holds no Node",
        ),
        ("other", r#"{"apiVersion":"v1","kind":"ConfigMap"}"#, "other_kinds=1 ConfigMap"),
        (
            "half",
            &format!(r#"{{"apiVersion":"v1","kind":"Node","metadata":{{"name":"n"}}}},{bad}"#),
            "skipped=1 Pod",
        ),
    ] {
        let snapshot = file(&directory, name, &list(items));
        let served = Served::start(&snapshot, &[]);
        served.signal("-TERM");
        let (status, _, log) = served.end();
        assert!(status.success() && log.contains(says), "{name}: no {says:?} in\n{log}");
    }
    let broken = file(&directory, "broken", &list(bad));
    let output = run(&[
        "serve",
        "--listen",
        "127.0.0.1:0",
        "--admin-listen",
        "127.0.0.1:0",
        "--snapshot",
        shown(&broken),
    ]);
    assert_fails("one bad object", &output, &["none of the objects", "1 Pod"]);
}

#[test]
fn serve_says_one_line_on_standard_output_and_ends_well_on_sigterm_and_sigint() {
    let directory = tempfile::tempdir().expect("a temporary directory");
    let snapshot = file(&directory, "cluster.json", SNAPSHOT);
    for signal in ["-TERM", "-INT"] {
        let served = Served::start(&snapshot, &[]);
        assert_eq!(served.first_line, format!("listening verbs={} admin={}\n", served.verbs, served.admin));
        let mut connection = Connection::open(served.verbs).expect("it accepts once it says so");
        let answer = connection.ask(post("/filter", names_call("p", &["node-a"]))).expect("an answer");
        assert_eq!(answer.status, 200);
        served.signal(signal);
        let (status, more, _) = served.end();
        assert_eq!(status.code(), Some(0), "{signal}");
        assert_eq!(more, "", "{signal}: nothing else on standard output");
    }
}

#[test]
fn json_logs_are_one_object_per_line_and_the_level_can_be_changed() {
    let directory = tempfile::tempdir().expect("a temporary directory");
    let snapshot = file(&directory, "cluster.json", SNAPSHOT);
    let served = Served::start(&snapshot, &["--log-format", "json"]);
    let mut connection = Connection::open(served.verbs).expect("a connection");
    // Refused with text that would break a line if it were not escaped.
    for _ in 0..20 {
        assert_eq!(connection.ask(post("/filter", "{\"a\nb\":")).expect("an answer").status, 400);
    }
    let mut admin = Connection::open(served.admin).expect("a connection");
    let put = |level: &str| {
        let length = level.len();
        format!("PUT /debug/loglevel HTTP/1.1\r\nHost: berth\r\nContent-Length: {length}\r\n\r\n{level}")
    };
    assert_eq!(admin.ask(get("/debug/loglevel")).expect("an answer").body, "info\n");
    assert_eq!(admin.ask(put("berth=debug")).expect("an answer").body, "berth=debug\n");
    assert_eq!(admin.ask(put("berth=loud")).expect("an answer").status, 400);
    assert_eq!(admin.ask(get("/debug/loglevel")).expect("an answer").body, "berth=debug\n");
    served.signal("-TERM");
    let (status, _, log) = served.end();
    assert!(status.success());
    assert!(log.lines().count() >= 3, "{log}");
    for line in log.lines() {
        let entry: serde_json::Value = serde_json::from_str(line).unwrap_or_else(|e| panic!("{e}: {line}"));
        for field in ["timestamp", "level", "message", "target"] {
            assert!(entry[field].is_string(), "no {field} in {line}");
        }
    }
    let complaints = log.lines().filter(|line| line.contains("request refused")).count();
    assert_eq!(complaints, 1, "the same complaint is logged once in a while: {log}");
}

#[test]
fn what_cannot_be_served_is_said_in_one_line() {
    let directory = tempfile::tempdir().expect("a temporary directory");
    let free = ["--listen", "127.0.0.1:0", "--admin-listen", "127.0.0.1:0"];
    let serve = |more: &[&str]| run(&[&["serve"], &free[..], more].concat());

    let nowhere = directory.path().join("nowhere");
    let nowhere = shown(&nowhere);
    assert_fails("no snapshot", &serve(&["--snapshot", nowhere]), &["snapshot", nowhere]);
    assert_fails("no kubeconfig", &serve(&["--kubeconfig", nowhere]), &["kubeconfig", nowhere]);
    assert_fails("no config", &serve(&["--config", nowhere]), &["configuration", nowhere]);
    for (name, content) in [("words", "just words\n"), ("half", "{\"items\":["), ("flow", "a: [\nb: }\n")] {
        let broken = file(&directory, name, content);
        assert_fails(name, &serve(&["--snapshot", shown(&broken)]), &["snapshot"]);
        assert_fails(name, &serve(&["--kubeconfig", shown(&broken)]), &["kubeconfig"]);
    }
    let empty_home = berth().args(["serve"]).args(free).env("HOME", directory.path()).output().expect("runs");
    assert_fails("no cluster at all", &empty_home, &["--kubeconfig FILE", "--snapshot FILE"]);

    let cluster = file(&directory, "cluster.json", SNAPSHOT);
    let cluster = ["serve", "--snapshot", shown(&cluster)];
    let holder = TcpListener::bind("127.0.0.1:0").expect("a port");
    let taken = holder.local_addr().expect("an address").to_string();
    for (busy, other) in [("--listen", "--admin-listen"), ("--admin-listen", "--listen")] {
        let output = run(&[&cluster[..], &[busy, &taken, other, "127.0.0.1:0"]].concat());
        assert_fails("a busy port", &output, &["cannot listen", &taken]);
    }

    let open = ["--listen", "0.0.0.0:0", "--admin-listen", "127.0.0.1:0"];
    let open = run(&[&cluster[..], &open[..]].concat());
    assert_fails("plain HTTP for everybody", &open, &["0.0.0.0:0", "server.tls", "server.insecure"]);
    let both = serve(&["--snapshot", nowhere, "--kubeconfig", nowhere]);
    assert_eq!(both.status.code(), Some(2), "two sources are one too many");
}

/// `berth doctor`, with nothing of the machine's own.
fn doctor(home: &TempDir, arguments: &[&str]) -> Output {
    berth().arg("doctor").args(arguments).env("HOME", home.path()).output().expect("berth runs")
}

fn codes(output: &Output) -> Vec<String> {
    let report: serde_json::Value = serde_json::from_slice(&output.stdout).expect("JSON");
    let checks = report["checks"].as_array().expect("checks").iter();
    let findings = checks.flat_map(|check| check["findings"].as_array().into_iter().flatten());
    findings.map(|finding| finding["code"].as_str().expect("a code").to_owned()).collect()
}

#[test]
fn doctor_finds_nothing_wrong_with_a_berth_that_runs_and_leaves_no_trace() {
    const SHIPPED: &str = include_str!("../deploy/kube-scheduler-config.yaml");
    let directory = tempfile::tempdir().expect("a temporary directory");
    let served = Served::start(&file(&directory, "cluster.json", SNAPSHOT), &[]);
    let url = format!("http://{}", served.verbs);
    let pointed = SHIPPED.replace("http://127.0.0.1:8888", &url);
    let good = file(&directory, "good.yaml", &pointed);
    let admin_url = format!("http://{}", served.admin);
    let ask = |file: &Path, more: &[&str]| {
        doctor(&directory, &[&["--server", &admin_url, "--scheduler-config", shown(file)], more].concat())
    };

    let well = ask(&good, &[]);
    let said = text(&well.stdout);
    assert_eq!(well.status.code(), Some(0), "{said}{}", text(&well.stderr));
    for line in [
        "[ok]      the configuration is accepted: as the Berth that runs says (/configz)",
        &format!("[ok]      Berth answers a call as kube-scheduler makes it: {url}/filter"),
        "[ok]      it is ready",
        "0 errors, 0 warnings",
    ] {
        assert!(said.contains(line), "no {line:?} in\n{said}");
    }
    let mut admin = Connection::open(served.admin).expect("a connection");
    let metrics = admin.ask(get("/metrics")).expect("an answer").body;
    let entries: Vec<_> = metrics.lines().filter(|line| line.starts_with("berth_ledger_entries{")).collect();
    assert!(!entries.is_empty() && entries.iter().all(|line| line.ends_with(" 0")), "{entries:?}");

    let unbound = file(&directory, "unbound.yaml", &pointed.replace("bindVerb: bind", ""));
    let wrong = ask(&unbound, &["-o", "json"]);
    assert_eq!((wrong.status.code(), codes(&wrong)), (Some(1), vec!["BindVerbMissing".to_owned()]));
    let observed =
        file(&directory, "observed.yaml", &format!("{CONFIG_HEAD}topologySpread: {{mode: Observe}}\n"));
    let warned = ask(&good, &["-o", "json", "--config", shown(&observed)]);
    assert_eq!((warned.status.code(), codes(&warned)), (Some(0), vec!["SpreadByNobody".to_owned()]));
    let admin_port = file(&directory, "admin.yaml", &SHIPPED.replace("http://127.0.0.1:8888", &admin_url));
    assert_eq!(codes(&ask(&admin_port, &["-o", "json"])), ["VerbsBroken"]);

    served.signal("-TERM");
    assert!(served.end().0.success());
    let gone = ask(&good, &["-o", "json"]);
    assert_eq!(
        (gone.status.code(), codes(&gone)),
        (Some(1), vec!["VerbsUnreachable".to_owned(), "AdminUnreachable".to_owned()])
    );
    let before = ask(&good, &["--pre"]);
    assert_eq!(before.status.code(), Some(0), "{}", text(&before.stdout));
}

#[test]
fn doctor_that_cannot_ask_says_so() {
    let directory = tempfile::tempdir().expect("a temporary directory");
    let nowhere = directory.path().join("nowhere");
    let good = file(&directory, "good.yaml", CONFIG_HEAD);
    for option in ["--scheduler-config", "--config", "--kubeconfig"] {
        let output = doctor(&directory, &["--pre", option, shown(&nowhere)]);
        assert_eq!(output.status.code(), Some(2), "{option}");
        assert!(text(&output.stderr).contains("nowhere"), "{option}: {}", text(&output.stderr));
    }
    for option in ["--token-file", "--ca-file"] {
        let output = doctor(&directory, &["--server", "https://127.0.0.1:1", option, shown(&nowhere)]);
        assert_eq!(output.status.code(), Some(2), "{option}: {}", text(&output.stderr));
    }
    // A kubeconfig that is there and no good is not passed over, wherever it is named.
    let broken = file(&directory, "broken", "clusters: [\n");
    let empty = file(&directory, "empty", "apiVersion: v1\nkind: Config\n");
    for (name, kubeconfig) in [("nowhere", &nowhere), ("broken", &broken), ("empty", &empty)] {
        let mut command = berth();
        command.args(["doctor", "--pre", "--config", shown(&good)]).env("KUBECONFIG", kubeconfig);
        let output = command.env("HOME", directory.path()).output().expect("runs");
        let said = text(&output.stderr);
        assert_eq!(output.status.code(), Some(2), "{name}: {said}");
        assert!(said.contains("cannot use kubeconfig") && said.contains("$KUBECONFIG"), "{name}: {said}");
        assert!(said.contains(shown(kubeconfig)), "{name}: {said}");
    }
    let at_home = directory.path().join("home");
    std::fs::create_dir_all(at_home.join(".kube")).expect("a folder");
    std::fs::write(at_home.join(".kube/config"), "clusters: [\n").expect("written");
    let output = berth().args(["doctor", "--pre"]).env("HOME", &at_home).output().expect("runs");
    assert_eq!(output.status.code(), Some(2));
    assert!(text(&output.stderr).contains(".kube/config"), "{}", text(&output.stderr));
    let serving = berth().args(["serve", "--listen", "127.0.0.1:0"]).env("HOME", &at_home).output();
    let serving = serving.expect("runs");
    assert!(text(&serving.stderr).contains(".kube/config"), "serve says so too: {}", text(&serving.stderr));
    let nothing = doctor(&directory, &["--pre"]);
    assert_eq!(nothing.status.code(), Some(2), "{}", text(&nothing.stdout));
    assert!(text(&nothing.stderr).contains("--scheduler-config FILE"), "{}", text(&nothing.stderr));
    assert_eq!(doctor(&directory, &["--server", "localhost"]).status.code(), Some(2), "no URL");
    let bad = file(&directory, "bad.yaml", &format!("{CONFIG_HEAD}server: 1\n"));
    let refused = doctor(&directory, &["--pre", "-o", "json", "--config", shown(&bad)]);
    assert_eq!((refused.status.code(), codes(&refused)), (Some(1), vec!["ConfigurationInvalid".to_owned()]));
}
