//! Rules about variables.

use serde_json::Value;

use crate::dashboards::files::variables;
use crate::dashboards::promql;

pub fn check(dashboard: &Value, find: &mut impl FnMut(&'static str, &str)) {
    let sources: Vec<&Value> =
        variables(dashboard).filter(|variable| variable["type"] == "datasource").collect();
    check_source(&sources, find);
    for (rule, name, label) in [("template-job", "job", "Job"), ("template-instance", "instance", "Instance")]
    {
        match variables(dashboard).find(|variable| variable["name"] == name) {
            Some(variable) if is_choice(variable, label) => {}
            Some(_) => find(rule, name),
            None => find(rule, "missing"),
        }
    }
    for variable in variables(dashboard).filter(|variable| variable["type"] == "query") {
        let name = variable["name"].as_str().unwrap_or_default();
        if !is_query(variable["query"].as_str().unwrap_or_default()) {
            find("template-label-promql", name);
        }
        if variable["refresh"] != 2 {
            find("template-on-time-change-reload", name);
        }
    }
    if sources.iter().any(|source| source["query"] == "loki") {
        find("target-logql", "templating");
        find("target-logql-auto", "templating");
    }
}

fn check_source(sources: &[&Value], find: &mut impl FnMut(&'static str, &str)) {
    let named = |source: &&Value| {
        let name = source["name"].as_str().unwrap_or_default();
        name == "prometheus_datasource" || name == "datasource" && sources.len() == 1
    };
    let labelled = |source: &&Value| {
        ["Data source", "Prometheus data source"].iter().any(|label| source["label"] == *label)
    };
    let is_prometheus = sources.first().is_some_and(|first| first["query"] == "prometheus");
    if !is_prometheus || !sources.iter().any(|source| named(source) && labelled(source)) {
        find("template-datasource", "templating");
    }
}

fn is_choice(variable: &Value, label: &str) -> bool {
    let source = variable["datasource"]["uid"].as_str().unwrap_or_default();
    let sources = ["$datasource", "${datasource}", "$prometheus_datasource", "${prometheus_datasource}"];
    variable["type"] == "query"
        && sources.contains(&source)
        && variable["multi"] == true
        && variable["allValue"] == ".+"
        && variable["label"] == label
}

/// Whether it is one of the four functions that Grafana has, of valid `PromQL`.
pub fn is_query(query: &str) -> bool {
    let Some((function, inside)) = query.trim().strip_suffix(')').and_then(|query| query.split_once('('))
    else {
        return false;
    };
    let is_label =
        |label: &str| !label.is_empty() && label.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'_');
    match function {
        "label_values" => match inside.rsplit_once(',') {
            Some((selector, label)) => promql::parse(selector).is_ok() && is_label(label.trim()),
            None => is_label(inside.trim()),
        },
        "query_result" => promql::parse(inside).is_ok(),
        "label_names" | "metrics" => true,
        _ => false,
    }
}
