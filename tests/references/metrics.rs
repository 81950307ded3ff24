//! The page of metrics, from what a started Berth shows.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write;
use std::path::Path;

/// More values than this are listed at the end of the page.
const SHOWN: usize = 8;

/// One metric.
pub struct Family {
    pub name: String,
    kind: String,
    help: String,
    /// The values of each label.
    labels: BTreeMap<String, BTreeSet<String>>,
}

/// All metrics of a page, by name.
pub fn parse(text: &str) -> Vec<Family> {
    let mut families: Vec<Family> = Vec::new();
    for line in text.lines() {
        if let Some((name, help)) = line.strip_prefix("# HELP ").and_then(|rest| rest.split_once(' ')) {
            let (name, help) = (name.to_owned(), help.to_owned());
            families.push(Family { name, help, kind: String::new(), labels: BTreeMap::new() });
        } else if let Some((_, kind)) = line.strip_prefix("# TYPE ").and_then(|rest| rest.split_once(' ')) {
            kind.clone_into(&mut families.last_mut().expect("HELP comes first").kind);
        } else if let Some((_, rest)) = line.split_once('{') {
            let family = families.last_mut().expect("HELP comes first");
            for pair in rest.split_once("} ").expect("labels end").0.split("\",") {
                let (key, value) = pair.trim_end_matches('"').split_once("=\"").expect("a label");
                if key != "le" {
                    family.labels.entry(key.to_owned()).or_default().insert(value.to_owned());
                }
            }
        }
    }
    families.sort_by(|a, b| a.name.cmp(&b.name));
    families
}

/// The page.
pub fn page(families: &[Family]) -> String {
    let mut page = "# Metrics\n\n\
        Every metric on `/metrics` of the admin port, made from a started Berth: do not edit this page. A test compares, and \
        tells the\ncommand that writes it anew. Labels are closed sets: never the name of a pod, node or namespace. Every \
        series that can be named exists\nfrom the start with 0, but for \
        `berth_certificate_expiry_timestamp_seconds`, of which there is one for each file that is set. Times are\nin seconds.\n\n\
        | metric | type | labels | meaning |\n|---|---|---|---|\n"
        .to_owned();
    let mut long: BTreeMap<&str, BTreeSet<&str>> = BTreeMap::new();
    for Family { name, kind, help, labels } in families {
        let label = |(key, values): (&String, &BTreeSet<String>)| {
            if name.ends_with("_info") {
                // They differ from build to build.
                format!("`{key}`")
            } else if values.len() > SHOWN {
                format!("`{key}`: see below")
            } else {
                let values: Vec<_> = values.iter().map(|value| format!("`{value}`")).collect();
                format!("`{key}`: {}", values.join(", "))
            }
        };
        let shown: Vec<_> = labels.iter().map(label).collect();
        let _ = writeln!(page, "| `{name}` | {kind} | {} | {} |", shown.join("; "), help.replace('|', "\\|"));
        for (key, values) in labels.iter().filter(|(_, values)| values.len() > SHOWN) {
            long.entry(key).or_default().extend(values.iter().map(String::as_str));
        }
    }
    page.push_str("\n## Labels with many values\n\n| label | values |\n|---|---|\n");
    for (key, values) in long {
        let values: Vec<_> = values.iter().map(|value| format!("`{value}`")).collect();
        let _ = writeln!(page, "| `{key}` | {} |", values.join(", "));
    }
    page.push_str("\nWhat the values of `reason` mean is in [reasons.md](reasons.md).\n");
    page
}

/// The names of all metrics that the code registers, found in its text.
pub fn registered(src: &Path) -> BTreeSet<String> {
    let mut names = BTreeSet::new();
    let mut folders = vec![src.to_owned()];
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(&folder).expect("a folder") {
            let path = entry.expect("an entry").path();
            if path.is_dir() {
                folders.push(path);
            } else if path.extension().is_some_and(|extension| extension == "rs") {
                names.extend(registered_in(&std::fs::read_to_string(&path).expect("a readable file")));
            }
        }
    }
    assert!(names.len() > 20, "metrics are found in the code: {names:?}");
    names
}

fn registered_in(source: &str) -> Vec<String> {
    // What tests register does not count.
    let source = source.split("#[cfg(test)]\nmod tests {").next().unwrap_or_default();
    let calls = [".counter(", ".gauge(", ".float_gauge(", ".histogram(", ".histogram_with("];
    let named = calls.iter().flat_map(|call| source.split(call).skip(1));
    // Before the name there is a constant at most; where the name is a variable, what is quoted is something else.
    let is_name_next = |before: &str| {
        before.chars().all(|c| c.is_ascii_uppercase() || c.is_whitespace() || matches!(c, '_' | ','))
    };
    let named = named.filter_map(|rest| rest.split_once('"').filter(|(before, _)| is_name_next(before)));
    let named = named.filter_map(|(_, rest)| rest.split_once('"'));
    named.map(|(name, _)| format!("berth_{name}")).collect()
}
