//! The table of folders in `docs/architecture.md` is true: no module of the library uses another that its row does not
//! name, every module has a row, and the rows make no circle.
#![allow(clippy::expect_used, clippy::panic, reason = "a test fails by panicking")]

#[path = "layers/source.rs"]
mod source;
#[path = "layers/table.rs"]
mod table;

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use source::{Tokens, crates_used, modules_used, tasks_started};
use table::{Table, files_that_start_tasks};

/// These decide. They are pure, so that a decision can be repeated, tested and explained without a server or a cluster.
const PURE: [&str; 7] = ["model", "ledger", "view", "decision", "policy", "admission", "group_services"];
const BANNED_FROM_PURE: [&str; 5] = ["tokio", "hyper", "kube", "prometheus", "dashmap"];

/// Test fixtures exist in test builds only, so that every module may use them and no circle comes of it.
const FIXTURES: &str = "fixtures";

struct SourceFile {
    /// Its path below `src/`.
    path: String,
    /// The modules it lies in, outermost first: `["view", "change"]`.
    module: Vec<String>,
    tokens: Tokens,
}

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

fn page() -> String {
    fs::read_to_string(root().join("docs/architecture.md")).expect("the page is there")
}

fn table() -> Table {
    Table::parse(&page())
}

/// Every file of the library but its root, which only names the modules.
fn source_files() -> Vec<SourceFile> {
    let mut found = Vec::new();
    let mut folders = vec![root().join("src")];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(&folder).expect("a folder") {
            let path = entry.expect("an entry").path();
            if path.is_dir() {
                folders.push(path);
            } else if path.extension().is_some_and(|extension| extension == "rs") {
                found.push(path);
            }
        }
    }
    found.sort();
    let read = |path: PathBuf| {
        let inside = path.strip_prefix(root().join("src")).expect("it was found there");
        let parts = inside.with_extension("");
        SourceFile {
            path: inside.display().to_string(),
            module: parts.iter().map(|part| part.to_string_lossy().into_owned()).collect(),
            tokens: Tokens::of(&fs::read_to_string(&path).expect("a readable file")),
        }
    };
    let files = found.into_iter().map(read);
    files.filter(|file| !["lib", "main"].contains(&file.module[0].as_str())).collect()
}

fn report(broken: &[String]) {
    assert!(broken.is_empty(), "docs/architecture.md and src/ disagree:\n  {}", broken.join("\n  "));
}

#[test]
fn what_has_to_be_pure_exists() {
    let table = table();
    for module in PURE {
        assert!(table.modules().any(|row| row == module), "{module} has no row");
    }
}

#[test]
fn modules_use_only_what_the_table_allows() {
    let table = table();
    let mut broken = Vec::new();
    for SourceFile { path, module, tokens } in source_files() {
        let own = &module[0];
        for used in modules_used(&tokens, module.len()) {
            if used.name != *own && used.name != FIXTURES && !table.allows(own, &used.name) {
                broken.push(format!("src/{path}:{}: `{own}` may not know `{}`", used.line, used.name));
            }
        }
    }
    report(&broken);
}

#[test]
fn the_table_has_a_row_for_every_module_and_no_other() {
    let lib = Tokens::of(&fs::read_to_string(root().join("src/lib.rs")).expect("src/lib.rs"));
    let declared: BTreeSet<_> = lib.modules_declared().collect();
    let listed: BTreeSet<_> = table().modules().map(str::to_owned).collect();
    let missing = declared.difference(&listed).map(|module| format!("`{module}` has no row in the table"));
    let gone = listed.difference(&declared).map(|module| format!("`{module}` has a row but is no module"));
    report(&missing.chain(gone).collect::<Vec<_>>());
}

#[test]
fn the_table_names_no_circle_and_nothing_unknown() {
    let table = table();
    let mut broken = table.unknown_names();
    broken.extend(table.circle().map(|circle| format!("a circle: {}", circle.join(" -> "))));
    report(&broken);
}

#[test]
fn what_decides_knows_no_runtime_no_network_and_no_metrics() {
    let mut broken = Vec::new();
    for SourceFile { path, module, tokens } in source_files() {
        if PURE.contains(&module[0].as_str()) {
            let used = crates_used(&tokens, &BANNED_FROM_PURE).into_iter();
            broken.extend(used.map(|used| {
                format!("src/{path}:{}: `{}` may not use the crate `{}`", used.line, module[0], used.name)
            }));
        }
    }
    report(&broken);
}

#[test]
fn tasks_are_started_only_where_the_page_says() {
    let page = page();
    let mut expected = files_that_start_tasks(&page);
    let mut found = Vec::new();
    // Tests of a module may start what they like.
    let is_test = |path: &str| path.ends_with("tests.rs") || path.contains("/tests/");
    for SourceFile { path, tokens, .. } in source_files().into_iter().filter(|file| !is_test(&file.path)) {
        found.extend(tasks_started(&tokens).iter().map(|_| path.clone()));
    }
    found.sort();
    expected.sort();
    assert_eq!(
        found, expected,
        "files that start tasks, as often as they do; the page's table is on the right"
    );
}
