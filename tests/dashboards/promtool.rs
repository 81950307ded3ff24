//! `promtool` reads the rules, and runs their unit tests.

use std::collections::BTreeSet;
use std::path::PathBuf;
use std::process::Command;

use super::files::{alerts, project, rule_files, rule_test_files, yaml};

/// Downloaded once, into the user's cache.
fn promtool() -> Command {
    let script = project().join("tests/tools/prometheus");
    let output =
        Command::new(&script).stderr(std::process::Stdio::inherit()).output().expect("the script runs");
    assert!(output.status.success(), "{} found no promtool, see above", script.display());
    let folder = String::from_utf8(output.stdout).expect("a folder");
    Command::new(PathBuf::from(folder.trim()).join("promtool"))
}

fn run(arguments: [&str; 2], files: Vec<PathBuf>) {
    let output = promtool().args(arguments).args(files).output().expect("promtool runs");
    let text = String::from_utf8_lossy(&output.stdout) + String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "promtool {arguments:?}:\n{text}");
}

#[test]
fn the_rules_are_valid() {
    run(["check", "rules"], rule_files());
}

#[test]
fn the_unit_tests_of_the_rules_pass() {
    run(["test", "rules"], rule_test_files());
}

/// Alert, severity, and whether it is to fire then.
fn expectations() -> BTreeSet<(String, String, bool)> {
    let mut found = BTreeSet::new();
    for file in rule_test_files() {
        let tests = yaml(&file)["tests"].as_array().cloned().unwrap_or_default();
        let checks = tests.iter().flat_map(|test| test["alert_rule_test"].as_array().into_iter().flatten());
        for check in checks {
            let alert = check["alertname"].as_str().expect("an alert").to_owned();
            let expected = check["exp_alerts"].as_array().expect("what is expected");
            let fires =
                |severity: &str| expected.iter().any(|alert| alert["exp_labels"]["severity"] == severity);
            for severity in ["warning", "critical"] {
                found.insert((alert.clone(), severity.to_owned(), fires(severity)));
            }
        }
    }
    found
}

#[test]
fn every_alert_is_tested_to_fire_and_not_to_fire() {
    let tested = expectations();
    for alert in alerts() {
        let text = |value: &serde_json::Value| value.as_str().expect("text").to_owned();
        let (name, severity) = (text(&alert["alert"]), text(&alert["labels"]["severity"]));
        for fires in [true, false] {
            let expectation = (name.clone(), severity.clone(), fires);
            assert!(tested.contains(&expectation), "{name} ({severity}): no test in which fires = {fires}");
        }
    }
}
