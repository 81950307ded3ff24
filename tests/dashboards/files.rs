//! The files of `dashboards/`, read.
#![allow(clippy::expect_used, clippy::panic, reason = "a test fails by panicking")]

use std::path::{Path, PathBuf};

use serde_json::Value;

/// The project's folder.
pub fn project() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

/// Files of a folder of the project with this ending, in order.
fn files(folder: &str, ending: &str) -> Vec<PathBuf> {
    let folder = project().join(folder);
    let entries = std::fs::read_dir(&folder).expect("a folder");
    let mut files: Vec<PathBuf> = entries.map(|entry| entry.expect("an entry").path()).collect();
    files.retain(|file| file.extension().is_some_and(|have| have == ending));
    files.sort();
    assert!(!files.is_empty(), "nothing in {}", folder.display());
    files
}

fn read(file: &Path) -> String {
    std::fs::read_to_string(file).expect("a file that can be read")
}

fn stem(file: &Path) -> String {
    file.file_stem().expect("a name").to_string_lossy().into_owned()
}

/// Every dashboard with its file's name.
pub fn dashboards() -> Vec<(String, Value)> {
    let parse = |file: &PathBuf| {
        (stem(file), serde_json::from_str(&read(file)).unwrap_or_else(|e| panic!("{}: {e}", file.display())))
    };
    files("dashboards", "json").iter().map(parse).collect()
}

/// The panels of a dashboard that show something.
pub fn panels(dashboard: &Value) -> impl Iterator<Item = &Value> {
    dashboard["panels"].as_array().into_iter().flatten().filter(|panel| panel["type"] != "row")
}

/// The queries of a panel.
pub fn queries(panel: &Value) -> impl Iterator<Item = &str> {
    panel["targets"].as_array().into_iter().flatten().filter_map(|target| target["expr"].as_str())
}

/// Variables of a dashboard.
pub fn variables(dashboard: &Value) -> impl Iterator<Item = &Value> {
    dashboard["templating"]["list"].as_array().into_iter().flatten()
}

/// The files of rules.
pub fn rule_files() -> Vec<PathBuf> {
    files("dashboards/rules", "yaml")
}

/// The files of their unit tests.
pub fn rule_test_files() -> Vec<PathBuf> {
    files("dashboards/rules/tests", "yaml")
}

/// A YAML file as JSON.
pub fn yaml(file: &Path) -> Value {
    serde_saphyr::from_str(&read(file)).unwrap_or_else(|error| panic!("{}: {error}", file.display()))
}

/// Every recording and alerting rule.
pub fn rules() -> Vec<Value> {
    let list = |value: &Value, key: &str| value[key].as_array().cloned().unwrap_or_default();
    let groups = rule_files().into_iter().flat_map(|file| list(&yaml(&file), "groups"));
    groups.flat_map(|group| list(&group, "rules")).collect()
}

/// The alerting ones.
pub fn alerts() -> Vec<Value> {
    rules().into_iter().filter(|rule| rule["alert"].is_string()).collect()
}
