//! The rules of Grafana's dashboard linter in strict mode, without exclusions.
//!
//! The rules about Loki find every dashboard that uses it: nothing here could check its queries.

mod broken;
mod panels;
mod targets;
mod templates;

use serde_json::Value;

use super::files::dashboards;

/// One place where a rule does not hold.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Finding {
    rule: &'static str,
    place: String,
}

/// Every rule. Each has a dashboard in `broken` that it finds.
const RULES: [&str; 17] = [
    "template-datasource",
    "template-job",
    "template-instance",
    "template-label-promql",
    "template-on-time-change-reload",
    "panel-datasource",
    "panel-title-description",
    "panel-units",
    "panel-no-targets",
    "target-promql",
    "target-rate-interval",
    "target-job",
    "target-instance",
    "target-counter-agg",
    "uneditable-dashboard",
    "target-logql",
    "target-logql-auto",
];

/// All findings of one dashboard.
fn lint(dashboard: &Value) -> Vec<Finding> {
    let mut findings = Vec::new();
    let mut find = |rule, place: &str| {
        assert!(RULES.contains(&rule), "{rule} is not in the list");
        findings.push(Finding { rule, place: place.to_owned() });
    };
    if dashboard["editable"] == true || dashboard["editable"].is_null() {
        // Grafana takes a missing field for true.
        find("uneditable-dashboard", "editable");
    }
    templates::check(dashboard, &mut find);
    panels::check(dashboard, &mut find);
    targets::check(dashboard, &mut find);
    findings
}

#[test]
fn every_rule_holds_for_every_dashboard() {
    for (name, dashboard) in dashboards() {
        let findings = lint(&dashboard);
        assert!(findings.is_empty(), "{name}.json: {findings:#?}");
    }
}
