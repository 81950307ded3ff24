//! A linter that finds nothing is none: each rule finds a dashboard that breaks it, and no other rule does.

use serde_json::{Value, json};

use super::templates::is_query;
use super::{RULES, lint};

fn good() -> Value {
    let source = json!({"type": "prometheus", "uid": "${datasource}"});
    let choice = |name: &str, label: &str| {
        json!({"name": name, "label": label, "type": "query", "datasource": source, "multi": true, "allValue": ".+",
            "refresh": 2, "query": format!("label_values(up, {name})")})
    };
    json!({
        "editable": false,
        "templating": {"list": [
            {"name": "datasource", "label": "Data source", "type": "datasource", "query": "prometheus"},
            choice("job", "Job"), choice("instance", "Instance")]},
        "panels": [{"id": 1, "type": "stat", "title": "Calls", "description": "Calls.", "datasource": source,
            "fieldConfig": {"defaults": {"unit": "reqps"}},
            "targets": [{"expr": r#"sum(rate(calls_total{job=~"$job", instance=~"$instance"}[$__rate_interval]))"#}]}]
    })
}

/// What is changed in the good dashboard, at which place, and the rules that find it.
fn breakages() -> Vec<(&'static str, Value, Vec<&'static str>)> {
    let expr = "/panels/0/targets/0/expr";
    let selected = r#"{job=~"$job", instance=~"$instance"}"#;
    let variable = "/templating/list";
    let at = |index: usize, field: &str| -> &'static str { format!("{variable}/{index}/{field}").leak() };
    vec![
        ("/editable", json!(true), vec!["uneditable-dashboard"]),
        (at(0, "label"), json!("Source"), vec!["template-datasource"]),
        (at(0, "query"), json!("loki"), vec!["template-datasource", "target-logql", "target-logql-auto"]),
        (at(1, "multi"), json!(false), vec!["template-job"]),
        (at(1, "label"), json!("job"), vec!["template-job"]),
        (at(1, "datasource/uid"), json!("abc"), vec!["template-job"]),
        (at(1, "name"), json!("other"), vec!["template-job"]),
        (at(2, "allValue"), json!(".*"), vec!["template-instance"]),
        (at(2, "query"), json!("label_values(up{, instance)"), vec!["template-label-promql"]),
        (at(2, "refresh"), json!(1), vec!["template-on-time-change-reload"]),
        ("/panels/0/datasource/uid", json!("prometheus"), vec!["panel-datasource"]),
        ("/panels/0/datasource/uid", json!("$other"), vec!["panel-datasource"]),
        ("/panels/0/datasource/type", json!("loki"), vec!["target-logql", "target-logql-auto"]),
        ("/panels/0/title", json!(""), vec!["panel-title-description"]),
        ("/panels/0/description", json!(" "), vec!["panel-title-description"]),
        ("/panels/0/fieldConfig/defaults/unit", json!("calls"), vec!["panel-units"]),
        ("/panels/0/fieldConfig/defaults", json!({}), vec!["panel-units"]),
        ("/panels/0/targets", json!([]), vec!["panel-no-targets"]),
        (expr, json!(format!("sum(rate(calls_total{selected}[$__rate_interval])")), vec!["target-promql"]),
        (expr, json!(format!("rate(calls_total{selected}[5m])")), vec!["target-rate-interval"]),
        (expr, json!(format!("irate(calls_total{selected}[$__range])")), vec!["target-rate-interval"]),
        (expr, json!(r#"up{instance=~"$instance"}"#), vec!["target-job"]),
        (expr, json!(r#"up{job="$job", instance=~"$instance"}"#), vec!["target-job"]),
        (expr, json!(r#"up{job=~"$job|x", instance=~"$instance"}"#), vec!["target-job"]),
        (expr, json!(r#"up{job=~"$job"}"#), vec!["target-instance"]),
        (expr, json!(format!("up{selected} / on (job) up{{job=~\"$job\"}}")), vec!["target-instance"]),
        (expr, json!(format!("sum(calls_total{selected})")), vec!["target-counter-agg"]),
        (expr, json!(format!("max_over_time(calls_total{selected}[5m])")), vec!["target-counter-agg"]),
    ]
}

#[test]
fn a_good_dashboard_has_no_findings() {
    assert_eq!(lint(&good()), []);
    let mut mapped = good();
    mapped["panels"][0]["fieldConfig"]["defaults"] = json!({"mappings": [{"type": "value"}]});
    assert_eq!(lint(&mapped), [], "a panel with value mappings needs no unit");
}

#[test]
fn each_rule_finds_what_breaks_it_and_nothing_else() {
    let mut left: Vec<&str> = RULES.to_vec();
    for (place, value, expected) in breakages() {
        let mut dashboard = good();
        *dashboard.pointer_mut(place).unwrap_or_else(|| panic!("no {place}")) = value.clone();
        let found: Vec<&str> = lint(&dashboard).into_iter().map(|finding| finding.rule).collect();
        assert_eq!(found, expected, "{place} = {value}");
        left.retain(|rule| !expected.contains(rule));
    }
    assert!(left.is_empty(), "nothing breaks {left:?}");
}

#[test]
fn variables_are_queries_that_grafana_knows() {
    for good in [
        "label_values(up, job)",
        r#"label_values({__name__=~"a|b", job=~"$job"}, instance)"#,
        "label_values(job)",
        "query_result(sum by (job) (up))",
        "metrics(berth_.*)",
        "label_names()",
    ] {
        assert!(is_query(good), "{good}");
    }
    for bad in
        ["up", "label_values(up{, job)", "label_values(up, a b)", "values(up, job)", "query_result(sum by)"]
    {
        assert!(!is_query(bad), "{bad}");
    }
}
