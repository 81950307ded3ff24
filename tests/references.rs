//! The pages of settings and metrics in the docs, and the JSON Schema, are what the code says.
//!
//! `BERTH_WRITE_DOCS=1 cargo test --test references` (or `make docs`) writes them anew.
#![allow(clippy::expect_used, clippy::panic, reason = "a test fails by panicking")]

mod support;
mod references {
    pub mod chart;
    pub mod json_schema;
    pub mod metrics;
}

use std::path::{Path, PathBuf};

use references::json_schema::violations;
use references::{chart, metrics};
use serde_json::Value;
use support::running::Running;
use support::small_cluster::CONFIG_HEAD;

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).to_owned()
}

fn assert_current(file: &str, content: &str) {
    let path = root().join(file);
    if std::env::var_os("BERTH_WRITE_DOCS").is_some() {
        std::fs::write(&path, content).expect(file);
    }
    let written = std::fs::read_to_string(&path).unwrap_or_default();
    assert!(
        written == content,
        "{file} is not what the code says: write it with BERTH_WRITE_DOCS=1 cargo test --test references"
    );
}

#[test]
fn the_page_of_settings_is_current() {
    let page = berth::config::page();
    for path in
        ["server.tls.clientCAFile", "replicaGroups.rules[].topology.required", "server.timeouts.decision"]
    {
        assert!(page.contains(&format!("| `{path}` |")), "no {path} in\n{page}");
    }
    assert_current("docs/configuration.md", &page);
}

#[test]
fn the_schema_of_settings_is_current() {
    assert_current("deploy/berth.schema.json", &berth::config::json_schema());
}

#[test]
fn the_page_of_metrics_is_current_and_complete() {
    // With certificates, for their expiry is shown only where there are some.
    let folder = tempfile::tempdir().expect("a temporary directory");
    let made = std::process::Command::new(env!("CARGO_BIN_EXE_berth"))
        .args(["certs", "--out"])
        .arg(folder.path())
        .output()
        .expect("berth certs");
    assert!(made.status.success(), "{made:?}");
    let berth = Running::start(&format!(
        "server:\n  tls: {{certFile: {0}/server.crt, keyFile: {0}/server.key, clientCAFile: {0}/ca.crt}}\n",
        folder.path().display()
    ));
    let text = berth.admin("/metrics").body;
    let families = metrics::parse(&text);
    let missing: Vec<_> = metrics::registered(&root().join("src"))
        .into_iter()
        .filter(|name| !families.iter().any(|family| family.name == *name))
        .collect();
    assert!(
        missing.is_empty(),
        "without a series from the start, and so missing in docs/metrics.md: {missing:?}"
    );
    assert_current("docs/metrics.md", &metrics::page(&families));
}

#[test]
fn the_chart_ships_the_rules_of_the_project() {
    let of_project =
        |file: &str| std::fs::read_to_string(root().join("dashboards/rules").join(file)).expect(file);
    for file in ["alerts.yaml", "recording.yaml"] {
        assert_current(&format!("deploy/helm/berth/files/rules/{file}"), &of_project(file));
    }
}

fn schema() -> Value {
    serde_json::from_str(&berth::config::json_schema()).expect("JSON")
}

#[test]
fn the_chart_knows_the_schema_of_settings() {
    const FILE: &str = "deploy/helm/berth/values.schema.json";
    let current = std::fs::read_to_string(root().join(FILE)).expect(FILE);
    assert_current(FILE, &chart::values_schema(&current, &schema()));
}

fn value(yaml: &str) -> Value {
    serde_saphyr::from_str(yaml).expect("YAML")
}

#[test]
fn what_is_shipped_is_valid_by_the_schema() {
    let schema = schema();
    let example = std::fs::read_to_string(root().join("deploy/examples/berth.yaml")).expect("the example");
    let readme = std::fs::read_to_string(root().join("README.md")).expect("the README");
    let blocks = readme.split("```yaml\n").skip(1).filter_map(|rest| rest.split("```").next());
    let settings = ["topologySpread:", "replicaGroups:", "nominatedNode:", "preemption:", "server:"];
    let is_ours = |block: &&str| settings.iter().any(|name| block.starts_with(name));
    let ours: Vec<_> = blocks.filter(is_ours).map(|block| format!("{CONFIG_HEAD}{block}")).collect();
    assert!(ours.len() >= 3, "the README shows settings");
    let printed = serde_saphyr::to_string(&berth::config::Config::default()).expect("printable");
    for text in ours.iter().chain([&example, &printed, &CONFIG_HEAD.to_owned()]) {
        assert_eq!(violations(&schema, &value(text)), Vec::<String>::new(), "{text}");
        berth::config::parse(text).expect(text);
    }
}

#[test]
fn what_is_broken_is_not_valid_by_the_schema() {
    let schema = schema();
    for (text, says) in [
        ("topologySpred: {}", "topologySpred"),
        ("topologySpread: {defaultingType: Sometimes}", "topologySpread.defaultingType"),
        ("topologySpread: {overrides: [{}]}", "topologySpread.overrides[0]"),
        (
            "topologySpread: {defaultConstraints: [{maxSkew: 0, topologyKey: a, whenUnsatisfiable: DoNotSchedule}]}",
            "maxSkew",
        ),
        (
            "topologySpread: {defaultConstraints: [{maxSkew: 1, topologyKey: a, whenUnsatisfiable: DoNotSchedule, labelSelector: {}}]}",
            "labelSelector",
        ),
        ("replicaGroups: {sources: [LeaderWorkerSets]}", "replicaGroups.sources[0]"),
        ("replicaGroups: {rules: [{label: a, size: {number: many}}]}", "replicaGroups.rules[0].size"),
        ("replicaGroups: {limits: {members: 0}}", "replicaGroups.limits.members"),
        ("server: {limits: {maxInFlight: many}}", "server.limits.maxInFlight"),
        ("server: {limits: {maxInFlight: 0}}", "server.limits.maxInFlight"),
        ("server: {timeouts: {decision: 60}}", "server.timeouts.decision"),
        ("server: {timeouts: {decision: soon}}", "server.timeouts.decision"),
        ("server: {tls: {certFile: a}}", "server.tls"),
    ] {
        let text = format!("{CONFIG_HEAD}{text}\n");
        let found = violations(&schema, &value(&text));
        assert!(found.iter().any(|violation| violation.contains(says)), "{text}: {found:?}");
        berth::config::parse(&text).expect_err(&text);
    }
    for text in ["kind: BerthConfiguration", "apiVersion: v1\nkind: BerthConfiguration", "[]"] {
        assert!(!violations(&schema, &value(text)).is_empty(), "{text}");
    }
}

/// What stands in backticks on a page of the docs.
fn quoted(page: &str) -> Vec<String> {
    let text = std::fs::read_to_string(root().join(page)).expect(page);
    let text: Vec<_> = text.split("```").step_by(2).collect();
    let words = text.iter().flat_map(|text| text.split('`').skip(1).step_by(2));
    words.map(str::to_owned).collect()
}

/// Pages that name tests and metrics.
const POINTING: [&str; 10] = [
    "README.md",
    "SECURITY.md",
    "docs/architecture.md",
    "docs/compatibility.md",
    "docs/operate.md",
    "docs/production-readiness.md",
    "docs/runbook.md",
    "docs/security.md",
    "docs/troubleshoot.md",
    "docs/upgrade.md",
];

#[test]
fn docs_point_to_tests_metrics_and_reason_codes_that_exist() {
    let read = |page: &str| std::fs::read_to_string(root().join(page)).expect(page);
    let (metrics, reasons) = (read("docs/metrics.md"), read("docs/reasons.md"));
    for page in POINTING {
        for word in quoted(page) {
            let name = word.split(['{', ' ']).next().unwrap_or_default();
            if name.starts_with("berth_") {
                let family = name.trim_end_matches("_count");
                assert!(metrics.contains(&format!("| `{family}` |")), "{page}: {word} is no metric");
            } else if name.starts_with("tests/") {
                assert!(root().join(name).exists(), "{page}: {word} is not there");
            }
        }
    }
    let codes = read("docs/troubleshoot.md");
    let codes = codes.split("| code | it means").nth(1).and_then(|rest| rest.split("\n\n").next());
    let codes = codes.expect("the table of codes").lines().skip(2);
    for code in codes.flat_map(|row| row.split('|').nth(1).unwrap_or_default().split('`').skip(1).step_by(2))
    {
        assert!(reasons.contains(&format!("| `{code}` |")), "docs/troubleshoot.md: {code} is no reason code");
    }
    let answers = read("docs/production-readiness.md");
    let rows = answers.lines().filter(|line| line.starts_with("| ") && !line.starts_with("| question"));
    for row in rows {
        let shown_by = row.trim_end_matches(" |").rsplit(" | ").next().unwrap_or_default();
        assert!(
            shown_by.contains("`tests/") || shown_by.contains("`berth_"),
            "an answer without proof: {row}"
        );
    }
}

/// The version of Kubernetes that a module of the test bed is built from, such as `1.36.4`.
fn pinned(module: &str) -> String {
    let module = root().join("tests/controlplane").join(module).join("go.mod");
    let text = std::fs::read_to_string(&module).expect("a go.mod");
    let line = text.lines().find_map(|line| line.trim().strip_prefix("k8s.io/kubernetes v"));
    line.and_then(|rest| rest.split(' ').next()).expect("a version of Kubernetes").to_owned()
}

#[test]
fn the_versions_in_the_docs_are_those_that_are_built() {
    let folder = root().join("tests/controlplane/versions");
    let further = std::fs::read_dir(folder).expect("the further versions").map(|entry| {
        let name = entry.expect("a folder").file_name();
        pinned(&format!("versions/{}", name.to_string_lossy()))
    });
    let mut built: Vec<_> = further.chain([pinned(".")]).collect();
    built.sort();
    let page = std::fs::read_to_string(root().join("docs/compatibility.md")).expect("the page");
    let table = page.split("| kube-scheduler |").nth(1).and_then(|rest| rest.split("\n\n").next());
    let rows = table.expect("the table of versions").lines().skip(2);
    let told: Vec<_> = rows.map(|row| row.split('|').nth(1).unwrap_or_default().trim()).collect();
    assert_eq!(told, built, "docs/compatibility.md and the modules in tests/controlplane");
}
